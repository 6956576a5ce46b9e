"""The base of preprocessing layers, whose inputs may be plain lists of numbers and strings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base.registry import serialization
from tfkit.src.core.layer import Layer

_PLAIN = (str, bytes, bool, int, float, np.generic)
_LISTS = (*_PLAIN, list, tuple)


class Preprocessing(Layer):
    """A layer that can be called on lists of numbers or strings, as on arrays and tensors."""

    _allow_non_tensor_positional_args = True

    def _tfkit_as_tensors(self, args: Any, kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        plain = tuple([self._plain(arg) if isinstance(arg, _LISTS) else arg for arg in args])
        return super()._tfkit_as_tensors(plain, kwargs)

    def _plain(self, value: Any) -> Any:
        """Returns a tensor for a number, a string or a nest of lists with these; else the value itself."""
        first = value
        # The first entry decides: looking at all would take longer than the conversion.
        while isinstance(first, (list, tuple)) and len(first):
            first = first[0]
        if isinstance(first, (list, tuple)):  # An empty list: of the layer's own kind.
            return tf.convert_to_tensor(value, self.input_dtype)
        if first is None:
            raise ValueError(
                f"Layer {self._tfkit.title} expects numbers or strings. Received: a list with `None` in it. "
                "Fill missing values first."
            )
        return tf.convert_to_tensor(value) if isinstance(first, _PLAIN) else value

    def _base_config(self) -> dict[str, Any]:
        """Returns the part of the configuration that every layer has."""
        policy = serialization.serialize_keras_object(self.dtype_policy)
        return {"name": self.name, "trainable": self.trainable, "dtype": policy}

    def _complete(self) -> None:
        """Marks the layer as built in a symbolic call, which traces nothing; but not for a user's `build`."""
        self._tfkit.built |= not self._tfkit_overrides("build")

    def _tfkit_restorer(self) -> Callable[[], None]:
        before = {name: getattr(self, name) for name in self._tfkit_set_by_files}
        # Attributes that files set are not weights, and a failed load must undo them as well.
        weights = super()._tfkit_restorer()

        def restore() -> None:
            weights()
            for name, value in before.items():
                setattr(self, name, value)

        return restore


def at_least_32_bits(dtype: str) -> str:
    """Returns `float32` for 16-bit floats, in which large numbers would be rounded or infinite."""
    return "float32" if tf.as_dtype(dtype).size == 2 else dtype


def is_plain(value: Any) -> bool:
    """Whether a value is a Python number or string, or a nest of lists whose first item is one."""
    while isinstance(value, (list, tuple)) and len(value):
        value = value[0]
    return isinstance(value, _PLAIN)


def check_mode(layer: Layer, value: Any, allowed: tuple[Any, ...], argument: str) -> None:
    """Raises an error for a setting that is not allowed.

    Raises:
        ValueError: that names the layer's class, the argument and all that is allowed.
    """
    if value not in allowed:
        raise ValueError(
            f"Unknown value for `{argument}` argument of {type(layer).__name__}. Allowed values are: "
            f"{allowed}. Received: {argument}={value}"
        )
