"""Exchange with other frameworks."""

from tfkit.interop import keras as keras
from tfkit.src.convert.to_jax import from_jax as from_jax
from tfkit.src.convert.to_jax import to_jax as to_jax
from tfkit.src.convert.to_torch import to_torch as to_torch
from tfkit.src.interop.stand_in import stand_in_for_keras as stand_in_for_keras
