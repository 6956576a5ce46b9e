"""Converts a SavedModel to ONNX in a separate process: `tf2onnx` is large and optional.

python -P onnx_worker.py SAVED_MODEL FILE OPSET VERSION_OF_TFKIT
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import onnx
import tensorflow as tf
import tf2onnx

_FLOATS = {1: "float32", 10: "float16", 11: "float64"}  # onnx.proto, `TensorProto.DataType`


def erfc(graph: Any, node: Any, name: str, arguments: Any) -> Any:
    """Returns `1 - erf(x)`: ONNX has no `Erfc`, which the exact GELU uses."""
    del name, arguments
    erf = graph.make_node("Erf", [node.input[0]])
    dtype = _FLOATS[graph.get_dtype(node.input[0])]
    one = graph.make_const(f"{node.name}/one", np.array(1, dtype))
    # Read before the node is removed.
    outputs, shapes, dtypes = node.output, node.output_shapes, node.output_dtypes
    graph.remove_node(node.name)
    return graph.make_node(
        "Sub", [one.output[0], erf.output[0]], outputs=outputs, shapes=shapes, dtypes=dtypes
    )


def main() -> None:
    """Runs the command line."""
    folder, file, opset, version = sys.argv[1:]
    loaded = tf.saved_model.load(folder)
    signature = loaded.signatures["serve"]
    by_name = {spec.name: spec for spec in signature.structured_input_signature[1].values()}
    # Signatures are sorted by name; the inputs of the file are in the order of the call's arguments.
    args, kwargs = loaded.serve.concrete_functions[0].structured_input_signature
    in_order = [spec.name for spec in tf.nest.flatten((args, kwargs))]
    names = in_order if sorted(in_order) == sorted(by_name) else list(by_name)
    specs = [by_name[name] for name in names]
    function = tf.function(
        lambda *tensors: signature(**dict(zip(names, tensors, strict=True))), input_signature=specs
    )
    model, _ = tf2onnx.convert.from_function(
        function, input_signature=specs, opset=int(opset), custom_op_handlers={"Erfc": (erfc, [])}
    )
    model.producer_name, model.producer_version = "tfkit", version
    onnx.checker.check_model(model)
    onnx.save(model, file)


if __name__ == "__main__":
    main()
