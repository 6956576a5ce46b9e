"""The base class of initializers, which return a variable's initial value for a shape and a dtype."""

from __future__ import annotations

from typing import Any, Self

import tensorflow as tf

from tfkit.src.base.registry.constructors import Configured, own_arguments


class Initializer(Configured):
    """The base of initializers: functions from a shape to the initial value of a variable.

    A subclass defines `__call__(shape, dtype=None)`, which returns a tensor of that shape and
    dtype, and `get_config()` where its constructor takes arguments.

    Call arguments:
        shape: shape of the variable, a tuple of integers.
        dtype: dtype of the values; `None` for `tfkit.config.floatx()`.

    Output shape: `shape`.

    Example:
        >>> class Sevens(Initializer):
        ...     def __call__(self, shape, dtype=None):
        ...         return tf.fill(shape, tf.constant(7, dtype or "float32"))
        >>> Sevens()((2,)).numpy()
        array([7., 7.], dtype=float32)
    """

    def __call__(self, shape: Any, dtype: Any = None) -> tf.Tensor:
        """Returns the initial value of a variable.

        Args:
            shape: its shape.
            dtype: its dtype; the default float type where it is `None`.
        """
        raise NotImplementedError(
            f"Initializer {type(self).__name__} must define `__call__(self, shape, dtype=None)`."
        )

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments.

        Example:
            >>> tfkit.initializers.RandomNormal(stddev=0.1, seed=1).get_config()
            {'seed': 1, 'mean': 0.0, 'stddev': 0.1}
        """
        return own_arguments(self) or {}

    def clone(self) -> Self:
        """Returns a new initializer with the same configuration; without a seed it draws a new one.

        Example:
            >>> initializer = tfkit.initializers.RandomNormal(seed=1)
            >>> bool(np.all(initializer.clone()((2,)) == initializer((2,))))
            True
        """
        return self.from_config(self.get_config())
