"""A layer that runs a recurrent layer over time in both directions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, Self

import tensorflow as tf

from tfkit.src.base.registry import serialization
from tfkit.src.core.layer import Layer
from tfkit.src.layers.checks import check

MERGES: dict[Any, Callable[[Any, Any], Any]] = {
    "concat": lambda forward, backward: tf.concat([forward, backward], axis=-1),
    "sum": lambda forward, backward: forward + backward,
    "ave": lambda forward, backward: (forward + backward) / 2,
    "mul": lambda forward, backward: forward * backward,
    None: lambda forward, backward: (forward, backward),
}
_SHARED = ("stateful", "return_sequences", "return_state")


class Recurrent(Protocol):
    """A layer that reads the steps of sequences in either direction."""

    go_backwards: bool
    stateful: bool
    return_sequences: bool
    return_state: bool
    input_spec: Any

    @property
    def name(self) -> str:
        """The label."""


class Bidirectional(Layer):
    """Runs a recurrent layer forward and a copy of it backward over time, and merges their outputs.

    Args:
        layer: a recurrent layer, as a description: the two that run are copies of it, unless
            `backward_layer` is given.
        merge_mode: how the outputs are merged: `"concat"` along the last axis, `"sum"`, `"mul"`
            (product), `"ave"` (mean), or `None` for a tuple of both. Default: `"concat"`.
        weights: list of initial values of the weights, with the forward layer's first; `None` to use
            the initializers.
        backward_layer: recurrent layer with `go_backwards=True` that reads backward; `None` for a
            copy of `layer`.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Call arguments:
        sequences: the inputs.
        initial_state: list of initial states, with the forward layer's first; `None` for zeros.
        mask: booleans of shape `(batch, steps)`; `None` for no mask.
        training: whether the layers are called in training mode.

    Input shape: The input shape of `layer`: `(batch, steps, ...)`.

    Output shape: The output shape of `layer`, with twice its last size for `"concat"`. With
    `return_sequences`, outputs of both directions are aligned in time. With `return_state`, a tuple of
    the outputs and the last states of both layers.

    Raises:
        ValueError: if `layer` is not a recurrent layer, if `merge_mode` is unknown, if both layers
            read in one direction, or if they differ in `stateful`, `return_sequences` or
            `return_state`.

    Reference:
        Schuster & Paliwal, "Bidirectional recurrent neural networks", 1997.

    Example:
        >>> from tfkit.layers import GRU
        >>> Bidirectional(GRU(4))(tf.ones((2, 5, 3))).shape
        TensorShape([2, 8])
    """

    def __init__(
        self,
        layer: Recurrent,
        merge_mode: str | None = "concat",
        weights: Any = None,
        backward_layer: Layer | None = None,
        **kwargs: Any,
    ) -> None:
        holds = isinstance(layer, Layer) and hasattr(layer, "go_backwards")
        check(self, holds, "layer", "a recurrent layer", layer)
        holds = backward_layer is None or isinstance(backward_layer, Layer)
        check(self, holds, "backward_layer", "a recurrent layer", backward_layer)
        check(self, merge_mode in MERGES, "merge_mode", f"one of {list(MERGES)}", merge_mode)
        super().__init__(**kwargs)
        self.forward_layer: Any = _copy(layer, "forward_")
        self.backward_layer: Any = backward_layer or _copy(layer, "backward_", go_backwards=True)
        _check_pair(self.forward_layer, self.backward_layer)
        directions: list[Any] = [self.forward_layer, self.backward_layer]
        # As in Keras: masked steps of a sequence have outputs of 0 in both directions.
        for direction in directions:
            if hasattr(direction, "zero_output_for_mask"):
                direction.zero_output_for_mask = direction.return_sequences
        self.merge_mode = merge_mode
        self._first_weights = weights
        self.stateful = layer.stateful
        self.return_sequences = layer.return_sequences
        self.return_state = layer.return_state
        self.supports_masking = True
        self.input_spec = layer.input_spec

    @property
    def layer(self) -> Layer:
        """The layer that runs forward."""
        return self.forward_layer

    @property
    def states(self) -> Any:
        """The variables that hold the states between batches, with the forward layer's first."""
        forward, backward = self.forward_layer.states, self.backward_layer.states
        return (*forward, *backward) if forward and backward else None

    def reset_state(self) -> None:
        """Sets the states that are kept between batches to zero."""
        self.forward_layer.reset_state()
        self.backward_layer.reset_state()

    reset_states = reset_state

    def build(self, sequences_shape: Any, initial_state_shape: Any = None) -> None:
        """Builds both layers."""
        for direction in (self.forward_layer, self.backward_layer):
            if not direction.built:
                direction.build(sequences_shape)
        if self._first_weights is not None:
            self.set_weights(self._first_weights)

    def call(
        self, sequences: Any, initial_state: Any = None, mask: Any = None, training: Any = None
    ) -> Any:
        """Returns both layers' outputs, merged."""
        # The first half of the states is for the forward layer.
        half = len(initial_state) // 2 if initial_state is not None else 0
        given = (initial_state[:half], initial_state[half:]) if half else (None, None)
        results = [
            direction(sequences, initial_state=state, mask=mask, training=training)
            for direction, state in zip(
                (self.forward_layer, self.backward_layer), given, strict=True
            )
        ]
        states: tuple[Any, ...] = ()
        if self.return_state:
            states = (*results[0][1:], *results[1][1:])
            results = [result[0] for result in results]
        forward, backward = (tf.cast(result, self.compute_dtype) for result in results)
        if self.return_sequences:
            backward = tf.reverse(backward, [1])  # in the order of time again
        merged = MERGES[self.merge_mode](forward, backward)
        if not self.return_state:
            return merged
        return (*merged, *states) if self.merge_mode is None else (merged, *states)

    def compute_mask(self, inputs: Any, mask: Any) -> Any:
        """Returns the inputs' mask for outputs of all steps, else `None`."""
        mask = tf.nest.flatten(mask)[0] if self.return_sequences else None
        return [mask] * (2 if self.merge_mode is None else 1)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments, with the layers in their present state."""
        config = super().get_config()
        config.pop("weights", None)
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Returns a new layer with the arguments that `config` holds."""
        # Copies of the layer are built and used here; the layer itself needs no weights.
        return super().from_config({**config, "layer": _unbuilt(config["layer"])})


def _copy(layer: Recurrent, prefix: str, **changes: Any) -> Any:
    """Returns a new layer with the configuration of `layer`, and `prefix` in its name."""
    references = serialization.References()
    with references.written():
        config = _unbuilt(serialization.serialize_keras_object(layer))
    config["config"]["name"] = prefix + layer.name.removeprefix(prefix)
    config["config"].update(changes)
    with references.read():
        return serialization.deserialize_keras_object(config)


def _unbuilt(config: Any) -> Any:
    """Returns the configuration of a layer and its sublayers, without their build configurations."""
    if isinstance(config, dict):
        return {k: _unbuilt(value) for k, value in config.items() if k != "build_config"}
    return [_unbuilt(item) for item in config] if isinstance(config, list) else config


def _check_pair(forward: Any, backward: Any) -> None:
    if forward.go_backwards == backward.go_backwards:
        raise ValueError(
            "Forward layer and backward layer should have different `go_backwards` value. Received: "
            f"forward_layer.go_backwards={forward.go_backwards}, "
            f"backward_layer.go_backwards={backward.go_backwards}"
        )
    for name in _SHARED:
        if getattr(forward, name) != getattr(backward, name):
            raise ValueError(
                "Forward layer and backward layer are expected to have the same value for attribute "
                f'"{name}", got "{getattr(forward, name)}" for forward layer and '
                f'"{getattr(backward, name)}" for backward layer'
            )
