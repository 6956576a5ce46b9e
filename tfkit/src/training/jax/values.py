"""The values of variables while JAX trains: arrays of JAX, which are assigned before callbacks read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import tensorflow as tf

from tfkit.src.export.convert.jax.widths import narrowed
from tfkit.src.training.jax.layouts import Layouts


class Values:
    """Arrays of JAX for variables of TensorFlow.

    An array that a program has computed is ahead of its variable until `settle`. One that is not ahead is
    used again as long as the variable has not changed.

    Args:
        layouts: where they are on several devices; `None` for JAX's default device.

    Attributes:
        rows: for each program a weak reference to the data that it has read, arrays of JAX with its rows, and
            their order.
    """

    def __init__(self, layouts: Layouts | None = None) -> None:
        self.layouts = layouts
        self._arrays: dict[int, tuple[tf.Variable, np.ndarray | None, Any]] = {}
        self._predicting: Values | None = None
        self.rows: dict[Any, Any] = {}

    def predicting(self) -> Values:
        """Returns those for predictions.

        A different thread may predict while a program of `fit` uses up the arrays that it is given.
        """
        if self._predicting is None:
            self._predicting = Values(self.layouts)
        return self._predicting

    def take(self, variables: Mapping[str, tf.Variable]) -> dict[str, Any]:
        """Returns the present values of variables, by path.

        Raises:
            ValueError: for a variable of float64, if JAX has only 32 bits.
        """
        return {path: self._taken(variable) for path, variable in variables.items()}

    def _taken(self, variable: tf.Variable) -> Any:
        known = self._arrays.get(id(variable))
        if known is not None and known[1] is None:
            return known[2]
        content = _content(variable)
        # TensorFlow never writes into memory that is referred to elsewhere: an assignment to the variable
        # puts new memory in the place of what is kept here. So the same address is the same content.
        if known is not None and known[1] is not None and _address(known[1]) == _address(content):
            return known[2]
        dtype = jax.dtypes.canonicalize_dtype(content.dtype)
        if content.dtype.kind == "f" and dtype != content.dtype:
            raise ValueError(
                f"`engine='jax'` would train {variable.name!r} of dtype {content.dtype} in {dtype}. Let JAX "
                "use 64 bits before anything else: jax.config.update('jax_enable_x64', True)"
            )
        content_of_jax = narrowed(content, f"Variable {variable.name!r}")
        if self.layouts is None:
            array = jnp.array(content_of_jax, copy=True)
        else:
            array = self.layouts.place(variable, content_of_jax)
        self._arrays[id(variable)] = variable, content, array
        return array

    def put(self, variables: Mapping[str, tf.Variable], arrays: Mapping[str, Any]) -> None:
        """Keeps new values, which are ahead of the variables."""
        for path, array in arrays.items():
            self._arrays[id(variables[path])] = variables[path], None, array

    def forget(self, variables: Iterable[tf.Variable]) -> None:
        """Drops the arrays of variables: a program that failed has used their memory."""
        for variable in variables:
            self._arrays.pop(id(variable), None)

    def release(self) -> None:
        """Assigns the values that are ahead, and drops all arrays, so that JAX frees their memory."""
        self.settle()
        self._arrays.clear()
        self.rows.clear()
        self._predicting = None

    def settle(self) -> None:
        """Assigns the values that are ahead to their variables."""
        for key, (variable, content, array) in list(self._arrays.items()):
            if content is None:
                # A copy: a later program may write into the memory of the array.
                found = np.array(array) if self.layouts is None else self.layouts.read(array)
                variable.assign(found.astype(variable.dtype.as_numpy_dtype, copy=False))
                self._arrays[key] = variable, _content(variable), array


def _content(variable: tf.Variable) -> np.ndarray:
    """Returns the value of a variable; on CPUs it is the variable's memory, without a copy."""
    return np.asarray(variable.value())


def _address(array: np.ndarray) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def as_array(tensor: Any) -> np.ndarray:
    """Returns data of a batch for JAX.

    Raises:
        OverflowError: for integers that do not fit in the 32 bits of JAX.
    """
    return narrowed(np.asarray(tensor), "The data")
