"""The functions and classes of `quantizers` against Keras's."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfkit import quantizers

theirs = keras.quantizers
DRAWS = np.random.default_rng(3)
X = DRAWS.normal(size=(5, 6)).astype("float32")
BYTES = DRAWS.integers(-8, 8, (3, 5, 2)).astype("int8")
MATRIX = np.array([[1.0, -2], [-0.3, 0.1], [0.5, 4], [-1, -1], [0.7, 0.2]], "float32")

# Function, positional arguments, named arguments.
CALLS = [
    *[("abs_max_quantize", (X, axis), {}) for axis in (-1, 0, (0, 1), None)],
    ("abs_max_quantize", (np.zeros((2, 3), "float32"), 0), {}),
    ("abs_max_quantize", (X, -1), {"value_range": (-8, 7), "epsilon": 0.1}),
    ("abs_max_quantize", (X.astype("float16"), -1), {}),
    ("abs_max_quantize", (X, -1), {"to_numpy": True, "dtype": "int16"}),
    *[("abs_max_quantize_grouped_with_zero_point", (MATRIX, size), {}) for size in (2, 3, 5, 128)],
    ("abs_max_quantize_grouped_with_zero_point", (MATRIX, 2), {"to_numpy": True}),
    ("abs_max_quantize_grouped_with_zero_point", (0 * MATRIX, 2), {"to_numpy": True}),
    *[("pack_int4", (BYTES,), {"axis": axis}) for axis in (0, 1, 2, -1)],
    ("pack_int4", (BYTES.view("uint8") & 15,), {"dtype": "uint8"}),
    ("unpack_int4", (BYTES, 5), {}),
    ("unpack_int4", (BYTES, 9), {"axis": 1}),
    ("unpack_int4", (BYTES.view("uint8"), 3), {"axis": -1, "dtype": "uint8"}),
    *[
        ("compute_float8_scale", (np.float32(amax), np.float32(2), 448.0), {"margin": margin})
        for amax, margin in ((3, 0), (0, 0), (np.inf, 0), (np.nan, 0), (3, 2))
    ],
    ("compute_float8_amax_history", (X, np.array([1, 2, 3], "float32")), {}),
    ("quantize_and_dequantize", (X, np.float32(0.01), "float8_e4m3fn", "float32"), {}),
    ("quantize_and_dequantize", (1e4 * X, np.float32(1), "float8_e4m3fn", "float32"), {}),
    ("quantize_and_dequantize", (1e6 * X, np.float32(1), "float8_e5m2", "float32"), {}),
    ("fake_quant_with_min_max_vars", (X, -1.0, 2.0), {}),
    ("fake_quant_with_min_max_vars", (X, -1.0, 2.0), {"num_bits": 4, "narrow_range": True}),
    ("fake_quant_with_min_max_vars", (X, np.float32([-1.0]), np.float32([2.0])), {}),
    ("fake_quant_with_min_max_vars", (X, -np.arange(1.0, 6), np.arange(2.0, 7)), {"axis": 0}),
    ("fake_quant_with_min_max_vars", (X, -np.arange(1.0, 7), np.arange(2.0, 8)), {"axis": -1}),
]
IDS = [f"{call[0]}-{number}" for number, call in enumerate(CALLS)]


def as_arrays(result):
    parts = result if isinstance(result, tuple) else (result,)
    return [np.asarray(part) for part in parts]


@pytest.mark.parametrize(("name", "args", "kwargs"), CALLS, ids=IDS)
@pytest.mark.parametrize("jit_compile", [None, True], ids=["eager", "xla"])
def test_the_functions_are_keras(name, args, kwargs, jit_compile):
    ours = getattr(quantizers, name)
    expected = as_arrays(getattr(theirs, name)(*args, **kwargs))
    tensors = {i: tf.constant(arg) for i, arg in enumerate(args) if isinstance(arg, np.ndarray)}

    def call(tensors):
        return ours(*[tensors.get(i, arg) for i, arg in enumerate(args)], **kwargs)

    results = as_arrays(
        tf.function(call, jit_compile=True)(tensors) if jit_compile else ours(*args, **kwargs)
    )
    assert len(results) == len(expected)
    for found, wanted in zip(results, expected, strict=True):
        assert found.shape == wanted.shape
        if wanted.dtype.kind == "i":
            np.testing.assert_array_equal(found, wanted)
        else:
            assert found.dtype == wanted.dtype
            np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)


def test_one_range_serves_all_channels():
    found, wanted = (
        quantizers.fake_quant_with_min_max_vars(X, -1.0, 2.0, axis=axis) for axis in (-1, None)
    )
    np.testing.assert_array_equal(found, wanted)


def test_groups_away_from_zero_are_held():
    """Keras's zero does not fit into its 4 bits there."""
    x = np.array([[3.0, -5], [4, -6], [3, -5], [3, -5]], "float32")
    quantized, scale, zero = quantizers.abs_max_quantize_grouped_with_zero_point(x, 2)
    restored = (quantized.numpy() - np.repeat(zero, 2, 0)) * np.repeat(scale, 2, 0)
    assert np.abs(restored - x).max() <= scale.numpy().max() / 2 + 1e-6
    quantized, scale, zero = map(np.asarray, theirs.abs_max_quantize_grouped_with_zero_point(x, 2))
    assert np.abs((quantized - np.repeat(zero, 2, 0)) * np.repeat(scale, 2, 0) - x).max() > 1


@pytest.mark.parametrize("axis", [None, 1])
def test_the_gradients_of_fake_quantization_are_keras(axis):
    sizes = () if axis is None else (6,)
    values = [tf.constant(3 * X), tf.fill(sizes, -1.0), tf.fill(sizes, 2.0)]
    gradients = []
    for package in (quantizers, theirs):
        with tf.GradientTape() as tape:
            tape.watch(values)
            outputs = package.fake_quant_with_min_max_vars(*values, axis=axis)
        gradients.append(tape.gradient(outputs, values, tf.constant(X)))
    for ours, wanted in zip(*gradients, strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "call"),
    [({}, {}), ({"axis": 0}, {}), ({"axis": -1}, {"axis": 0}), ({"value_range": (-8, 7)}, {})],
)
def test_quantizers_are_keras(arguments, call):
    ours, other = quantizers.AbsMaxQuantizer(**arguments), theirs.AbsMaxQuantizer(**arguments)
    assert ours.get_config() == other.get_config()
    assert quantizers.serialize(ours) == theirs.serialize(other)
    again = quantizers.deserialize(quantizers.serialize(ours))
    for quantizer in (ours, again):
        for found, wanted in zip(quantizer(X, **call), other(X, **call), strict=True):
            np.testing.assert_array_equal(found, wanted)


FOUR_BITS = {"class_name": "AbsMaxQuantizer", "config": {"value_range": (-8, 7)}}


def test_names_are_found():
    assert quantizers.get(None) is None
    assert type(quantizers.get("abs_max_quantizer")) is quantizers.AbsMaxQuantizer
    assert quantizers.get("AbsMaxQuantizer", axis=1).axis == (1,)
    assert quantizers.get(quantizers.AbsMaxQuantizer, axis=1).axis == (1,)
    assert quantizers.get(len) is len


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("Int8QuantizationConfig", {}),
        ("Int8QuantizationConfig", {"activation_quantizer": None}),
        ("Int4QuantizationConfig", {}),
        ("Int4QuantizationConfig", {"block_size": -1, "weight_quantizer": FOUR_BITS}),
        ("Float8QuantizationConfig", {}),
    ],
)
def test_configurations_are_keras(name, arguments):
    other = {key: theirs.get(value) for key, value in arguments.items() if key != "block_size"}
    other |= {key: value for key, value in arguments.items() if key == "block_size"}
    ours, wanted = getattr(quantizers, name)(**arguments), getattr(theirs, name)(**other)
    assert ours.mode == wanted.mode
    assert ours.get_config() == wanted.get_config()
    again = type(ours).from_config(ours.get_config())
    assert again.get_config() == ours.get_config()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: quantizers.abs_max_quantize(np.arange(3), 0), "Expected floats.*int64"),
        (lambda: quantizers.abs_max_quantize(X, 0, value_range=(-8, 0)), "above 0.*-8, 0"),
        (lambda: quantizers.AbsMaxQuantizer(0, value_range=(-256, 256)), "from -128 to 127"),
        (lambda: quantizers.abs_max_quantize_grouped_with_zero_point(X, 0), "block_size=0"),
        (lambda: quantizers.abs_max_quantize_grouped_with_zero_point(X[0], 2), "need a matrix"),
        (lambda: quantizers.pack_int4(BYTES, dtype="int16"), "'int8' or 'uint8'.*'int16'"),
        (lambda: quantizers.quantize_and_dequantize(X, 1, "float8", "float32"), "float8"),
        (lambda: quantizers.fake_quant_with_min_max_vars(X, 0, 1, 17), "from 2 to 16.*17"),
        (lambda: quantizers.Int4QuantizationConfig(block_size=0), "block_size=0"),
        (
            lambda: quantizers.Int4QuantizationConfig(weight_quantizer="abs_max_quantizer"),
            "their own quantizers.*block_size=128",
        ),
        (
            lambda: quantizers.Int8QuantizationConfig(
                quantizers.AbsMaxQuantizer(output_dtype="int16")
            ),
            "output_dtype='int8'.*'int16'",
        ),
        (lambda: quantizers.get("abs_min"), "Unknown name.*'abs_min'"),
    ],
)
def test_errors_say_what_was_expected(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_packing_needs_bytes():
    with pytest.raises(TypeError, match=r"of dtype int8 for packing.*int32"):
        quantizers.pack_int4(BYTES.astype("int32"))
    with pytest.raises(TypeError, match=r"of dtype int8 for unpacking.*int32"):
        quantizers.unpack_int4(BYTES.astype("int32"), 3)


def test_symbolic_inputs_are_quantized_in_a_model():
    import tfkit

    inputs = tfkit.Input((6,))
    model = tfkit.Model(inputs, quantizers.fake_quant_with_min_max_vars(inputs, -1.0, 2.0))
    expected = quantizers.fake_quant_with_min_max_vars(X, -1.0, 2.0)
    np.testing.assert_array_equal(model.predict(X, verbose=0), expected)
    again = tfkit.Model.from_config(model.get_config())
    np.testing.assert_array_equal(again.predict(X, verbose=0), expected)
