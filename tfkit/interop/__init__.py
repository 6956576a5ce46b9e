"""Exchange with other frameworks."""

from tfkit.interop import keras as keras
