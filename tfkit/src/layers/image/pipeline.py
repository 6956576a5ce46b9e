"""Layers called one after the other, for `tf.data`."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Self

from tfkit.src.base.quoting import quoted
from tfkit.src.base.registry.serialization import deserialize_keras_object, serialize_keras_object
from tfkit.src.core.layer import Layer


class Pipeline(Layer):
    """Calls layers one after the other, with the outputs of each as the inputs of the next.

    It is not a model: it cannot be trained, and accepts the inputs of its layers, dictionaries too.

    Args:
        layers: the layers, a list.
        name: name of the layer, a string without `/`; `None` for one that is made from the class's name.

    Call arguments:
        inputs: the inputs of the first layer.
        training: whether layers behave as in training. Default: `True`.
        mask: a mask for the layers that accept one.

    Input shape: The input shape of the first layer.

    Output shape: The output shape of the last layer.

    Example:
        >>> layers = tfkit.layers
        >>> augment = layers.Pipeline([layers.RandomFlip(), layers.Rescaling(1 / 255)])
        >>> augment(tf.ones((2, 8, 8, 3))).shape
        TensorShape([2, 8, 8, 3])
    """

    _allow_non_tensor_positional_args = True

    def __init__(self, layers: Sequence[Layer], name: str | None = None) -> None:
        super().__init__(name=name)
        self.autocast = False
        self._pipeline_layers = list(layers)
        # Once: a call inside `tf.data` must not pass options that a layer does not accept.
        takes = [inspect.signature(layer.call).parameters for layer in self._pipeline_layers]
        self._options = [
            [name for name in ("training", "mask") if name in names] for names in takes
        ]

    @property
    def layers(self) -> list[Layer]:
        """The layers, in order."""
        return self._pipeline_layers

    def call(self, inputs: Any, training: Any = True, mask: Any = None) -> Any:
        """Returns the outputs of the last layer."""
        given = {"training": training, "mask": mask}
        outputs = inputs
        for layer, names in zip(self._pipeline_layers, self._options, strict=True):
            outputs = layer(
                outputs, **{name: given[name] for name in names if given[name] is not None}
            )
        return outputs

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {
            "name": self.name,
            "layers": [serialize_keras_object(layer) for layer in self._pipeline_layers],
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Returns a pipeline of new layers with the arguments that `config` holds."""
        if not isinstance(config.get("layers"), (list, tuple)):
            raise ValueError(
                "The configuration of a `Pipeline` must have a list of configurations under 'layers'. "
                f"Received: layers={quoted(config.get('layers'))}"
            )
        layers = [deserialize_keras_object(layer) for layer in config["layers"]]
        return cls(**{**config, "layers": layers})
