"""Images in the form in which the models were trained, and the names of ImageNet's classes."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.data.applications.imagenet import decode_predictions as decode_predictions
    from tfkit.src.data.applications.imagenet import preprocess_input as preprocess_input

_later.offer(__name__)
