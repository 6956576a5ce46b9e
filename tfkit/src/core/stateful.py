"""The base class of `Layer`: weights and layers in attributes, found and listed in order."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.members import container_sizes, holds_members
from tfkit.src.base.names import check_name
from tfkit.src.core import attributes, tracking
from tfkit.src.core.state import LayerState
from tfkit.src.weights.variables.together import assign_all, restorer
from tfkit.src.weights.variables.variables import Variable

# TensorFlow is untyped: below a base class of type Any, every attribute would be accepted.
if TYPE_CHECKING:
    from tfkit.src.metrics.base import Metric

    class _Module:
        submodules: tuple[Any, ...]
        name: Any
        built: Any
        name_scope: Any
        add_weight: Any

        def _tfkit_children(self, children: dict[str, Any], save_type: str) -> dict[str, Any]: ...

else:
    from tfkit.src.borrowed.private import Module as _Module


class Stateful(_Module):
    """A module whose weights are its own and the weights of the layers in its attributes.

    Layers are found in attributes and in lists, tuples and dicts in them, even if they are added later.
    Weights are in order of creation, trainable ones first.
    """

    _tfkit: LayerState
    _name: str
    _tfkit_auto_named: bool
    _trainable: bool
    _tfkit_settings: Any = None  # The settings passed to `compile`, for a model.
    _tfkit_not_read_in_calls: frozenset[str] = frozenset()
    # Further attributes that tfkit reads as settings, or replaces later: they hold no members.
    _tfkit_own_settings: tuple[str, ...] = ()
    # Whether the class needs no `build`, and is built from the beginning.
    _tfkit_built_at_once = False
    # Whether `save_own_variables` stores all that `save_assets` writes, which then serves Keras's files only.
    _tfkit_assets_are_variables = False
    # The number of outputs stored in a file by something other than a weight, for example a vocabulary.
    _tfkit_known_size: int | None = None
    # Attributes other than variables that are read from files.
    _tfkit_set_by_files: tuple[str, ...] = ()
    # Arguments that configurations omit at these values, as Keras does.
    _tfkit_omitted_from_config: Mapping[str, Any] = {}

    @property
    def name(self) -> str:
        """The name of the layer."""
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        check_name(name)
        self._name, self._tfkit_auto_named = name, False

    @property
    def quantization_mode(self) -> str | None:
        """The mode of the layer's quantization, such as `"int8"`; `None` where nothing is quantized."""
        layer = self._tfkit.layer
        return layer.dtype_policy.of(layer).quantization_mode

    def quantize(self, mode: str | None = None, type_check: bool = True, config: Any = None) -> Any:
        """Replaces weights by integers, in layers that can do that.

        Example:
            >>> layer = tfkit.layers.Dense(4)
            >>> layer.build((None, 8))
            >>> layer.quantize("int8")
            >>> layer.quantization_mode, layer.kernel.dtype
            ('int8', tf.int8)
        """
        raise NotImplementedError(f"Layer {type(self).__name__} does not have a `quantize` method.")

    def _tfkit_members(self) -> list[tuple[str, Any]]:
        """Returns direct members with their paths; containers of layers choose their own paths."""
        return tracking.members_of(self)

    @shortened
    def __setattr__(self, name: str, value: Any) -> None:
        # A class may set attributes before it calls `super().__init__()`: they are stored unchanged.
        if self._tfkit.initialized:
            attributes.check_may_set(self, name, value)
            value = attributes.resolved(self, name, value)
            attributes.hand_to_weight(self, name, value)
        attributes.check_name(self, name, value)
        self._tfkit_set(name, value)

    def _tfkit_set(self, name: str, value: Any) -> None:
        """Sets an attribute without the checks: one of tfkit's own, or one that is restored."""
        if name not in self._tfkit_not_read_in_calls:
            self._tfkit.changed(name)
        if isinstance(value, (list, tuple, dict)):
            object.__setattr__(self, name, value)  # `tf.Module` would wrap a container.
        else:
            super().__setattr__(name, value)
        if holds_members(value):
            self._tfkit.attached[name] = tracking.tick()
            # What lists have got in the meantime comes before the next member.
            sizes = container_sizes(vars(self))
            if sizes != self._tfkit.sizes and any(tracking.walk(name, value)):
                self._tfkit.sizes = sizes
                tracking.members_of(self)

    def __delattr__(self, name: str) -> None:
        weight = vars(self).get(name)
        self._tfkit.weights = [kept for kept in self._tfkit.weights if kept is not weight]
        self._tfkit.changed(name)
        super().__delattr__(name)

    def _tfkit_children(self, children: dict[str, Any], save_type: str) -> dict[str, Any]:
        """Returns children for `tf.train.Checkpoint`, including members in containers."""
        children = super()._tfkit_children(children, save_type)
        return {**dict(self._tfkit_members()), **children}

    def add_variable(
        self,
        shape: Any,
        initializer: Any,
        dtype: Any = None,
        trainable: bool = True,
        autocast: bool = True,
        regularizer: Any = None,
        constraint: Any = None,
        name: str | None = None,
    ) -> tf.Variable:
        """Makes a weight like `add_weight()`, but `shape` and `initializer` are required.

        Example:
            >>> layer = tfkit.layers.Layer()
            >>> layer.num_calls = layer.add_variable((), "zeros", dtype="int64", trainable=False)
            >>> layer.num_calls.trainable
            False
        """
        options = {"trainable": trainable, "autocast": autocast, "regularizer": regularizer}
        return self.add_weight(
            shape, initializer, dtype, constraint=constraint, name=name, **options
        )

    def _tfkit_listed(self, seeds: bool, trained: bool | None = None) -> list[tf.Variable]:
        """Returns weights and, if `seeds`, seed states: all of them, the trained ones, or the others."""
        found = tracking.variables_of(self, seeds)
        return [variable for variable, is_trained in found if trained in (None, is_trained)]

    @property
    def weights(self) -> list[tf.Variable]:
        """Weights of this layer, trainable ones first, then of the layers inside, each once."""
        return self._tfkit_listed(seeds=False)

    @property
    def trainable_weights(self) -> list[tf.Variable]:
        """The weights that training changes."""
        return self._tfkit_listed(seeds=False, trained=True)

    @property
    def non_trainable_weights(self) -> list[tf.Variable]:
        """The weights that training does not change."""
        return self._tfkit_listed(seeds=False, trained=False)

    @property
    def variables(self) -> list[tf.Variable]:
        """Weights and the states of seed generators."""
        return self._tfkit_listed(seeds=True)

    @property
    def trainable_variables(self) -> list[tf.Variable]:
        """The same as `trainable_weights`."""
        return self.trainable_weights

    @property
    def non_trainable_variables(self) -> list[tf.Variable]:
        """The variables that training does not change by gradients, seed states included."""
        return self._tfkit_listed(seeds=True, trained=False)

    @property
    def metrics(self) -> list[Metric]:
        """Metrics of this layer and of the layers inside."""
        return [metric for _, metric in tracking.named_metrics(self)]

    @property
    def metrics_variables(self) -> list[tf.Variable]:
        """The variables of `metrics`."""
        return [variable for metric in self.metrics for variable in metric.variables]

    @property
    def trainable(self) -> bool:
        """Whether training changes the weights; setting it also sets it for the sublayers."""
        return self._trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._trainable = self._tfkit.thawed = bool(value)
        for weight in tracking.own_weights(self):
            if isinstance(weight, Variable) and weight.made_trainable:
                weight.trainable = value
        for layer in tracking.sublayers(self):
            layer.trainable = value

    def count_params(self) -> int:
        """Returns the number of scalars in the weights.

        Example:
            >>> layer = tfkit.layers.Dense(2)
            >>> layer.build((None, 3))
            >>> layer.count_params()
            8
        """
        if not self.built:
            raise ValueError(
                f"You tried to call `count_params` on layer '{self.name}', but the layer isn't built. "
                "Build it with `layer.build(input_shape)`, or call it on some data."
            )
        return sum(math.prod(weight.shape) for weight in self.weights)

    def get_weights(self) -> list[np.ndarray]:
        """Returns the values of `weights`.

        Example:
            >>> layer = tfkit.layers.Dense(2)
            >>> layer.build((None, 3))
            >>> [array.shape for array in layer.get_weights()]
            [(3, 2), (2,)]
        """
        return [weight.numpy() for weight in self.weights]

    @shortened
    def set_weights(self, weights: list[Any]) -> None:
        """Assigns values to `weights`, all or none.

        Raises:
            ValueError: if the number of values or a shape differs; no weight has changed then.

        Example:
            >>> layer = tfkit.layers.Dense(1)
            >>> layer.build((None, 2))
            >>> layer.set_weights([[[1.0], [2.0]], [0.5]])
            >>> float(layer(np.ones((1, 2)))[0, 0])
            3.5
        """
        assign_all(self.weights, weights, f"layer '{self._tfkit.path}'")

    def save_own_variables(self, store: Any) -> None:
        """Stores the layer's own weights in `store`, a dict of arrays; weights of sublayers are not stored.

        A layer that overrides it (and `load_own_variables`) defines itself what a file stores of it.

        Example:
            >>> layer = tfkit.layers.Dense(2)
            >>> layer.build((None, 3))
            >>> store = {}
            >>> layer.save_own_variables(store)
            >>> {key: np.shape(value) for key, value in store.items()}
            {'0': (3, 2), '1': (2,)}
        """
        for index, weight in enumerate(tracking.own_weights(self)):
            store[str(index)] = weight.numpy()

    def _tfkit_keras_variables(self) -> dict[str, Any]:
        """Returns what a file of Keras stores of a layer that defines its own stored variables."""
        return self._tfkit_stored()

    def _tfkit_stored(self) -> dict[str, Any]:
        """Returns the dict that `save_own_variables` fills."""
        store: dict[str, Any] = {}
        self.save_own_variables(store)
        return store

    def _tfkit_restorer(self) -> Callable[[], None]:
        """Returns a function that restores the present values of all that loading from a file may change."""
        return restorer(self.variables)

    @shortened
    def load_own_variables(self, store: Any) -> None:
        """Assigns the weights that `save_own_variables` stored in `store`.

        Example:
            >>> layer = tfkit.layers.Dense(1)
            >>> layer.build((None, 1))
            >>> layer.load_own_variables({"0": np.array([[2.0]]), "1": np.array([1.0])})
            >>> float(layer(np.ones((1, 1)))[0, 0])
            3.0
        """
        weights = tracking.own_weights(self)
        if sorted(store, key=str) != sorted(map(str, range(len(weights)))):
            raise ValueError(
                f"Layer {self._tfkit.title} has {len(weights)} variables of its own, stored under "
                f'"0", "1", ... Received the keys {list(store)}. Where `save_own_variables()` stores '
                "something else, `load_own_variables()` must be overridden to read it."
            )
        values = [store[str(index)] for index in range(len(weights))]
        assign_all(weights, values, f"layer '{self._tfkit.path}'")
