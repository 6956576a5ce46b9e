"""Keras's files, and the formats of files."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.files.interop.formats import load_weights as load_weights
    from tfkit.src.files.interop.formats import save_model as save_model
    from tfkit.src.files.interop.keras_legacy_config import graph_from_keras as graph_from_keras

_later.offer(__name__)
