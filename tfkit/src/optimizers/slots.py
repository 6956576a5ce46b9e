"""The variables that an optimizer owns: making, naming and listing them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tfkit.src.base.errors.never_called import Overridable
from tfkit.src.base.members import Owner
from tfkit.src.base.names import auto_name, check_name
from tfkit.src.base.registry.dtypes import standardize_dtype
from tfkit.src.base.registry.serialization import resolve
from tfkit.src.borrowed.private import Module, strategy_of_variable
from tfkit.src.engine import replicas
from tfkit.src.optimizers import checks
from tfkit.src.optimizers.overwriting import is_overwritten
from tfkit.src.weights.variables.name_scope import variable_path
from tfkit.src.weights.variables.together import assign_all, restorer
from tfkit.src.weights.variables.variables import make_variable


def constant(value: float) -> Any:
    """Returns an initializer that fills a variable with `value`."""
    return lambda shape, dtype: tf.fill(shape, tf.cast(value, dtype))


class Slot(NamedTuple):
    """The weight that an optimizer's variable belongs to, and its role; files identify it by these."""

    weight: tf.Variable
    name: str


class Values:
    """Values for the variables of a copied optimizer, in the order in which they are made.

    Slots are made when the optimizer learns which weights it trains, so their values wait here.

    Args:
        values: the values.
    """

    def __init__(self, values: list[np.ndarray]) -> None:
        self._values = list(values)

    def take(self, shape: Any, dtype: str, what: str) -> np.ndarray | None:
        """Returns the next value; `None` if there are no more.

        Raises:
            ValueError: for a variable of a different shape or dtype.
        """
        if not self._values:
            return None
        value = self._values[0]
        if value.shape != tuple(shape) or value.dtype.name != dtype:
            raise ValueError(
                f"The {what} has shape {tuple(shape)} and dtype {dtype}, but the optimizer is a copy whose "
                f"original has a variable of shape {value.shape} and dtype {value.dtype.name} there. Use it "
                "for similar weights, in the same order, or make a new optimizer."
            )
        return self._values.pop(0)

    def rest(self) -> list[np.ndarray]:
        """Returns the values that have not been used yet."""
        return list(self._values)


def _colocated(reference: Any) -> contextlib.AbstractContextManager[Any]:
    """Returns a context in which variables are made on the devices of the variable `reference`."""
    strategy: Any = tf.distribute.get_strategy()
    has_servers = isinstance(strategy, tf.distribute.ParameterServerStrategy)
    if has_servers and strategy_of_variable(reference) is not strategy:
        # A variable of the coordinator, which a user's layer has made outside of the scope: it is refused.
        return contextlib.nullcontext()
    return strategy.extended.colocate_vars_with(reference)


class SlotOwner(Overridable, Owner, Module):
    """A module that owns a flat list of variables, in the order in which they were made.

    Args:
        name: name of the object; `None` for one that is made from the class's name.
    """

    def __init__(self, name: str | None = None) -> None:
        check_name(name)
        super().__init__()  # without the name: `tf.Module` accepts only identifiers
        self._tfkit_label = auto_name(type(self).__name__) if name is None else name
        self._tfkit_own_variables: list[tf.Variable] = []
        self._tfkit_restored = Values([])

    @property
    def name(self) -> str:
        """The given name, or one made from the class's name."""
        return self._tfkit_label

    @name.setter
    def name(self, name: str) -> None:
        self._tfkit_label = name

    @property
    def variables(self) -> list[tf.Variable]:
        """Iterations, learning rate, and slots, in the order in which they were made."""
        return list(self._tfkit_own_variables)

    def add_variable(
        self,
        shape: Sequence[int],
        initializer: Any = "zeros",
        dtype: Any = None,
        aggregation: str | None = "none",
        layout: Any = None,
        name: str | None = None,
    ) -> tf.Variable:
        """Makes a variable of the optimizer itself, which belongs to no weight.

        A file identifies it by its name and, among variables with the same name, by its position. It
        identifies a slot that is made by `add_variable_from_reference` by its weight.

        Args:
            shape: without unknown sizes.
            initializer: a function of shape and dtype, or the name of an initializer.
            dtype: the default float type if `None`.
            aggregation: `"none"`, `"mean"`, `"sum"` or `"only_first_replica"`: how a distribution
                strategy combines values that replicas assign.
            layout: must be `None`: devices are up to `tf.distribute`.
            name: name of the variable.

        Returns:
            The variable, which is not trainable.

        Example:
            >>> optimizer = tfkit.optimizers.SGD()
            >>> scale = optimizer.add_variable((), initializer="ones", name="scale")
            >>> scale.numpy()
            np.float32(1.0)
        """
        if layout is not None:
            raise ValueError(
                f"`layout` must be None: tfkit places variables by `tf.distribute`. Received: {layout!r}"
            )
        return self._tfkit_make_variable(shape, initializer, dtype, aggregation, name or "variable")

    def save_own_variables(self, store: Any) -> None:
        """Puts the values of `variables` into `store`, a dict of arrays, by their indices.

        An optimizer that overrides it (and `load_own_variables`) defines itself what a file stores of it.

        Example:
            >>> weight = tfkit.Variable([1.0, 2.0])
            >>> optimizer = tfkit.optimizers.SGD()
            >>> optimizer.build([weight])
            >>> store = {}
            >>> optimizer.save_own_variables(store)
            >>> len(store) == len(optimizer.variables)
            True
        """
        for index, variable in enumerate(self.variables):
            store[str(index)] = variable.numpy()

    def load_own_variables(self, store: Any) -> None:
        """Assigns what `save_own_variables` has put into `store`, all of it or nothing.

        Raises:
            ValueError: before `build`, for a different number of values, and for one of a different shape.

        Example:
            >>> weight = tfkit.Variable([1.0, 2.0])
            >>> optimizer = tfkit.optimizers.SGD()
            >>> optimizer.build([weight])
            >>> optimizer.load_own_variables({"0": 7, "1": 0.25})
            >>> int(optimizer.iterations), float(optimizer.learning_rate)
            (7, 0.25)
        """
        expected = [str(index) for index in range(len(self.variables))]
        if sorted(store, key=str) != sorted(expected):
            raise ValueError(
                f'Optimizer \'{self.name}\' has {len(expected)} variables, stored under "0", "1", ... '
                f"Received the keys {list(store)}. An optimizer has its slots after `build()`."
            )
        # Not by `set_weights`: an optimizer without slots may have stored its variables unbuilt.
        self._tfkit_assign([store[key] for key in expected])

    def _tfkit_stores_itself(self) -> bool:
        """Whether a subclass defines what a file stores of it."""
        methods = ("save_own_variables", "load_own_variables")
        return any(getattr(type(self), name) is not getattr(SlotOwner, name) for name in methods)

    def _tfkit_restorer(self) -> Callable[[], None]:
        """Returns a function that restores the present values of all that loading from a file may change."""
        return restorer(self.variables)

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Assigns values to `variables`, all or none.

        Args:
            weights: an array, tensor or variable for each of `variables`, in their order.

        Raises:
            ValueError: before `build`, and where the number of values or a shape differs.

        Example:
            >>> weight = tfkit.Variable([1.0, 2.0])
            >>> optimizer = tfkit.optimizers.SGD()
            >>> optimizer.build([weight])
            >>> optimizer.set_weights([7, 0.25])
            >>> int(optimizer.iterations), float(optimizer.learning_rate)
            (7, 0.25)
        """
        if not getattr(self, "built", True):
            raise ValueError(
                f"You are calling `set_weights()` on optimizer '{self.name}', which has no slots yet. "
                "Call `optimizer.build(trainable_variables)` first."
            )
        self._tfkit_assign(weights)

    def _tfkit_assign(self, weights: Sequence[Any]) -> None:
        """Assigns values to `variables`, all or none."""
        variables = self.variables
        if len(weights) != len(variables):
            raise ValueError(
                f"Optimizer '{self.name}' has {len(variables)} variables. Received: {len(weights)} values"
            )
        assign_all(variables, weights, f"optimizer '{self.name}'")

    def _tfkit_make_variable(
        self,
        shape: Sequence[int],
        initializer: Any,
        dtype: Any,
        aggregation: str | None,
        name: str,
        label: str | None = None,
    ) -> tf.Variable:
        make = tf.zeros if initializer == "zeros" else resolve(initializer, "initializers")
        what = f"variable '{label or name}' of optimizer '{self.name}'"
        # A copied optimizer has values that wait for its
        # variables, in the order in which they are made.
        restored = self._tfkit_restored.take(shape, standardize_dtype(dtype), what)
        variable = make_variable(
            what,
            shape,
            make if restored is None else restored,
            dtype,
            name,
            aggregation=aggregation,
        )
        label = label or name
        variable.path = f"{self.name}/{label}"
        variable.label = label
        self._tfkit_own_variables.append(variable)
        return variable

    def add_variable_from_reference(
        self, reference_variable: tf.Variable, name: str | None = None, initializer: Any = "zeros"
    ) -> tf.Variable:
        """Makes a slot: a variable of the shape and dtype of `reference_variable`, on its device.

        Args:
            reference_variable: the variable that the slot belongs to.
            name: the slot is called by the path of the reference and this.
            initializer: a function of shape and dtype, or the name of an initializer.

        Example:
            >>> weight = tfkit.Variable([1.0, 2.0])
            >>> optimizer = tfkit.optimizers.SGD()
            >>> optimizer.add_variable_from_reference(weight, name="velocity").numpy()
            array([0., 0.], dtype=float32)
        """
        name = name or "var"
        label = f"{variable_path(reference_variable).replace('/', '_')}_{name}"
        with replicas.scope(), _colocated(reference_variable):
            # TensorFlow keeps 30 KB permanently for each name of a variable: the slots of all models share a
            # few names.
            variable = self._tfkit_make_variable(
                reference_variable.shape, initializer, reference_variable.dtype, "none", name, label
            )
        variable.slot = Slot(reference_variable, name)
        return variable

    def add_optimizer_variables(
        self,
        trainable_variables: Sequence[tf.Variable],
        name: str | Sequence[str],
        initializer: Any = "zeros",
    ) -> Any:
        """Makes slots for all variables.

        Args:
            trainable_variables: the variables that the slots belong to.
            name: name of the slot, or a list of names for several slots each.
            initializer: one for all, or a list with one for each name.

        Returns:
            A list of slots; for a list of names a tuple of lists. A variable that updates overwrite by its
            gradient has `None` there.

        Example:
            >>> weight = tfkit.Variable([1.0, 2.0])
            >>> optimizer = tfkit.optimizers.SGD()
            >>> means = optimizer.add_optimizer_variables([weight], "mean", initializer="ones")
            >>> means[0].numpy()
            array([1., 1.], dtype=float32)
        """
        checks.check_variables(trainable_variables)
        names = [name] if isinstance(name, str) else list(name)
        makers = (
            initializer if isinstance(initializer, (list, tuple)) else [initializer] * len(names)
        )
        if len(makers) != len(names):
            raise ValueError(
                "There must be as many initializers as names. "
                f"Received: name={name}, initializer={initializer}"
            )
        slots: tuple[list[Any], ...] = tuple([] for _ in names)
        # Variable by variable, as in Keras's files: all slots of a variable are neighbours.
        for variable in trainable_variables:
            needed = not is_overwritten(variable)
            for made, slot_name, maker in zip(slots, names, makers, strict=True):
                made.append(
                    self.add_variable_from_reference(variable, slot_name, maker) if needed else None
                )
        return slots[0] if isinstance(name, str) else slots
