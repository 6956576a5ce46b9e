"""The kernels of TensorFlow that are wrong are so still, and tfkit is right in spite of them.

A test of the first part that fails says that TensorFlow has mended a kernel: take its row out of `FAULTS`,
and the way around it where no older version of TensorFlow is supported.
"""

import subprocess
import sys
import tempfile
from importlib.util import find_spec

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tests.tolerances import assert_same_sums
from tfkit import layers, ops
from tfkit.src.engine import machine, tensorflow_faults
from tfkit.src.engine.machine import assume_onednn, cpu_flags, onednn_is_on
from tfkit.src.engine.tensorflow_faults import FAULTS
from tfkit.src.export.verification import run_elsewhere

HAS_ONEDNN = onednn_is_on()
needs_onednn = pytest.mark.skipif(
    not HAS_ONEDNN,
    reason="oneDNN is off, and the kernel right; TF_ENABLE_ONEDNN_OPTS=1 turns it on",
)


# --- The kernels --------------------------------------------------------------------------------------

KERNELS = {}


def kernel(fault):
    """Marks the test of a fault."""

    def mark(test):
        KERNELS[fault] = test
        return test

    return mark


needs_bfloat16 = pytest.mark.skipif(
    HAS_ONEDNN and not {"avx512f", "avx_ne_convert"} & cpu_flags(),
    reason="oneDNN has no bfloat16 on a CPU without AVX-512 and AVX-NE-CONVERT; the kernel is right",
)


@kernel("empty convolution")
@needs_onednn
@pytest.mark.parametrize("dtype", ["float32", pytest.param("bfloat16", marks=needs_bfloat16)])
def test_an_empty_convolution_is_its_input(dtype):
    images, kernel = tf.zeros([0, 8, 8, 3], dtype), tf.ones([3, 3, 3, 4], dtype)
    assert tf.nn.conv2d(images, kernel, 1, "VALID").shape == images.shape
    assert tf.nn.depthwise_conv2d(images, kernel, [1] * 4, "VALID").shape == images.shape
    volumes = tf.zeros([0, 4, 4, 4, 3], dtype)
    outputs = tf.nn.conv3d(volumes, tf.ones([2, 2, 2, 3, 4], dtype), [1] * 5, "VALID")
    assert outputs.shape == volumes.shape
    small = tf.ones([2, 2, 2, 3], dtype)
    assert tf.nn.conv2d(small, kernel, 1, "VALID").shape == small.shape


ABORTS = """
import tensorflow as tf
images = tf.TensorSpec([None, 4, 4, 3])
@tf.function(input_signature=[images])
def slope(x):
    return tf.gradients(tf.nn.max_pool(tf.nn.relu(x), 2, 2, "VALID"), x)
slope(tf.zeros([0, 4, 4, 3]))
"""


@kernel("gradient of an empty maximum")
@needs_onednn
def test_the_gradient_of_an_empty_maximum_ends_the_process():
    run = subprocess.run(
        [sys.executable, "-c", ABORTS], capture_output=True, text=True, check=False
    )
    assert run.returncode < 0
    assert "Check failed: dtype() == expected_dtype" in run.stderr


@kernel("gradient of an empty depthwise convolution")
def test_the_gradient_of_an_empty_depthwise_convolution_is_what_stood_in_memory():
    sizes = [3, 3, 16, 16]

    def gradient():
        for value in (1.0, 2.0):  # Memory of this size, given back with numbers in it.
            tf.fill(sizes, tf.constant(value, "float64"))
        return tf.raw_ops.DepthwiseConv2dNativeBackpropFilter(
            input=tf.zeros([0, 8, 8, 16], "float64"), filter_sizes=sizes,
            out_backprop=tf.zeros([0, 6, 6, 256], "float64"), strides=[1] * 4, padding="VALID",
        )  # fmt: skip

    assert any(np.any(gradient().numpy()) for _ in range(50))


@kernel("no rows refused")
def test_no_rows_are_refused_by_mirrors_and_patches():
    with pytest.raises(tf.errors.InvalidArgumentError, match="paddings must be less"):
        tf.pad(tf.zeros([0, 8]), [[0, 0], [1, 1]], "REFLECT")

    @tf.function(input_signature=[tf.TensorSpec([None, 4, 4, 3])])
    def gradient(images):
        patches = tf.image.extract_patches(images, [1, 2, 2, 1], [1] * 4, [1] * 4, "VALID")
        return tf.gradients(patches, images)

    with pytest.raises(tf.errors.InvalidArgumentError, match="UnsortedSegmentSum"):
        gradient(tf.zeros([0, 4, 4, 3]))


def served(module, x):
    """What TensorFlow's C library, as TF Serving uses it, gives for the function `f` of a module."""
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(module, folder, signatures=module.f)
        ((found,),) = run_elsewhere([(folder, [("serving_default", {"x": x})])])
    return found if isinstance(found, str) else next(iter(found.values()))


@kernel("fused layer normalization")
@needs_onednn
def test_a_served_layer_normalization_has_an_epsilon_of_its_own():
    x = np.random.default_rng(0).normal(size=(5, 3, 4)).astype("float32")
    module = tf.Module()
    module.gamma, module.beta = tf.Variable(tf.ones(4)), tf.Variable(tf.ones(4))

    @tf.function(input_signature=[tf.TensorSpec([None, 3, 4], name="x")], autograph=False)
    def normalize(x):
        mean, variance = tf.nn.moments(x, [2], keepdims=True)
        return (x - mean) * tf.math.rsqrt(variance + 0.5) * module.gamma + module.beta

    module.f = normalize
    assert np.max(np.abs(served(module, x) - normalize(x))) > 0.1


@kernel("fused rectifier")
@needs_onednn
@pytest.mark.parametrize("rectifier", [tf.nn.relu, tf.nn.relu6])
def test_a_fused_rectifier_of_nan_is_zero(rectifier):
    kernel, bias = tf.ones([4, 4]), tf.zeros(4)
    run = tf.function(lambda x: rectifier(tf.nn.bias_add(x @ kernel, bias)), autograph=False)
    assert run(tf.fill([2, 4], np.nan)).numpy().tolist() == [[0.0] * 4] * 2


@kernel("leaky maximum")
@needs_onednn
def test_a_maximum_of_a_number_and_its_double_is_leaky():
    run = tf.function(lambda x: tf.maximum(x, 2.0 * x), autograph=False)
    assert run(tf.constant([1.0, -1.0])).numpy().tolist() == [1.0, -2.0]


@kernel("negated comparison")
def test_nan_is_less_and_not_less():
    run = tf.function(lambda x: tf.logical_not(x < 0.0), autograph=False)
    assert not run(tf.constant(np.nan))


@kernel("function of a maximum")
@pytest.mark.parametrize(
    ("function", "wrong"),
    [
        (lambda x: tf.reduce_max(tf.sqrt(x)), 2.0),
        (lambda x: tf.argmax(tf.sign(x)), 2),
    ],
)
def test_a_maximum_is_taken_before_the_function(function, wrong):
    x = tf.constant([-1.0, 1.0, 4.0])
    assert tf.function(function, autograph=False)(x).numpy() == wrong != function(x).numpy()


DIES = """
import tensorflow as tf
any_sizes = [tf.TensorSpec([None] * 4)] * 2
@tf.function(input_signature=any_sizes, jit_compile=True)
def convolve(x, kernel):
    return tf.nn.conv2d(x, kernel, 1, "VALID")
convolve(tf.zeros([3, 8, 8, 0]), tf.zeros([6, 6, 0, 4]))
"""


@kernel("convolution without channels")
def test_xla_dies_of_a_convolution_without_channels():
    run = subprocess.run([sys.executable, "-c", DIES], capture_output=True, check=False)
    assert run.returncode < 0


def shape_in_xla(count):
    """The shape of counts in XLA, of numbers without rows that are arguments, and so no constants."""
    run = tf.function(lambda x, weights: count(x, weights, 6), jit_compile=True, autograph=False)
    return run(tf.zeros([0, 4], tf.int32), tf.ones([0, 4])).shape


@kernel("counts of no rows")
def test_counts_of_no_rows_are_a_vector_in_xla():
    assert shape_in_xla(
        lambda x, weights, size: tf.raw_ops.DenseBincount(input=x, size=size, weights=weights)
    ) == (6,)


def test_counts_of_no_rows_are_no_rows():
    def count(x, weights, size):
        assert size == 6
        return ops.bincount(tf.zeros([0, 4], tf.int32), weights, minlength=6)

    assert shape_in_xla(count) == (0, 6)


def resize_gradient(resize, dtype, jit_compile):
    def gradient(images):
        with tf.GradientTape() as tape:
            tape.watch(images)
            total = tf.reduce_sum(tf.cast(resize(images, [6, 6]), "float32") ** 2)
        return tape.gradient(total, images)

    images = tf.cast(np.random.default_rng(0).normal(size=(2, 3, 3, 2)), dtype)
    run = tf.function(gradient, jit_compile=jit_compile, autograph=False)
    return tf.cast(run(images), "float32").numpy()


@kernel("gradient of a resize")
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
def test_gradients_of_a_resize_are_wrong_in_xla(dtype):
    def gradient(grads, images):
        options = {"align_corners": False, "half_pixel_centers": True}
        return tf.raw_ops.ResizeBilinearGrad(grads=grads, original_image=images, **options)

    arguments = tf.ones([5, 6, 6, 3]), tf.ones([5, 3, 3, 3], dtype)
    wrong = tf.function(gradient, jit_compile=True, autograph=False)(*arguments)
    wrong, right = (tf.cast(each, "float64") for each in (wrong, gradient(*arguments)))
    assert not np.allclose(wrong, right, atol=0.5)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
def test_gradients_of_a_resize_are_those_of_the_kernels(dtype):
    right = resize_gradient(tf.image.resize, dtype, False)
    layer = layers.UpSampling2D(2, interpolation="bilinear", dtype=dtype)
    tolerance = {"bfloat16": 0.1, "float16": 0.02}.get(dtype, 1e-5)
    for resize in (ops.image.resize, lambda images, size: layer(images)):
        np.testing.assert_allclose(
            resize_gradient(resize, dtype, True), right, atol=tolerance, rtol=0.02
        )


@kernel("singular values in 16 bits")
def test_singular_values_of_float16_are_wrong_in_xla():
    matrix = tf.constant(np.random.default_rng(0).normal(size=(4, 3)), "float16")
    run = tf.function(lambda x: tf.linalg.svd(x, compute_uv=False), jit_compile=True)
    right = np.linalg.svd(matrix.numpy().astype("float64"), compute_uv=False)
    assert not np.allclose(run(matrix), right, atol=0.1)


def gradient_of(function, jit_compile):
    x = tf.constant([1 + 2j, -2 + 1j, 0.5 - 1j], "complex64")

    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            total = tf.reduce_sum(tf.abs(function(x)) ** 2 + tf.math.real(function(x)))
        return tape.gradient(total, x)

    return tf.function(run, jit_compile=jit_compile)(x).numpy()


@kernel("gradients of complex roots")
@pytest.mark.parametrize("function", [tf.sqrt, tf.math.rsqrt, tf.math.reciprocal])
def test_gradients_of_complex_roots_are_wrong_in_xla(function):
    assert not np.allclose(gradient_of(function, True), gradient_of(function, False), atol=0.1)


@kernel("einsum with an ellipsis")
@pytest.mark.skipif(
    not HAS_ONEDNN or "avx512_fp16" not in cpu_flags(),
    reason="oneDNN is off, or has no float16 on a CPU without AVX512-FP16; the kernel is right",
)
def test_einsum_of_float16_with_an_ellipsis_is_wrong():
    draws = np.random.default_rng(0)
    a, b = draws.normal(size=(2, 4, 5, 6)), draws.normal(size=(6, 5))
    wrong = tf.einsum("...x,xy->...y", tf.constant(a, "float16"), tf.constant(b, "float16"))
    assert np.max(np.abs(wrong - a @ b)) > 0.1


@kernel("shape of a diagonal")
def test_the_static_shape_of_a_matrix_of_an_unknown_diagonal_is_wrong():
    matrix = tf.function(lambda x: tf.linalg.diag(x, k=5), [tf.TensorSpec([None])])
    assert matrix.get_concrete_function().output_shapes == [4, 4]


def test_each_fault_has_a_test_and_says_where_it_was_seen():
    assert list(KERNELS) == list(FAULTS)
    for fault in FAULTS.values():
        assert fault.seen.startswith("2.21.0 (")
        name = fault.workaround.strip("`")
        is_module = find_spec(f"tfkit.src.engine.{name}") is not None
        assert is_module or hasattr(tensorflow_faults, name)
        assert all(link.startswith("https://github.com/tensorflow/") for link in fault.upstream)


# --- tfkit in spite of them ---------------------------------------------------------------------------


def ones(*sizes):
    return tf.ones(sizes)


# An operation, the sizes of its images beside the batch, those of its outputs, and what has a gradient.
OPERATIONS = {
    "conv": (ops.conv, (8, 8, 3), (3, 3, 3, 4), {}, (6, 6, 4)),
    "strided": (ops.conv, (8, 8, 3), (3, 3, 3, 4), {"strides": 2, "padding": "same"}, (4, 4, 4)),
    "dilated": (ops.conv, (8, 8, 3), (3, 3, 3, 4), {"dilation_rate": 2}, (4, 4, 4)),
    "groups": (ops.conv, (8, 8, 4), (3, 3, 2, 6), {}, (6, 6, 6)),
    "1D": (ops.conv, (8, 3), (3, 3, 4), {}, (6, 4)),
    "3D": (ops.conv, (4, 4, 4, 3), (2, 2, 2, 3, 4), {}, (3, 3, 3, 4)),
    "channels first": (
        ops.conv,
        (3, 8, 8),
        (3, 3, 3, 4),
        {"data_format": "channels_first"},
        (4, 6, 6),
    ),
    "depthwise": (ops.depthwise_conv, (8, 8, 3), (3, 3, 3, 2), {}, (6, 6, 6)),
    "depthwise 1D": (ops.depthwise_conv, (8, 3), (3, 3, 2), {"strides": 2}, (3, 6)),
    "transposed": (ops.conv_transpose, (8, 8, 4), (3, 3, 3, 4), {"strides": 2}, (17, 17, 3)),
    "transposed dilated": (
        ops.conv_transpose,
        (8, 8, 4),
        (3, 3, 3, 4),
        {"dilation_rate": 2},
        (12, 12, 3),
    ),
    "transposed 3D": (ops.conv_transpose, (3, 3, 3, 4), (2, 2, 2, 3, 4), {}, (4, 4, 4, 3)),
    "maxima": (lambda x, k: ops.max_pool(x, 2) * k, (8, 8, 3), (3,), {}, (4, 4, 3)),
    "maxima 3D": (lambda x, k: ops.max_pool(x, 2) * k, (4, 4, 4, 3), (3,), {}, (2, 2, 2, 3)),
    "means": (lambda x, k: ops.average_pool(x, 2) * k, (8, 8, 3), (3,), {}, (4, 4, 3)),
}
AS = {
    "eager": lambda body, specs: body,
    "traced": lambda body, specs: tf.function(body, input_signature=specs, autograph=False),
    "XLA": lambda body, specs: tf.function(
        body, input_signature=specs, autograph=False, jit_compile=True
    ),
}


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        ("XLA", "float32"),
        *((k, d) for k in ("eager", "traced") for d in ("float32", "bfloat16", "float64")),
    ],
)
def test_no_rows_give_no_rows_and_gradients_of_zero(name, kind, dtype):
    operation, sizes, kernel_sizes, options, expected = OPERATIONS[name]
    if dtype == "float64" and name == "maxima 3D":
        pytest.skip("TensorFlow has no such kernel")
    kernel = tf.ones(kernel_sizes, dtype)

    def outputs_and_gradients(images):
        with tf.GradientTape() as tape:
            tape.watch([images, kernel])
            outputs = operation(images, kernel, **options)
            loss = tf.reduce_sum(tf.square(outputs))
        return outputs, *tape.gradient(loss, [images, kernel])

    run = AS[kind](outputs_and_gradients, [tf.TensorSpec([None, *sizes], dtype)])
    outputs, by_images, by_kernel = run(tf.zeros([0, *sizes], dtype))
    assert outputs.shape == (0, *expected)
    assert by_images.shape == (0, *sizes)
    np.testing.assert_array_equal(by_kernel, np.zeros(kernel_sizes))
    assert run(tf.ones([2, *sizes], dtype))[0].shape == (2, *expected)


@pytest.mark.parametrize("operation", ["conv", "max_pool"])
def test_images_smaller_than_a_window_are_refused(operation):
    call = {
        "conv": lambda x: ops.conv(x, ones(3, 3, 3, 4)),
        "max_pool": lambda x: ops.max_pool(x, 3),
    }[operation]
    small = ones(2, 2, 8, 3)
    with pytest.raises(ValueError, match=r"would be empty: its window.*\(2, 2, 8, 3\)"):
        call(small)
    with pytest.raises(ValueError, match=r"would be empty: its window.*\(2, 2, 8, 3\)"):
        tf.function(call)(small)
    any_size = tf.function(call, input_signature=[tf.TensorSpec([None, None, None, 3])])
    assert any_size(ones(2, 3, 8, 3)).shape == call(ones(2, 3, 8, 3)).shape
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="must_not_be_smaller_than_their_window"
    ):
        any_size(small)


ROW_BY_ROW = {
    "stft": (lambda x: ops.stft(x, 16, 8, 16), (64,)),
    "unfold": (lambda x: ops.unfold(x, 2), (3, 6, 5)),
    "fold": (lambda x: ops.fold(x, (6, 5), 2), (12, 20)),
    "max": (lambda x: ops.max(x, axis=1), (4,)),
    "nanmin": (lambda x: ops.nanmin(x, axis=-1, keepdims=True), (4,)),
    "trace": (lambda x: ops.trace(x, axis1=1, axis2=2), (3, 3)),
    "repeat": (lambda x: ops.repeat(x, [1, 2, 0, 1], axis=1), (4,)),
}


@pytest.mark.parametrize("name", ROW_BY_ROW)
@pytest.mark.parametrize("kind", ["eager", "traced"])
def test_what_works_row_by_row_takes_no_rows(name, kind):
    call, sizes = ROW_BY_ROW[name]

    def result_and_gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            results = tf.nest.flatten(call(x))
        return results, tape.gradient(results, x)

    run = AS[kind](result_and_gradient, [tf.TensorSpec([None, *sizes])])
    some, _ = run(ones(2, *sizes))
    none, gradient = run(ones(0, *sizes))
    assert [x.shape for x in none] == [(0, *x.shape[1:]) for x in some]
    assert gradient.shape == (0, *sizes)


def test_the_diagonal_of_a_matrix_without_rows_is_empty():
    assert ops.diagonal(ones(0, 4)).shape == (0,)
    assert float(ops.trace(ones(4, 0))) == 0
    with pytest.raises(ValueError, match="`max` of an empty tensor"):
        ops.max(ones(0, 4), axis=0)


def test_empty_images_stay_empty():
    any_size = [tf.TensorSpec([None, None, None, 3])]
    same = tf.function(lambda x: ops.conv(x, ones(3, 3, 3, 4), 2, "same"), input_signature=any_size)
    for call in (lambda x: ops.conv(x, ones(3, 3, 3, 4), 2, "same"), same):
        assert call(ones(2, 0, 7, 3)).shape == (2, 0, 4, 4)
        assert call(ones(0, 0, 7, 3)).shape == (0, 0, 4, 4)


@pytest.mark.parametrize("batch", [0, 1, 3])
def test_a_network_of_convolutions_takes_any_number_of_rows(batch):
    model = tfkit.Sequential(
        [
            layers.Conv2D(4, 3, activation="relu"),
            layers.MaxPooling2D(2),
            layers.Conv2D(2, 3, padding="same"),
            layers.GlobalMaxPooling2D(),
            layers.Dense(3),
        ]
    )
    images = ones(batch, 8, 8, 3)
    assert model(images).shape == (batch, 3)
    assert model(images).shape == (batch, 3)
    loss = tf.function(
        lambda x: tf.reduce_sum(model(x)), input_signature=[tf.TensorSpec([None, 8, 8, 3])]
    )
    with tf.GradientTape() as tape:
        total = loss(images)
    gradients = tape.gradient(total, model.trainable_weights)
    assert all(bool(np.any(gradient)) <= (batch > 0) for gradient in gradients)


@pytest.mark.parametrize(
    ("axis", "options"),
    [
        (-1, {"epsilon": 0.5}),
        (-1, {}),
        (1, {"epsilon": 0.5}),
        ([1, 2], {"epsilon": 0.5}),
        (-1, {"scale": False}),
    ],
    ids=str,
)
def test_a_served_layer_normalization_is_right(axis, options, tmp_path):
    layer = layers.LayerNormalization(axis=axis, **options)
    model = tfkit.Sequential([tfkit.Input((3, 4), name="x"), layer])
    draws = np.random.default_rng(0)
    layer.set_weights([draws.uniform(0.5, 1.5, weight.shape) for weight in layer.weights])
    x = draws.normal(size=(5, 3, 4)).astype("float32")
    model.export(tmp_path / "model", verbose=False)
    ((found,),) = run_elsewhere([(tmp_path / "model", [("serving_default", {"x": x})])])
    assert not isinstance(found, str), found
    # Means of products of 12 terms at most, and what is made of them.
    assert_same_sums(next(iter(found.values())), model(x), terms=12 + 12 + 4)


# --- What it costs ------------------------------------------------------------------------------------


def operations(call, *sizes):
    """Types of the operations that a call is made of."""
    specs = [tf.TensorSpec(sizes)]
    graph = tf.function(call, input_signature=specs, autograph=False).get_concrete_function().graph
    return {operation.type for operation in graph.get_operations()}


def test_known_sizes_and_other_kernels_cost_nothing():
    convolve = layers.Conv2D(4, 3)
    convolve.build((None, 8, 8, 3))
    assert "Pad" not in operations(convolve, 5, 8, 8, 3)
    with assume_onednn(False):
        assert "Pad" not in operations(convolve, None, 8, 8, 3)
    with assume_onednn(True):
        assert "Pad" in operations(convolve, None, 8, 8, 3)
        with assume_onednn(False):  # The outermost one decides.
            assert "Pad" in operations(convolve, None, 8, 8, 3)
    assert ("Pad" in operations(convolve, None, 8, 8, 3)) == HAS_ONEDNN


def test_a_saved_model_is_right_on_other_cpus(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "onednn_is_on", lambda: False)
    model = tfkit.Sequential([tfkit.Input((8, 8, 3)), layers.Conv2D(4, 3)])
    model.export(tmp_path / "model", verbose=False)
    served = tf.saved_model.load(tmp_path / "model").signatures["serving_default"]
    assert next(iter(served(tf.zeros([0, 8, 8, 3])).values())).shape == (0, 6, 6, 4)
    found = {
        node.op
        for function in served.graph.as_graph_def().library.function
        for node in function.node_def
    }
    assert "Pad" in found


# --- Einsum -------------------------------------------------------------------------------------------

EQUATIONS = {
    ("...x,xy->...y", (2, 4, 5, 6), (6, 5)): "abcx,xy->abcy",
    ("ab...,bc->ac...", (2, 4, 6), (4, 5)): "abd,bc->acd",
    ("... x , x y", (2, 6), (6, 5)): "ax,xy->ay",
    ("...ij,...jk->...ik", (2, 3, 4), (2, 4, 5)): "aij,ajk->aik",
    ("...ij,...jk->...ik", (2, 3, 4), (1, 4, 5)): None,
    ("...ij,...jk->...ik", (3, 4), (2, 4, 5)): None,
    ("...x->x...", (2, 3)): "ax->xa",
}


@pytest.mark.parametrize("case", EQUATIONS, ids=str)
def test_einsum_is_written_without_its_ellipsis(case, monkeypatch):
    equation, *shapes = case
    written = tensorflow_faults.without_ellipsis(equation, [tf.TensorShape(s) for s in shapes])
    assert written == EQUATIONS[case]
    monkeypatch.setattr(machine, "onednn_is_on", lambda: True)
    monkeypatch.setattr(tensorflow_faults, "cpu_flags", lambda: {"avx512_fp16"})
    used = []
    einsum = tf.einsum
    monkeypatch.setattr(tf, "einsum", lambda e, *x: used.append((e, x[0].dtype)) or einsum(e, *x))
    draws = np.random.default_rng(0)
    operands = [draws.integers(-2, 3, shape).astype("float16") for shape in shapes]
    result = tensorflow_faults.einsum(equation, *map(tf.constant, operands))
    assert used == [(written or equation, tf.float16 if written else tf.float32)]
    assert result.dtype == tf.float16
    np.testing.assert_array_equal(result, np.einsum(equation, *operands))  # Small integers: exact.


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_a_dense_layer_with_an_ellipsis_computes_what_it_says(dtype):
    layer = layers.EinsumDense("...x,xy->...y", 5, dtype=dtype)
    inputs = tf.cast(tf.random.stateless_normal((2, 4, 5, 6), [1, 2]), dtype)
    outputs, kernel = layer(inputs), layer.kernel
    expected = np.array(tf.cast(inputs, "float64")) @ np.array(tf.cast(kernel, "float64"))
    tolerance = 6 * (2.0**-7 if dtype == "bfloat16" else np.finfo(dtype).eps)
    np.testing.assert_allclose(tf.cast(outputs, "float64"), expected, atol=tolerance * 6)
