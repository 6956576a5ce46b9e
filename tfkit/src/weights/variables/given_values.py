"""Values that a traced computation reads in place of variables, which do not change.

A value belongs to one trace: threads that run the traced function at the same time do not meet in a variable.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tensorflow as tf

from tfkit.src.base.calls import calls


class GivenValue:
    """The value of one variable in a block of a trace.

    Args:
        variable: the variable.
        value: the first value.
        differentiable: whether gradients go to it.
    """

    def __init__(self, variable: Any, value: tf.Tensor, differentiable: bool) -> None:
        self.is_stored = False
        self._variable = variable
        self._differentiable = differentiable
        self._first = self._value = value
        self._before: tf.Tensor | None = None
        self._graph = tf.compat.v1.get_default_graph()

    def read(self) -> tf.Tensor:
        """Returns the current value."""
        return tf.identity(self._value)

    def change(self, new: Callable[[tf.Tensor], tf.Tensor]) -> bool:
        """Changes the value; returns whether it did, which it cannot in a branch or a loop of the trace."""
        if tf.compat.v1.get_default_graph() is not self._graph:
            self.store()
            return False
        value = new(self._value)
        self._value = _with_gradient_to(self._first, value) if self._differentiable else value
        return True

    def store(self) -> None:
        """Assigns the value to the variable until the end of the block.

        Raises:
            NotImplementedError: for a value that gradients go to.
        """
        if self._differentiable:
            raise NotImplementedError(
                f"Variable '{self._variable.path}' is changed in a branch, in a loop or by a `scatter_` "
                "method, inside a `stateless_call` that gives it a value with gradients. Change it by "
                "`assign`, outside of branches and loops."
            )
        self.is_stored = True
        with self._graph.as_default():
            self._before = tf.identity(getattr(self._variable, "uncast", self._variable))
            self._variable.assign(self._value)

    def end(self) -> None:
        """Gives the variable its own value back, if another one has been assigned."""
        if self._before is not None:
            self._variable.assign(self._before)


def of(variable: Any) -> GivenValue | None:
    """Returns the value that is given for a variable in the trace in progress; `None` if there is none."""
    given = calls.given and calls.given.get(id(variable))
    return None if not given or given.is_stored or tf.executing_eagerly() else given


@tf.custom_gradient
def _with_gradient_to(first: tf.Tensor, value: tf.Tensor) -> Any:
    """Returns `value`, whose gradient goes to `first`: gradients belong to a variable, whatever it gets."""
    return tf.identity(value), lambda upstream: (upstream, None)


@contextlib.contextmanager
def given_values(
    variables: Sequence[Any], values: Sequence[Any], differentiable: bool
) -> Iterator[None]:
    """Context manager in which the trace in progress, in this thread, reads `values` in place of variables.

    Args:
        variables: variables without copies for devices.
        values: a tensor for each.
        differentiable: whether gradients go to them.

    Raises:
        NotImplementedError: for a variable that the block uses by its handle, which has its own value.
    """
    # All values are checked, when the program runs, before the first one is used.
    with tf.control_dependencies(values):
        values = [tf.identity(value) for value in values]
    mine = {
        id(variable): GivenValue(variable, value, differentiable)
        for variable, value in zip(variables, values, strict=True)
    }
    uses = _uses()
    before, calls.given = calls.given, {**calls.given, **mine}
    try:
        yield
        now = _uses()
        for variable in variables:
            key = id(variable.handle)
            if not mine[id(variable)].is_stored and now.get(key, 0) > uses.get(key, 0):
                raise NotImplementedError(
                    f"Variable '{variable.path}' has a given value in a `stateless_call`, and a "
                    "`tf.function` that has been traced before, or an operation on `variable.handle`, uses "
                    "its own. Call the Python function without `tf.function`, and read the variable like a "
                    "tensor."
                )
    finally:
        calls.given = before
        for given in mine.values():
            given.end()


def _uses() -> dict[int, int]:
    """Returns the numbers of operations in the trace that use variables, by id of their handles."""
    captures = getattr(tf.compat.v1.get_default_graph(), "captures", ())
    return {id(outer): len(inner.consumers()) for outer, inner in captures}
