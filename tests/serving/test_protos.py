"""Tensors of gRPC requests, as TensorFlow reads them; and what is none."""

import warnings

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import types_pb2
from tensorflow.core.framework.tensor_pb2 import TensorProto
from tensorflow_serving.apis import predict_pb2

from tfkit.src.outer.serving.bodies import protos
from tfkit.src.outer.serving.bodies.errors import Code, RequestError

DTYPES = [
    "float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16",
    "uint32", "uint64", "bool", "complex64", "complex128", "string",
]  # fmt: skip


def values(dtype):
    if dtype == "string":
        return np.array([[b"a", b"\xff\x00"], [b"", b"b"]], object)
    numbers = np.array([[0, 1], [2, 100]])
    return (numbers * (1 - 2j) if "complex" in dtype else numbers).astype(
        tf.as_dtype(dtype).as_numpy_dtype
    )


def as_tensorflow(tensor):
    with warnings.catch_warnings():  # TensorFlow 2.21 sets dtypes, which NumPy 2.5 deprecates.
        warnings.simplefilter("ignore", DeprecationWarning)
        return tf.make_ndarray(tensor)


def read(tensor, max_bytes=10**6):
    array = protos.array_of("x", tensor, max_bytes)
    return array.view(tf.bfloat16.as_numpy_dtype) if tensor.dtype == 14 else array


@pytest.mark.parametrize("dtype", DTYPES)
def test_tensors_are_read_as_tensorflow_reads_them(dtype):
    array = values(dtype)
    packed = tf.make_tensor_proto(array)  # Its bytes, but for strings.
    spread = TensorProto(dtype=packed.dtype, tensor_shape=packed.tensor_shape)
    field = protos._DTYPES[packed.dtype][1]
    flat = array.reshape(-1)
    if "complex" in dtype:
        flat = np.stack([flat.real, flat.imag], -1).reshape(-1)
    if field == "half_val":
        flat = flat.view("uint16")
    getattr(spread, field).extend(flat.tolist())
    few = TensorProto(dtype=packed.dtype, tensor_shape=packed.tensor_shape)
    getattr(few, field).extend(flat.tolist()[:2])  # The last one stands for those that are missing.
    for tensor in (packed, spread, few):
        found, expected = read(tensor), as_tensorflow(tensor)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(read(spread), array)


def test_no_values_are_zeros():
    tensor = TensorProto(dtype=types_pb2.DT_INT32)
    tensor.tensor_shape.dim.add(size=3)
    assert read(tensor).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "dtype",
    [number for number in (*types_pb2.DataType.values(), 999, -1) if number not in protos._DTYPES],
)
def test_types_that_no_tensor_has(dtype):
    """Resources, variants, references, quantized and made-up ones."""
    tensor = TensorProto(dtype=dtype, tensor_content=b"\0" * 8)
    tensor.tensor_shape.dim.add(size=2)
    with pytest.raises(RequestError, match=f"'x' is not a tensor: .* type {dtype}") as raised:
        read(tensor)
    assert raised.value.code is Code.INVALID_ARGUMENT


def shaped(*sizes, **fields):
    tensor = TensorProto(**{"dtype": types_pb2.DT_FLOAT, **fields})
    for size in sizes:
        tensor.tensor_shape.dim.add(size=size)
    return tensor


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (shaped(2, tensor_content=b"123"), "3 bytes are not an array of .2."),
        (shaped(2, float_val=[1, 2, 3]), "3 values are not an array of .2."),
        (shaped(-1, float_val=[1]), "its shape is not known: .-1."),
        (shaped(2**40, float_val=[1]), "is larger than 1,000,000 bytes"),
        (shaped(2**40, 0), "is larger than 1,000,000 bytes"),
        (shaped(*[1] * 40, float_val=[1]), "more than 32 dimensions"),
        (shaped(2, dtype=types_pb2.DT_STRING), "0 values are not an array of .2."),
        (shaped(2, dtype=types_pb2.DT_COMPLEX64, scomplex_val=[1.0] * 6), "3 values are not"),
    ],
)
def test_what_is_no_tensor(tensor, message):
    with pytest.raises(RequestError, match=message):
        read(tensor)


def test_messages_can_be_read_without_tensorflows_package():
    files = protos.files_of(predict_pb2.DESCRIPTOR)
    message_type = protos.message_class(files, "tensorflow.serving.PredictRequest")
    sent = predict_pb2.PredictRequest()
    sent.model_spec.name = "m"
    sent.model_spec.version.value = 3
    sent.output_filter.append("y")
    for name in ("float32", "bfloat16"):
        sent.inputs[name].CopyFrom(tf.make_tensor_proto(values(name)))
    request = protos.decoded(message_type, sent.SerializeToString())
    assert not isinstance(request, predict_pb2.PredictRequest)
    (model, names, narrow), inputs = protos.predict_request(request, 1000)
    assert (model, names, narrow) == (("m", 3, ""), ["y"], ["bfloat16"])
    assert inputs["bfloat16"].dtype == np.uint16
    np.testing.assert_array_equal(inputs["float32"], values("float32"))
    with pytest.raises(RequestError, match="Expected a PredictRequest: "):
        protos.decoded(message_type, b"\xff")


def test_more_names_than_a_signature_can_have():
    request = predict_pb2.PredictRequest(output_filter=["y"] * 10_001)
    with pytest.raises(RequestError, match="10,000 inputs at most"):
        protos.predict_request(request, 1000)
