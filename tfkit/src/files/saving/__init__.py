"""tfkit's own files: sealed HDF5 files that are written completely or not at all."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.files.saving import checkpoint_file as checkpoint_file
    from tfkit.src.files.saving import contents as contents
    from tfkit.src.files.saving.weights import save_weights as save_weights

_later.offer(__name__)
