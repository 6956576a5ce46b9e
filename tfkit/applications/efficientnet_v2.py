"""EfficientNet V2, whose preprocessing is part of the models."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.data.applications.efficientnet_v2 import EfficientNetV2B0 as EfficientNetV2B0
    from tfkit.src.data.applications.efficientnet_v2 import EfficientNetV2B1 as EfficientNetV2B1
    from tfkit.src.data.applications.efficientnet_v2 import EfficientNetV2B2 as EfficientNetV2B2
    from tfkit.src.data.applications.efficientnet_v2 import EfficientNetV2B3 as EfficientNetV2B3
    from tfkit.src.data.applications.efficientnet_v2 import EfficientNetV2L as EfficientNetV2L
    from tfkit.src.data.applications.efficientnet_v2 import EfficientNetV2M as EfficientNetV2M
    from tfkit.src.data.applications.efficientnet_v2 import EfficientNetV2S as EfficientNetV2S
    from tfkit.src.data.applications.imagenet import decode_predictions as decode_predictions
    from tfkit.src.data.applications.preprocessing.unchanged import (
        preprocess_input as preprocess_input,
    )

_later.offer(__name__)
