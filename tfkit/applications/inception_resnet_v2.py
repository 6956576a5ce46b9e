"""Inception-ResNet V2, and its preprocessing."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.data.applications.imagenet import decode_predictions as decode_predictions
    from tfkit.src.data.applications.inception_resnet_v2 import (
        InceptionResNetV2 as InceptionResNetV2,
    )
    from tfkit.src.data.applications.preprocessing.tf import preprocess_input as preprocess_input

_later.offer(__name__)
