"""The JSON of TF Serving's REST interface: tensors, rows and columns, examples, responses.

Reference: https://www.tensorflow.org/tfx/serving/api_rest
"""

from __future__ import annotations

import base64
import binascii
import heapq
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from . import examples_wire
from .errors import Code, RequestError, check_strings, invalid

Arrays = dict[str, np.ndarray]
Dtypes = Mapping[str, str]  # of the inputs of a signature, by name
# The same as in `tfkit.src.export.json_dtypes`: a test compares them.
DTYPES = frozenset(
    "bool float32 float64 int8 int16 int32 int64 string uint8 uint32 uint64".split()  # noqa: SIM905
)
_BYTES_SUFFIX = "_bytes"
_MAX_DEPTH = 100  # of lists in lists
_DIGITS = {"float32": 24, "float64": 53}  # of the binary numbers that these hold


class _Constant(float):
    """`NaN`, `Infinity` or `-Infinity`, as the request has it; a plain infinity is a number like 1e400."""


def parse(body: bytes) -> dict[str, Any]:
    """Returns the JSON object of a request. `NaN`, `Infinity` and `-Infinity` are values, as in TF Serving.

    Raises:
        RequestError: for anything else than a JSON object.
    """
    try:
        request = json.loads(body, parse_constant=_Constant)
    except (ValueError, RecursionError) as error:
        raise invalid(f"JSON Parse error: {error}") from None
    if not isinstance(request, dict):
        raise invalid(f"Expected a JSON object as the request. Received: {_kind(request)}")
    return request


def signature_name(request: dict[str, Any]) -> str:
    """Returns the signature that a request names; empty if it names none."""
    name = request.get("signature_name", "")
    if not isinstance(name, str):
        raise invalid(f"Expected a string as 'signature_name'. Received: {_kind(name)}")
    return name


# --- Predict --------------------------------------------------------------------------------------


def predict_inputs(request: dict[str, Any], dtypes: Dtypes) -> tuple[Arrays, bool]:
    """Returns the inputs of a signature in a predict request, and whether they came in rows.

    Args:
        request: `{"instances": [...]}`, one value a row; or `{"inputs": ...}`, one value an input. A
            value is bare where the signature has one input, else an object with a value for each.
        dtypes: of the inputs of the signature, by name.

    Raises:
        RequestError: for a request that does not fit.
    """
    keys = [key for key in ("instances", "inputs") if key in request]
    if len(keys) != 1:
        raise invalid(
            f"Expected one of the keys 'instances' (rows) and 'inputs' (columns). Received: {_list(request)}"
        )
    if keys == ["inputs"]:
        value = request["inputs"]
        if isinstance(value, dict) and not _is_base64(value):
            # TF Serving ignores names that the signature lacks, but in rows refuses them.
            value = {name: item for name, item in value.items() if name in dtypes}
        columns = _named(value, dtypes, lambda: "'inputs'")
        return {name: tensor(name, columns[name], dtypes[name]) for name in dtypes}, False
    rows = request["instances"]
    if not isinstance(rows, list) or not rows:
        raise invalid(f"Expected a list of rows as 'instances'. Received: {_kind(rows)}")
    if len(dtypes) == 1 and all(type(row) is not dict for row in rows):
        ((name, dtype),) = dtypes.items()
        return {name: tensor(name, rows, dtype)}, True
    named = [_named(row, dtypes, partial(_row, index)) for index, row in enumerate(rows)]
    return {
        name: tensor(name, [row[name] for row in named], dtype) for name, dtype in dtypes.items()
    }, True


def predict_answer(outputs: Arrays, in_rows: bool) -> dict[str, Any]:
    """Returns the response to a predict request: rows for rows, columns for columns; bare for one output.

    Raises:
        RequestError: for outputs that JSON cannot hold, or that have no rows if rows were requested.
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


def _row(index: int) -> str:
    return f"Row {index} of 'instances'"


def _named(value: Any, dtypes: Dtypes, what: Callable[[], str]) -> dict[str, Any]:
    """Returns the values of all inputs by name; a single input needs no name. `what` describes the value."""
    if not isinstance(value, dict) or _is_base64(value):
        if len(dtypes) != 1:
            raise invalid(
                f"{what()} must be an object with the inputs {_list(dtypes)}. Received: {_kind(value)}"
            )
        return dict.fromkeys(dtypes, value)
    if value.keys() != dtypes.keys():
        raise invalid(f"{what()} must have the inputs {_list(dtypes)}. Received: {_list(value)}")
    return value


# --- Tensors ----------------------------------------------------------------------------------------

# By kind of dtype; others accept integers.
_ACCEPTED: dict[str, set[type]] = {"b": {bool}, "f": {int, float, _Constant}}


def tensor(name: str, value: Any, dtype: str) -> np.ndarray:
    """Returns a number, string, truth value, or nested lists of them as an array.

    Args:
        name: of the input, for messages.
        value: from JSON. Bytes are written as `{"b64": text}`.
        dtype: of the signature; no value is rounded to it.

    Raises:
        RequestError: for lists of uneven lengths, and for values of a different type or out of range.
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
        check_strings(len(values))
        array = np.empty(len(values), object)
        array[:] = [
            value.encode() if type(value) is str and value.isascii() else _as_bytes(name, value)
            for value in values
        ]
        return array
    check_dtype(f"Input {name!r}", dtype)
    target = np.dtype(dtype)
    accepted = _ACCEPTED.get(target.kind, {int})
    if others := set(map(type, values)) - accepted:
        other = next(value for value in values if type(value) in others)
        raise invalid(f"Input {name!r} expects values of {dtype}. Received: {_start(other)}")
    if target.kind != "b":
        _check_range(name, values, target)
    if target.kind == "f":
        # By way of float64, which also accepts integers of more than 64 bits.
        return np.array(values, np.float64).astype(target)
    return np.array(values, target)


def check_dtype(what: str, dtype: str) -> None:
    """Raises an error for dtypes that TF Serving has no JSON for.

    Raises:
        RequestError: with the code UNIMPLEMENTED, as from TF Serving.
    """
    if dtype not in DTYPES:
        raise RequestError(
            Code.UNIMPLEMENTED,
            f"{what} is of dtype {dtype}, for which TF Serving's REST interface has no JSON form. Send "
            "the request over gRPC, or cast in the model.",
        )


def _check_range(name: str, values: list[Any], dtype: np.dtype[Any]) -> None:
    """Raises an error for numbers that are too large for a dtype, and for integers that it would round."""
    is_float = dtype.kind == "f"
    # `min` and `max` are wrong with NaN.
    finite = [value for value in values if abs(value) < math.inf] if is_float else values
    if len(finite) < len(values) and any(
        type(value) is float and math.isinf(value) for value in values
    ):
        raise invalid(
            f"Input {name!r}: a number is too large for {dtype.name}. Write Infinity if it is meant."
        )
    # Up to this value the dtype contains all integers.
    whole = 2 ** _DIGITS.get(dtype.name, 64)
    for value in (min(finite), max(finite)) if finite else ():
        rounded = isinstance(value, int) and abs(value) > whole
        if rounded or not _fits(value, dtype):
            raise invalid(f"Input {name!r}: {_start(value)} does not fit {dtype.name}.")


def _fits(value: Any, dtype: np.dtype[Any]) -> bool:
    """Whether a number, once rounded to a dtype, is in its range."""
    if dtype.kind == "f":
        # The shortest text of the largest float32, 3.4028235e+38, is a little above it.
        with np.errstate(over="ignore"):
            return bool(np.isfinite(dtype.type(value)))
    limits = np.iinfo(dtype)
    return int(limits.min) <= value <= int(limits.max)


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
    """Returns an array for `json.dumps`; strings of outputs whose name ends in `_bytes` as base64."""
    if array.dtype == object:
        values = np.empty(array.shape, object)
        values.reshape(-1)[:] = [_text(name, item) for item in array.flat]
        return values.tolist()
    check_dtype(f"Output {name!r}", array.dtype.name)
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
    """Returns doubles with the fewest digits that identify the narrower number: 0.1, not 0.10000000149."""
    return array.astype(str).astype(np.float64)


# --- Classify and regress -----------------------------------------------------------------------------


def examples(request: dict[str, Any]) -> list[bytes]:
    """Returns the serialized `tf.Example`s of a classify or regress request, each with the shared context.

    Args:
        request: `{"context": {feature: value}, "examples": [{feature: value}, ...]}`, where a value is a
            number, string, `{"b64": text}` or a list of these. Whole numbers are int64, others floats.

    Raises:
        RequestError: for a request that does not fit.
    """
    rows = request.get("examples")
    if not isinstance(rows, list) or not rows:
        raise invalid(f"Expected a list of objects as 'examples'. Received: {_kind(rows)}")
    check_strings(len(rows))
    context = _example(request.get("context", {}), "'context'")
    found = [_example(row, f"Item {index} of 'examples'") for index, row in enumerate(rows)]
    return [context + example for example in found]  # Concatenated messages are merged messages.


def _example(features: Any, what: str) -> bytes:
    if not isinstance(features, dict):
        raise invalid(f"{what} must be an object of features. Received: {_kind(features)}")
    encoded = {}
    for name, value in features.items():
        if not _is_text(name):
            raise invalid(f"{what}: the name of a feature is not text: {_start(name)}")
        encoded[name] = _feature(name, value if isinstance(value, list) else [value])
    return examples_wire.example(encoded)


def _feature(name: str, values: Sequence[Any]) -> bytes:
    kinds = set(map(type, values))
    if not kinds:
        return b""
    if kinds <= {int, bool}:
        smallest, largest = min(values), max(values)
        if smallest < -(2**63) or largest >= 2**63:
            wrong = smallest if smallest < -(2**63) else largest
            raise invalid(f"Feature {name!r}: {_start(wrong)} does not fit int64.")
        return examples_wire.int64_list(values)
    if kinds <= {float, _Constant}:
        return examples_wire.float_list(tensor(name, list(values), "float32"))
    if all(isinstance(value, str) or _is_base64(value) for value in values):
        return examples_wire.bytes_list([_as_bytes(name, value) for value in values])
    raise invalid(
        f"Feature {name!r} needs values of one kind: whole numbers, decimal numbers, or strings."
    )


def _is_text(name: str) -> bool:
    """Whether UTF-8 can encode it: JSON can contain unpaired surrogates, such as U+D800."""
    return name.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in name)


def classification(labels: np.ndarray, scores: np.ndarray) -> dict[str, Any]:
    """Returns the response to a classify request: for each example pairs of label and score."""
    rows = zip(labels.tolist(), scores.astype(np.float64).tolist(), strict=True)
    return {
        "results": [
            [[label.decode(errors="replace"), score] for label, score in zip(*row, strict=True)]
            for row in rows
        ]
    }


def regression(values: np.ndarray) -> dict[str, Any]:
    """Returns the response to a regress request: a number for each example."""
    return {"results": plain("outputs", values)}


# --- Messages -----------------------------------------------------------------------------------------


def _kind(value: Any) -> str:
    """Returns JSON's name for the type of a value."""
    names = {dict: "object", list: "list", str: "string", bool: "boolean", type(None): "null"}
    if value == [] or value == {}:
        return f"an empty {names[type(value)]}"
    return names.get(type(value), "number")


def _list(names: Iterable[str]) -> str:
    """Returns the first ten names."""
    return f"[{', '.join(_start(name) for name in heapq.nsmallest(10, names))}]"


def _start(value: Any) -> str:
    """Returns the start of a value of any size."""
    if isinstance(value, str):
        value = value[:100]
    elif isinstance(value, int) and abs(value) >= 10**40:
        return f"a number of about {int(value.bit_length() * math.log10(2)) + 1} digits"
    elif isinstance(value, (dict, list)):
        return _kind(value)
    return repr(value)[:100]
