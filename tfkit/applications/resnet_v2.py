"""ResNet V2, and its preprocessing."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.data.applications.imagenet import decode_predictions as decode_predictions
    from tfkit.src.data.applications.preprocessing.tf import preprocess_input as preprocess_input
    from tfkit.src.data.applications.resnet_v2 import ResNet50V2 as ResNet50V2
    from tfkit.src.data.applications.resnet_v2 import ResNet101V2 as ResNet101V2
    from tfkit.src.data.applications.resnet_v2 import ResNet152V2 as ResNet152V2

_later.offer(__name__)
