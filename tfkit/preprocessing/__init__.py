"""`tfkit.preprocessing`: helpers for images and sequences, under Keras's names."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.preprocessing import image as image
    from tfkit.preprocessing import sequence as sequence
    from tfkit.preprocessing import text as text
    from tfkit.src.data.datasets.image_folder import (
        image_dataset_from_directory as image_dataset_from_directory,
    )
    from tfkit.src.data.datasets.text_folder import (
        text_dataset_from_directory as text_dataset_from_directory,
    )
    from tfkit.src.data.datasets.timeseries import (
        timeseries_dataset_from_array as timeseries_dataset_from_array,
    )

_later.offer(__name__)
