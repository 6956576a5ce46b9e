"""EfficientNet, whose preprocessing is part of the models."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.data.applications.efficientnet import EfficientNetB0 as EfficientNetB0
    from tfkit.src.data.applications.efficientnet import EfficientNetB1 as EfficientNetB1
    from tfkit.src.data.applications.efficientnet import EfficientNetB2 as EfficientNetB2
    from tfkit.src.data.applications.efficientnet import EfficientNetB3 as EfficientNetB3
    from tfkit.src.data.applications.efficientnet import EfficientNetB4 as EfficientNetB4
    from tfkit.src.data.applications.efficientnet import EfficientNetB5 as EfficientNetB5
    from tfkit.src.data.applications.efficientnet import EfficientNetB6 as EfficientNetB6
    from tfkit.src.data.applications.efficientnet import EfficientNetB7 as EfficientNetB7
    from tfkit.src.data.applications.imagenet import decode_predictions as decode_predictions
    from tfkit.src.data.applications.preprocessing.unchanged import (
        preprocess_input as preprocess_input,
    )

_later.offer(__name__)
