"""Converts gRPC requests to arrays: reads messages of TF Serving's protocol.

Reference: tensorflow/core/framework/tensor.proto, types.proto, tensorflow_serving/apis/*.proto
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from .errors import check_strings, invalid, shortened

Arrays = dict[str, np.ndarray]
MAX_NAMES = 10_000  # of inputs and of wanted outputs in a request

# NumPy's name of each dtype, and the field that holds its values if they are not in `tensor_content`.
_DTYPES = {
    1: ("float32", "float_val"), 2: ("float64", "double_val"), 3: ("int32", "int_val"),
    4: ("uint8", "int_val"), 5: ("int16", "int_val"), 6: ("int8", "int_val"),
    7: ("object", "string_val"), 8: ("complex64", "scomplex_val"), 9: ("int64", "int64_val"),
    10: ("bool", "bool_val"), 14: ("bfloat16", "half_val"), 17: ("uint16", "int_val"),
    18: ("complex128", "dcomplex_val"), 19: ("float16", "half_val"), 22: ("uint32", "uint32_val"),
    23: ("uint64", "uint64_val"),
}  # fmt: skip


def predict_request(request: Any, max_bytes: int) -> tuple[Any, Arrays]:
    """Returns the contents of a `PredictRequest`.

    First name, version and signature of the model, the names of the wanted outputs, and the names of bfloat16
    inputs; then the inputs by name, those of bfloat16 as uint16.

    Args:
        request: the message.
        max_bytes: size of the largest array to make, as one value may be repeated.

    Raises:
        RequestError: for invalid tensors.
    """
    if max(len(request.inputs), len(request.output_filter)) > MAX_NAMES:
        raise invalid(f"Expected {MAX_NAMES:,} inputs at most, and as many names in output_filter.")
    inputs, narrow = {}, []
    for name in request.inputs:
        tensor = request.inputs[name]
        inputs[name] = array_of(name, tensor, max_bytes)
        if tensor.dtype == 14:
            narrow.append(name)
    return (model_of(request.model_spec), list(request.output_filter), narrow), inputs


def examples_request(request: Any) -> tuple[Any, Arrays]:
    """Returns the contents of a `ClassificationRequest` or `RegressionRequest`.

    First name, version and signature of the model; then its serialized `tf.Example`s, each with the shared
    context.

    Raises:
        RequestError: for an input without examples.
    """
    with_context = request.input.example_list_with_context
    context = with_context.context.SerializeToString()
    rows = request.input.example_list.examples or with_context.examples
    if not rows:
        raise invalid("Expected one example or more as `input`. Received: none")
    check_strings(len(rows))
    inputs = np.empty(len(rows), object)
    # A concatenation of messages is the merged message.
    inputs[:] = [context + row.SerializeToString() for row in rows]
    return (model_of(request.model_spec), [], []), {"inputs": inputs}


def model_of(spec: Any) -> tuple[str, int | None, str]:
    """Returns name, version and signature of a `ModelSpec`."""
    if spec.HasField("version_label"):
        raise invalid("tfkit serve has no version labels: name the version by its number.")
    version = spec.version.value if spec.HasField("version") else None
    return spec.name, version, spec.signature_name


def array_of(name: str, tensor: Any, max_bytes: int) -> np.ndarray:
    """Returns the array in a `TensorProto`; one of bfloat16 as uint16.

    Args:
        name: of the input, for messages.
        tensor: the message. If it has fewer values than its shape requires, the last one is repeated.
        max_bytes: largest array to make.

    Raises:
        RequestError: for a message that is not a tensor.
    """
    what = f"Input {shortened(name)!r} is not a tensor"
    if tensor.dtype not in _DTYPES:
        raise invalid(f"{what}: no tensor that is sent has the data type {tensor.dtype}")
    dtype_name, field = _DTYPES[tensor.dtype]
    dtype = np.dtype("uint16" if dtype_name == "bfloat16" else dtype_name)
    dims = tensor.tensor_shape.dim
    if tensor.tensor_shape.unknown_rank or len(dims) > 32:
        raise invalid(f"{what}: its shape is not known, or has more than 32 dimensions")
    shape = [dim.size for dim in dims]
    if min(shape, default=0) < 0:
        raise invalid(f"{what}: its shape is not known: {shape}")
    size = 1
    for length in shape:
        size *= length  # Python's integers do not overflow.
    if size * dtype.itemsize > max_bytes or max(shape, default=0) > max_bytes:
        raise invalid(f"{what}: an array of {shape} is larger than {max_bytes:,} bytes")
    if tensor.tensor_content and dtype.kind != "O":
        content = tensor.tensor_content
        if len(content) != size * dtype.itemsize:
            raise invalid(f"{what}: {len(content):,} bytes are not an array of {shape}")
        return np.frombuffer(content, dtype).reshape(shape)
    if dtype.kind == "O":
        check_strings(size)
    values = _values(getattr(tensor, field), dtype, field)
    if len(values) > size or (size and not len(values) and dtype.kind == "O"):
        raise invalid(f"{what}: {len(values):,} values are not an array of {shape}")
    array = np.zeros(size, dtype)
    # TensorFlow repeats the last value up to the size: a constant is sent as one value.
    if len(values):
        array.fill(values[-1])  # `np.full` would drop zero bytes at the end of a string.
    array[: len(values)] = values
    return array.reshape(shape)


def _values(values: Any, dtype: np.dtype[Any], field: str) -> np.ndarray:
    if dtype.kind == "O":
        check_strings(len(values))
        array = np.empty(len(values), object)
        array[:] = list(values)
        return array
    if dtype.kind == "c":
        # Real and imaginary parts take turns.
        parts = np.fromiter(values, np.float64, len(values))
        parts = parts[: len(parts) // 2 * 2]
        return (parts[::2] + 1j * parts[1::2]).astype(dtype)
    if field == "half_val":  # the bits of each number, as an int32
        return np.fromiter(values, np.int64, len(values)).astype(np.uint16).view(dtype)
    # Read as wide numbers, since a narrow type would refuse values outside of it.
    wide = {"i": np.int64, "u": np.uint64 if dtype.itemsize == 8 else np.int64}
    return np.fromiter(values, wide.get(dtype.kind, dtype), len(values)).astype(dtype)


# --- In the reader ------------------------------------------------------------------------------------


@cache
def message_class(files: tuple[bytes, ...], name: str) -> Any:
    """Returns a class of messages, from descriptions of the files that it needs, in order of dependency.

    The reader has no TensorFlow, whose package contains them.
    """
    pool = descriptor_pool.DescriptorPool()
    for file in files:
        pool.Add(descriptor_pb2.FileDescriptorProto.FromString(file))
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))


def files_of(descriptor: Any) -> tuple[bytes, ...]:
    """Returns the argument of `message_class` for a `FileDescriptor`."""
    found: dict[str, bytes] = {}

    def visit(file: Any) -> None:
        if file.name not in found:
            for each in file.dependencies:
                visit(each)
            found[file.name] = file.serialized_pb

    visit(descriptor)
    return tuple(found.values())


def decoded(message_type: Any, content: bytes) -> Any:
    """Returns the message in `content`.

    Raises:
        RequestError: if there is none.
    """
    try:
        return message_type.FromString(content)
    except DecodeError as error:
        raise invalid(f"Expected a {message_type.DESCRIPTOR.name}: {error}") from None
