"""The symbolic outputs of a layer, from a trace of `call` or from `compute_output_shape`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfkit.src.base import budget
from tfkit.src.base.errors.frames import warn
from tfkit.src.base.registry.tables import is_builtin
from tfkit.src.core import building, tracking
from tfkit.src.symbolic import specs
from tfkit.src.symbolic.arguments import symbolic_in_dtype

if TYPE_CHECKING:
    from tfkit.src.core.layer import Layer


def of_call(layer: Layer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Returns the outputs of a call on symbolic tensors, and builds the layer.

    They come from a trace of `call`. Sizes that it cannot know are taken from `compute_output_shape`, if a
    subclass defines it.
    """
    if layer._tfkit_overrides("compute_output_spec"):
        if layer.autocast:
            args, kwargs = symbolic_in_dtype((args, kwargs), layer.input_dtype)
        outputs = layer.compute_output_spec(*args, **kwargs)
        # No trace has made the weights. Layers inside make theirs in a call on tensors.
        if not layer.built:
            with building.around_call(layer):
                layer._tfkit_build_once(layer._tfkit.signature.bind(args, kwargs, layer))
        return outputs
    known = layer._tfkit_known_outputs(args, kwargs)
    if known is not None:
        return known
    outputs = building.traced(layer, args, kwargs)
    if layer._tfkit_overrides("compute_output_shape"):
        return specs.completed(outputs, _declared(layer, args, kwargs))
    return outputs


def without_building(layer: Layer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Returns the outputs with the shapes that a user's class declares, or else the outputs of a trace."""
    declares = layer._tfkit_overrides("compute_output_shape") and not is_builtin(type(layer))
    return (_declared if declares else building.traced)(layer, args, kwargs)


def shape_of(layer: Layer, shapes: tuple[Any, ...], named_shapes: dict[str, Any]) -> Any:
    """Returns the output shapes for the given input shapes, by tracing a temporary copy.

    A layer that is built, or whose `build` asks, is traced itself.
    """
    # The shape of the first argument, whatever its name is.
    if not shapes and "input_shape" in named_shapes:
        shapes = (named_shapes.pop("input_shape"),)
    inputs = tuple(specs.symbolic_from_shapes(shape, layer.input_dtype) for shape in shapes)
    symbolic = [specs.symbolic_from_shapes(it, layer.input_dtype) for it in named_shapes.values()]
    named = dict(zip((it.removesuffix("_shape") for it in named_shapes), symbolic, strict=True))
    with budget.given_back(), building.unchanged(layer):
        if not layer._tfkit.built:
            layer = building.unbuilt_copy(layer)
        # A layer that overrides both methods comes here by `super()`: calling the other one could come back
        # here without end.
        declares = layer._tfkit_overrides("compute_output_shape")
        if layer._tfkit_overrides("compute_output_spec") and not declares:
            return specs.shapes_of(layer.compute_output_spec(*inputs, **named))
        return specs.shapes_of(building.traced(layer, inputs, named))


def build_by_trace(layer: Layer, input_shape: Any) -> None:
    """Builds the sublayers of a layer that does not define `build`; for `None` it only warns."""
    unbuilt = [below.name for below in tracking.all_layers(layer)[1:] if not below.built]
    if unbuilt and input_shape is not None:
        building.traced(layer, (specs.symbolic_from_shapes(input_shape, layer.input_dtype),), {})
    elif unbuilt:
        warn(
            f"`build(None)` was called on layer {layer._tfkit.title}, which has "
            f"no `build()` of its own; the layers {unbuilt} inside are not built by that. Pass the shape of "
            "the inputs, or define `build()`."
        )


def _declared(layer: Layer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Returns symbolic outputs of the shapes that `layer.compute_output_shape` gives."""
    arguments = layer._tfkit.signature.bind(args, kwargs, layer)
    shapes, named = building.shape_arguments(layer, layer.compute_output_shape, arguments)
    outputs = layer.compute_output_shape(*shapes, **named)
    return specs.symbolic_from_shapes(outputs, layer.compute_dtype)
