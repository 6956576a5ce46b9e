"""Endpoints: the functions of tensors in an exported model, and methods marked as such."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import tensorflow as tf

from tfkit.src.base.calls import CallFrame
from tfkit.src.borrowed.private import in_save_context, save_context, traces_of
from tfkit.src.core.layer import Layer
from tfkit.src.engine.autograph import convert
from tfkit.src.engine.machine import assume_onednn
from tfkit.src.engine.xla import operations
from tfkit.src.export.freezing import frozen
from tfkit.src.export.signatures import (
    call_specs,
    input_names,
    layer_specs,
    numbered_specs,
    output_names,
    specs_of,
)
from tfkit.src.symbolic.arguments import as_tensors

PREDICT = "tensorflow/serving/predict"
_MARK = "_tfkit_endpoint"
_PYTHON = ("EagerPyFunc", "PyFunc", "PyFuncStateless")


class Endpoint:
    """A function of tensors, and its trace.

    Args:
        name: its name in the SavedModel.
        call: the eager function.
        function: its `tf.function`.
        trace: its concrete function, which is exported.
        specs: a nest of specs for each argument, by its name.
        layer_names: names for outputs that are not in a dict.
        method_name: the kind of TF Serving's requests that it answers.

    Attributes:
        argument_names: names of the arguments.
        inputs: names of its input tensors in the signature.
        specs: specs of its input tensors.
        outputs: names of its output tensors.
        signature: concrete function from input tensors by name to output tensors by name.
    """

    def __init__(
        self,
        name: str,
        call: Callable[..., Any],
        function: Any,
        trace: Any,
        specs: dict[str, Any],
        *,
        layer_names: list[str] | None = None,
        method_name: str = PREDICT,
    ) -> None:
        self.name = name
        self.call = call
        self.function = function
        self.method_name = method_name
        self.argument_names = list(specs)
        self._nests = list(specs.values())
        self.inputs = input_names(specs)
        self.specs = [spec for spec in tf.nest.flatten(self._nests) if _is_spec(spec)]
        _check_dense(name, self.specs)
        self.outputs = output_names(trace.structured_outputs, layer_names)
        named = [
            tf.TensorSpec(spec.shape, spec.dtype, key)
            for spec, key in zip(self.specs, self.inputs, strict=True)
        ]

        def signature(*tensors: tf.Tensor) -> dict[str, tf.Tensor]:
            return self.named(trace(*self.arguments(tensors)))

        # Signatures of SavedModels have named tensors alone; nests are made of them inside.
        flat = tf.function(signature, input_signature=named, autograph=False)
        self.signature = flat.get_concrete_function()

    def arguments(self, tensors: Any) -> list[Any]:
        """Returns the arguments of `call` made of its input tensors, in the order of `inputs`."""
        rest = iter(tensors)
        return tf.nest.map_structure(
            lambda leaf: next(rest) if _is_spec(leaf) else leaf, self._nests
        )

    def flat(self, arguments: Any) -> dict[str, Any]:
        """Returns the input tensors among arguments of `call`, by name."""
        tf.nest.assert_same_structure(self._nests, list(arguments))
        pairs = zip(tf.nest.flatten(self._nests), tf.nest.flatten(list(arguments)), strict=True)
        tensors = [value for leaf, value in pairs if _is_spec(leaf)]
        return dict(zip(self.inputs, tensors, strict=True))

    def named(self, outputs: Any) -> dict[str, tf.Tensor]:
        """Returns the outputs of `call` by name."""
        flat = tf.nest.flatten(outputs)
        return {
            # TensorFlow names an output after its operation: an identity gives each its own name.
            name: tf.identity(value)
            for name, value in zip(self.outputs, flat, strict=True)
            if value is not None
        }


def traced_endpoint(
    name: str,
    call: Callable[..., Any],
    specs: dict[str, Any],
    *,
    layer_names: list[str] | None = None,
    method_name: str = PREDICT,
    jit_compile: bool = False,
    freeze: bool = False,
) -> Endpoint:
    """Returns an endpoint for a function of tensors, traced for the specs of its arguments."""
    function, trace = _traced(call, specs, jit_compile and not freeze)
    _check_whole(name, trace)
    if freeze:
        # XLA compiles the result: it would hide the variables that are replaced here.
        function, trace = _traced(frozen(name, trace), specs, jit_compile)
    return Endpoint(
        name, call, function, trace, specs, layer_names=layer_names, method_name=method_name
    )


def _traced(call: Callable[..., Any], specs: dict[str, Any], jit_compile: bool) -> tuple[Any, Any]:
    """Returns a `tf.function` whose arguments have the names and specs, and its trace."""

    # A new function, because `tf.function` reads the names of arguments from the signature.
    def serve(*args: Any) -> Any:
        return call(*args)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(argument, kind) for argument in specs]
    serve.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function = tf.function(
        serve,
        input_signature=list(specs.values()),
        autograph=False,
        jit_compile=jit_compile or None,  # Not `False`, which would forbid callers to compile it.
    )
    # The context of saving; otherwise saving would trace it again. The file may run on any CPU.
    # `tf.saved_model.save` of a model is in that context already.
    context = nullcontext() if in_save_context() else save_context(tf.saved_model.SaveOptions())
    with context, assume_onednn(True):
        return function, function.get_concrete_function()


def _check_whole(name: str, trace: Any) -> None:
    """Raises an error for a trace that calls Python: a file would only hold the number of a function.

    Raises:
        ValueError: for such an operation, with its name.
    """
    for kind, operation in operations(trace.graph.as_graph_def()):
        if kind in _PYTHON:
            raise ValueError(
                f"Endpoint '{name}' cannot be exported: operation '{operation}' ({kind}) calls a function of "
                "this Python process, as `TorchModuleWrapper`, `tf.py_function` and `tf.numpy_function` do, "
                "and a file for other processes cannot hold it. Compute this part by operations of "
                "TensorFlow, or export the part of the model before it and the part after it."
            )


def _is_spec(leaf: Any) -> bool:
    return isinstance(leaf, tf.TypeSpec)


def _check_dense(name: str, specs: list[Any]) -> None:
    for spec in specs:
        if not isinstance(spec, tf.TensorSpec):
            raise ValueError(
                f"Endpoint '{name}' takes {spec}. A signature accepts only dense tensors: export a function "
                "that takes the parts of it, and makes it of them."
            )


def _as_passed(layer: Layer, arguments: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Returns the arguments of `call` by position and by name: the arguments of a `*args` have no names."""
    parameters = inspect.signature(layer.call).parameters
    names, kinds = list(parameters), [each.kind for each in parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL not in kinds:
        return [], arguments
    position, named = kinds.index(inspect.Parameter.VAR_POSITIONAL), dict(arguments)
    leading = [named.pop(name) for name in names[:position]]
    return [*leading, *named.pop(names[position], ())], named


# --- Endpoints of layers and functions ----------------------------------------------------------------


def layer_endpoint(
    name: str,
    layer: Layer,
    input_signature: Any = None,
    batch_size: int | None = None,
    numbered: bool = False,
    **options: Any,
) -> Endpoint:
    """Returns an endpoint for the call of a layer or model, with `training=False`.

    Args:
        name: of the endpoint.
        layer: the layer or model.
        input_signature: specs to use instead of those of earlier calls.
        batch_size: the first size of inputs where it would be free.
        numbered: whether tensors are `inputs`, `inputs_1`, ..., `output_0`, `output_1`, ... (outputs in a
            dict keep their keys), and not named after the `Input`s and layers of a functional model.
        **options: options of `traced_endpoint`.
    """
    specs = layer_specs(layer, input_signature)
    if numbered:
        specs = numbered_specs(specs)
    if batch_size is not None:
        specs = tf.nest.map_structure(lambda leaf: _of_batch(leaf, batch_size), specs)

    def call(*args: Any) -> Any:
        leading, named = _as_passed(layer, dict(zip(specs, args, strict=True)))
        return layer(*leading, **named, training=False)

    names = None if numbered else getattr(layer, "output_names", None)
    return traced_endpoint(name, call, specs, layer_names=names, **options)


def _of_batch(leaf: Any, batch_size: int) -> Any:
    """Returns a spec with this batch size, if it has none."""
    if not isinstance(leaf, tf.TensorSpec) or not leaf.shape.rank or leaf.shape[0] is not None:
        return leaf
    return tf.TensorSpec([batch_size, *leaf.shape[1:]], leaf.dtype, leaf.name)


def function_endpoint(
    name: str, function: Any, input_signature: Any = None, **options: Any
) -> Endpoint:
    """Returns an endpoint for a function or method of tensors.

    Args:
        name: its name in the SavedModel.
        function: the function; a `tf.function` that was called needs no signature, and neither does a
            method marked with `endpoint`.
        input_signature: list with a spec, or a nest of specs, for each argument.
        **options: options of `traced_endpoint`.
    """
    mark = getattr(function, _MARK, None)
    owner: Any = getattr(function, "__self__", None)
    if input_signature is None and mark is not None and hasattr(owner, "_tfkit"):
        specs = _marked_specs(name, function, owner, mark)
    elif input_signature is not None:
        specs = _positional_specs(function, input_signature)
    elif isinstance(function, tf.types.experimental.GenericFunction):
        return _called_endpoint(name, function)
    else:
        raise ValueError(
            f"Cannot tell the inputs of endpoint '{name}': you must provide an `input_signature`, such as "
            "`[tf.TensorSpec(...)]` with a spec for each argument, or a `tf.function` that was called once. "
            f"Received: fn={function!r}, input_signature=None"
        )
    call = _in_frame(function, owner) if hasattr(owner, "_tfkit") else _converted(function)
    return traced_endpoint(name, call, specs, **options)


def _called_endpoint(name: str, function: Any) -> Endpoint:
    """Returns an endpoint for a `tf.function` that was called already: its first trace."""
    traces = traces_of(function)
    if not traces:
        raise ValueError(
            f"Cannot tell the inputs of endpoint '{name}': you must either provide a function that has been "
            "called, and call this `tf.function` once, or pass `input_signature=[tf.TensorSpec(...)]`."
        )
    args, kwargs = traces[0].structured_input_signature
    specs = dict(zip(traces[0].function_type.parameters, args, strict=False)) | kwargs
    return Endpoint(name, function, function, traces[0], specs)


def _converted(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: convert(function)(*args)


def _in_frame(method: Callable[..., Any], layer: Layer) -> Callable[..., Any]:
    """Returns a layer's method run like its `call`: floats in the compute dtype, sublayers not training."""
    dtype = layer.compute_dtype if layer.autocast else None

    def call(*args: Any) -> Any:
        with CallFrame(layer, training=False, autocast_dtype=dtype):
            return convert(method)(*[as_tensors(arg, dtype) for arg in args])

    return call


def _positional_specs(function: Any, input_signature: Any) -> dict[str, Any]:
    if not isinstance(input_signature, (list, tuple)):
        input_signature = [input_signature]
    names = _parameter_names(function)
    names += [f"args_{index}" for index in range(len(names), len(input_signature))]
    return {name: specs_of(spec) for name, spec in zip(names, input_signature, strict=False)}


def _parameter_names(function: Any) -> list[str]:
    try:
        parameters = inspect.signature(getattr(function, "python_function", function)).parameters
    except (TypeError, ValueError):  # Written in C.
        return []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [name for name, parameter in parameters.items() if parameter.kind in kinds]


# --- Methods marked as endpoints ----------------------------------------------------------------------


class _Mark:
    """The options that `endpoint` stores on a method."""

    def __init__(self, name: str | None, input_signature: Any, jit_compile: bool) -> None:
        self.name = name
        self.input_signature = input_signature
        self.jit_compile = jit_compile


def endpoint(
    function: Any = None,
    *,
    name: str | None = None,
    input_signature: Any = None,
    jit_compile: bool = False,
) -> Any:
    """Marks a method of a layer or model as an endpoint of its exports.

    Args:
        function: the method.
        name: name of the endpoint; the name of the method unless given.
        input_signature: list with a spec, or a nest of specs, for each argument. Unless given, arguments
            have the specs of the arguments of `call` with the same names.
        jit_compile: whether the runtime compiles it with XLA. Default: `False`.

    Example:
        >>> class Coder(tfkit.Model):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.encoder = tfkit.layers.Dense(2)
        ...
        ...     def call(self, inputs):
        ...         return self.encode(inputs) ** 2
        ...
        ...     @endpoint
        ...     def encode(self, inputs):
        ...         return self.encoder(inputs)
        >>> [name for name, _ in marked_methods(Coder())]
        ['encode']
    """
    mark = _Mark(name, input_signature, jit_compile)

    def decorate(method: Any) -> Any:
        setattr(method, _MARK, mark)
        return method

    return decorate if function is None else decorate(function)


def marked_methods(layer: Layer) -> Iterator[tuple[str, Any]]:
    """Yields the names and methods of a layer that are marked as endpoints, in the order of definition."""
    seen: set[str] = set()
    # Not by `dir`, which sorts: endpoints are in the order of definition.
    for cls in type(layer).__mro__:
        for attribute in vars(cls):
            if attribute not in seen:
                seen.add(attribute)
                mark = getattr(getattr(type(layer), attribute, None), _MARK, None)
                if isinstance(mark, _Mark):
                    yield mark.name or attribute, getattr(layer, attribute)


def marked_endpoint(name: str, method: Any, freeze: bool = False) -> Endpoint:
    """Returns the endpoint of a marked method."""
    return function_endpoint(
        name, method, jit_compile=getattr(method, _MARK).jit_compile, freeze=freeze
    )


def _marked_specs(name: str, method: Any, layer: Layer, mark: _Mark) -> dict[str, Any]:
    if mark.input_signature is not None:
        return _positional_specs(method, mark.input_signature)
    known = call_specs(layer)
    parameters = inspect.signature(method).parameters
    required = [
        key
        for key, parameter in parameters.items()
        # An optional argument that `call` has as well is an input; any other keeps its default.
        if parameter.default is inspect.Parameter.empty or key in known
    ]
    unknown = [key for key in required if key not in known]
    if unknown:
        raise ValueError(
            f"Cannot tell what endpoint '{name}' of '{layer.name}' takes as {unknown}: `call` has no "
            f"arguments of these names. Its arguments: {list(known)}. Pass "
            "`@endpoint(input_signature=[tf.TensorSpec(...)])`."
        )
    return {key: known[key] for key in required}
