"""NASNet, and its preprocessing."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.data.applications.imagenet import decode_predictions as decode_predictions
    from tfkit.src.data.applications.nasnet import NASNetLarge as NASNetLarge
    from tfkit.src.data.applications.nasnet import NASNetMobile as NASNetMobile
    from tfkit.src.data.applications.preprocessing.tf import preprocess_input as preprocess_input

_later.offer(__name__)
