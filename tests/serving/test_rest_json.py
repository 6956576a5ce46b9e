"""JSON to arrays and back, as TF Serving's documentation and its own tests have it."""

import base64
import json
import re

import numpy as np
import pytest
import tensorflow as tf

from tfkit.src.export.c_api import TensorSpec
from tfkit.src.export.json_dtypes import JSON_DTYPES
from tfkit.src.outer.serving.bodies import rest_json
from tfkit.src.outer.serving.bodies.errors import Code, RequestError

ONE = {"x": TensorSpec("float32", (None, 2), "x:0")}
TWO = {
    "ids": TensorSpec("int64", (None,), "ids:0"),
    "words": TensorSpec("string", (None, None), "words:0"),
}
WORD = {"words": TensorSpec("string", (None,), "words:0")}


def bytes_value(value):
    return {"b64": base64.b64encode(value).decode()}


def inputs_of(body, specs):
    dtypes = {name: spec.dtype for name, spec in specs.items()}
    return rest_json.predict_inputs(rest_json.parse(json.dumps(body).encode()), dtypes)


@pytest.mark.parametrize(
    ("body", "specs", "expected", "in_rows"),
    [
        ({"instances": [[1, 2.5]]}, ONE, {"x": np.array([[1, 2.5]], "float32")}, True),
        ({"instances": [{"x": [1, 2]}]}, ONE, {"x": np.array([[1, 2]], "float32")}, True),
        ({"inputs": [[1, 2]]}, ONE, {"x": np.array([[1, 2]], "float32")}, False),
        ({"inputs": {"x": [[1, 2]]}}, ONE, {"x": np.array([[1, 2]], "float32")}, False),
        ({"inputs": {"x": [[1, 2]], "y": 3}}, ONE, {"x": np.array([[1, 2]], "float32")}, False),
        ({"inputs": 3}, ONE, {"x": np.array(3, "float32")}, False),
        ({"inputs": []}, ONE, {"x": np.zeros([0], "float32")}, False),
        ({"inputs": [[], []]}, ONE, {"x": np.zeros([2, 0], "float32")}, False),
        (
            {"instances": [float("nan"), float("-inf")]},
            ONE,
            {"x": np.array([np.nan, -np.inf], "float32")},
            True,
        ),
        (
            {"instances": [{"ids": 1, "words": ["a", "é"]}, {"ids": 2, "words": ["", "b"]}]},
            TWO,
            {"ids": np.array([1, 2]), "words": [[b"a", "é".encode()], [b"", b"b"]]},
            True,
        ),
        (
            {"inputs": {"ids": [1], "words": [[bytes_value(b"\xff\x00")]]}},
            TWO,
            {"ids": np.array([1]), "words": [[b"\xff\x00"]]},
            False,
        ),
        ({"instances": ["a", bytes_value(b"b")]}, WORD, {"words": [b"a", b"b"]}, True),
        ({"inputs": bytes_value(b"b")}, WORD, {"words": b"b"}, False),
    ],
)
def test_rows_and_columns(body, specs, expected, in_rows):
    found, found_in_rows = inputs_of(body, specs)
    assert found_in_rows == in_rows
    assert list(found) == list(specs)
    for name, array in found.items():
        want = np.array(expected[name], object if specs[name].dtype == "string" else None)
        assert array.dtype == want.dtype
        np.testing.assert_array_equal(array, want)


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        ("bool", [True, False]),
        ("uint8", [0, 255]),
        ("int8", [-128, 127]),
        ("int32", [-(2**31), 2**31 - 1]),
        ("int64", [-(2**63), 2**63 - 1]),
        ("uint64", [0, 1, 2**64 - 1]),
        ("float64", [0.1, 1e300]),
    ],
)
def test_all_numbers_of_a_dtype_go_both_ways(dtype, values):
    array = rest_json.tensor("x", values, dtype)
    assert array.dtype == tf.as_dtype(dtype).as_numpy_dtype
    answer = json.loads(json.dumps(rest_json.plain("y", array)))
    assert rest_json.tensor("x", answer, dtype).tolist() == array.tolist()
    if "float" not in dtype:
        assert answer == values


@pytest.mark.parametrize(
    ("body", "specs", "message"),
    [
        ({}, ONE, "one of the keys 'instances' .rows. and 'inputs'.* Received: \\[\\]"),
        ({"instances": [1], "inputs": [1]}, ONE, "one of the keys"),
        ({"instances": []}, ONE, "list of rows as 'instances'. Received: an empty list"),
        ({"instances": {"x": 1}}, ONE, "list of rows as 'instances'. Received: object"),
        ({"instances": [[1, 2], [1]]}, ONE, "'x': lists of the same level"),
        ({"instances": [[1, 2], 3]}, ONE, "'x': lists of the same level"),
        ({"instances": [3, [1, 2]]}, ONE, "'x': lists of the same level"),
        ({"instances": [[1, "a"]]}, ONE, "'x' expects values of float32. Received: 'a'"),
        ({"instances": [[1, True]]}, ONE, "'x' expects values of float32. Received: True"),
        ({"instances": [[1, None]]}, ONE, "'x' expects values of float32. Received: None"),
        ({"instances": [[1, 1e39]]}, ONE, r"'x': 1e\+39 does not fit float32"),
        ({"instances": [[1, 2**24 + 1]]}, ONE, "'x': 16777217 does not fit float32"),
        ({"instances": [{"y": 1}]}, ONE, r"Row 0 .* inputs \['x'\]. Received: \['y'\]"),
        ({"instances": [[1], {"y": 1}]}, ONE, r"Row 1 .* inputs \['x'\]"),
        ({"instances": [1]}, TWO, "Row 0 .* object with the inputs .'ids', 'words'.*number"),
        ({"inputs": [1]}, TWO, "'inputs' must be an object with the inputs"),
        ({"instances": [{"x": 1, "y": 1}]}, ONE, r"Row 0 .* inputs \['x'\]"),
        ({"inputs": {"ids": [1]}}, TWO, "'inputs' must have the inputs .'ids', 'words'."),
        ({"inputs": {"ids": [1.0], "words": []}}, TWO, "'ids' expects values of int64.*1.0"),
        ({"inputs": {"ids": [2**63], "words": []}}, TWO, "'ids': 9223372036854775808 does not fit"),
        ({"instances": [3]}, WORD, "'words' expects strings, or .*Received: number"),
        ({"instances": [{"b64": "?"}]}, WORD, "'words': not base64"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_reason(body, specs, message):
    with pytest.raises(RequestError, match=message) as raised:
        inputs_of(body, specs)
    assert raised.value.code == Code.INVALID_ARGUMENT


def test_the_dtypes_are_those_that_exports_warn_about():
    assert rest_json.DTYPES == JSON_DTYPES


def test_inputs_that_json_cannot_say():
    for dtype in ("complex64", "float16", "bfloat16", "uint16", "TF_DataType(20)"):
        message = f"Input 'x' is of dtype {re.escape(dtype)}, .* Send the request over gRPC"
        with pytest.raises(RequestError, match=message) as raised:
            rest_json.tensor("x", [1], dtype)
        assert raised.value.code == Code.UNIMPLEMENTED  # As in TF Serving.


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "JSON Parse error: Expecting value"),
        (b"{", "JSON Parse error"),
        (b"\xff", "JSON Parse error"),
        (b"[1]", "Expected a JSON object as the request. Received: list"),
        (b'{"inputs": ' + b"[" * 200_000, "JSON Parse error"),
        (b'{"inputs": ' + b"1" * 5_000 + b"}", "JSON Parse error"),
    ],
)
def test_what_is_no_request(body, message):
    with pytest.raises(RequestError, match=message):
        rest_json.parse(body)


def test_lists_in_lists_without_end():
    value = 1
    for _ in range(200):
        value = [value]
    with pytest.raises(RequestError, match="same level"):
        rest_json.tensor("x", value, "float32")


def test_the_name_of_a_signature_is_a_string():
    assert rest_json.signature_name({}) == ""
    with pytest.raises(RequestError, match=r"string as 'signature_name'. Received: number"):
        rest_json.signature_name({"signature_name": 3})


def objects(values):
    array = np.empty(len(values), object)
    array[:] = values
    return array


X = np.array([[1, 2], [3, 4]], "float32")
NAMES = objects([b"a", b"b"])


@pytest.mark.parametrize(
    ("outputs", "in_rows", "expected"),
    [
        ({"y": X}, True, {"predictions": [[1.0, 2.0], [3.0, 4.0]]}),
        ({"y": X}, False, {"outputs": [[1.0, 2.0], [3.0, 4.0]]}),
        ({"y": X[:0]}, True, {"predictions": []}),
        ({"y": np.array(0.1, "float32")}, False, {"outputs": 0.1}),
        (
            {"y": X, "name": NAMES},
            True,
            {"predictions": [{"y": [1.0, 2.0], "name": "a"}, {"y": [3.0, 4.0], "name": "b"}]},
        ),
        (
            {"y": X, "name": NAMES},
            False,
            {"outputs": {"y": [[1.0, 2.0], [3.0, 4.0]], "name": ["a", "b"]}},
        ),
        ({"name_bytes": NAMES}, True, {"predictions": [{"b64": "YQ=="}, {"b64": "Yg=="}]}),
        ({"flags": np.array([True])}, True, {"predictions": [True]}),
        ({"y": np.array([0.1, 1e-7, 3], "float32")}, True, {"predictions": [0.1, 1e-7, 3.0]}),
        ({"y": np.array([np.inf], "float32")}, True, {"predictions": [np.inf]}),
    ],
)
def test_answers(outputs, in_rows, expected):
    assert rest_json.predict_answer(outputs, in_rows) == expected


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ({"y": np.array(1.0)}, "None. rows: they cannot be answered in rows"),
        ({"y": X, "z": X[:1]}, "'y': 2, 'z': 1. rows"),
        ({"y": np.array([1j])}, "'y' is of dtype complex128, for which TF Serving's REST"),
        (
            {"y": np.array([0.1], "float16")},
            "'y' is of dtype float16, .* Send the request over gRPC",
        ),
        ({"y": tf.constant([0.1], "bfloat16").numpy()}, "'y' is of dtype bfloat16"),
        ({"y": objects([b"\xff"])}, "'y' has a string that is not UTF-8.*'_bytes'"),
    ],
)
def test_answers_that_json_cannot_hold(outputs, message):
    with pytest.raises(RequestError, match=message):
        rest_json.predict_answer(outputs, in_rows=True)


def test_examples_have_features_of_three_kinds_and_the_context():
    body = {
        "context": {"query": "pizza"},
        "examples": [
            {"names": ["a", bytes_value(b"\xff")], "ratings": [8.0, float("inf")], "age": 20},
            {"names": "b", "mixed": [1, True, False], "none": []},
        ],
    }
    serialized = rest_json.examples(rest_json.parse(json.dumps(body).encode()))
    first, second = [tf.train.Example.FromString(each).features.feature for each in serialized]
    assert first["names"].bytes_list.value == [b"a", b"\xff"]
    assert first["ratings"].float_list.value == [8.0, np.inf]
    assert first["age"].int64_list.value == [20]
    assert second["mixed"].int64_list.value == [1, 1, 0]
    assert second["none"].WhichOneof("kind") is None
    assert [each["query"].bytes_list.value for each in (first, second)] == [[b"pizza"]] * 2


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "list of objects as 'examples'. Received: null"),
        ({"examples": []}, "Received: an empty list"),
        ({"examples": [3]}, "Item 0 of 'examples' must be an object of features"),
        ({"examples": [{}], "context": [1]}, "'context' must be an object"),
        ({"examples": [{"a": [1, 2.0]}]}, "Feature 'a' needs values of one kind"),
        ({"examples": [{"a": [None]}]}, "Feature 'a' needs values of one kind"),
        ({"examples": [{"a": {"b": 1}}]}, "Feature 'a' needs values of one kind"),
        ({"examples": [{"a": 2**70}]}, "Feature 'a': "),
        ({"examples": [{"a": 1e39}]}, "does not fit float32"),
    ],
)
def test_examples_that_are_none(body, message):
    with pytest.raises(RequestError, match=message):
        rest_json.examples(body)


def test_answers_of_classify_and_regress():
    scores = np.array([[0.5, 0.25]], "float32")
    assert rest_json.classification(NAMES[None], scores) == {"results": [[["a", 0.5], ["b", 0.25]]]}
    assert rest_json.regression(np.array([0.1], "float32")) == {"results": [0.1]}


@pytest.mark.parametrize("number", ["1e400", "-1e400", "123456789e999999999"])
def test_a_number_beyond_every_float_is_no_infinity(number):
    body = f'{{"instances": [[1, {number}]]}}'.encode()
    with pytest.raises(RequestError, match="too large for float32"):
        rest_json.predict_inputs(rest_json.parse(body), {"x": "float32"})
    with pytest.raises(RequestError, match="too large for float32"):
        rest_json.examples(rest_json.parse(f'{{"examples": [{{"x": {number}}}]}}'.encode()))


def test_infinity_is_read_where_the_request_says_so():
    request = rest_json.parse(b'{"instances": [[Infinity, -Infinity, NaN, 1.5]]}')
    inputs, _ = rest_json.predict_inputs(request, {"x": "float64"})
    np.testing.assert_array_equal(inputs["x"], [[np.inf, -np.inf, np.nan, 1.5]])


def test_the_largest_float_is_read_in_its_shortest_form():
    """Which is a little above it, and is rounded to it."""
    request = rest_json.parse(b'{"instances": [[3.4028235e+38, -3.4028235e38]]}')
    inputs, _ = rest_json.predict_inputs(request, {"x": "float32"})
    largest = np.finfo("float32").max
    np.testing.assert_array_equal(inputs["x"], [[largest, -largest]])
    request = rest_json.parse(b'{"instances": [[3.4028236e+38]]}')
    with pytest.raises(RequestError, match=r"3\.4028236e\+38 does not fit float32"):
        rest_json.predict_inputs(request, {"x": "float32"})
