"""Calls as a user writes them, which no layer of the tables makes: for JAX and for PyTorch."""

import numpy as np
import tensorflow as tf

from tfkit import layers, ops

DRAWS = np.random.default_rng(0)
X = DRAWS.normal(size=(4, 6)).astype("float32")
CUBES = DRAWS.normal(size=(2, 4, 5)).astype("float32")
WHOLE = DRAWS.integers(-9, 9, (4, 6)).astype("int32")


def nested_loops(x):
    def outer(i, a):
        def inner(j, b):
            return j + 1, b + tf.cast(i * j, tf.float32) * x

        return i + 1, tf.while_loop(lambda j, b: j < 3, inner, [tf.constant(0), a])[1]

    return tf.while_loop(lambda i, a: i < 2, outer, [tf.constant(0), tf.zeros_like(x)])[1]


def branches(x):
    index = tf.cast(tf.argmax(x[0]) % 3, tf.int32)
    chosen = tf.switch_case(index, [lambda: x, lambda: -x, lambda: x * x])
    return tf.cond(tf.reduce_sum(x) > 0, lambda: chosen * 2, lambda: chosen - 1)


def matmul_twice(x):
    product = tf.matmul(x, tf.ones((6, 6)))
    return product + tf.nn.bias_add(product, tf.range(6.0))


def numbers(x):
    return tf.maximum(x, 0.5) + tf.minimum(0.0, x) + 2.0**x + 1 / (2 + x * x) + (3 - x) % 2.0


IMAGES = DRAWS.normal(size=(2, 6, 5, 4)).astype("float32")
# Small: tests take the sine of results, whose slope loses as many digits as a result has before its point.
KERNEL = 0.3 * DRAWS.normal(size=(3, 3, 4, 2)).astype("float32")
# Rows of zeros, of zeros and ones, and of what is not finite.
ZEROS = np.array([[0, 0, 0], [0, 1, 4], [0.5, 0, 2]], "float32")
NOT_FINITE = np.array([[np.nan, 1, -2], [np.inf, -np.inf, 0]], "float32")


def slope(function):
    """The gradient by a tape, as a function to convert."""

    def call(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        return tape.gradient(y, x)

    return call


def unary(x):
    names = ("elu", "leaky_relu", "relu", "relu6", "selu", "sigmoid", "softplus", "tanh")
    parts = [getattr(tf.nn, name)(x) for name in names]
    return [*parts, tf.sqrt(x * x + 1), tf.math.rsqrt(x * x + 1), tf.math.reciprocal(x + 9)]


def arranged(x):
    parts = tf.split(tf.concat([x, x * x], 1), 2, 1)
    padded = tf.pad(x[1:, ::2], [[0, 0], [1, 1]], "REFLECT")
    return parts[0] * parts[1][:1], padded**2, tf.cumsum(tf.gather(x, [0, 2, 2], axis=1), 1) ** 2


def reduced(x):
    sums = tf.nn.bias_add(tf.matmul(x, tf.ones((6, 3))), tf.ones(3)) ** 2
    return sums, tf.reduce_max(x, 1) ** 2, tf.reduce_mean(x * x, 0), tf.reduce_logsumexp(x, 1)


def convolved(x):
    y = tf.nn.conv2d(x, KERNEL, 1, "SAME") ** 2
    return y, tf.nn.depthwise_conv2d(x, KERNEL, [1, 1, 1, 1], "SAME") ** 2


def pooled(x):
    return tf.nn.max_pool2d(x, 2, 2, "VALID") ** 2, tf.nn.avg_pool2d(x, 2, 2, "SAME") ** 2


def pooled_with_channels_first(x):
    return [tf.nn.avg_pool2d(x, 3, 2, it, data_format="NCHW") ** 2 for it in ("SAME", "VALID")]


def kernels(x):
    kernel, depthwise = tf.constant(KERNEL), tf.constant(KERNEL)
    with tf.GradientTape() as tape:
        tape.watch([kernel, depthwise])
        y = tf.nn.conv2d(x, kernel, 1, "SAME")
        z = tf.nn.depthwise_conv2d(x, depthwise, [1, 1, 1, 1], "SAME")
    return tape.gradient([y, z], [kernel, depthwise])


def batch_normalized(x):
    scale, offset = tf.range(4.0) + 1, tf.range(4.0)
    fused = tf.compat.v1.nn.fused_batch_norm
    again = fused(x, scale, offset, offset, scale, is_training=False)[0]
    return *fused(x, scale, offset), again


def patches(x):
    wide = tf.image.extract_patches(x, [1, 3, 2, 1], [1, 2, 1, 1], [1, 1, 2, 1], "SAME")
    return wide, tf.image.extract_patches(x, [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID")


def resized(x):
    ways = ("bilinear", "bicubic", "lanczos3", "lanczos5")
    pairs = [(way, antialias) for way in ways for antialias in (False, True)]
    resize = ops.image.resize
    found = [resize(x, (9, 3), interpolation=way, antialias=it) for way, it in pairs]
    return [
        *found,
        tf.image.resize(x, (3, 9), "gaussian"),
        tf.image.resize(x, (3, 9), "mitchellcubic"),
    ]


def halfway(x):
    """Pixels from places between two others, some of them outside of the image."""
    moved = tf.constant([[1.0, 0, -1.5, 0, 1, 0.49999997, 0, 0], [0.5, 0, 0, 0, 0.5, -1.5, 0, 0]])
    options = {"output_shape": [6, 5], "interpolation": "NEAREST", "fill_mode": "CONSTANT"}
    y = tf.raw_ops.ImageProjectiveTransformV3(images=x, transforms=moved, fill_value=7.0, **options)
    return tf.stop_gradient(
        y
    )  # TensorFlow's reads the gradient at places, instead of adding it to pixels.


def segments(x):
    ids = tf.constant([0, 0, 2, 2])
    names = ("max", "mean", "min", "sum")
    return [getattr(tf.math, f"segment_{name}")(x, ids) for name in names]


def guarded(x):
    roots = tf.where(x > 0, tf.sqrt(x), 0.0), tf.where(x > 0, tf.math.rsqrt(x), 0.0)
    inverse = tf.where(x > 0, tf.math.reciprocal(x), 0.0)
    return *roots, inverse, tf.minimum(tf.sqrt(x), -1.0), tf.nn.relu(tf.sqrt(x) - 9)


def not_finite(x):
    names = ("relu", "relu6", "leaky_relu", "elu", "selu", "sigmoid", "tanh", "softplus")
    return [getattr(ops, name)(x) for name in names] + [ops.maximum(x, 0.0), ops.clip(x, -1, 1)]


def at_zero(x):
    orders = [ops.normalize(x, axis=-1, order=order) for order in (1, 2, 3)]
    return [
        *orders,
        layers.UnitNormalization()(x),
        ops.norm(x[1:], axis=-1),
        ops.abs(x),
        ops.selu(x),
    ]


def cached(x):
    """Blocks of keys, of which the second is moved until it fits; TensorFlow has no gradient of it."""
    x = tf.stop_gradient(x)
    first = ops.slice_update(x, (0, tf.argmax(x[0], output_type=tf.int32) * 0 + 2), x[:, :2] * 2)
    return ops.slice_update(first, (3, 5), x[:2, :3]), ops.slice(x, (1, tf.constant(2)), (2, 2))


def unbalanced(x):
    return tf.nn.softmax_cross_entropy_with_logits(tf.nn.sigmoid(x) * 2, x)


@tf.custom_gradient
def rounded(x, count):
    y = tf.round(x * count)

    def gradient(dy, other):
        return tf.clip_by_value(dy * y, -1.0, 1.0), tf.reduce_sum(other)

    return (y, x * count), gradient


def drawn(x):
    """Draws by generators of TensorFlow's, which are different in each framework."""
    shape = tf.shape(x)
    whole = tf.random.uniform(shape, 2, 5, tf.int32)
    normal, cut = tf.random.normal(shape), tf.random.truncated_normal(shape)
    return tf.nn.dropout(x, 0.25), normal, cut, tf.random.uniform(shape), whole


def assert_drawn(parts):
    dropped, normal, cut, uniform, whole = parts
    assert abs((dropped == 0).mean() - 0.25) < 0.02
    np.testing.assert_allclose(dropped.max(), 1 / 0.75, rtol=1e-6)
    assert abs(normal.mean()) < 0.03
    assert abs(normal.std() - 1) < 0.03
    assert 1.9 < abs(cut).max() <= 2
    assert abs(cut.std() - 0.88) < 0.02  # Of a normal distribution that is cut at two deviations.
    assert abs(uniform.mean() - 0.5) < 0.02
    assert set(np.unique(whole)) == {2, 3, 4}


FUNCTIONS = {
    "slopes of activations": (slope(unary), [X]),
    "slopes of arrangements": (slope(arranged), [X]),
    "slopes of sums": (slope(reduced), [X]),
    "slopes of convolutions": (slope(convolved), [IMAGES]),
    "slopes of pools": (slope(pooled), [IMAGES]),
    "pools with the channels first": (slope(pooled_with_channels_first), [IMAGES]),
    "slopes of kernels": (kernels, [IMAGES]),
    "slope of a normalization": (slope(lambda x: tf.sin(batch_normalized(x)[0] * 0.1)), [IMAGES]),
    "batch normalization": (batch_normalized, [IMAGES]),
    "padded by numbers": (
        lambda x: tf.nn.conv2d(x, KERNEL, 1, [[0, 0], [1, 2], [0, 1], [0, 0]]),
        [IMAGES],
    ),
    "patches": (patches, [IMAGES]),
    "blocks": (
        lambda x: tf.nn.depth_to_space(tf.nn.space_to_depth(x[:, :, :4] ** 2, 2), 4),
        [IMAGES],
    ),
    "resized": (resized, [IMAGES]),
    "nearest of two pixels": (halfway, [IMAGES]),
    "segments in order": (segments, [X]),
    "roots at zero": (guarded, [ZEROS]),
    "normalized at zero": (at_zero, [ZEROS]),
    "not finite": (not_finite, [NOT_FINITE]),
    "labels that do not sum to 1": (unbalanced, [X]),
    "written gradient": (lambda x: rounded(x, tf.constant(3.0)), [X]),
    "straight through": (lambda x: tf.grad_pass_through(lambda y: tf.round(3 * y))(x) ** 2, [X]),
    "block of a cache": (cached, [X]),
    "hashed": (
        lambda x: layers.Hashing(1000)([1, 12, -999, 1234567, -12345678, 2147483647] * x),
        [WHOLE[:1] * 0 + 1],
    ),
    "bins": (lambda x: ops.digitize(x, [-1.0, 0.0, 1.0]), [X]),
    "spectra": (
        lambda x: (
            tf.signal.irfft2d(2j * tf.signal.rfft2d(x)),
            tf.abs(tf.signal.ifft3d(tf.signal.fft3d(tf.complex(x, 2 * x)[None]) ** 2)),
        ),
        [X],
    ),
    "angle": (lambda x: ops.angle(tf.complex(x, 2 * x)), [X]),
    "in top": (
        lambda x: [it(tf.constant([0, 1, 2, 9]), x, 2) for it in (ops.in_top_k, tf.math.in_top_k)],
        [X],
    ),
    "square diagonal": (lambda x: ops.diag(x[0], k=1), [X]),
    "median": (lambda x: (ops.median(x), ops.quantile(x, 0.3, axis=1)), [X]),
    "element": (lambda x: ops.take(x, 3), [X]),
    "nested loops": (nested_loops, [X]),
    "branches": (branches, [X]),
    "map_fn": (lambda x: tf.map_fn(lambda r: tf.reduce_sum(r) * r, x), [X]),
    "scan": (lambda x: ops.scan(lambda c, r: (c + r, c * r), ops.zeros(6), x)[1], [X]),
    "numbers": (numbers, [X]),
    "integers": (lambda x: (x // 3, x % 3, -x // 2, tf.maximum(x, 2), 5 - x), [WHOLE]),
    "checked": (lambda x: tf.debugging.check_numerics(x, "x") * 2, [X]),
    "product and row": (lambda x: tf.matmul(x, tf.ones((6, 6))) + x[:, :1], [X]),
    "product and cube": (lambda x: tf.matmul(x, tf.ones((6, 6))) + tf.ones((2, 4, 6)), [X]),
    "row and product": (lambda x: tf.matmul(x[:1], tf.ones((6, 6))) + x, [X]),
    "product twice": (matmul_twice, [X]),
    "einsum of three": (lambda x: tf.einsum("ab,cb,cd->ad", x, x, x), [X]),
    "einsum turned": (lambda x: tf.einsum("ab,cb->ca", x, x * 2), [X]),
    "einsum of batches": (lambda x: tf.einsum("abc,abd->bdc", x, x[..., :2]), [CUBES]),
    "einsum of sums": (lambda x: tf.einsum("ab,cd->ac", x, x), [X]),
    "rest of the sizes": (lambda x: tf.fill(tf.slice(tf.shape(x), [1], [-1]), x[0, 0, 0]), [CUBES]),
    "diagonal": (lambda x: tf.linalg.diag_part(x, k=1), [CUBES]),
    "bands": (lambda x: tf.linalg.diag_part(x, k=(-1, 1)), [CUBES]),
    "set diagonal": (lambda x: tf.linalg.set_diag(x, x[:, :4, 0], k=1), [CUBES]),
    "made bands": (lambda x: tf.linalg.diag(x[:, :3], k=(-1, 1), padding_value=3.0), [CUBES]),
    "segments": (lambda x: ops.segment_max(x, tf.constant([0, 2, 0, -1]), 3), [X]),
    "normal": (lambda x: x + tf.random.stateless_normal((4, 6), [1, 2]), [X]),
    "Fourier": (lambda x: tf.abs(tf.signal.fft(tf.cast(x, tf.complex64))), [X]),
    "Cholesky": (
        lambda x: tf.linalg.cholesky(tf.matmul(x, x, transpose_a=True) + tf.eye(6)),
        [X],
    ),
}


class Function(layers.Layer):
    """A function of tensors as a layer."""

    def __init__(self, function, **options):
        super().__init__(**options)
        self.function = function

    def call(self, *inputs):
        return self.function(*inputs)


class Counter(layers.Layer):
    """A layer that counts its calls and adds to rows of a table; one matrix is used twice."""

    def build(self, input_shape):
        self.count = self.add_weight((), "zeros", trainable=False)
        self.table = self.add_weight((3, 6), "zeros", trainable=False)
        self.matrix = self.add_weight((6, 6), "glorot_uniform")

    def call(self, x):
        self.count.assign_add(1.0)
        self.table.scatter_add(tf.IndexedSlices(x[:2], tf.constant([0, 2])))
        once = tf.matmul(x, self.matrix)
        return tf.matmul(once, self.matrix, transpose_b=True) * self.count + self.table[2]
