"""What a layer's `compute_output_shape` says of its outputs, where a subclass defines it."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit import masking
from tfkit.core import building
from tfkit.symbolic import KerasTensor


def declared(layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Symbolic outputs of the shapes that `layer.compute_output_shape` gives, in the compute dtype."""
    arguments = layer._tfkit.signature.bind(args, kwargs, layer)
    method = layer.compute_output_shape
    positional, named = building.shape_arguments(layer, method, arguments)
    return building.symbolic_from_shapes(method(*positional, **named), layer.compute_dtype)


def completed(outputs: Any, shapes: Any) -> Any:
    """Traced outputs, with the sizes that a trace cannot know taken from those that are declared.

    Args:
        outputs: symbolic outputs as a trace of `call` gives them.
        shapes: symbolic outputs of the declared shapes; ignored where they come in another form.
    """
    try:
        tf.nest.assert_same_structure(outputs, shapes)
    except (TypeError, ValueError):
        return outputs
    return tf.nest.map_structure(_completed, outputs, shapes)


def _completed(output: Any, other: Any) -> Any:
    if not isinstance(output, KerasTensor) or other is None:
        return output
    if output.shape is None:
        shape = other.shape
    elif other.shape is None or len(other.shape) != len(output.shape):
        return output
    else:
        pairs = zip(output.shape, other.shape, strict=True)
        shape = tuple(size if size is not None else known for size, known in pairs)
    if shape == output.shape:
        return output
    result = KerasTensor(shape, output.dtype, sparse=output.sparse, ragged=output.ragged)
    masking.set_mask(result, masking.get_mask(output))
    return result
