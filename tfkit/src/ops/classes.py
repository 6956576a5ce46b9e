"""The classes behind ops, as libraries know them from Keras: `Sum` is the class of `ops.sum(x, axis=1)`.

A recorded call of an op is an instance of its class, with its options as attributes; `Sum(axis=1)(x)` calls
the op. The class of a function is made when it is first needed.
"""

from __future__ import annotations

import functools
import inspect
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from tfkit.src.base.names import words
from tfkit.src.ops import activation_lookup
from tfkit.src.symbolic.operations import FunctionCall, Operation
from tfkit.src.symbolic.tensors import Node, symbolic_leaves

# Parameters that are arguments of the call; all others are options of the constructor.
_OF_THE_CALL = words("""
    x x1 x2 xs y a b array q indices values inputs kernel depthwise_kernel pointwise_kernel
    target output targets predictions mean variance offset scale gamma beta bias mask query key
    value target_length output_length sequence_lengths images transform coordinates start_points
    end_points translation image1 image2 data segment_ids start stop step bins weights
    fill_value condition condlist choicelist default operands constant_values sorted_sequence
    start_indices updates index branches variable loop_vars init_val pred true_fn false_fn
    elements elems f fun primals tangents init abs_ angle rtol atol
""")
# Where a parameter of such a name is an option, by the name of the op.
_OPTIONS = {
    "allclose": {"rtol", "atol"},
    "bincount": {"weights"},
    "diagonal": {"offset"},
    "trace": {"offset"},
    "histogram": {"bins"},
    "trapezoid": {"x"},
    "unique": {"fill_value"},
    "squareplus": {"b"},
    "resize": {"fill_value"},
    "affine_transform": {"fill_value"},
    "map_coordinates": {"fill_value"},
    "perspective_transform": {"fill_value"},
    "elastic_transform": {"fill_value"},
}
# And where a parameter with another name belongs to the call.
_ARGUMENTS = {"get_item": {"key"}, "scale_and_translate": {"output_shape"}}
# Classes whose names are not those of their ops in capitals.
_LOWER_CASE = words("""
    AllClose IsIn SearchSorted PSNR SSIM SVD JVP FFT FFT2 IFFT2 RFFT IRFFT STFT ISTFT CDist
""")
_IRREGULAR = {
    "LayerNorm": "layer_normalization",
    "BatchNorm": "batch_normalization",
    "RMSNorm": "rms_normalization",
    "RGBToGrayscale": "rgb_to_grayscale",
    "RGBToHSV": "rgb_to_hsv",
    "HSVToRGB": "hsv_to_rgb",
    "CTCLoss": "ctc_loss",
    "CTCDecode": "ctc_decode",
    "Absolute": "abs",
    **{name: name.lower() for name in _LOWER_CASE},
}
_CLASS_NAMES = {op: name for name, op in _IRREGULAR.items()}


_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class OpCall(FunctionCall):
    """One call of an op. Each op has a subclass; its constructor has the options of the op.

    Args:
        *args: values of the options, in their order.
        name: name of the operation; `None` to make one from the class's name.
        **kwargs: options by name.
    """

    function: Callable[..., Any]

    def __init__(self, *args: Any, name: str | None = None, **kwargs: Any) -> None:
        Operation.__init__(self, name)
        given = _bound(options_of(self.function), args, kwargs)
        vars(self).update(given)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function with the arguments, and with the options of the constructor."""
        signature, options = inspect.signature(self.function), options_of(self.function).parameters
        of_the_call = [it for it in signature.parameters.values() if it.name not in options]
        given = inspect.Signature(_in_order(of_the_call)).bind(*args, **kwargs).arguments
        given = {**{name: vars(self)[name] for name in options}, **given}
        # The options may be between the arguments of the call.
        bound = inspect.BoundArguments(
            signature,
            OrderedDict((name, given[name]) for name in signature.parameters if name in given),
        )
        return self.function(*bound.args, **bound.kwargs)


def _in_order(parameters: list[inspect.Parameter]) -> list[inspect.Parameter]:
    """Returns parameters as a signature has them, without a default first."""
    return sorted(parameters, key=lambda it: (it.kind, it.default is not it.empty))


def _bound(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.arguments


@functools.cache
def options_of(function: Callable[..., Any]) -> inspect.Signature:
    """Returns the options of an op: the parameters that the constructor of its class has."""
    signature = inspect.signature(function)
    of_the_call = _OF_THE_CALL - _OPTIONS.get(function.__name__, set())
    of_the_call |= _ARGUMENTS.get(function.__name__, set())
    options = [
        parameter.replace(kind=parameter.POSITIONAL_OR_KEYWORD)
        for parameter in signature.parameters.values()
        if parameter.name not in of_the_call and parameter.kind not in _VARIADIC
    ]
    return inspect.Signature(_in_order(options))


@functools.cache
def class_of(function: Callable[..., Any]) -> type[OpCall]:
    """Returns the class of an op."""
    op = function.__name__
    name = _CLASS_NAMES.get(op) or "".join(word[:1].upper() + word[1:] for word in op.split("_"))
    if function is activation_lookup.relu:  # Apart from `Relu`, which has no options.
        name = "ReLU"
    text = f"The class of `ops.{op}`."
    return type(name, (OpCall,), {"function": staticmethod(function), "__doc__": text})


def named(name: str, *modules: Any) -> type[OpCall] | None:
    """Returns the class of this name; `None` if there is no such op in the modules."""
    wanted = _IRREGULAR.get(name, name).replace("_", "").lower()
    if not name[:1].isupper():
        return None
    for module in modules:
        for op in dir(module):
            if op.replace("_", "").lower() == wanted and inspect.isfunction(getattr(module, op)):
                return class_of(getattr(module, op))
    return None


def call_of(node: Node, name: str) -> tuple[FunctionCall, tuple[Any, ...], dict[str, Any]]:
    """Returns a recorded call of a function as an operation, and the arguments that it is called with.

    An op of tfkit becomes an instance of its class, which has the options; any other function is called
    with all arguments.
    """
    function = node.operation
    if not getattr(function, "__module__", "").startswith(__package__):
        return FunctionCall(node, name), node.args, node.kwargs
    signature = inspect.signature(function)
    given = signature.bind(*node.args, **node.kwargs).arguments
    known = options_of(function).parameters
    operation = class_of(function)(
        name=name, **{key: value for key, value in given.items() if key in known}
    )
    operation._inbound_nodes = [node]
    given = {key: value for key, value in given.items() if key not in known}
    args, kwargs = _as_passed(signature, given)
    return operation, args, kwargs


def _as_passed(
    signature: inspect.Signature, given: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Returns arguments by position, and those by name that follow an argument which was not passed."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for parameter in signature.parameters.values():
        if parameter.name not in given:
            continue
        value = given[parameter.name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            args += value
        elif parameter.kind is parameter.VAR_KEYWORD:
            kwargs |= value
        elif not kwargs and (parameter.default is parameter.empty or symbolic_leaves([value])):
            args.append(value)
        else:
            kwargs[parameter.name] = value
    return tuple(args), kwargs
