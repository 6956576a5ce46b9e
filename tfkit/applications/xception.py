"""Xception, and its preprocessing."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.data.applications.imagenet import decode_predictions as decode_predictions
    from tfkit.src.data.applications.preprocessing.tf import preprocess_input as preprocess_input
    from tfkit.src.data.applications.xception import Xception as Xception

_later.offer(__name__)
