"""Inputs and outputs of an endpoint: specs of the arguments, and a name for each tensor."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf

from tfkit.src.base import nests
from tfkit.src.core.layer import Layer
from tfkit.src.symbolic.input_spec import InputSpec
from tfkit.src.symbolic.tensors import KerasTensor

Path = tuple[str | int, ...]


# --- Specs of the arguments ---------------------------------------------------------------------------


def call_specs(layer: Layer) -> dict[str, Any]:
    """Returns specs of the arguments of a layer's `call` by name, from its calls so far.

    The inputs of a functional model have the names, dtypes and sizes of its `Input`s; sizes that differed
    between calls are free. For other layers the dtypes come from the latest call.

    Raises:
        ValueError: for a layer whose inputs are not known.
    """
    given = layer._tfkit.given
    graph = getattr(layer, "_tfkit_graph", None)
    if graph is not None:
        seen = _given_specs(graph, (given or {}).get("inputs"))
        specs = [
            tf.TensorSpec(_sizes(tensor, spec), tensor.dtype, tensor.name)
            for tensor, spec in zip(graph.flat_inputs, seen, strict=True)
        ]
        return {"inputs": tf.nest.pack_sequence_as(graph.inputs, specs)}
    if given is None:
        raise ValueError(
            f"Cannot export '{layer.name}': its inputs are not known. It must be "
            f"{'called' if layer.built else 'built'}: call it on some data first, or pass "
            "`input_signature=[tf.TensorSpec(...)]`."
        )
    return given


def _given_specs(graph: Any, given: Any) -> list[Any]:
    """Returns specs of a functional model's flat inputs: those of its calls, or else of its `Input`s."""
    if isinstance(given, Mapping) and not isinstance(graph.inputs, Mapping):
        given = [given.get(tensor.name) for tensor in graph.flat_inputs]  # passed by name
    flat = tf.nest.flatten(given)
    if len(flat) != len(graph.flat_inputs):
        return graph.flat_inputs
    pairs = zip(flat, graph.flat_inputs, strict=True)
    return [spec if hasattr(spec, "dtype") else tensor for spec, tensor in pairs]


def _sizes(tensor: Any, spec: Any) -> list[Any]:
    """Returns the sizes of an input; free if calls had others, which layers of a `Sequential` may allow."""
    declared, seen = tf.TensorShape([None, *tensor.shape[1:]]), tf.TensorShape(spec.shape)
    return list(
        declared.most_specific_compatible_shape(seen) if seen.rank == declared.rank else declared
    )


def layer_specs(layer: Layer, input_signature: Any) -> dict[str, Any]:
    """Returns specs of the arguments of `call`: from `input_signature`, else from the layer's calls.

    Args:
        layer: a layer or model.
        input_signature: list with a spec, or a nest of specs, for each argument; or the specs of the first
            argument alone. Specs are `tf.TensorSpec`, `InputSpec`, symbolic tensors, or tensors.
    """
    if input_signature is None:
        return call_specs(layer)
    names = [name for name in layer._tfkit.signature.names if name != "training"]
    graph = getattr(layer, "_tfkit_graph", None)
    if graph is not None:
        names = ["inputs"]
    several = isinstance(input_signature, (list, tuple)) and len(input_signature) <= len(names)
    arguments = input_signature if several else [input_signature]
    specs = {name: specs_of(each) for name, each in zip(names, arguments, strict=False)}
    if graph is not None:
        flat = tf.nest.flatten(specs["inputs"])
        if len(flat) != len(graph.flat_inputs):
            raise ValueError(
                f"Model '{layer.name}' has {len(graph.flat_inputs)} inputs: "
                f"{[tensor.name for tensor in graph.flat_inputs]}. Received: "
                f"input_signature={input_signature}"
            )
        named = [
            tf.TensorSpec(spec.shape, spec.dtype, spec.name or tensor.name)
            for spec, tensor in zip(flat, graph.flat_inputs, strict=True)
        ]
        specs["inputs"] = tf.nest.pack_sequence_as(specs["inputs"], named)
    return specs


def specs_of(value: Any) -> Any:
    """Returns `tf.TensorSpec`s for a nest of these, `InputSpec`s, symbolic tensors and tensors.

    The batch of symbolic tensors and of tensors is free.

    Raises:
        ValueError: for an `InputSpec` without shape or dtype.
        TypeError: for anything else.
    """
    return tf.nest.map_structure(_spec_of, value)


def _spec_of(value: Any) -> tf.TensorSpec:
    if isinstance(value, tf.TensorSpec):
        return value
    if isinstance(value, InputSpec):
        if value.shape is None or value.dtype is None:
            raise ValueError(f"The `shape` and `dtype` must be provided. Received: x={value}")
        return tf.TensorSpec(value.shape, value.dtype, value.name)
    if isinstance(value, (KerasTensor, tf.Tensor, tf.Variable)) or hasattr(value, "__array__"):
        name = value.name if getattr(value, "node", None) is not None else None
        shape = list(value.shape)
        return tf.TensorSpec([None, *shape[1:]] if shape else [], value.dtype, name)
    raise TypeError(
        f"Unsupported x={value} of the type ({type(value)}). Supported types are: `tf.TensorSpec`, "
        "`InputSpec`, `KerasTensor` and tensors."
    )


# --- Names --------------------------------------------------------------------------------------------


def input_names(arguments: dict[str, Any]) -> list[str]:
    """Returns a name for each spec in the arguments, in the order of `tf.nest.flatten`.

    The spec's own, else the last dict key on the path to it, else the argument's, numbered in a list; with
    the whole path if that is not unique.
    """
    paths: list[Path] = []
    names: list[str | None] = []
    for argument, specs in arguments.items():
        for path, spec in _leaves(specs, (argument,)):
            if isinstance(spec, tf.TypeSpec):
                paths.append(path)
                names.append(getattr(spec, "name", None))
    return _unique([_identifier(name) for name in _labels(paths, names)])


def numbered_specs(arguments: dict[str, Any]) -> dict[str, Any]:
    """Returns the specs, with those of the first argument named `inputs`, `inputs_1`, ..., as Keras does.

    Args:
        arguments: a nest of specs for each argument, by its name.
    """
    counter = itertools.count()

    def numbered(leaf: Any) -> Any:
        if not isinstance(leaf, tf.TensorSpec):
            return leaf
        number = next(counter)
        return tf.TensorSpec(leaf.shape, leaf.dtype, f"inputs_{number}" if number else "inputs")

    first = next(iter(arguments), None)
    return {
        name: tf.nest.map_structure(numbered, specs) if name == first else specs
        for name, specs in arguments.items()
    }


def output_names(outputs: Any, layer_names: Sequence[str] | None = None) -> list[str]:
    """Returns a name for each output, in the order of `tf.nest.flatten`.

    Args:
        outputs: nest of tensors.
        layer_names: names of the layers that they come from.
    """
    leaves = list(_leaves(outputs, ()))
    known = layer_names if layer_names and len(layer_names) == len(leaves) else [None] * len(leaves)
    keyed = [any(isinstance(step, str) for step in path) for path, _ in leaves]
    names = [
        None if has_key else name or f"output_{index}"
        for index, (has_key, name) in enumerate(zip(keyed, known, strict=True))
    ]
    return _unique(_labels([path for path, _ in leaves], names))


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Yields the leaves of a nest with their paths, in the order of `tf.nest.flatten`."""
    if not nests.is_nested(value):
        yield path, value
        return
    items = nests.items(value)
    if isinstance(value, Mapping):
        # The order of `tf.nest.flatten`, not of the dict.
        items = [(str(key), value[key]) for key in sorted(value)]
    for key, item in items:
        # A list with one tensor needs no number.
        is_only = isinstance(key, int) and len(items) == 1
        yield from _leaves(item, path if is_only else (*path, key))


def _labels(paths: Sequence[Path], names: Sequence[str | None]) -> list[str]:
    """Returns the names, else short forms of the paths; whole paths if these are not unique."""
    short = [
        name or "_".join(map(str, _from_last_key(path)))
        for path, name in zip(paths, names, strict=True)
    ]
    return [
        label if names[index] or short.count(label) == 1 else "_".join(map(str, paths[index]))
        for index, label in enumerate(short)
    ]


def _from_last_key(path: Path) -> Path:
    last = max((index for index, step in enumerate(path) if isinstance(step, str)), default=0)
    return path[last:]


def _identifier(name: str) -> str:
    """Returns the name that TensorFlow makes of a name that is not valid for an operation."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", name)
    # As TensorFlow does, so that requests use the names that it reports.
    return name if name[:1].isalpha() else f"arg_{name}"


def _unique(names: list[str]) -> list[str]:
    """Returns the names, with numbers appended to repeated ones."""
    taken: set[str] = set()
    unique = []
    for name in names:
        candidate, count = name, 0
        # A number that is appended must not make a name that comes later.
        while candidate in taken or (candidate != name and candidate in names):
            count += 1
            candidate = f"{name}_{count}"
        taken.add(candidate)
        unique.append(candidate)
    return unique
