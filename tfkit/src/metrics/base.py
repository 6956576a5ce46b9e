"""The base class of metrics: variables updated batch by batch, and a result computed from them."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tensorflow as tf

from tfkit.src.base import nests, settings, watching
from tfkit.src.base.errors.never_called import Overridable
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.members import TRACKING, MetricBase, View, kept_on_error
from tfkit.src.base.names import auto_name
from tfkit.src.base.registry import dtype_policies
from tfkit.src.base.registry.constructors import Configured
from tfkit.src.borrowed.private import Module
from tfkit.src.weights.initializers import lookup as initializers
from tfkit.src.weights.variables import copying
from tfkit.src.weights.variables.together import temporary_values
from tfkit.src.weights.variables.variables import make_variable


class Metric(Configured, Overridable, MetricBase, watching.Watched, Module):
    """The base of metrics: variables that are updated batch by batch, and a result computed from them.

    A subclass makes its state in `__init__` with `add_variable()`, adds a batch to it in
    `update_state()`, and computes a scalar, or a dict of scalars, from it in `result()`. Both run
    inside compiled programs, so they are written with TensorFlow's functions. `reset_state()` sets
    the state to zero, as `fit` does at the start of an epoch.

    Args:
        dtype: dtype to compute in; `None` for `tfkit.config.floatx()`.
        name: name of the metric in logs and progress bars; `None` for one that is made from the
            class's name.

    Call arguments:
        *args, **kwargs: arguments of `update_state()`; the call returns `result()`.

    Output shape: The shape of `result()`: a scalar, or a dict of scalars.

    Example:
        >>> class BiggestError(Metric):
        ...     def __init__(self, **kwargs):
        ...         super().__init__(**kwargs)
        ...         self.biggest = self.add_weight(name="biggest", initializer=tf.zeros)
        ...
        ...     def update_state(self, y_true, y_pred, sample_weight=None):
        ...         error = tf.reduce_max(tf.abs(y_true - y_pred))
        ...         self.biggest.assign(tf.maximum(self.biggest, error))
        ...
        ...     def result(self):
        ...         return self.biggest
        >>> metric = BiggestError()
        >>> float(metric(tf.constant([1.0, 2.0]), tf.constant([1.5, 4.0])))
        2.0
    """

    # The better direction, "up" or "down", for callbacks with `mode="auto"`.
    _direction: str | None = None
    _tfkit_added_variables: list[Any]
    # Whether the class's own `update_state` only adds to variables what is a sum over the rows of a batch:
    # under a strategy each replica then has a part of the sum, and replicas exchange nothing in a step.
    _tfkit_sums = False

    def __init__(self, dtype: Any = None, name: str | None = None) -> None:
        super().__init__()  # A tf.Module's name must be an identifier; a metric's need not be.
        self._name = name or auto_name(type(self).__name__)
        self._dtype = dtype_policies.get(dtype or settings.floatx()).compute_dtype
        # Without tf.Module's tracking: the attributes that hold the variables are tracked already.
        object.__setattr__(self, "_tfkit_added_variables", [])

    @property
    def name(self) -> str:
        """The name in logs and progress bars."""
        return self._name

    @name.setter
    def name(self, value: str) -> None:
        self._name = value

    @property
    def dtype(self) -> str:
        """The name of the dtype of the computation."""
        return self._dtype

    def add_variable(
        self,
        shape: Sequence[int],
        initializer: Any = None,
        dtype: Any = None,
        aggregation: str | None = "sum",
        name: str | None = None,
    ) -> Any:
        """Makes a state variable.

        Args:
            shape: its shape.
            initializer: name, configuration or function `(shape, dtype)`; zeros unless given.
            dtype: the default float type unless given.
            aggregation: how the values of several replicas become one where it is not known what one device
                would compute: `"mean"` or `"only_first_replica"`; with `"sum"` or `"none"` that is an error.
            name: name of the variable.

        Returns:
            A `tf.Variable`.

        Example:
            >>> metric = tfkit.metrics.Metric(name="largest")
            >>> metric.largest = metric.add_variable((), initializer="zeros", name="largest")
            >>> len(metric.variables)
            1
        """
        self._tfkit_check_super_called()
        options: dict[str, Any] = {"aggregation": None if aggregation == "sum" else aggregation}
        if self._tfkit_adds_up():
            options = {
                "aggregation": aggregation,
                "synchronization": tf.VariableSynchronization.ON_READ,
            }
        variable = make_variable(
            f"a variable of metric '{self.name}'",
            shape,
            initializers.get(initializer) or tf.zeros,
            dtype,
            name,
            **options,
        )
        variable.path = f"{self.name}/{name or 'variable'}"
        self._tfkit_added_variables.append(variable)
        return variable

    def _tfkit_adds_up(self) -> bool:
        """Whether the `update_state` in effect only adds to variables."""
        # A subclass that overrides `update_state` is not bound by its base's promise.
        owner = next(it for it in type(self).__mro__ if "update_state" in vars(it))
        return bool(vars(owner).get("_tfkit_sums", False))

    def add_weight(
        self,
        shape: Sequence[int] = (),
        initializer: Any = None,
        dtype: Any = None,
        name: str | None = None,
    ) -> Any:
        """Makes a state variable like `add_variable()`, a scalar unless `shape` is given.

        Example:
            >>> metric = tfkit.metrics.Metric(name="total")
            >>> metric.total = metric.add_weight(name="total")
            >>> metric.total.numpy()
            np.float32(0.0)
        """
        return self.add_variable(shape=shape, initializer=initializer, dtype=dtype, name=name)

    @property
    def variables(self) -> list[Any]:
        """State variables in order of creation: this metric's own, then its inner metrics' variables."""
        self._tfkit_check_super_called()
        leaves = self._tfkit_attribute_leaves()
        variables = self._tfkit_added_variables + [leaf for leaf in leaves if _is_variable(leaf)]
        for leaf in leaves:
            if isinstance(leaf, Metric):
                variables += leaf.variables
        # Without repetitions: a variable may be an attribute of two metrics.
        return list({id(variable): variable for variable in variables}.values())

    def update_state(self, *args: Any, **kwargs: Any) -> Any:
        """Adds a batch to the state.

        Example:
            >>> class Largest(tfkit.metrics.Metric):
            ...     def __init__(self, **kwargs):
            ...         super().__init__(**kwargs)
            ...         self.largest = self.add_weight()
            ...
            ...     def update_state(self, y_true, y_pred, sample_weight=None):
            ...         self.largest.assign(
            ...             tf.maximum(self.largest, tf.reduce_max(tf.abs(y_true - y_pred)))
            ...         )
            ...
            ...     def result(self):
            ...         return self.largest
            >>> metric = Largest()
            >>> metric.update_state(tf.constant([0.0, 0.0]), tf.constant([1.0, 3.0]))
            >>> float(metric.result())
            3.0
        """
        raise NotImplementedError(f"{type(self).__name__} must define `update_state()`.")

    def result(self) -> Any:
        """Returns the value so far: a scalar or a dict of scalars.

        Example:
            >>> mean = tfkit.metrics.Mean()
            >>> _ = mean.update_state([1.0, 3.0])
            >>> _ = mean.update_state([8.0])
            >>> float(mean.result())
            4.0
        """
        raise NotImplementedError(f"{type(self).__name__} must define `result()`.")

    def reset_state(self) -> None:
        """Sets all state variables to zero.

        Example:
            >>> mean = tfkit.metrics.Mean()
            >>> _ = mean.update_state([1.0, 3.0])
            >>> mean.reset_state()
            >>> float(mean.result())
            0.0
        """
        for variable in self.variables:
            # Without a read, for which all processes of a strategy would have to add up their values.
            variable.assign(tf.zeros(variable.shape, variable.dtype))

    @shortened
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Adds a batch to the state and returns the value so far."""
        self._tfkit_check_super_called()
        self.take_part()
        self.update_state(*args, **kwargs)
        return self.result()

    def take_part(self) -> None:
        """Adds this metric and those in it to the dependencies of the trace in progress."""
        self._tfkit_changes.note()
        for leaf in self._tfkit_attribute_leaves():
            if isinstance(leaf, Metric):
                leaf.take_part()

    def _tfkit_attribute_leaves(self) -> list[Any]:
        """Returns the contents of the attributes, in lists and dicts too."""
        attributes = [value for key, value in vars(self).items() if key not in TRACKING]
        return list(_leaves(attributes))

    def stateless_update_state(
        self, metric_variables: Sequence[Any], *args: Any, **kwargs: Any
    ) -> list[Any]:
        """Returns the state after an update that starts from `metric_variables`.

        Args:
            metric_variables: values for `variables`, one each.
            *args: arguments of `update_state()`.
            **kwargs: arguments of `update_state()`.

        Raises:
            ValueError: for a different number of values than there are variables.

        Example:
            >>> mean = tfkit.metrics.Mean()
            >>> values = mean.stateless_update_state(mean.variables, [1.0, 3.0])
            >>> [float(value) for value in values], float(mean.result())
            ([4.0, 2.0], 0.0)
        """
        with self._tfkit_state(metric_variables):
            self.update_state(*args, **kwargs)
            return self._tfkit_values()

    def stateless_result(self, metric_variables: Sequence[Any]) -> Any:
        """Returns the result for the state `metric_variables`.

        Raises:
            ValueError: for a different number of values than there are variables.

        Example:
            >>> mean = tfkit.metrics.Mean()
            >>> values = mean.stateless_update_state(mean.variables, [1.0, 3.0])
            >>> float(mean.stateless_result(values))
            2.0
        """
        with self._tfkit_state(metric_variables):
            return tf.nest.map_structure(tf.identity, self.result())

    def stateless_reset_state(self) -> list[Any]:
        """Returns the state after `reset_state()`.

        Example:
            >>> mean = tfkit.metrics.Mean()
            >>> _ = mean.update_state([1.0, 3.0])
            >>> [float(value) for value in mean.stateless_reset_state()]
            [0.0, 0.0]
        """
        with self._tfkit_state(self.variables):
            self.reset_state()
            return self._tfkit_values()

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments.

        Example:
            >>> tfkit.metrics.TopKCategoricalAccuracy(k=3).get_config()["k"]
            3
        """
        return {"name": self.name, "dtype": self.dtype}

    def __getstate__(self) -> dict[str, Any]:
        """Returns the contents of a copy or a pickle: the attributes, and the values of the variables."""
        return copying.attributes_of(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        copying.set_attributes(self, state, untracked=("_tfkit_added_variables",))

    def _tfkit_values(self) -> list[Any]:
        return [tf.identity(variable) for variable in self.variables]

    def _tfkit_state(self, values: Sequence[Any]) -> contextlib.AbstractContextManager[None]:
        """Returns a context in which the variables have `values`, and which restores them."""
        return temporary_values(self.variables, values, "metric_variables")

    def _tfkit_check_super_called(self) -> None:
        if "_tfkit_added_variables" not in vars(self):
            raise RuntimeError(
                f"{type(self).__name__} is not initialized. Call `super().__init__()` first thing "
                "in its `__init__()`."
            )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self._name}>"


def undone_on_error(update_state: Callable[..., None]) -> Callable[..., None]:
    """Lets an error in the first `update_state` remove the variables that it has made."""

    @functools.wraps(update_state)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> None:
        with contextlib.nullcontext() if self._built else kept_on_error(self):
            update_state(self, *args, **kwargs)

    return wrapper


def _leaves(value: Any) -> Iterator[Any]:
    if nests.is_nested(value):
        for item in nests.children(value):
            yield from _leaves(item)
    else:
        yield value


def _is_variable(value: Any) -> bool:
    return isinstance(value, tf.Variable) and not isinstance(value, View)
