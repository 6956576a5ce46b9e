"""`StatelessScope`: a block of code whose changes of variables are undone at its end."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Any

import tensorflow as tf

from tfkit.src.base.calls import calls
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.weights.variables.name_scope import variable_path
from tfkit.src.weights.variables.operators import Value


class StatelessScope:
    """A context in which variables have given values; new values are stored, and the changes undone.

    This applies to tfkit's variables: weights, `tfkit.Variable`, the states of metrics, optimizers and seeds.
    Their methods `assign`, `assign_add` and `assign_sub` are noticed, and so are called layers, which run
    eagerly. What a `tf.function` of your own assigns in a call after its first is not noticed.

    Gradients are those with respect to the variables. For gradients with respect to the given values use
    `layer.stateless_call(...)`.

    Args:
        state_mapping: pairs of a variable and the value that it has in the block; `None` for none.
        collect_losses: whether losses added by `add_loss()` in the block are kept in `losses`. Default:
            `False`.
        initialize_variables: accepted as in Keras: variables that are made in the block always have their
            first values at once. Default: `True`.

    Attributes:
        losses: the losses that were added in the block, with `collect_losses`.

    Raises:
        ValueError: for an object that is not a variable, and for a value whose shape differs from its
            variable.

    Example:
        >>> count = tfkit.Variable(1.0)
        >>> with StatelessScope([(count, 5.0)]) as scope:
        ...     _ = count.assign_add(2.0)
        ...     inside = float(count)
        >>> inside, float(scope.get_current_value(count)), float(count)
        (7.0, 7.0, 1.0)
    """

    @shortened
    def __init__(
        self,
        state_mapping: Iterable[tuple[Any, Any]] | None = None,
        collect_losses: bool = False,
        initialize_variables: bool = True,
    ) -> None:
        self.collect_losses = collect_losses
        self.initialize_variables = initialize_variables
        self.losses: list[Any] = []
        self._given: list[tuple[Any, tf.Tensor]] = []
        self._graph: Any = None
        self._before: dict[int, tuple[Any, tf.Tensor]] = {}
        self._after: dict[int, tuple[Any, tf.Tensor]] = {}
        for variable, value in state_mapping or ():
            self._given.append((_checked(variable), _fitting(variable, value)))

    def __enter__(self) -> StatelessScope:
        # A change inside of a branch or a loop of a traced function is undone outside of it.
        self._graph = None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()
        self._before, self._after = {}, {}
        calls.scopes = (*calls.scopes, self)
        for variable, value in self._given:
            variable.assign(value)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            for key, (variable, before) in self._before.items():
                self._after[key] = (variable, tf.identity(_plain(variable)))
                variable.assign(before)
        finally:
            calls.scopes = calls.scopes[:-1]

    def about_to_change(self, variable: Any) -> None:
        """Keeps the value of a variable at the start of the block."""
        if id(variable) in self._before:
            return
        with tf.init_scope() if self._graph is None else self._graph.as_default():
            self._before[id(variable)] = (variable, tf.identity(_plain(variable)))

    def loss_added(self, loss: Any) -> None:
        """Adds a loss of a layer."""
        if self.collect_losses:
            self.losses.append(loss)

    def add_loss(self, loss: Any) -> None:
        """Adds to `losses`."""
        self.losses.append(loss)

    def add_update(self, update: tuple[Any, Any]) -> None:
        """Sets the value of a variable in the block.

        Args:
            update: the variable and the value.
        """
        variable, value = update
        value = _fitting(_checked(variable), value)
        if self in calls.scopes:
            self.about_to_change(variable)
            variable.assign(value)
        else:
            self._given.append((variable, value))

    def get_current_value(self, variable: Any) -> tf.Tensor | None:
        """Returns the value of a variable in the block, or at its end.

        Args:
            variable: the variable.

        Returns:
            A tensor; `None` for a variable that was neither given a value nor changed.
        """
        if id(variable) in self._after:
            return self._after[id(variable)][1]
        if self in calls.scopes and id(variable) in self._before:
            return tf.identity(_plain(variable))
        return next((value for given, value in self._given if given is variable), None)


def _plain(variable: Any) -> Any:
    """Returns the variable in its own dtype, whichever call is in progress."""
    return getattr(variable, "uncast", variable)


def _checked(variable: Any) -> Any:
    if not isinstance(variable, tf.Variable):
        raise ValueError(
            "Invalid reference to a variable: all keys in argument `mapping` must be Variable instances of "
            f"tfkit's, such as `layer.weights` holds. Received: {variable!r}"
        )
    return variable


def stored_dtype(variable: Any) -> tf.DType:
    """Returns the dtype of a variable, whichever call is in progress."""
    return _plain(variable).dtype


def _fitting(variable: Any, value: Any) -> tf.Tensor:
    """Returns `value` in the dtype and shape of a variable."""
    if tf.is_tensor(value) or isinstance(value, (tf.Variable, Value)):
        tensor = tf.cast(value, stored_dtype(variable))
    else:
        tensor = tf.convert_to_tensor(value, stored_dtype(variable))
    if not tensor.shape.is_compatible_with(variable.shape):
        raise ValueError(
            "Invalid value for a variable: all values in argument `mapping` must be tensors with the shape "
            f"of their variable. Variable '{variable_path(variable)}' has shape {tuple(variable.shape)}. "
            f"Received: a value of shape {tensor.shape}"
        )
    return tensor
