"""Exchange with other frameworks."""

from tfkit.interop import keras as keras
from tfkit.src.interop.stand_in import stand_in_for_keras as stand_in_for_keras
from tfkit.src.interop.to_torch import to_torch as to_torch
