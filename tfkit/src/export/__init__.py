"""Exports to SavedModels and other formats for inference."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.export.formats import export as export
    from tfkit.src.export.saved_model import default_signature as default_signature

_later.offer(__name__)
