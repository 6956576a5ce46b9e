"""The JSON of TF Serving's REST interface: tensors, rows and columns, examples, answers.

Reference: https://www.tensorflow.org/tfx/serving/api_rest
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.export.c_api import TensorSpec
from tfkit.export.json_dtypes import JSON_DTYPES
from tfkit.serving.errors import Code, RequestError, invalid

Arrays = dict[str, np.ndarray]
_BYTES_SUFFIX = "_bytes"
_MAX_DEPTH = 100  # of lists in lists
_DIGITS = {"float32": 24, "float64": 53}  # of the binary numbers that these hold


def parse(body: bytes) -> dict[str, Any]:
    """The JSON object in a request. `NaN`, `Infinity` and `-Infinity` are numbers, as in TF Serving.

    Raises:
        RequestError: for anything else than a JSON object.
    """
    try:
        request = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise invalid(f"JSON Parse error: {error}") from None
    if not isinstance(request, dict):
        raise invalid(f"Expected a JSON object as the request. Received: {_kind(request)}")
    return request


def signature_name(request: dict[str, Any]) -> str:
    """The signature that a request names; empty where it names none."""
    name = request.get("signature_name", "")
    if not isinstance(name, str):
        raise invalid(f"Expected a string as 'signature_name'. Received: {_kind(name)}")
    return name


# --- Predict --------------------------------------------------------------------------------------


def predict_inputs(request: dict[str, Any], specs: Mapping[str, TensorSpec]) -> tuple[Arrays, bool]:
    """The inputs of a signature in a predict request, and whether they came in rows.

    Args:
        request: `{"instances": [...]}`, one value a row; or `{"inputs": ...}`, one value an input. A
            value is bare where the signature has one input, else an object with a value for each.
        specs: inputs of the signature.

    Raises:
        RequestError: for a request that does not fit.
    """
    keys = [key for key in ("instances", "inputs") if key in request]
    if len(keys) != 1:
        raise invalid(
            f"Expected one of the keys 'instances' (rows) and 'inputs' (columns). Received: "
            f"{sorted(request)[:10]}"
        )
    if keys == ["inputs"]:
        value = request["inputs"]
        if isinstance(value, dict) and not _is_base64(value):
            # TF Serving passes over what the signature does not name, but in rows refuses it.
            value = {name: item for name, item in value.items() if name in specs}
        columns = _named(value, specs, "'inputs'")
        return {name: tensor(name, columns[name], specs[name].dtype) for name in specs}, False
    rows = request["instances"]
    if not isinstance(rows, list) or not rows:
        raise invalid(f"Expected a list of rows as 'instances'. Received: {_kind(rows)}")
    named = [_named(row, specs, f"Row {index} of 'instances'") for index, row in enumerate(rows)]
    return {
        name: tensor(name, [row[name] for row in named], spec.dtype) for name, spec in specs.items()
    }, True


def predict_answer(outputs: Arrays, in_rows: bool) -> dict[str, Any]:
    """The answer to a predict request: rows for rows, columns for columns; bare for one output.

    Raises:
        RequestError: for outputs that JSON cannot hold, or that have no rows where rows were asked for.
    """
    if not in_rows:
        columns = {name: plain(name, array) for name, array in outputs.items()}
        return {"outputs": columns if len(columns) > 1 else next(iter(columns.values()))}
    sizes = {name: array.shape[0] if array.ndim else None for name, array in outputs.items()}
    if len(set(sizes.values())) != 1 or None in sizes.values():
        raise invalid(
            f"The outputs have {sizes} rows: they cannot be answered in rows. Send columns, as "
            '{"inputs": ...}.'
        )
    values = [plain(name, array) for name, array in outputs.items()]
    if len(outputs) == 1:
        return {"predictions": values[0]}
    rows = zip(*values, strict=True)
    return {"predictions": [dict(zip(outputs, row, strict=True)) for row in rows]}


def _named(value: Any, specs: Mapping[str, TensorSpec], what: str) -> dict[str, Any]:
    """The values of all inputs by name; one input needs no name."""
    if not isinstance(value, dict) or _is_base64(value):
        if len(specs) != 1:
            raise invalid(
                f"{what} must be an object with the inputs {sorted(specs)}. Received: {_kind(value)}"
            )
        return dict.fromkeys(specs, value)
    if value.keys() != specs.keys():
        raise invalid(
            f"{what} must have the inputs {sorted(specs)}. Received: {sorted(value)[:10]}"
        )
    return value


# --- Tensors ----------------------------------------------------------------------------------------


def tensor(name: str, value: Any, dtype: str) -> np.ndarray:
    """A number, string, truth value, or nested lists of them as an array.

    Args:
        name: of the input, for messages.
        value: from JSON. Bytes stand as `{"b64": text}`.
        dtype: of the signature; no value is rounded to it.

    Raises:
        RequestError: for lists of uneven lengths, and for values of another type or out of range.
    """
    shape: list[int] = []
    level = [value]
    while level and isinstance(level[0], list):
        if len(shape) == _MAX_DEPTH or not all(isinstance(item, list) for item in level):
            raise _uneven(name)
        sizes = set(map(len, level))
        if len(sizes) != 1:
            raise _uneven(name)
        shape.extend(sizes)
        level = list(chain.from_iterable(level))
    if any(isinstance(item, list) for item in level):
        raise _uneven(name)
    return _flat(name, level, dtype).reshape(shape)


def _uneven(name: str) -> RequestError:
    return invalid(f"Input {name!r}: lists of the same level must have the same length.")


def _flat(name: str, values: list[Any], dtype: str) -> np.ndarray:
    if dtype == "string":
        array = np.empty(len(values), object)
        array[:] = [_as_bytes(name, value) for value in values]
        return array
    _check_dtype(f"Input {name!r}", dtype)
    target = tf.as_dtype(dtype)
    accepted = {bool} if target.is_bool else {int} if target.is_integer else {int, float}
    others = [value for value in values if type(value) not in accepted]
    if others:
        raise invalid(
            f"Input {name!r} expects values of {dtype}. Received: {repr(others[0])[:100]}"
        )
    if not target.is_bool:
        _check_range(name, values, dtype, target)
    if target.is_floating:
        return np.array(values, np.float64).astype(target.as_numpy_dtype)
    return np.array(values, target.as_numpy_dtype)


def _check_dtype(what: str, dtype: str) -> None:
    if dtype not in JSON_DTYPES:
        raise RequestError(
            Code.UNIMPLEMENTED,
            f"{what} is of dtype {dtype}, which TF Serving's REST interface has no JSON for. Ask over gRPC, "
            "or cast in the model.",
        )


def _check_range(name: str, values: list[Any], dtype: str, target: tf.DType) -> None:
    """Refuses numbers that a dtype cannot hold: too large ones, and whole numbers that it would round."""
    finite = [value for value in values if abs(value) < float("inf")]
    number = float if target.is_floating else int
    smallest, largest = number(target.min), number(target.max)
    whole = 2 ** _DIGITS.get(dtype, 64)
    for value in (min(finite), max(finite)) if finite else ():
        rounded = isinstance(value, int) and abs(value) > whole
        if rounded or not smallest <= value <= largest:
            raise invalid(f"Input {name!r}: {str(value)[:40]} does not fit {dtype}.")


def _as_bytes(name: str, value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if _is_base64(value):
        try:
            return base64.b64decode(value["b64"], validate=True)
        except (binascii.Error, ValueError) as error:
            raise invalid(f"Input {name!r}: not base64: {error}") from None
    raise invalid(
        f'Input {name!r} expects strings, or {{"b64": text}} for bytes. Received: {_kind(value)}'
    )


def _is_base64(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"b64"} and isinstance(value["b64"], str)


def plain(name: str, array: np.ndarray) -> Any:
    """An array as what `json.dumps` takes; strings of outputs whose name ends in `_bytes` as base64."""
    if array.dtype == object:
        values = np.empty(array.shape, object)
        values.reshape(-1)[:] = [_text(name, item) for item in array.flat]
        return values.tolist()
    _check_dtype(f"Output {name!r}", array.dtype.name)
    if array.dtype == np.float32:
        return _shortest(array).tolist()
    return array.tolist()


def _text(name: str, value: bytes) -> Any:
    if name.endswith(_BYTES_SUFFIX):
        return {"b64": base64.b64encode(value).decode()}
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise invalid(
            f"Output {name!r} has a string that is not UTF-8. Give outputs that hold bytes a name that ends "
            f"in '{_BYTES_SUFFIX}': they are sent as base64."
        ) from None


def _shortest(array: np.ndarray) -> np.ndarray:
    """Doubles with the fewest digits that say which narrower number is meant: 0.1, not 0.10000000149."""
    return array.astype(str).astype(np.float64)


# --- Classify and regress -----------------------------------------------------------------------------


def examples(request: dict[str, Any]) -> list[bytes]:
    """The serialized `tf.Example`s of a classify or regress request, each with the shared context.

    Args:
        request: `{"context": {feature: value}, "examples": [{feature: value}, ...]}`, where a value is a
            number, string, `{"b64": text}` or a list of these. Whole numbers are int64, others floats.

    Raises:
        RequestError: for a request that does not fit.
    """
    rows = request.get("examples")
    if not isinstance(rows, list) or not rows:
        raise invalid(f"Expected a list of objects as 'examples'. Received: {_kind(rows)}")
    context = _example(request.get("context", {}), "'context'")
    found = [_example(row, f"Item {index} of 'examples'") for index, row in enumerate(rows)]
    return [context + example for example in found]  # Joined messages are merged messages.


def _example(features: Any, what: str) -> bytes:
    if not isinstance(features, dict):
        raise invalid(f"{what} must be an object of features. Received: {_kind(features)}")
    example = tf.train.Example()
    for name, value in features.items():
        _set_feature(
            example.features.feature[name], name, value if isinstance(value, list) else [value]
        )
    return bytes(example.SerializeToString())


def _set_feature(feature: Any, name: str, values: Sequence[Any]) -> None:
    kinds = set(map(type, values))
    try:
        if kinds and kinds <= {int, bool}:
            feature.int64_list.value.extend(map(int, values))
        elif kinds == {float}:
            feature.float_list.value.extend(tensor(name, list(values), "float32").tolist())
        elif kinds and all(isinstance(value, str) or _is_base64(value) for value in values):
            feature.bytes_list.value.extend(_as_bytes(name, value) for value in values)
        elif kinds:
            raise invalid(
                f"Feature {name!r} needs values of one kind: whole numbers, decimal numbers, or strings."
            )
    except ValueError as error:
        raise invalid(f"Feature {name!r}: {error}") from None


def classification(result: Iterable[Iterable[tuple[str, float]]]) -> dict[str, Any]:
    """The answer to a classify request: for each example pairs of label and score."""
    return {"results": [[[label, score] for label, score in row] for row in result]}


def regression(values: np.ndarray) -> dict[str, Any]:
    """The answer to a regress request: a number for each example."""
    return {"results": plain("outputs", values)}


def _kind(value: Any) -> str:
    """What a JSON value is, in JSON's words."""
    names = {dict: "object", list: "list", str: "string", bool: "boolean", type(None): "null"}
    if value == [] or value == {}:
        return f"an empty {names[type(value)]}"
    return names.get(type(value), "number")
