"""Makes all variables.

A variable that tfkit makes is TensorFlow's, of the class that the current distribution strategy requires,
with Keras's interface on top: its class is a subclass of that class and of `Variable`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import tensorflow as tf

from tfkit.src.base import budget
from tfkit.src.base.calls import about_to_change
from tfkit.src.base.names import auto_name, check_name, operation_name
from tfkit.src.base.nests import brief, plain_sizes
from tfkit.src.base.registry.dtypes import standardize_dtype
from tfkit.src.base.registry.serialization import resolve
from tfkit.src.borrowed import private
from tfkit.src.engine import replicas
from tfkit.src.weights.variables import given_values
from tfkit.src.weights.variables.name_scope import current_path
from tfkit.src.weights.variables.operators import Operators, Value

AGGREGATIONS = {
    None: tf.VariableAggregation.NONE,
    "none": tf.VariableAggregation.NONE,
    "mean": tf.VariableAggregation.MEAN,
    "sum": tf.VariableAggregation.SUM,
    "only_first_replica": tf.VariableAggregation.ONLY_FIRST_REPLICA,
}


# Settings of a weight that a traced step has read.
_READ_BY_STEPS = ("constraint", "overwrite_with_gradient", "regularizer", "trainable")


def _alias(name: str) -> Any:
    """Returns a property that is another attribute."""
    return property(
        lambda self: getattr(self, name), lambda self, value: setattr(self, name, value)
    )


class Variable(Operators, private.VariableHooks):
    """A `tf.Variable` with Keras's interface: the class of weights and of tfkit's other variables.

    An attribute of a layer or a metric that holds one is tracked like the variables of `add_weight`. It is
    read in its own dtype; under a mixed policy only `add_weight` makes weights that are read in 16 bits.

    Args:
        initializer: the initial value; or, with `shape`, the name of an initializer, an `Initializer`, or a
            function of shape and dtype.
        shape: its sizes, for an initializer.
        dtype: its dtype; unless given, the dtype of the value, or the default float type for an initializer.
        trainable: whether training updates it.
        autocast: must be a boolean; see above.
        aggregation: how a distribution strategy combines the values of replicas: `"none"`, `"mean"`,
            `"sum"` or `"only_first_replica"`.
        synchronization: when it does: `"auto"`, `"none"`, `"on_write"` or `"on_read"`.
        name: name without `/`; `None` for `variable`, `variable_1`, ...
        layout: must be `None`: devices are up to `tf.distribute`.

    Raises:
        ValueError: for an initializer without `shape`, and arguments that are not as above.

    Example:
        >>> steps = tfkit.Variable(0, name="steps")
        >>> _ = steps.assign_add(2.0)  # Cast, as Keras does
        >>> int(steps), steps.dtype.name, steps.path
        (2, 'int32', 'steps')
        >>> tfkit.Variable("ones", shape=(2,)).numpy()
        array([1., 1.], dtype=float32)
    """

    path: str
    label: str
    regularizer: Any = None
    overwrite_with_gradient = False
    _frozen = False
    # How many calls in progress read a value that was given for it: tapes must not see the variable.
    replaced = 0
    # Returns the bookkeeping of the layer whose traces have read the settings of its weight.
    owner: Callable[[], Any] | None = None

    def __new__(
        cls,
        initializer: Any,
        shape: Any = None,
        dtype: Any = None,
        trainable: bool = True,
        autocast: bool = True,
        aggregation: str | None = "none",
        synchronization: str | None = "auto",
        name: str | None = None,
        layout: Any = None,
    ) -> Any:
        """Makes a variable of TensorFlow's class."""
        name = auto_name("variable") if check_name(name) is None else name
        if layout is not None:
            raise ValueError(
                f"`layout` must be None: tfkit places variables by `tf.distribute`. Received: {layout!r}"
            )
        if not isinstance(autocast, bool):
            raise ValueError(f"`autocast` must be a boolean. Received: autocast={autocast!r}")
        known = {it.name.lower(): it for it in tf.VariableSynchronization}
        synchronization = "none" if synchronization is None else synchronization
        if synchronization not in list(known):
            raise ValueError(
                f"Unknown `synchronization`. Expected one of {list(known)}. Received: {synchronization!r}"
            )
        first = _first_value(initializer, shape)
        if tf.is_tensor(first):
            shape, dtype = first.shape, first.dtype if dtype is None else dtype
        return make_variable(
            f"variable '{name}'",
            shape,
            first,
            dtype,
            name,
            trainable=bool(trainable),
            aggregation=aggregation,
            synchronization=known[synchronization],
        )

    @property
    def name(self) -> str:
        """The last part of `path`."""
        return vars(self).get("label") or super().name.partition(":")[0]  # type: ignore[misc]

    # By these names libraries rename weights of Keras.
    _name = _alias("label")
    _path = _alias("path")

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def value(self) -> Value:
        """The value, which can be used like a tensor; `variable.value()` is a tensor, as in TensorFlow."""
        return Value(self)

    def _read(self) -> tf.Tensor:
        return super().value()  # type: ignore[misc]

    @property
    def trainable(self) -> bool:
        """Whether training updates it; gradients with respect to it can be computed in any case."""
        # TensorFlow's methods that read the variable ask, in order to notify tapes.
        return self.trained and not self.replaced

    @trainable.setter
    def trainable(self, trainable: bool) -> None:
        # TensorFlow's own flag permanently determines whether tapes watch the variable.
        if trainable:
            private.set_trainable(self, True)
        self._frozen = not trainable

    @property
    def made_trainable(self) -> bool:
        """Whether it was made as trainable, frozen or not: such variables come first in `weights`."""
        return bool(self.replaced or super().trainable)  # type: ignore[misc]

    @property
    def trained(self) -> bool:
        """Whether training updates it, also while a value is given for it."""
        return self.made_trainable and not self._frozen

    @property
    def constraint(self) -> Any:
        """The function that projects it after each update, or `None`."""
        return super().constraint  # type: ignore[misc]

    @constraint.setter
    def constraint(self, constraint: Any) -> None:
        private.set_constraint(self, constraint)

    def _value_given(self) -> tf.Tensor | None:
        """Returns the value that is given for it; without one, notifies tapes of a frozen variable."""
        if (given := given_values.of(self)) is not None:
            return given.read()
        # TensorFlow's methods that read a variable check `trainable`, and notify no tape if it is false.
        if self.made_trainable and not self.trainable and not self.replaced:
            private.tape.variable_accessed(self)
        return None

    def sparse_read(self, indices: Any, name: str | None = None) -> tf.Tensor:
        """Returns the rows at given indices."""
        given = self._value_given()
        return super().sparse_read(indices, name) if given is None else tf.gather(given, indices)  # type: ignore[misc]

    def gather_nd(self, indices: Any, name: str | None = None) -> tf.Tensor:
        """Returns the slices at given indices."""
        given = self._value_given()
        return super().gather_nd(indices, name) if given is None else tf.gather_nd(given, indices)  # type: ignore[misc]

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _READ_BY_STEPS:
            _check_setting(name, value)
        super().__setattr__(name, value)
        owner = self.owner and self.owner()
        if owner is not None and name in _READ_BY_STEPS:
            owner.changed(f"{self.name}.{name}")

    def assign(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """Sets the value, cast to the dtype of the variable.

        Raises:
            ValueError: for a value of a different shape.
            TypeError: for strings in place of numbers, and vice versa.
        """
        value = _assignable(self, value)
        about_to_change(self)
        if (given := given_values.of(self)) is not None and given.change(lambda old: value):
            return self
        if replicas.is_combined(self):
            return self._assign_together("assign", value)
        return super().assign(value, *args, **kwargs)  # type: ignore[misc]

    def assign_add(self, delta: Any = None, *args: Any, value: Any = None, **kwargs: Any) -> Any:
        """Adds a value that is cast to the dtype, and broadcast to the shape, of the variable.

        Its name is TensorFlow's, `delta`, or Keras's, `value`.
        """
        delta = _assignable(self, value if delta is None else delta, broadcast=True)
        about_to_change(self)
        if (given := given_values.of(self)) is not None and given.change(lambda old: old + delta):
            return self
        if replicas.is_combined(self):
            return self._assign_together("assign_add", delta)
        return super().assign_add(delta, *args, **kwargs)  # type: ignore[misc]

    def assign_sub(self, delta: Any = None, *args: Any, value: Any = None, **kwargs: Any) -> Any:
        """Subtracts a value that is cast to the dtype, and broadcast to the shape, of the variable.

        Its name is TensorFlow's, `delta`, or Keras's, `value`.
        """
        delta = _assignable(self, value if delta is None else delta, broadcast=True)
        about_to_change(self)
        if (given := given_values.of(self)) is not None and given.change(lambda old: old - delta):
            return self
        if replicas.is_combined(self):
            return self._assign_together("assign_sub", delta)
        return super().assign_sub(delta, *args, **kwargs)  # type: ignore[misc]

    def _assign_together(self, method: str, value: tf.Tensor) -> Any:
        """Assigns in a step of a strategy: to all copies what one device would assign.

        A metric's variable, which is added up when it is read, has a value on each replica.
        """
        is_sum = getattr(self, "synchronization", None) == tf.VariableSynchronization.ON_READ
        if is_sum and private.is_copied(self):
            return getattr(super(), method)(replicas.part_of_sum(self, value))
        value = replicas.value_for_all(self, value)

        def assign(strategy: Any, value: Any) -> None:
            strategy.extended.update(
                self, lambda copy, value: getattr(copy, method)(value), args=(value,), group=False
            )

        replicas.merged(assign, value)
        return self


def _check_setting(name: str, value: Any) -> None:
    """Refuses a setting that the next step could not use."""
    if name in ("constraint", "regularizer"):
        if value is not None and not callable(value):
            raise ValueError(
                f"Invalid value for attribute `{name}`. Expected a function of the weight, such as an "
                f"instance of `tfkit.{name}s.{name.capitalize()}`, or None. Received: {value!r}"
            )
    elif name == "overwrite_with_gradient" and not isinstance(value, bool):
        raise TypeError(f"`overwrite_with_gradient` must be a boolean. Received: {value!r}")


def _first_value(initializer: Any, shape: Any) -> Any:
    """Returns an initializer as a function of shape and dtype; a value as a tensor."""
    if isinstance(initializer, (str, dict)):
        initializer = resolve(initializer, "initializers")
    if not callable(initializer) or isinstance(initializer, Value):
        with tf.init_scope():  # A number must not be part of a trace in progress.
            return tf.convert_to_tensor(initializer)
    if shape is None:
        raise ValueError(
            "When creating a Variable from an initializer, the `shape` argument should be specified. "
            f"Received: initializer={initializer} and shape={shape}"
        )
    return initializer


def _assignable(variable: Any, value: Any, broadcast: bool = False) -> Any:
    """Returns `value` in the dtype of a variable, and in its shape."""
    if isinstance(value, tf.distribute.DistributedValues):
        return value
    dtype = variable.dtype
    if not tf.is_tensor(value) and not isinstance(value, Value):
        try:
            value = np.asarray(value)
        except (NotImplementedError, TypeError):  # A list of tensors that are being traced.
            value = tf.convert_to_tensor(value)
        else:
            if value.dtype.kind in "biuf":
                value = value.astype(dtype.as_numpy_dtype, copy=False)
            elif value.dtype.kind == "O" and dtype != tf.string:
                raise TypeError(
                    f"Variable '{variable.path}' has dtype {dtype.name}. Received: {brief(value.tolist())}"
                )
    value = tf.convert_to_tensor(value)
    if (value.dtype == tf.string) != (dtype == tf.string):
        raise TypeError(
            f"Variable '{variable.path}' has dtype {dtype.name}. "
            f"Received: a value of dtype {value.dtype.name}"
        )
    if value.dtype != dtype:
        value = tf.cast(value, dtype)
    shape = variable.shape
    known = value.shape.is_fully_defined() and shape.is_fully_defined()
    if broadcast and known and tf.broadcast_static_shape(value.shape, shape) == shape:
        return value if value.shape == shape else tf.broadcast_to(value, shape)
    if not value.shape.is_compatible_with(shape):
        raise ValueError(
            "The shape of the target variable and the shape of the target value must match. "
            f"Variable '{variable.path}' has shape {tuple(shape)}. Received: a value of shape {value.shape}"
        )
    return value


def _told(name: str) -> Callable[..., Any]:
    """Returns a method that changes a variable in parts, and notifies a `StatelessScope`."""

    def change(self: Any, *args: Any, **kwargs: Any) -> Any:
        about_to_change(self)
        if (given := given_values.of(self)) is not None:
            given.store()
        return getattr(super(Variable, self), name)(*args, **kwargs)

    change.__name__ = name
    return change


_PARTS = ("add", "div", "max", "min", "mul", "sub", "update", "nd_add", "nd_sub", "nd_update")
_SCATTERING = tuple(f"scatter_{part}" for part in _PARTS)
WRITING_METHODS = ("assign", "assign_add", "assign_sub", *_SCATTERING)

for _name in _SCATTERING:
    setattr(Variable, _name, _told(_name))


@functools.cache
def class_over(base: type, added: type = Variable) -> type:
    """Returns a class of TensorFlow's with an additional base in front."""
    # `Variable(...)` would call the constructor of TensorFlow's class on its result.
    own = {"__init__": lambda self, *args, **kwargs: None, "__module__": Variable.__module__}
    return type(base)("Variable", (added, base), own)


_LARGE = 1 << 18  # elements: below this size drawing takes little time and memory
_ALIGNMENT = 64  # the alignment of TensorFlow's tensors


def make_variable(
    what: str,
    shape: Any,
    value: Any,
    dtype: Any = None,
    name: str | None = None,
    *,
    trainable: bool = False,
    aggregation: str | None = "none",
    counted_as: Literal["stored", "other"] | None = "other",
    variable_class: Any = tf.Variable,
    may_be_deferred: bool = False,
    **options: Any,
) -> Any:
    """Makes a variable outside of any trace in progress.

    Args:
        what: a description, for messages: `"weight 'kernel' of layer 'dense'"`.
        shape: its sizes, all known; one integer for a vector, `None` for a scalar.
        value: a function of shape and dtype that returns the initial value, or that value.
        dtype: its dtype, the default float type unless given.
        name: name of the variable.
        trainable: whether training updates it.
        aggregation: how a distribution strategy combines the values of replicas.
        counted_as: whether a file holds it unchanged, and so limits its size; `None` if a file does not
            limit its size.
        variable_class: its class.
        may_be_deferred: whether it may hold zeros at first where a file is about to give it values.
        **options: further arguments of the class.

    Raises:
        ValueError: for sizes that are not known or negative, for more memory than there may be, for a first
            value of a different shape, and for an unknown aggregation.
    """
    dtype = standardize_dtype(dtype)
    if aggregation not in AGGREGATIONS:
        raise ValueError(
            f"Unknown `aggregation` of {what}. Expected one of {list(AGGREGATIONS)}. "
            f"Received: {aggregation!r}"
        )
    shape = _checked_shape(shape, what)
    if counted_as is not None:
        budget.spend(shape, dtype, what[:1].upper() + what[1:], counted_as)
    with tf.init_scope(), replicas.scope():
        deferred = budget.deferred_weights() if may_be_deferred else None
        is_drawn = callable(value) and not tf.is_tensor(value)
        draw = functools.partial(value, shape, dtype=dtype) if is_drawn else None
        if draw is None or dtype not in ("float32", "float64"):
            deferred = None
        if deferred is not None:
            value = _untouched_zeros(shape, dtype) if _is_large(shape) else tf.zeros(shape, dtype)
        elif draw is not None:
            value = draw()
        value = tf.cast(tf.convert_to_tensor(value), dtype)
        if not value.shape.is_compatible_with(shape):
            raise ValueError(
                f"The initializer of {what} gave shape {value.shape}. Expected: {shape}"
            )
        variable = variable_class(
            value,
            trainable=trainable,
            dtype=dtype,
            name=operation_name(name or "variable", "variable"),
            aggregation=AGGREGATIONS[aggregation],
            **options,
        )
    while isinstance(variable, private.AggregatingVariable | private.CachingVariable):
        # A strategy with parameter servers wraps variables; sums and caches are not needed here.
        variable = variable.get()
    if not isinstance(variable, tf.Variable):
        raise ValueError(
            f"The strategy has divided {what} by its `variable_partitioner`, and a layer needs it whole. "
            "Make the `ParameterServerStrategy` without `variable_partitioner`."
        )
    if deferred is not None and draw is not None:
        deferred.append((variable, draw))
    adopt(variable, "/".join(filter(None, (current_path(), name or "variable"))))
    return variable


def adopt(variable: Any, path: str) -> None:
    """Gives a variable of TensorFlow's the interface of `Variable`.

    Args:
        variable: the variable.
        path: its path.
    """
    if not isinstance(variable, Variable):
        # Its class depends on the strategy and on scopes of `tf.variable_creator_scope`.
        base: Any = type(variable)
        variable.__class__ = class_over(base)
    variable.label = path.rpartition("/")[2]
    variable.path = path


def _is_large(shape: tuple[int, ...]) -> bool:
    return math.prod(shape) >= _LARGE


def _untouched_zeros(shape: tuple[int, ...], dtype: str) -> tf.Tensor:
    """Returns zeros in memory that the operating system provides on the first write, which never happens."""
    size = math.prod(shape) * tf.as_dtype(dtype).size
    memory = np.zeros(size + _ALIGNMENT, "uint8")
    first = -memory.ctypes.data % _ALIGNMENT
    zeros = memory[first : first + size].view(dtype).reshape(shape)
    return tf.experimental.dlpack.from_dlpack(zeros.__dlpack__())


def _checked_shape(shape: Any, what: str) -> tuple[int, ...]:
    sizes = () if shape is None else (shape,) if isinstance(shape, int) else plain_sizes(shape)
    if not all(isinstance(size, int) and size >= 0 for size in sizes):
        raise ValueError(
            f"Cannot make {what} with shape {sizes}. Expected non-negative integers; a `None` means that the "
            "input's size along an axis that the variable depends on is not known: give it in "
            "`Input(shape=...)` or in `build()`."
        )
    return sizes
