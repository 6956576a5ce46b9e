"""DenseNet, and its preprocessing."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.data.applications.densenet import DenseNet121 as DenseNet121
    from tfkit.src.data.applications.densenet import DenseNet169 as DenseNet169
    from tfkit.src.data.applications.densenet import DenseNet201 as DenseNet201
    from tfkit.src.data.applications.imagenet import decode_predictions as decode_predictions
    from tfkit.src.data.applications.preprocessing.torch import preprocess_input as preprocess_input

_later.offer(__name__)
