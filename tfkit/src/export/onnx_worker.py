"""Converts a SavedModel to ONNX in a separate process: `tf2onnx` is large and optional.

python -P onnx_worker.py SAVED_MODEL FILE OPSET VERSION_OF_TFKIT
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import onnx
import onnx.inliner
import onnx.parser
import tensorflow as tf
import tf2onnx

_Dtype = onnx.TensorProto
_FLOATS = {_Dtype.FLOAT, _Dtype.DOUBLE, _Dtype.FLOAT16, _Dtype.BFLOAT16}
_DOMAIN = "tfkit"
# Operations that ONNX lacks, in the syntax of its functions (onnx/docs/Syntax.md); `one` has the dtype of x.
_FUNCTIONS = {
    "Erfc": """
        erf = Erf (x)
        y = Sub (one, erf)
    """,
    # tanh(x / 2) (exp(x) + 1), which does not cancel near 0.
    "Expm1": """
        two = Add (one, one)
        half = Div (x, two)
        tanh = Tanh (half)
        power = Exp (x)
        sum = Add (power, one)
        y = Mul (tanh, sum)
    """,
    # 2 atanh(x / (x + 2)) near 0, where 1 + x would round.
    "Log1p": """
        two = Add (one, one)
        sum = Add (x, one)
        far = Log (sum)
        next = Add (x, two)
        ratio = Div (x, next)
        angle = Atanh (ratio)
        near = Mul (two, angle)
        size = Abs (x)
        is_far = Greater (size, one)
        y = Where (is_far, far, near)
    """,
    # The bits of a float32, as an int32: sign, exponent and fraction (IEEE 754).
    "Bitcast": """
        size = Abs (x)
        two = Add (one, one)
        least = Constant <value_float = -126.0> ()
        most = Constant <value_float = 127.0> ()
        log = Log (size)
        log_2 = Log (two)
        ratio = Div (log, log_2)
        rounded = Floor (ratio)
        about = Clip (rounded, least, most)
        power = Pow (two, about)
        is_less = Less (size, power)
        less = CastLike (is_less, x)
        double = Mul (power, two)
        is_more = GreaterOrEqual (size, double)
        more = CastLike (is_more, x)
        lower = Sub (about, less)
        corrected = Add (lower, more)
        exponent = Max (corrected, least)
        scale = Pow (two, exponent)
        fraction = Div (size, scale)
        values = Constant <value_float = 8388608.0> ()
        places = Mul (fraction, values)
        place = Cast <to = 6> (places)
        above = Sub (exponent, least)
        steps = Cast <to = 6> (above)
        count = Cast <to = 6> (values)
        start = Mul (steps, count)
        finite = Add (start, place)
        is_infinite = IsInf (x)
        infinity = Constant <value = int32 {2139095040}> ()
        number = Where (is_infinite, infinity, finite)
        is_nan = IsNaN (x)
        nan = Constant <value = int32 {2143289344}> ()
        positive = Where (is_nan, nan, number)
        zero = Sub (one, one)
        is_below = Less (x, zero)
        inverse = Reciprocal (x)
        is_from_below = Less (inverse, zero)
        has_sign = Or (is_below, is_from_below)
        sign = Constant <value = int32 {-2147483648}> ()
        negative = Add (positive, sign)
        y = Where (has_sign, negative, positive)
    """,
}


def _function(name: str, opset: int) -> Any:
    head = f'<opset_import: ["": {opset}], domain: "{_DOMAIN}"> {name} (x) => (y)'
    one = "unit = Constant <value_float = 1.0> () one = CastLike (unit, x)"
    return onnx.parser.parse_function(f"{head} {{ {one} {_FUNCTIONS[name]} }}")


def _call_function(graph: Any, node: Any, name: str, arguments: Any) -> None:
    """Makes a node a call of the function of its name."""
    del name, arguments
    dtypes = graph.get_dtype(node.input[0]), graph.get_dtype(node.output[0])
    if node.type == "Bitcast" and dtypes != (_Dtype.FLOAT, _Dtype.INT32):
        return
    node.domain = _DOMAIN
    for attribute in list(node.attr):
        del node.attr[attribute]


def _top_k(graph: Any, node: Any, name: str, arguments: Any) -> None:
    """Makes a node ONNX's `TopK` of its own dtype; `tf2onnx` would round integers to float32."""
    del arguments
    place = graph.get_dtype(node.output[1])
    _widen(graph, node, [0], {_Dtype.FLOAT, _Dtype.DOUBLE, _Dtype.INT64, _Dtype.INT32})
    cast = graph.make_node("Cast", [node.input[1]], attr={"to": _Dtype.INT64})
    one = graph.make_const(f"{name}/one", np.array([1], "int64"))
    k = graph.make_node("Reshape", [cast.output[0], one.output[0]])
    graph.replace_input(node, node.input[1], k.output[0], 1)
    graph.insert_new_node_on_output("Cast", node.output[1], to=place)
    graph.set_dtype(node.output[1], _Dtype.INT64)
    node.type = "TopK"


def _where(graph: Any, node: Any, name: str, arguments: Any) -> None:
    """Makes a node ONNX's `Where`; `tf2onnx` would multiply by 0 what is not chosen: infinity became NaN."""
    del name, arguments
    words_and_bytes = {_Dtype.STRING, _Dtype.INT8, _Dtype.UINT8}
    _widen(graph, node, [1, 2], {*_FLOATS, _Dtype.INT64, _Dtype.INT32, *words_and_bytes})
    node.type = "Where"


def _widen(graph: Any, node: Any, inputs: list[int], known: set[int]) -> None:
    """Casts inputs of a dtype for which onnxruntime has no kernel, and the first output back."""
    dtype = graph.get_dtype(node.output[0])
    if dtype in known:
        return
    wide = _Dtype.FLOAT if dtype in _FLOATS else _Dtype.INT64
    for index in inputs:
        graph.insert_new_node_on_input(node, "Cast", node.input[index], input_index=index, to=wide)
    graph.insert_new_node_on_output("Cast", node.output[0], to=dtype)
    graph.set_dtype(node.output[0], wide)


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
        function,
        input_signature=specs,
        opset=int(opset),
        custom_op_handlers={
            "TopKV2": (_top_k, []),
            "SelectV2": (_where, []),
            **{name: (_call_function, []) for name in _FUNCTIONS},
        },
        extra_opset=[onnx.helper.make_opsetid(_DOMAIN, 1)],
    )
    # Not every reader of ONNX knows functions: what they do stands in their place.
    model.functions.extend(_function(name, int(opset)) for name in _FUNCTIONS)
    model = onnx.inliner.inline_local_functions(model)
    model.producer_name, model.producer_version = "tfkit", version
    onnx.checker.check_model(model)
    onnx.save(model, file)


if __name__ == "__main__":
    main()
