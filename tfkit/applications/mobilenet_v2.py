"""MobileNet V2, and its preprocessing."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.data.applications.imagenet import decode_predictions as decode_predictions
    from tfkit.src.data.applications.mobilenet_v2 import MobileNetV2 as MobileNetV2
    from tfkit.src.data.applications.preprocessing.tf import preprocess_input as preprocess_input

_later.offer(__name__)
