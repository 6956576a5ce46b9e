"""`MultiOptimizer`, which updates different weights by different optimizers, and `OptimizerMap`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from typing import Any

import tensorflow as tf

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.registry.serialization import deserialize_keras_object, serialize_keras_object
from tfkit.src.optimizers import distribution
from tfkit.src.optimizers.base import Optimizer
from tfkit.src.optimizers.loss_scale import LossScaleOptimizer
from tfkit.src.weights.variables.name_scope import variable_path


class OptimizerMap(MutableMapping[str, Optimizer]):
    """A dict from paths of weights to optimizers, for `MultiOptimizer`.

    A key is a path such as `encoder/dense/kernel`, or a regular expression that the whole path matches, such
    as `encoder/.*`.

    Args:
        default_optimizer: optimizer of all other weights.
        optimizer_map: dict from paths and expressions to optimizers; `None` for an empty one.

    Raises:
        TypeError: for a default that is not an optimizer.
        ValueError: for a key that is not a string or is there already, and for a value that is not an
            optimizer, or one that holds others.

    Example:
        >>> optimizers = OptimizerMap(
        ...     tfkit.optimizers.SGD(), {"encoder/.*": tfkit.optimizers.Adam()}
        ... )
        >>> (
        ...     type(optimizers["encoder/dense/kernel"]).__name__,
        ...     type(optimizers["head/bias"]).__name__,
        ... )
        ('Adam', 'SGD')
    """

    @shortened
    def __init__(
        self, default_optimizer: Optimizer, optimizer_map: dict[str, Optimizer] | None = None
    ) -> None:
        if not isinstance(default_optimizer, Optimizer):
            raise TypeError(
                "`default_optimizer` must be an optimizer, such as `optimizers.Adam()`. "
                f"Received: {default_optimizer!r}"
            )
        _check_may_be_inside(default_optimizer)
        self._default = default_optimizer
        self._found: dict[str, Optimizer] = {}
        for key, optimizer in (optimizer_map or {}).items():
            self[key] = optimizer

    @property
    def default_optimizer(self) -> Optimizer:
        """The optimizer of weights that no key matches."""
        return self._default

    def __call__(self, variable: Any) -> Optimizer:
        """Returns the optimizer of a variable, by its path."""
        return self[variable.path]

    def __getitem__(self, key: str) -> Optimizer:
        """Returns the optimizer of a path.

        Raises:
            ValueError: for a path that several expressions match.
        """
        # An exact path comes first: it may contain characters with a meaning in expressions.
        if key in self._found:
            return self._found[key]
        matching = [pattern for pattern in self._found if re.fullmatch(pattern, key)]
        if len(matching) > 1:
            raise ValueError(
                f"Path {key!r} matches several keys of the OptimizerMap: {matching}. Make the expressions "
                "such that one of them matches."
            )
        return self._found[matching[0]] if matching else self._default

    @shortened
    def __setitem__(self, key: str, optimizer: Optimizer) -> None:
        """Enters an optimizer."""
        if not isinstance(key, str):
            raise ValueError(f"key must be a string. Received: {key!r}")
        if key in self._found:
            raise ValueError(
                f"{key!r} already exists in the OptimizerMap, with {self._found[key]!r}. Delete it first."
            )
        if not isinstance(optimizer, Optimizer):
            raise ValueError(
                "A value must be an optimizer, such as `optimizers.Adam()`. "
                f"Received: {optimizer!r} for {key!r}"
            )
        _check_may_be_inside(optimizer)
        self._found[key] = optimizer

    def __delitem__(self, key: str) -> None:
        del self._found[key]

    def __contains__(self, key: object) -> bool:
        return key in self._found

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments, as data."""
        return {
            "default_optimizer": serialize_keras_object(self._default),
            "optimizer_map": {
                key: serialize_keras_object(optimizer) for key, optimizer in self._found.items()
            },
        }

    @classmethod
    @shortened
    def from_config(
        cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None
    ) -> OptimizerMap:
        """Returns the map that `get_config` describes, of new optimizers."""
        known = {
            key: deserialize_keras_object(each, custom_objects)
            for key, each in config["optimizer_map"].items()
        }
        default = deserialize_keras_object(config["default_optimizer"], custom_objects)
        return cls(default, known)


class MultiOptimizer(Optimizer):
    """Updates each weight by the optimizer that a map, or a function, names for it.

    It counts its updates itself. Each of `optimizers` has its own learning rate, which
    `callbacks.LearningRateScheduler` and `callbacks.ReduceLROnPlateau` set, too. Loss scaling is done here,
    once: the inner optimizers' `loss_scale_factor` is set to `None`.

    Args:
        optimizer_map: an `OptimizerMap`, or a function of a variable that returns an optimizer. Only a map
            is saved in files.
        loss_scale_factor: factor by which `scale_loss()` multiplies the loss and `apply()` divides
            gradients; `None` for 1.
        name: name of the optimizer; `None` for one that is made.

    Raises:
        TypeError: for a map that cannot be called, and for a function that returns no optimizer.

    Example:
        >>> known = OptimizerMap(tfkit.optimizers.SGD(1.0), {"scale": tfkit.optimizers.SGD(0.1)})
        >>> optimizer = MultiOptimizer(known)
        >>> scale, shift = tfkit.Variable(1.0, name="scale"), tfkit.Variable(1.0, name="shift")
        >>> optimizer.apply([tf.constant(1.0), tf.constant(1.0)], [scale, shift])
        >>> f"{float(scale):.1f} {float(shift):.1f}"
        '0.9 0.0'
    """

    @shortened
    def __init__(
        self,
        optimizer_map: OptimizerMap | Callable[[Any], Optimizer],
        loss_scale_factor: float | None = None,
        name: str | None = None,
    ) -> None:
        if not callable(optimizer_map):
            raise TypeError(
                "`optimizer_map` must be an OptimizerMap, or a function of a variable that returns an "
                f"optimizer. Received: {optimizer_map!r}"
            )
        super().__init__(learning_rate=0.0, loss_scale_factor=loss_scale_factor, name=name)
        self.optimizer_map = optimizer_map
        self._optimizers: list[Optimizer] = []
        self._chosen: dict[int, int] = {}  # The index of the optimizer of each variable.
        if isinstance(optimizer_map, OptimizerMap):
            for optimizer in (*optimizer_map.values(), optimizer_map.default_optimizer):
                self._index_of(optimizer)

    @property
    def optimizers(self) -> list[Optimizer]:
        """The inner optimizers, each once: the optimizers of a map, its default last."""
        return list(self._optimizers)

    @property
    def variables(self) -> list[tf.Variable]:
        """Its own variables, then the variables of the inner optimizers."""
        inside = [variable for optimizer in self._optimizers for variable in optimizer.variables]
        return [*self._tfkit_own_variables, *inside]

    @property
    def learning_rate(self) -> Any:
        """Raises an error: each of `optimizers` has its own."""
        raise AttributeError(
            "A MultiOptimizer has no learning rate of its own. Read the rates of its `optimizers`."
        )

    @learning_rate.setter
    def learning_rate(self, learning_rate: Any) -> None:
        raise AttributeError(
            "A MultiOptimizer has no learning rate of its own. Set the rates of its `optimizers`. "
            f"Received: {learning_rate!r}"
        )

    def _index_of(self, optimizer: Optimizer) -> int:
        """Returns the index of an inner optimizer, which is added if it is new."""
        if not isinstance(optimizer, Optimizer):
            raise TypeError(
                f"`optimizer_map` must return an optimizer for each variable. Received: {optimizer!r}"
            )
        for index, known in enumerate(self._optimizers):
            if known is optimizer:
                return index
        _check_may_be_inside(optimizer)
        optimizer.loss_scale_factor = None
        # A function may name an optimizer late: models that are trained with this one already must
        # see changes of the new one, too.
        for settings in self._tfkit_untracked.owners:
            optimizer.belongs_to(settings)
        # A new list: only an attribute that is set lets compiled steps be traced again.
        self._optimizers = [*self._optimizers, optimizer]
        return len(self._optimizers) - 1

    def belongs_to(self, settings: Any) -> None:
        """Notes that a model is trained with this optimizer, and so with those inside."""
        super().belongs_to(settings)
        for optimizer in self._optimizers:
            optimizer.belongs_to(settings)

    def leaves(self, settings: Any) -> None:
        """Notes that a model is trained with a different optimizer from now on."""
        super().leaves(settings)
        for optimizer in self._optimizers:
            optimizer.leaves(settings)

    def _tfkit_parts(self) -> list[Any]:
        inner = [part for optimizer in self._optimizers for part in optimizer._tfkit_parts()]
        return [*super()._tfkit_parts(), *inner]

    @shortened
    def build(self, var_list: Sequence[tf.Variable]) -> None:
        """Chooses an optimizer for each variable, and builds them.

        Args:
            var_list: trainable variables of a model.
        """
        if self.built:
            return
        chosen = [self._index_of(self.optimizer_map(variable)) for variable in var_list]
        for index, optimizer in enumerate(self._optimizers):
            own = [v for v, each in zip(var_list, chosen, strict=True) if each == index]
            if own:
                optimizer.build(own)
        self._chosen = {
            distribution.key(variable): index
            for variable, index in zip(var_list, chosen, strict=True)
        }
        super().build(var_list)

    def _grouped(self, variables: Sequence[tf.Variable]) -> Iterator[tuple[Optimizer, list[int]]]:
        """Returns the optimizers with the positions of their variables."""
        chosen = [self._chosen[distribution.key(variable)] for variable in variables]
        for index, optimizer in enumerate(self._optimizers):
            positions = [position for position, each in enumerate(chosen) if each == index]
            if positions:
                yield optimizer, positions

    def _tfkit_clipped_unless_accumulating(
        self, gradients: list[Any], variables: list[tf.Variable]
    ) -> list[Any]:
        """Clips gradients as their optimizers do, each its own."""
        clipped = list(gradients)
        for optimizer, positions in self._grouped(variables):
            own = [gradients[position] for position in positions]
            own_variables = [variables[position] for position in positions]
            results = optimizer._tfkit_clipped_unless_accumulating(own, own_variables)
            for position, gradient in zip(positions, results, strict=True):
                clipped[position] = gradient
        return clipped

    def _tfkit_phases(self) -> tuple[Callable[[list[Any], list[tf.Variable]], None], ...]:
        """Returns one phase, which runs the phases of each optimizer."""
        return (self._run_optimizers,)

    def _run_optimizers(self, gradients: list[Any], variables: list[tf.Variable]) -> None:
        for optimizer, positions in self._grouped(variables):
            own = [gradients[position] for position in positions]
            optimizer._tfkit_run_phases(own, [variables[position] for position in positions])
        self._iterations.assign_add(1)

    def update_step(self, gradient: Any, variable: tf.Variable, learning_rate: Any) -> None:
        """Updates one variable by its optimizer."""
        index = self._chosen.get(distribution.key(variable))
        if index is None:
            raise ValueError(f"Unknown variable '{variable_path(variable)}'.")
        self._optimizers[index].update_step(gradient, variable, learning_rate)

    def finalize_variable_values(self, var_list: Sequence[tf.Variable]) -> None:
        """Sets variables to their moving averages, where their optimizers keep them."""
        for index, optimizer in enumerate(self._optimizers):
            own = [v for v in var_list if self._chosen.get(distribution.key(v)) == index]
            if own:
                optimizer.finalize_variable_values(own)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments, as data."""
        return {
            "optimizer_map": serialize_keras_object(self.optimizer_map),
            "loss_scale_factor": self.loss_scale_factor,
            "name": self.name,
        }

    @classmethod
    @shortened
    def from_config(
        cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None
    ) -> MultiOptimizer:
        """Returns the optimizer that `get_config` describes, with fresh state."""
        known = deserialize_keras_object(config["optimizer_map"], custom_objects)
        return cls(**{**config, "optimizer_map": known})


def _check_may_be_inside(optimizer: Optimizer) -> None:
    """Refuses an optimizer that holds others itself.

    Raises:
        ValueError: that says what to do.
    """
    if isinstance(optimizer, (LossScaleOptimizer, MultiOptimizer)):
        kind = type(optimizer).__name__
        raise ValueError(
            f"{kind} cannot be used inside a MultiOptimizer. Enter the optimizers that it holds. A "
            "LossScaleOptimizer must be outside: `LossScaleOptimizer(MultiOptimizer(...))`."
        )
