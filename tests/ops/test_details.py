"""What the table cannot say: control flow, layouts, errors, differences from Keras on purpose."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import ops
from tfkit.src.symbolic.tensors import KerasTensor

RNG = np.random.default_rng(2)


def F(*shape):
    return RNG.normal(size=shape).astype("float32")


# --- Control flow ---------------------------------------------------------------------------------


def test_cond_and_switch():
    assert int(ops.cond(True, lambda: 1, lambda: 2)) == 1
    assert int(ops.cond(tf.constant(False), lambda: 1, lambda: 2)) == 2
    branches = [lambda x: x + 1, lambda x: x * 10]
    for index in (-1, 0, 1, 5):
        assert int(ops.switch(index, branches, 3)) == int(keras.ops.switch(index, branches, 3))


def test_while_and_fori_loop():
    i, total = ops.while_loop(lambda i, s: i < 5, lambda i, s: (i + 1, s + i), (0, 0))
    assert (int(i), int(total)) == (5, 10)
    assert int(ops.while_loop(lambda i: i < 9, lambda i: i + 1, 0, maximum_iterations=3)) == 3
    assert int(ops.fori_loop(1, 5, lambda i, x: x * i, 1)) == 24


def test_the_index_of_fori_loop_adds_to_floats_in_graphs_as_eagerly():
    def sum_below(upper):
        return lambda x: ops.fori_loop(0, upper, lambda i, total: total + i, x)

    x = np.ones(2, "float32")
    assert sum_below(4)(KerasTensor((None, 2))).shape == (None, 2)
    for function in (
        sum_below(4),
        tf.function(sum_below(4)),
        tf.function(sum_below(4), jit_compile=True),
    ):
        np.testing.assert_array_equal(
            function(x), keras.ops.fori_loop(0, 4, lambda i, s: s + i, tf.constant(x))
        )
    with pytest.raises(TypeError, match="int32"):
        tf.function(sum_below(101))(x)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("compiled", [False, True])
def test_scan(reverse, compiled):
    xs = F(5, 3)

    def step(carry, x):
        return carry + x, (carry * 2, tf.reduce_sum(x))

    def run(o):
        return o.scan(lambda c, x: (c + x, c * 2), np.zeros(3, "float32"), xs, reverse=reverse)

    mine = tf.function(lambda: run(ops), jit_compile=True)() if compiled else run(ops)
    for a, b in zip(mine, run(keras.ops), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    carry, (doubled, sums) = ops.scan(step, tf.zeros([3]), xs)
    assert doubled.shape == (5, 3)
    np.testing.assert_allclose(sums, xs.sum(1), rtol=1e-5)
    np.testing.assert_allclose(carry, xs.sum(0), rtol=1e-5)


def test_scan_without_outputs_or_inputs():
    carry, outputs = ops.scan(lambda c, x: (c + 1, None), 0, length=4)
    assert int(carry) == 4
    assert outputs is None


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("count", [1, 2, 5, 8])
def test_associative_scan(reverse, count):
    xs = F(2, count)
    for f in (tf.add, lambda a, b: b, lambda a, b: a * 0.5 + b):
        if f is not tf.add and count > 2:
            continue  # Only associative functions have one result.
        np.testing.assert_allclose(
            ops.associative_scan(f, xs, reverse, axis=1),
            keras.ops.associative_scan(f, xs, reverse, axis=1),
            rtol=1e-5,
            atol=1e-6,
        )
    nest = ops.associative_scan(lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1]), (xs, xs), axis=1)
    theirs = keras.ops.associative_scan(
        lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1]), (xs, xs), axis=1
    )
    for a, b in zip(nest, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_maps_and_vectorize():
    xs = F(4, 3)
    np.testing.assert_allclose(ops.map(tf.reduce_sum, xs), xs.sum(1), rtol=1e-5)
    np.testing.assert_allclose(ops.vectorized_map(tf.reduce_sum, xs), xs.sum(1), rtol=1e-5)
    both = ops.vectorize(lambda a, b: a * 2 + b)(xs, xs[0])
    np.testing.assert_allclose(both, xs * 2 + xs[0], rtol=1e-6)


def test_gradients():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = ops.stop_gradient(x) * x
    assert float(tape.gradient(y, x)) == 3.0

    @ops.custom_gradient
    def doubled(x):
        return x * x, lambda upstream: upstream * 100.0

    with tf.GradientTape() as tape:
        y = doubled(x)
    assert float(tape.gradient(y, x)) == 100.0
    value, derivative = ops.jvp(lambda x: x**2, (3.0,), (1.0,))
    assert (float(value), float(derivative)) == (9.0, 6.0)


# --- Layouts --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "args", "kwargs"),
    [
        ("conv", (F(3, 2, 3, 4),), {"strides": 2, "padding": "same"}),
        ("conv", (F(3, 3, 3, 6),), {"dilation_rate": 2}),
        ("depthwise_conv", (F(3, 3, 3, 2),), {"padding": "same"}),
        ("separable_conv", (F(3, 3, 3, 2), F(1, 1, 6, 5)), {}),
        ("conv_transpose", (F(3, 2, 4, 3),), {"strides": 2}),
        ("max_pool", (2,), {}),
        ("average_pool", (3,), {"strides": 2, "padding": "same"}),
        ("adaptive_max_pool", (3,), {}),
        ("space_to_depth", (2,), {}),
    ],
)
@pytest.mark.parametrize("batch", [2, None])
def test_channels_first(name, args, kwargs, batch):
    x = F(2, 8, 6, 3)
    last = getattr(ops, name)(x, *args, **kwargs)
    kwargs = {**kwargs, "data_format": "channels_first"}
    first = getattr(ops, name)(x.transpose(0, 3, 1, 2), *args, **kwargs)
    np.testing.assert_allclose(tf.transpose(first, [0, 2, 3, 1]), last, rtol=1e-4, atol=1e-5)
    symbolic = getattr(ops, name)(KerasTensor((batch, 3, 8, 6)), *args, **kwargs)
    assert symbolic.shape == (batch, *first.shape[1:])


@pytest.mark.parametrize("shape", [(2, 8, 4), (2, 8, 6, 4), (2, 5, 5, 5, 4)])
def test_gradient_of_grouped_convolution(shape):
    rank = len(shape) - 2
    x, kernel = tf.constant(F(*shape)), tf.Variable(F(*(3,) * rank, 2, 6))
    with tf.GradientTape() as tape:
        tape.watch(x)
        outputs = ops.conv(x, kernel, padding="same")
        loss = tf.reduce_sum(tf.square(outputs))
    gradients = tape.gradient(loss, [x, kernel])
    assert gradients[0].shape == x.shape
    assert gradients[1].shape == kernel.shape


@pytest.mark.parametrize("name", ["max_pool", "average_pool", "conv_transpose"])
def test_gradient_in_three_dimensions(name):
    x = tf.constant(F(1, 4, 4, 4, 2))
    with tf.GradientTape() as tape:
        tape.watch(x)
        outputs = getattr(ops, name)(x, F(2, 2, 2, 3, 2) if name == "conv_transpose" else 2)
    assert tape.gradient(outputs, x).shape == x.shape


@pytest.mark.parametrize("padding", ["valid", "same"])
@pytest.mark.parametrize("name", ["max_pool", "average_pool"])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-6), ("float16", 2e-3)])
def test_volumes_are_pooled_where_tensorflow_has_no_kernel(name, padding, dtype, tolerance):
    volumes = tf.cast(F(2, 5, 4, 7, 3), "float16")

    def pooled(dtype):
        x = tf.cast(volumes, dtype)
        with tf.GradientTape() as tape:
            tape.watch(x)
            outputs = getattr(ops, name)(x, (2, 3, 2), strides=(2, 1, 3), padding=padding)
            total = tf.reduce_sum(outputs * tf.range(1, 4, dtype=dtype))
        return outputs, tape.gradient(total, x)

    for actual, expected in zip(pooled(dtype), pooled("float32"), strict=True):
        assert actual.dtype == dtype
        assert actual.shape == expected.shape
        np.testing.assert_allclose(tf.cast(actual, "float32"), expected, tolerance, tolerance)


# --- Crossentropies -------------------------------------------------------------------------------


def test_crossentropy_finds_the_logits():
    logits = tf.constant([[60.0, -60.0]])
    loss = ops.binary_crossentropy(tf.constant([[0.0, 1.0]]), ops.sigmoid(logits))
    np.testing.assert_allclose(loss, [[60.0, 60.0]])
    loss = ops.sparse_categorical_crossentropy([1], ops.softmax(logits))
    np.testing.assert_allclose(loss, [120.0])
    column = ops.softmax(tf.transpose(logits), axis=0)
    np.testing.assert_allclose(ops.sparse_categorical_crossentropy([1], column, axis=0), [120.0])

    @tf.function
    def in_graph():
        return ops.categorical_crossentropy([[0.0, 1.0]], tf.nn.softmax(logits))

    np.testing.assert_allclose(in_graph(), [120.0])


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: ops.cond(True, 1, 2), "true_fn"),
        (lambda: ops.cond(True, lambda: 1, 2), "false_fn"),
        (lambda: ops.while_loop(True, lambda i: i, (0,)), "cond"),
        (lambda: ops.fori_loop(0, 2, 3, 0), "body_fun"),
        (lambda: ops.map(F(2), F(2)), "f"),
        (lambda: ops.vectorized_map(F(2), F(2)), "function"),
        (lambda: ops.scan(F(2), 0, F(2)), "f"),
        (lambda: ops.associative_scan(F(2), F(2)), "f"),
    ],
)
def test_what_is_no_function_is_refused_by_name(call, name):
    with pytest.raises(TypeError, match=f"`{name}` should be a callable. Received: {name}="):
        call()


def test_class_ids_find_their_classes_on_any_axis():
    output = F(2, 5, 3)
    target = np.array([[0, 4, 1], [2, 2, 3]])
    expected = ops.sparse_categorical_crossentropy(
        target, np.moveaxis(output, 1, -1), from_logits=True
    )
    for ids in (target, target[:, None]):
        loss = ops.sparse_categorical_crossentropy(ids, output, from_logits=True, axis=1)
        np.testing.assert_allclose(loss, expected, rtol=1e-6)
    symbolic = ops.sparse_categorical_crossentropy(
        tfkit.KerasTensor((None, 3), "int32"), tfkit.KerasTensor((None, 5, 3)), axis=-2
    )
    assert symbolic.shape == (None, 3)


def test_crossentropy_warns_of_probabilities_called_logits():
    with pytest.warns(UserWarning, match="does not represent logits"):
        ops.binary_crossentropy([[1.0]], ops.sigmoid(tf.constant([[2.0]])), from_logits=True)


# --- Where tfkit differs from Keras on purpose ----------------------------------------------------


def test_sparsemax_is_the_one_of_the_paper():
    # Keras sums cumulative sums where the paper sums elements; its result does not sum to 1.
    x = F(5, 7)
    result = ops.sparsemax(x)
    np.testing.assert_allclose(tf.reduce_sum(result, -1), np.ones(5), rtol=1e-5)
    np.testing.assert_allclose(ops.sparsemax([[0.1, 1.1, 0.2]]), [[0.0, 0.95, 0.05]], atol=1e-6)
    np.testing.assert_allclose(ops.sparsemax(x.T, axis=0), tf.transpose(result), rtol=1e-5)


@pytest.mark.parametrize("k", [-1, 0, 1, 2, 3, 5])
def test_rot90_is_numpys(k):
    # Keras mixes up the sizes for k=2 and k=3 of tensors that are not square.
    x = F(2, 3, 4)
    np.testing.assert_array_equal(ops.rot90(x, k, (0, 2)), np.rot90(x, k, (0, 2)))


def test_prod_multiplies_in_the_dtype_that_is_given():
    # Keras takes the argument and ignores it.
    assert ops.prod(np.array([2, 3]), dtype="float32").dtype == "float32"


def test_infinity_is_close_to_itself():
    # Keras: `allclose` says yes, `isclose` no.
    assert ops.isclose([np.inf], [np.inf]).numpy().all()


def test_pad_takes_one_number_and_one_pair():
    x = F(2, 3)
    np.testing.assert_array_equal(ops.pad(x, 1), np.pad(x, 1))
    np.testing.assert_array_equal(ops.pad(x, ((1, 2),)), np.pad(x, ((1, 2),)))


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_sizes_may_be_tensors_also_in_graphs(dtype):
    x = F(2, 3)

    @tf.function(input_signature=[tf.TensorSpec([2], dtype)])
    def sized(sizes):
        first, second = sizes[0], sizes[1]
        return (
            ops.tile(x, sizes),
            ops.tile(x, (first, 1, second)),
            ops.tile(x, second),
            ops.pad(x, [[0, first], [second, 1]]),
            ops.pad(x, first),
            ops.pad(x, sizes),
            ops.image.resize(x[:, :, None], sizes, interpolation="nearest")[..., 0],
        )

    expected = (
        np.tile(x, (2, 3)),
        np.tile(x, (2, 1, 3)),
        np.tile(x, 3),
        np.pad(x, ((0, 2), (3, 1))),
        np.pad(x, 2),
        np.pad(x, (2, 3)),
        x,
    )
    sizes = np.array([2, 3], dtype)
    for results in (sized(sizes), sized.python_function(tf.constant(sizes))):
        for actual, wanted in zip(results, expected, strict=True):
            np.testing.assert_array_equal(actual, wanted)
    resized = ops.image.resize(x[:, :, None], sizes)[..., 0]
    np.testing.assert_allclose(resized, x, rtol=1e-6)


def test_searchsorted_takes_values_of_any_shape():
    places = ops.searchsorted([1.0, 2.0, 3.0], [[0.5, 2.0], [2.5, 9.0]])
    np.testing.assert_array_equal(places, [[0, 1], [2, 3]])


def test_soft_cap_bounds_the_logits():
    q, k, v = F(1, 2, 1, 4) * 100, F(1, 3, 1, 4), F(1, 3, 1, 4)
    tiny = ops.dot_product_attention(q, k, v, attn_logits_soft_cap=1e-6)
    np.testing.assert_allclose(tiny[0, 0], v.mean(1)[0], rtol=1e-4, atol=1e-5)


# --- Errors ---------------------------------------------------------------------------------------

BAD_CALLS = [
    (lambda: ops.squeeze(F(2, 1), 0), "not 1"),
    (lambda: ops.transpose(F(2, 1), (0, 0)), "valid permutation"),
    (lambda: ops.split(F(3), 2), "equal parts"),
    (lambda: ops.pad(F(3), 1, "reflect", 2.0), "constant_values"),
    (lambda: ops.where([True], 1.0), "both"),
    (lambda: ops.take_along_axis(F(2, 2), [[0]]), "1D"),
    (lambda: ops.max(tf.zeros([0])), "empty"),
    (lambda: ops.linspace(0, 1, -1), "negative"),
    (lambda: ops.diff(F(3), -1), "negative"),
    (lambda: ops.glu(F(2, 3)), "divisible by 2"),
    (lambda: ops.conv(F(1, 4, 3), F(2, 2, 4)), "groups"),
    (lambda: ops.conv(F(1, 2, 3), F(3, 3, 4)), "would be empty: its window"),
    (lambda: ops.conv(F(1, 4, 3), F(2, 3, 4), padding="full"), "padding"),
    (lambda: ops.depthwise_conv(F(1, 4, 3), F(2, 2, 4)), "must match the kernel"),
    (lambda: ops.max_pool(F(2, 3), 2), "axes"),
    (lambda: ops.normalize(F(2), order=0), "order"),
    (lambda: ops.norm(F(2), axis=3), "range"),
    (lambda: ops.norm(F(2, 2), ord="big", axis=(0, 1)), "matrix norm"),
    (lambda: ops.qr(F(2, 2), "half"), "mode"),
    (lambda: ops.binary_crossentropy(F(2), F(3)), "same shape"),
    (
        lambda: ops.sparse_categorical_crossentropy([0], F(1, 2), axis=0),
        r"target.shape=\(1,\).*axis=0",
    ),
    (lambda: ops.sparse_categorical_crossentropy([0], F(1, 2), axis=3), "out of bounds"),
    (lambda: ops.multi_hot([0]), "num_classes"),
    (lambda: ops.max_pool(F(2, 8, 3), (2, 2)), r"`pool_size`.*1 spatial axes.*\(2, 2\)"),
    (lambda: ops.conv(F(2, 8, 3), F(2, 3, 4), strides=(1, 1)), "`strides`.*1 spatial axes"),
    (lambda: ops.unfold(F(1, 1, 4, 4), (2, 2, 2)), "`kernel_size`.*2 spatial axes"),
    (lambda: ops.image.crop_images(F(8, 8, 3), 5, 0, 5, 0), "target_height must be >= 0.*-2"),
    (lambda: ops.image.crop_images(F(8, 8, 3), 0, 5, 0, 5), "target_width must be >= 0.*-2"),
    (lambda: ops.sqrt("x"), "numbers.*strings"),
    (lambda: ops.scatter_update(F(2), [[0]], F(1), "mean"), "reduction"),
    (lambda: ops.segment_sum(F(2), [0, 1], 2, sorted=True), "num_segments"),
    (lambda: ops.scan(lambda c, x: (c, x), 0), "length"),
    (lambda: ops.quantile(F(2), 0.5, method="best"), "method"),
    (lambda: ops.fft((F(2), F(3))), "same shape"),
    (lambda: ops.rearrange(F(2, 3), "a b -> a"), "both sides"),
    (lambda: ops.rearrange(F(2, 6), "a (b c) -> a b c"), "sizes of all but one"),
    (lambda: ops.dot_product_attention(F(2, 2), F(2, 2), F(2, 2)), "4D"),
    (lambda: ops.dot_product_attention(*[F(1, 1, 1, 1)] * 3, flash_attention=True), "flash"),
    (lambda: ops.view(F(3), "float64"), "whole number"),
]


@pytest.mark.parametrize(("call", "message"), BAD_CALLS)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_type_errors():
    with pytest.raises(TypeError, match="integers"):
        ops.gcd(1.5, 2)
    with pytest.raises(TypeError, match="integer"):
        ops.ldexp(1.0, 2.0)
    with pytest.raises(TypeError, match="callable"):
        ops.scan(None, 0, length=1)


@pytest.mark.parametrize("padding", ["same", "valid"])
@pytest.mark.parametrize("num_axes", [1, 2, 3])
def test_convolution_with_strides_and_dilation(num_axes, padding):
    x, kernel = F(2, *(9, 8, 7)[:num_axes], 2), F(*(2, 3, 2)[:num_axes], 2, 3)
    spread = np.zeros([*(2 * size - 1 for size in kernel.shape[:-2]), 2, 3], "float32")
    spread[(slice(None, None, 2),) * num_axes] = kernel
    got = ops.conv(x, kernel, 2, padding, dilation_rate=2)
    np.testing.assert_allclose(got, ops.conv(x, spread, 2, padding), rtol=1e-5, atol=1e-5)
    symbolic = ops.conv(KerasTensor((None, *x.shape[1:])), kernel, 2, padding, dilation_rate=2)
    assert symbolic.shape == (None, *got.shape[1:])


@pytest.mark.parametrize("padding", ["same", "valid"])
@pytest.mark.parametrize(("strides", "dilation"), [(1, 2), (2, (2, 1)), ((2, 1), 1), ((2, 1), 2)])
@pytest.mark.parametrize("sizes", [(10, None), (None, 11)])
def test_one_unknown_size_leaves_the_others_of_convolutions_known(
    sizes, strides, dilation, padding
):
    def shapes(library):
        def tensor(*shape):
            return library.KerasTensor(shape)

        x, arguments = tensor(None, *sizes, 3), (strides, padding)
        options = {"dilation_rate": dilation}
        yield library.ops.conv(x, tensor(2, 3, 3, 4), *arguments, **options).shape
        yield library.ops.depthwise_conv(x, tensor(2, 3, 3, 2), *arguments, **options).shape
        kernels = tensor(2, 3, 3, 2), tensor(1, 1, 6, 4)
        yield library.ops.separable_conv(x, *kernels, *arguments, **options).shape
        if strides == 1 or dilation == 1:  # Keras transposes no convolution with both.
            yield library.ops.conv_transpose(x, tensor(2, 3, 4, 3), *arguments, **options).shape

    assert list(shapes(tfkit)) == list(shapes(keras))


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
def test_powers_of_unsigned_integers_wrap_as_those_of_numpy(dtype):
    base, exponent = np.array([3, 7, 2], dtype), np.array([40, 11, 63], dtype)
    power = ops.power(base, exponent)
    assert power.dtype == dtype
    np.testing.assert_array_equal(power, np.power(base, exponent))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int32"])
def test_complex_numbers_have_parts_of_32_bits_or_more(dtype):
    parts = ops.cast([[1.0, 2.0]], dtype)
    expected = "complex128" if dtype == "float64" else "complex64"
    assert ops.view_as_complex(parts).dtype == expected
    assert ops.polar(parts, parts).dtype == expected
    np.testing.assert_array_equal(ops.view_as_complex(parts), [1.0 + 2.0j])


@pytest.mark.parametrize("compiled", [False, True])
def test_places_multiplied_twice_have_gradients(compiled):
    signature = [
        tf.TensorSpec([4, 3]),
        tf.TensorSpec([None, 1], tf.int32),
        tf.TensorSpec([None, 3]),
    ]

    @tf.function(jit_compile=compiled, input_signature=signature)
    def gradients(x, indices, updates):
        with tf.GradientTape() as tape:
            tape.watch([x, updates])
            total = tf.reduce_sum(ops.scatter_update(x, indices, updates, "mul"))
        return tape.gradient(total, [x, updates])

    of_x, of_updates = gradients(tf.fill((4, 3), 2.0), [[0], [1], [0]], tf.fill((3, 3), 3.0))
    np.testing.assert_allclose(of_x[:, 0], [9.0, 3.0, 1.0, 1.0])
    np.testing.assert_allclose(of_updates[:, 0], [6.0, 2.0, 6.0])
    with pytest.raises(tf.errors.InvalidArgumentError):
        ops.scatter_update(F(4), [[4]], [1.0], "mul")


@pytest.mark.parametrize("length", [5, 6, 8, 11])
@pytest.mark.parametrize("name", ["rfft", "irfft"])
def test_transforms_of_another_length_have_gradients(name, length):
    """TensorFlow's gradient of one that cuts its input is of the wrong shape."""
    transform, x = getattr(ops, name), tf.constant(F(2, 8))
    kept = length if name == "rfft" else length // 2 + 1
    fitted = tf.constant(np.pad(x, ((0, 0), (0, 9)))[:, :kept])

    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            results = tf.nest.flatten(transform(x if name == "rfft" else (x, 2 * x), length))
            total = tf.add_n([tf.reduce_sum(tf.square(result)) for result in results])
        return total, tape.gradient(total, x)

    (total, slope), (expected, expected_slope) = gradient(x), gradient(fitted)
    np.testing.assert_allclose(total, expected, 1e-5)
    wanted = np.pad(expected_slope, ((0, 0), (0, 9)))[:, :8]
    wanted[:, kept:] = 0
    np.testing.assert_allclose(slope, wanted, 1e-4, 1e-5)


@pytest.mark.parametrize("jit_compile", [False, True])
@pytest.mark.parametrize("start", [(1, 0), (3, 2)])  # The second is moved to (2, 1).
def test_a_block_in_a_tensor_has_gradients(start, jit_compile):
    """TensorFlow has none for its operation, and nor has Keras 3.15.1."""

    @tf.function(jit_compile=jit_compile)
    def gradients(x, block):
        with tf.GradientTape() as outer:
            outer.watch([x, block])
            with tf.GradientTape() as tape:
                tape.watch([x, block])
                total = tf.reduce_sum(ops.slice_update(x, start, block) ** 3)
            first = tape.gradient(total, [x, block])
            sums = [tf.reduce_sum(each) for each in first]
        return first, outer.gradient(sums, [x, block])

    x, block = F(4, 3), F(2, 2)
    (of_x, of_block), (second_of_x, second_of_block) = gradients(x, block)
    place = tuple(slice(i, i + 2) for i in np.minimum(start, (2, 1)))
    rest = np.ones_like(x)
    rest[place] = 0
    np.testing.assert_allclose(of_x, 3 * x**2 * rest, 1e-5)
    np.testing.assert_allclose(of_block, 3 * block**2, 1e-5)
    np.testing.assert_allclose(second_of_x, 6 * x * rest, 1e-5)
    np.testing.assert_allclose(second_of_block, 6 * block, 1e-5)
