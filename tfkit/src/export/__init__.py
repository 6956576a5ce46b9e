"""Exports to SavedModels and other formats for inference."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.export import formats as formats
    from tfkit.src.export import saved_model as saved_model

_later.offer(__name__)
