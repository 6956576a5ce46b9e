"""The functions of `tf.keras.backend`, beside Keras's."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras._tf_keras.keras import backend as oracle

import tfkit
from tfkit import backend as K

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 4)).astype("float32")
Y = RNG.normal(size=(3, 4)).astype("float32")
B = RNG.normal(size=(2, 3, 4)).astype("float32")
C = RNG.normal(size=(2, 4, 5)).astype("float32")
I = RNG.normal(size=(2, 5, 6, 3)).astype("float32")  # noqa: E741
V = RNG.normal(size=(2, 4, 4, 4, 3)).astype("float32")
P = RNG.uniform(0.1, 0.9, size=(3, 4)).astype("float32")
T = (P > 0.5).astype("float32")
SOFT = (P / P.sum(-1, keepdims=True)).astype("float32")
INTS = np.array([[3, 4], [6, 2]])
STEPS = tf.nn.softmax(RNG.normal(size=(2, 6, 5)).astype("float32"))
LABELS = np.array([[1, 2, 0], [3, 1, 1]])
LENGTHS = np.array([[2], [3]])

ONE = """abs argmax argmin cos exp hard_sigmoid l2_normalize round sigmoid sign sin softmax softplus softsign
    sqrt square tanh transpose"""
OVER_AXES = "max mean min prod std sum var any all"
TWO = "equal greater greater_equal less less_equal maximum minimum not_equal"
CASES = [
    *((name, (X,), {}) for name in (*ONE.split(), "elu", "relu", "flatten", "cumsum", "cumprod")),
    *((name, (B,), {"axis": axis, "keepdims": keep})
      for name in OVER_AXES.split() for axis, keep in ((None, False), (-1, True), ([0, 1], False))),
    *((name, (X, Y), {}) for name in TWO.split()),
    *((name, (B > 0,), {"axis": 1}) for name in ("mean", "std", "var", "any", "all")),
    ("mean", (INTS,), {}), ("sum", (INTS,), {"axis": 0}), ("pow", (P, 2.5), {}), ("log", (P,), {}),
    ("elu", (X,), {"alpha": 0.3}), ("relu", (X,), {"alpha": 0.2, "max_value": 0.5, "threshold": 0.1}),
    ("relu", (X,), {"threshold": -0.2}), ("clip", (X, -0.5, 0.5), {}), ("clip", (X, 0.5, -0.5), {}),
    ("clip", (X, None, 0.2), {}), ("clip", (X, 0.1, None), {}),
    ("dot", (X, Y.T), {}), ("dot", (B, Y.T), {}), ("dot", (X, C[:, :, 0].T), {}),
    ("batch_dot", (B, C), {}), ("batch_dot", (X, Y), {}), ("batch_dot", (X, Y), {"axes": 1}),
    ("batch_dot", (B, C), {"axes": (2, 1)}), ("batch_dot", (B, B), {"axes": 2}),
    ("batch_dot", (B, C[:, 0, :4]), {}),
    ("arange", (4,), {}), ("arange", (1, 7, 2), {"dtype": "float32"}), ("batch_flatten", (I,), {}),
    ("cast", (X, "int32"), {}), ("cast_to_floatx", (INTS,), {}), ("concatenate", ([X, Y],), {}),
    ("constant", (2,), {"shape": (2, 3)}), ("constant", ([1, 2],), {"dtype": "int64"}),
    ("count_params", (tf.constant(B),), {}),
    ("eval", (tf.constant(X),), {}), ("expand_dims", (X,), {}), ("eye", (3,), {}),
    ("gather", (X, [2, 0]), {}), ("get_value", (tf.Variable(X),), {}), ("int_shape", (tf.constant(B),), {}),
    ("is_sparse", (tf.constant(X),), {}), ("map_fn", (tf.square, X), {}), ("ndim", (tf.constant(B),), {}),
    ("foldl", (tf.subtract, X), {}), ("foldr", (tf.subtract, X), {}),
    ("one_hot", (INTS, 7), {}), ("ones", ((2, 3),), {}), ("zeros", ((2, 3),), {"dtype": "int32"}),
    ("ones_like", (X,), {}), ("zeros_like", (X,), {"dtype": "float64"}),
    ("permute_dimensions", (B, (1, 0, 2)), {}),
    ("repeat", (X, 3), {}), ("repeat_elements", (X, 2, 1), {}), ("reshape", (X, (4, -1)), {}),
    ("reverse", (X, 0), {}),
    ("shape", (X,), {}), ("squeeze", (B[:1], 0), {}), ("stack", ([X, Y],), {"axis": 1}),
    ("tile", (X, (2, 1)), {}),
    ("stop_gradient", (tf.constant(X),), {}), ("variable", (X,), {}),
    ("switch", (tf.constant(True), X, Y), {}), ("switch", (tf.constant(X > 0), X, Y), {}),
    ("switch", (tf.constant(False), lambda: tf.constant(X), lambda: tf.constant(Y)), {}),
    ("batch_normalization", (I, *(np.float32([1, 2, 3]),) * 4), {}),
    ("bias_add", (I, np.float32([1, 2, 3])), {}), ("bias_add", (B, B[0]), {}),
    ("bias_add", (B, np.float32([1, 2, 3])), {"data_format": "channels_first"}),
    ("binary_crossentropy", (T, P), {}), ("binary_crossentropy", (T, X), {"from_logits": True}),
    ("binary_focal_crossentropy", (T, P), {}),
    ("binary_focal_crossentropy", (T, X), {"apply_class_balancing": True, "from_logits": True}),
    ("categorical_crossentropy", (SOFT, P), {}),
    ("categorical_crossentropy", (SOFT, X), {"from_logits": True}),
    ("categorical_focal_crossentropy", (SOFT, P), {}),
    ("sparse_categorical_crossentropy", (np.array([0, 3, 1]), P), {}),
    ("sparse_categorical_crossentropy", (np.array([0, 3, 1]), P), {"ignore_class": 3}),
    ("conv1d", (B, RNG.normal(size=(2, 4, 3)).astype("float32")), {}),
    ("conv1d", (B, RNG.normal(size=(2, 4, 3)).astype("float32")), {"padding": "causal", "dilation_rate": 2}),
    ("conv2d", (I, RNG.normal(size=(2, 2, 3, 4)).astype("float32")), {"padding": "same", "strides": (2, 2)}),
    ("conv3d", (V, RNG.normal(size=(2, 2, 2, 3, 2)).astype("float32")), {}),
    ("conv2d_transpose", (I, RNG.normal(size=(2, 2, 4, 3)).astype("float32"), (2, 10, 12, 4)),
    {"strides": (2, 2), "padding": "same"}),
    ("conv2d_transpose", (I, RNG.normal(size=(2, 2, 4, 3)).astype("float32"), (2, 8, 9, 4)),
    {"dilation_rate": (3, 3)}),
    ("conv2d_transpose", (I, RNG.normal(size=(2, 2, 4, 3)).astype("float32"), (None, 5, 6, 4)),
    {"dilation_rate": (2, 2), "padding": "same"}),
    ("depthwise_conv2d", (I, RNG.normal(size=(2, 2, 3, 2)).astype("float32")), {}),
    ("separable_conv2d", (I, RNG.normal(size=(2, 2, 3, 2)).astype("float32"), RNG.normal(size=(1, 1, 6,
    2)).astype("float32")), {}),
    ("pool2d", (I, (2, 2)), {"strides": (2, 2)}),
    ("pool2d", (I, (2, 2)), {"pool_mode": "avg", "padding": "same"}),
    ("pool3d", (V, (2, 2, 2)), {"strides": (2, 2, 2)}), ("in_top_k", (P, np.array([0, 1, 2]), 2), {}),
    ("temporal_padding", (B,), {}), ("spatial_2d_padding", (I,), {}),
    ("spatial_3d_padding", (V,), {"data_format": "channels_first"}),
    ("resize_images", (I, 2, 3, "channels_last"), {}),
    ("resize_images", (I, 2, 2, "channels_first"), {"interpolation": "bilinear"}),
    ("resize_volumes", (V, 2, 1, 3, "channels_last"), {}), ("moving_average_update", None, {}),
    ("ctc_batch_cost", (LABELS, STEPS, np.array([[6], [5]]), LENGTHS), {}),
    ("ctc_decode", (STEPS, np.array([6, 5])), {}),
    ("ctc_decode", (STEPS, np.array([6, 5])), {"greedy": False, "top_paths": 2}),
    ("ctc_label_dense_to_sparse", (LABELS.astype("int32"), LENGTHS[:, 0].astype("int32")), {}),
]  # fmt: skip


def plain(value):
    if isinstance(value, tf.SparseTensor):
        value = tf.sparse.to_dense(value)
    return np.asarray(value)


@pytest.mark.parametrize("case", range(len(CASES)), ids=lambda i: f"{CASES[i][0]}-{i}")
def test_a_function_gives_the_numbers_and_the_dtype_of_keras(case):
    name, args, options = CASES[case]
    if args is None:  # It changes a variable.
        args = (tf.Variable(X), Y, 0.9)
        expected = X * 0.9 + Y * np.float32(0.1)
    else:
        tensors = tf.nest.map_structure(
            lambda a: tf.constant(a) if isinstance(a, np.ndarray) else a, args
        )
        expected = getattr(oracle, name)(*tensors, **options)
    got = getattr(K, name)(*args, **options)
    for ours, theirs in zip(tf.nest.flatten(got), tf.nest.flatten(expected), strict=True):
        ours, theirs = plain(ours), plain(theirs)
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=2e-6, atol=1e-6)


def _turned(images):
    return tf.transpose(images, [0, 3, 1, 2])


@pytest.mark.parametrize(
    ("strides", "rates", "padding", "size"),
    [
        ((1, 1), (3, 2), "valid", (2, 8, 8, 4)),
        ((2, 2), (2, 3), "valid", (None, 11, 14, 4)),
        ((2, 3), (3, 2), "same", (2, 9, 17, 4)),
        (2, 2, "same", (2, 10, 12, 4)),
    ],
)
def test_strides_and_two_dilations_of_a_transposed_convolution(strides, rates, padding, size):
    """Keras's drops the strides, and refuses two rates. It is linear: `<conv(z), y> == <z, transpose(y)>`."""
    kernel = RNG.integers(-3, 3, size=(2, 2, 4, 3)).astype("float32")
    y, z = (RNG.integers(-3, 3, shape).astype("float32") for shape in (I.shape, (2, *size[1:])))
    options = {"padding": padding, "strides": strides, "dilation_rate": rates}
    transposed = K.conv2d_transpose(y, kernel, size, **options)
    assert transposed.shape == z.shape
    # TensorFlow's convolution has no strides with dilations: the results between them are left out.
    whole = K.conv2d(_padded_for(z, y, kernel, options), kernel, dilation_rate=rates)
    down, across = np.broadcast_to(strides, 2)
    convolved = whole[:, ::down, ::across]
    assert convolved.shape == y.shape
    assert float(tf.reduce_sum(convolved * y)) == float(tf.reduce_sum(z * transposed))
    first = {**options, "data_format": "channels_first"}
    size = (size[0], size[3], *size[1:3])
    np.testing.assert_array_equal(
        K.conv2d_transpose(_turned(y), kernel, size, **first), _turned(transposed)
    )


def _padded_for(images, outputs, kernel, options):
    """Returns images with the border of zeros that padding "same" has, the odd zero at the end."""
    if options["padding"] == "valid":
        return images
    borders = [(0, 0)]
    for axis in (1, 2):
        step, rate = (
            np.broadcast_to(options[it], 2)[axis - 1] for it in ("strides", "dilation_rate")
        )
        reach = (kernel.shape[axis - 1] - 1) * rate + 1
        total = max((outputs.shape[axis] - 1) * step + reach - images.shape[axis], 0)
        borders.append((total // 2, total - total // 2))
    return np.pad(images, [*borders, (0, 0)])


def test_a_condition_with_fewer_axes_chooses_rows():
    got = K.switch(tf.constant([True, False, True]), tf.constant(X), tf.constant(Y))
    np.testing.assert_array_equal(got, [X[0], Y[1], X[2]])
    assert K.dtype(got) == "float32"


def test_variables_are_made_changed_and_read():
    v = K.variable([1.0, 2.0], name="v")
    assert isinstance(v, tf.Variable)
    K.set_value(v, [3, 4])
    K.batch_set_value([(v, [5, 6])])
    K.update(v, v + 1.0)
    K.update_add(v, [1.0, 1.0])
    K.update_sub(v, [2.0, 0.0])
    assert K.batch_get_value([v])[0].tolist() == [5, 8]


@pytest.mark.parametrize(
    ("name", "args", "low", "high"),
    [
        ("random_normal", (), -6, 6),
        ("random_uniform", (2.0, 3.0), 2, 3),
        ("truncated_normal", (), -2, 2),
        ("random_bernoulli", (0.4,), 0, 1),
        ("random_uniform_variable", (2.0, 3.0), 2, 3),
        ("random_normal_variable", (0.0, 1.0), -6, 6),
    ],
)
def test_draws(name, args, low, high):
    drawn = np.asarray(getattr(K, name)((500,), *args))
    assert low <= drawn.min() < drawn.max() <= high
    assert drawn.dtype == "float32"


def test_dropout_keeps_the_mean():
    dropped = K.dropout(tf.ones((2000,)), 0.25, seed=1).numpy()
    assert set(np.unique(dropped)) == {0, np.float32(1 / 0.75)}
    assert abs(dropped.mean() - 1) < 0.1


def test_errors_tell_what_was_expected():
    with pytest.raises(ValueError, match="must not name the batch"):
        K.batch_dot(X, Y, axes=0)
    with pytest.raises(ValueError, match='"max" or "avg"'):
        K.pool2d(I, (2, 2), pool_mode="min")
    with pytest.raises(ValueError, match="1 axis or 3"):
        K.bias_add(I, X)
    with pytest.raises(RuntimeError, match="GradientTape"):
        K.gradients(tf.constant(1.0), [])
    with pytest.raises(AttributeError, match=r"'tfkit\.backend' has no attribute 'nothing'"):
        _ = K.nothing
    with pytest.raises(ValueError, match="more axes"):
        K.switch(tf.constant(X > 0), X[0], Y[0])


def test_each_function_of_tf_keras_is_there():
    lacking = {name for name in dir(oracle) if not name.startswith("_") and not hasattr(K, name)}
    assert not lacking


def test_a_model_with_losses_and_metrics_of_these_functions_trains_as_in_keras():
    def dice(y_true, y_pred, k):
        common = k.sum(k.flatten(y_true) * k.flatten(y_pred))
        return 1 - (2 * common + k.epsilon()) / (k.sum(y_true) + k.sum(y_pred) + k.epsilon())

    results = []
    for library, k in ((tfkit, K), (keras, oracle)):
        library.utils.set_random_seed(1)
        model = library.Sequential([library.Input((4,)), library.layers.Dense(4, "sigmoid")])

        def rounded(y_true, y_pred, k=k):
            return k.mean(k.equal(y_true, k.round(k.clip(y_pred, 0, 1))))

        model.compile("sgd", lambda a, b, k=k: dice(a, b, k), metrics=[rounded])
        results.append(model.fit(X, T, epochs=2, shuffle=False, verbose=0).history)
    assert {*results[0]} == {*results[1]} == {"loss", "rounded"}
    for name, values in results[0].items():
        np.testing.assert_allclose(values, results[1][name], rtol=1e-5)


def test_short_names_of_losses():
    assert (
        tfkit.losses.mse is tfkit.losses.MSE is tfkit.metrics.mse is tfkit.losses.mean_squared_error
    )
    assert tfkit.metrics.kullback_leibler_divergence is tfkit.losses.kl_divergence
    assert tfkit.losses.Reduction.NONE == "none"
    tfkit.losses.MeanSquaredError(reduction=tfkit.losses.Reduction.SUM)
    with pytest.raises(ValueError, match="'mean_of_rows'"):
        tfkit.losses.Reduction.validate("mean_of_rows")
