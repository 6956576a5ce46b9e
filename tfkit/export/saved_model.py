"""A layer or model as a SavedModel: one inference function, the variables that it reads, nothing else."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import tensorflow as tf

from tfkit.core.arguments import CallSignature

SIGNATURE = "serving_default"


class _Served(tf.Module):
    """What is written: the function and the variables that it reads."""

    def __init__(self, serve: Any) -> None:
        super().__init__()
        self.serve = serve
        self.state = list(serve.get_concrete_function().graph.variables)


def export_saved_model(layer: Any, filepath: Any, input_signature: Any = None) -> None:
    """Writes `layer(inputs, training=False)` as the signature `serving_default`.

    The names of its inputs are those of the `Input`s, or of the arguments of `call`; their dtypes and
    sizes those that the layer was called with. The batch, and sizes that differed between calls, are
    free.

    Args:
        layer: a built layer or model.
        filepath: folder to write; it appears when it is complete, and replaces an old one.
        input_signature: `tf.TensorSpec`, or a nest of them, to use instead of what was seen.

    Raises:
        ValueError: for a layer that was never called, without `input_signature`.
    """
    specs = _specs(layer, input_signature)
    flat = _named(specs, layer)
    structure = tf.nest.map_structure(lambda spec: None, specs)

    def serve(*tensors: tf.Tensor) -> dict[str, tf.Tensor]:
        arguments = tf.nest.pack_sequence_as(structure, tensors)
        return _named_outputs(layer(**arguments, training=False), layer)

    served = _Served(tf.function(serve, input_signature=flat, autograph=False))
    target = Path(filepath)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as folder:
        written = Path(folder) / "new"
        tf.saved_model.save(served, str(written), signatures={SIGNATURE: served.serve})
        if target.exists():
            os.replace(target, Path(folder) / "old")
        os.replace(written, target)
        shutil.rmtree(Path(folder) / "old", ignore_errors=True)


def _specs(layer: Any, input_signature: Any) -> dict[str, Any]:
    """Specs of the arguments of `call`, by name."""
    specs = layer._tfkit.specs
    if input_signature is not None:
        name = CallSignature(layer.call).names[0]
        given = input_signature
        if isinstance(given, (list, tuple)) and len(given) == 1:
            given = given[0]
        return {name: given}
    graph = getattr(layer, "_graph", None)
    if graph is not None:
        inputs = tf.nest.map_structure(
            lambda tensor: tf.TensorSpec([None, *tensor.shape[1:]], tensor.dtype), graph.inputs
        )
        return {"inputs": inputs}
    if specs is None:
        raise ValueError(
            f"Cannot export '{layer.name}': it has never been called, so its inputs are not known. Call it "
            "on some data first, or pass `input_signature=[tf.TensorSpec(...)]`."
        )
    return specs


def _named(specs: dict[str, Any], layer: Any) -> list[tf.TensorSpec]:
    """The specs, flattened, each with the name that it has in the signature."""
    graph = getattr(layer, "_graph", None)
    if graph is not None:
        names = [tensor.name for tensor in graph.flat_inputs]
    else:
        names = _paths(specs)
    flat = tf.nest.flatten(specs)
    return [
        tf.TensorSpec(spec.shape, spec.dtype, name=_identifier(name))
        for spec, name in zip(flat, names, strict=True)
    ]


def _paths(specs: dict[str, Any]) -> list[str]:
    """A name for each leaf: the last dict key on the way to it, with its place in a list."""
    names: list[str] = []

    def walk(value: Any, name: str) -> None:
        if isinstance(value, dict):
            for key in sorted(value):
                walk(value[key], str(key))
        elif isinstance(value, (list, tuple)):
            for index, item in enumerate(value):
                walk(item, f"{name}_{index}" if len(value) > 1 else name)
        else:
            names.append(name)

    walk(specs, "inputs")
    return names


def _identifier(name: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in name)


def _named_outputs(outputs: Any, layer: Any) -> dict[str, tf.Tensor]:
    """Outputs by name: dict keys, else the names of the output layers, else `output_0`, ..."""
    if isinstance(outputs, dict):
        return {str(key): value for key, value in outputs.items()}
    flat = tf.nest.flatten(outputs)
    names = getattr(layer, "output_names", None)
    if not names or len(set(names)) != len(flat):
        names = [f"output_{index}" for index in range(len(flat))]
    return {name: tf.identity(value) for name, value in zip(names, flat, strict=True)}
