"""Traces the calls of a layer for conversion, and describes their inputs and results."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.core.layer import Layer
from tfkit.src.core.tracking import named_state
from tfkit.src.export.convert.graph import SEED, Graph
from tfkit.src.export.convert.reader import read
from tfkit.src.symbolic.tensors import KerasTensor
from tfkit.src.weights.random import SeedGenerator


@dataclasses.dataclass
class Call:
    """One kind of call of a layer.

    Args:
        graph: its graph. Its results are the tensors of the nest of outputs, then the losses.
        outputs: the nest of the outputs, with a number for each tensor; other objects are unchanged.
        num_outputs: the number of tensors in it.
    """

    graph: Graph
    outputs: Any
    num_outputs: int


@dataclasses.dataclass
class Calls:
    """The calls of a layer, and its variables.

    Args:
        layer: the layer.
        inputs: the nest of the inputs, `(args, kwargs)`, of `tf.TensorSpec`s.
        by_training: the call without and with training.
        variables: all variables that take part or belong to the layer, by path.
        trained: paths of the trained variables.
        assigned: paths of the trained variables to which a call assigns.
    """

    layer: Layer
    inputs: Any
    by_training: dict[bool, Call]
    variables: dict[str, tf.Variable]
    trained: list[str]
    assigned: list[str]

    def specs(self) -> list[tf.TensorSpec]:
        """Returns the forms of the graph's inputs."""
        return list(tf.nest.flatten(self.inputs))

    def flat(self, inputs: Any) -> list[Any]:
        """Returns the tensors of a nest `(args, kwargs)`, in the order of the graph's inputs.

        Raises:
            ValueError: if the nest differs from the nest of the examples.
        """
        try:
            tf.nest.assert_same_structure(self.inputs, inputs)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"'{self.layer.name}' was converted for inputs of the form {self.inputs}. Received a "
                f"different form: {str(error).splitlines()[0]}"
            ) from None
        return list(tf.nest.flatten(inputs))

    def seeds(self) -> list[str]:
        """Returns the paths of the states of generators of seeds."""
        return sorted(
            path
            for path, variable in self.variables.items()
            if getattr(variable, "path", "").endswith("seed_generator_state")
        )


def trace(layer: Layer, examples: tuple[Any, ...], keywords: Mapping[str, Any]) -> Calls:
    """Returns the calls of a layer, from new traces.

    Args:
        layer: a layer or a model. It is built by a call if necessary.
        examples: arguments of the call: tensors, arrays, `tf.TensorSpec`s, `keras.KerasTensor`s, and nests of
            these. The first axis of a tensor or array may have any size in converted calls.
        keywords: keyword arguments of the call, likewise.

    Raises:
        TypeError: if `layer` is not a layer.
        ValueError: without examples, and for inputs of strings.
    """
    if not isinstance(layer, Layer):
        raise TypeError(
            f"Expected a layer or a model to convert. Received: {layer!r} (of type {type(layer).__name__})"
        )
    if not examples and not keywords:
        raise ValueError(
            f"Pass examples of the inputs of '{layer.name}', for their shapes and dtypes. Received none."
        )
    nest = (tuple(examples), dict(keywords))
    exact, free = (tf.nest.map_structure(lambda it, f=f: _spec(it, f), nest) for f in (False, True))
    if any(it.dtype == tf.string for it in tf.nest.flatten(free)):
        raise ValueError(
            f"'{layer.name}' accepts strings, which JAX and PyTorch do not have. Look words up, or split the "
            "layer, before the converted call."
        )
    _build(layer, free, exact)
    paths = {id(variable): path for path, variable in named_state(layer).items()}
    variables = dict(named_state(layer))

    def path_of(variable: tf.Variable) -> str:
        # Not an attribute: the global generator of seeds, for example.
        if id(variable) not in paths:
            name = f"other/{getattr(variable, 'path', variable.name)}"
            while name in variables:
                name += "_"
            paths[id(variable)], variables[name] = name, variable
        return paths[id(variable)]

    trained = {id(it) for it in layer.trainable_variables}

    def calls_with(specs: Any) -> dict[bool, Call]:
        return {
            training: _call(layer, specs, training, path_of, trained) for training in (False, True)
        }

    try:
        inputs, calls = free, calls_with(free)
    except Exception:
        if repr(free) == repr(exact):
            raise
        # A layer that needs to know the size of the batch.
        inputs, calls = exact, calls_with(exact)
    if any(call.graph.main.draws for call in calls.values()):
        variables[SEED] = SeedGenerator().state
    names = [path for path, variable in variables.items() if id(variable) in trained]
    written = {path for call in calls.values() for path in call.graph.written()}
    assigned = [path for path in names if path in written]
    return Calls(layer, inputs, calls, variables, names, assigned)


def _build(layer: Layer, free: Any, exact: Any) -> None:
    """Builds a layer by a call on symbols: with a batch of any size, if the layer need not know it."""
    if layer.built:
        return
    for specs in (free, exact):
        args, kwargs = tf.nest.map_structure(lambda it: KerasTensor(it.shape, it.dtype), specs)
        try:
            layer(*args, **kwargs)
            return
        except Exception:
            if specs is exact or repr(free) == repr(exact):
                raise


def _call(layer: Layer, specs: Any, training: bool, path_of: Any, trained: set[int]) -> Call:
    flat = tf.nest.flatten(specs)
    numbered: list[Any] = []

    def program(*tensors: tf.Tensor) -> list[tf.Tensor]:
        args, kwargs = tf.nest.pack_sequence_as(specs, tensors)
        outputs = layer(*args, **kwargs, training=training)
        tensors_out = [it for it in tf.nest.flatten(outputs) if it is not None]
        # In the nest of outputs, numbers take the place of tensors.
        counter = iter(range(len(tensors_out)))
        numbered[:] = [
            tf.nest.map_structure(lambda it: None if it is None else next(counter), outputs),
            len(tensors_out),
        ]
        return [tf.convert_to_tensor(it) for it in tensors_out + list(layer.losses)]

    function = tf.function(program, autograph=False).get_concrete_function(*flat)
    return Call(read(function, path_of, lambda it: id(it) in trained), *numbered)


def _spec(example: Any, free: bool) -> tf.TensorSpec:
    if isinstance(example, (tf.TensorSpec, KerasTensor)):
        return tf.TensorSpec(example.shape, example.dtype)
    if not hasattr(example, "dtype") or not hasattr(example, "shape"):
        example = np.asarray(example)
    shape = list(example.shape)
    # PyTorch calls it `torch.float32`.
    dtype = (
        str(example.dtype).rpartition(".")[2]
        if not isinstance(example, tf.Tensor)
        else example.dtype
    )
    if getattr(example.dtype, "kind", "") in ("O", "S", "U"):
        dtype = "string"
    return tf.TensorSpec([None, *shape[1:]] if free and shape else shape, dtype)
