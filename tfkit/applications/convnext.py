"""ConvNeXt, whose preprocessing is part of the models."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.data.applications.convnext import ConvNeXtBase as ConvNeXtBase
    from tfkit.src.data.applications.convnext import ConvNeXtLarge as ConvNeXtLarge
    from tfkit.src.data.applications.convnext import ConvNeXtSmall as ConvNeXtSmall
    from tfkit.src.data.applications.convnext import ConvNeXtTiny as ConvNeXtTiny
    from tfkit.src.data.applications.convnext import ConvNeXtXLarge as ConvNeXtXLarge
    from tfkit.src.data.applications.imagenet import decode_predictions as decode_predictions
    from tfkit.src.data.applications.preprocessing.unchanged import (
        preprocess_input as preprocess_input,
    )

_later.offer(__name__)
