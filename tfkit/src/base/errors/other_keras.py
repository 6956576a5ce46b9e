"""Objects of another Keras: `import tfkit as keras` does not change what `from keras import ...` imports."""

from __future__ import annotations

import sys
from typing import Any, Protocol

from tfkit.src.base.errors.frames import warn

_OTHERS = ("keras", "tf_keras")
_ADVICE = (
    "Import it from `tfkit`: after `import tfkit as keras`, `from keras import layers` still imports Keras; "
    "`layers = keras.layers` does not."
)


class HasTitle(Protocol):
    """An object with a title for messages."""

    @property
    def title(self) -> str:
        """Its path and its class."""


def advice(value: Any) -> str:
    """Returns what to add to an error that refuses `value`: nothing unless another Keras made it.

    Example:
        >>> advice("relu")
        ''
    """
    library = _library(value)
    return f" It is one of the library `{library}`. {_ADVICE}" if library else ""


def warn_of_lost_weights(owner: HasTitle, name: str, value: Any) -> None:
    """Warns if an attribute of a layer holds a layer of another Keras, or a list that begins with one."""
    if not any(library in sys.modules for library in _OTHERS):
        return
    # Only the first item of a list, so that a list to which layers are added is not read again for each.
    first = value[0] if isinstance(value, (list, tuple)) and value else value
    library = _library(first)
    if library and hasattr(first, "trainable_weights"):
        warn(
            f"Attribute `{name}` of layer {owner.title} holds a {type(first).__name__} of the library "
            f"`{library}`. Its weights are not weights of the layer: they are neither trained nor "
            f"saved. {_ADVICE}"
        )


def defines(cls: type) -> bool:
    """Whether a class is defined by another Keras itself, and is not a user's subclass."""
    return cls.__module__.partition(".")[0] in _OTHERS


def _library(value: Any) -> str | None:
    """Returns the name of the other Keras that has defined the class of a value, or a base of it."""
    modules = (base.__module__.partition(".")[0] for base in type(value).__mro__)
    return next((module for module in modules if module in _OTHERS), None)
