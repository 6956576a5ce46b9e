"""A function as a layer."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Self, Unpack

import numpy as np
import tensorflow as tf

from tfkit.src.base.errors import frames
from tfkit.src.base.protocols import LayerOptions
from tfkit.src.base.registry import serialization
from tfkit.src.base.registry.constructors import NoConfigurationError
from tfkit.src.core.layer import Layer
from tfkit.src.engine.autograph import convert
from tfkit.src.layers.checks import check_type
from tfkit.src.symbolic.specs import is_shape, shapes_of


class Lambda(Layer):
    """Calls a function of the inputs: `function(inputs)`. It holds no weights.

    A layer that the function calls must be a member of another layer of the model, or frozen: an
    error names one whose weights would be neither trained nor saved.

    To be saved, the function must be defined with `def` and registered with
    `@tfkit.saving.register_keras_serializable()`: files hold its name and never its code.

    Args:
        function: function of the inputs; it gets `mask` and `training` if it accepts them.
        output_shape: shape of one sample of the outputs, or a function of the inputs' shape that
            returns the outputs' shape with the batch; for functions whose output shape TensorFlow
            cannot infer. `None` for the inferred shape. A shape that is known to be wrong is
            ignored, with a warning.
        mask: the mask of the outputs, or a function of inputs and their mask that returns it;
            `None` for no mask.
        arguments: dict of further keyword arguments of the function; `None` for none.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: Any that `function` accepts.

    Output shape: The shape of the result of `function`.

    Raises:
        ValueError: if `function` is not callable.
        InvalidArgumentError: if they turn out to have a different shape when the layer runs.

    Example:
        >>> Lambda(lambda x: x**2)(tf.constant([3.0])).numpy().tolist()
        [9.0]
    """

    def __init__(
        self,
        function: Callable[..., Any],
        output_shape: Any = None,
        mask: Any = None,
        arguments: dict[str, Any] | None = None,
        **kwargs: Unpack[LayerOptions],
    ) -> None:
        check_type(self, callable(function), "function", "a function", function, ValueError)
        super().__init__(**kwargs)
        self.function = function
        self.mask = mask
        self.arguments = arguments or {}
        self.supports_masking = mask is not None
        self._output_shape = output_shape
        self._takes = inspect.getfullargspec(function).args

    def call(self, inputs: Any, mask: Any = None, training: Any = None) -> Any:
        """Returns the result of the function."""
        given = {"mask": mask, "training": training}
        # Only what the function names: most accept only the inputs.
        wanted = {name: value for name, value in given.items() if name in self._takes}
        # By AutoGraph, so that an `if` on a tensor works in a trace.
        outputs = convert(self.function)(inputs, **{**self.arguments, **wanted})
        if self._output_shape is None:
            return outputs
        if callable(self._output_shape):
            shapes = self._output_shape(shapes_of(inputs))
        elif is_shape(self._output_shape) or tf.is_tensor(outputs):
            shapes = [None, *self._output_shape]
        else:
            shapes = [[None, *shape] for shape in self._output_shape]
        if tf.is_tensor(outputs):
            return self._with_shape(outputs, shapes)
        if isinstance(outputs, dict):
            return {name: self._with_shape(it, shapes[name]) for name, it in outputs.items()}
        pairs = zip(outputs, shapes, strict=True)
        return type(outputs)(self._with_shape(it, shape) for it, shape in pairs)

    def _with_shape(self, output: Any, shape: Any) -> Any:
        """Returns an output with the shape of `output_shape`, unless its shape is known to differ."""
        # Programs made for Keras have -1 and tensors, such as `ops.shape(x)[1]`, for unknown sizes.
        shape = [
            size if isinstance(size, (int, np.integer)) and size >= 0 else None for size in shape
        ]
        if output.shape.is_compatible_with(shape):
            return tf.ensure_shape(output, shape)
        # As in Keras, which holds no output to it: programs with a wrong `output_shape` run there.
        frames.warn(
            f"Lambda '{self.path}' returns a tensor of shape {tuple(output.shape)}, and not of "
            f"{tuple(shape)}, which its `output_shape` says. The argument is passed over. Leave it out, or "
            "pass the shape of one sample."
        )
        return output

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Returns the given mask, or the result of the mask function."""
        return self.mask(inputs, mask) if callable(self.mask) else self.mask

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Returns a new layer, with functions that are registered.

        Raises:
            ValueError: for Python bytecode, in any form in which Keras has stored it.
        """
        named = (config.get(key) for key in ("function", "output_shape", "mask"))
        # Keras wrote the bytecode of lambdas as lists. Running it would run whatever a file
        # contains.
        if any(isinstance(value, list) and not is_shape(value) for value in named):
            raise ValueError(serialization.LAMBDA_HELP)
        return super().from_config(config)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments, functions by their names.

        Raises:
            NoConfigurationError: for a lambda, which has no name.
        """
        arguments = {
            "function": self.function,
            "output_shape": self._output_shape,
            "mask": self.mask,
            "arguments": self.arguments,
        }
        try:
            config = serialization.serialize_keras_object(arguments)
        except TypeError as error:
            raise NoConfigurationError(
                f"Cannot create the configuration of Lambda '{self.path}'. {error}"
            ) from None
        return {**super().get_config(), **config}
