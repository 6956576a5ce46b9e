"""Exchange with other frameworks."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.interop import keras as keras
    from tfkit.src.export.convert.to_jax import from_jax as from_jax
    from tfkit.src.export.convert.to_jax import to_jax as to_jax
    from tfkit.src.export.convert.to_torch import to_torch as to_torch
    from tfkit.src.files.interop.stand_in import stand_in_for_keras as stand_in_for_keras
    from tfkit.src.training.export_training import export_training as export_training

_later.offer(__name__)
