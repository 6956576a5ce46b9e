"""Keras's files, and the formats of files."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.interop import formats as formats
    from tfkit.src.interop import keras_legacy_config as keras_legacy_config

_later.offer(__name__)
