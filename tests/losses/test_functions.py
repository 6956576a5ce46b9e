"""Loss functions and classes: Keras's numbers, in every mode, dtype and reduction."""

import inspect

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfkit import activations, losses, ops
from tfkit.src.symbolic.tensors import KerasTensor

rng = np.random.default_rng(0)


def probabilities(*shape):
    x = rng.uniform(0.05, 1.0, size=shape)
    return (x / x.sum(-1, keepdims=True)).astype("float32")


REAL = (
    rng.normal(size=(6, 4)).astype("float32") * 3,
    rng.normal(size=(6, 4)).astype("float32") * 3,
)
POSITIVE = (np.abs(REAL[0]), np.abs(REAL[1]) + 0.1)
BINARY = (
    rng.integers(0, 2, (6, 4)).astype("float32"),
    rng.uniform(0.0, 1.0, (6, 4)).astype("float32"),
)
BINARY_LOGITS = (BINARY[0], REAL[1])
ONE_HOT = (np.eye(5, dtype="float32")[rng.integers(0, 5, 6)], probabilities(6, 5))
ONE_HOT_LOGITS = (ONE_HOT[0], rng.normal(size=(6, 5)).astype("float32") * 4)
IDS = (np.array([0, 3, 1, 4, 2, 3]), probabilities(6, 5))
IDS_LOGITS = (IDS[0], ONE_HOT_LOGITS[1])
STEPS = (np.array([[0, 3, 1], [4, 2, 3]]), probabilities(2, 3, 5))
EMBEDDINGS = (
    np.array([0, 1, 0, 2, 1, 5]),
    np.asarray(tf.math.l2_normalize(rng.normal(size=(6, 3)).astype("float32"), -1)),
)
LABELS = np.array([[1, 2, 1, 0], [3, 3, 0, 0]])
CTC = (LABELS, rng.normal(size=(2, 9, 5)).astype("float32"))

# Function, class, options, (targets, predictions).
CASES = [
    ("mean_squared_error", "MeanSquaredError", {}, REAL),
    ("mean_absolute_error", "MeanAbsoluteError", {}, REAL),
    ("mean_absolute_percentage_error", "MeanAbsolutePercentageError", {}, REAL),
    ("mean_squared_logarithmic_error", "MeanSquaredLogarithmicError", {}, REAL),
    ("cosine_similarity", "CosineSimilarity", {}, REAL),
    ("cosine_similarity", "CosineSimilarity", {"axis": 0}, REAL),
    ("huber", "Huber", {}, REAL),
    ("huber", "Huber", {"delta": 2.5}, REAL),
    ("log_cosh", "LogCosh", {}, REAL),
    ("kl_divergence", "KLDivergence", {}, (probabilities(6, 4), probabilities(6, 4))),
    ("poisson", "Poisson", {}, POSITIVE),
    ("hinge", "Hinge", {}, BINARY_LOGITS),
    ("hinge", "Hinge", {}, (np.sign(REAL[0]), REAL[1])),
    ("squared_hinge", "SquaredHinge", {}, BINARY_LOGITS),
    ("categorical_hinge", "CategoricalHinge", {}, ONE_HOT_LOGITS),
    ("dice", "Dice", {}, BINARY),
    ("dice", "Dice", {"axis": 1}, BINARY),
    # Keras 3.15.1 exchanges alpha and beta; `test_alpha_of_tversky_weighs_false_positives` tells them apart.
    ("tversky", "Tversky", {"alpha": 0.9, "beta": 0.9}, BINARY),
    ("tversky", "Tversky", {"axis": (1,)}, BINARY),
    ("binary_crossentropy", "BinaryCrossentropy", {}, BINARY),
    ("binary_crossentropy", "BinaryCrossentropy", {"label_smoothing": 0.2, "axis": 0}, BINARY),
    ("binary_crossentropy", "BinaryCrossentropy", {"from_logits": True}, BINARY_LOGITS),
    ("binary_focal_crossentropy", "BinaryFocalCrossentropy", {}, BINARY),
    (
        "binary_focal_crossentropy",
        "BinaryFocalCrossentropy",
        {"apply_class_balancing": True, "alpha": 0.3, "gamma": 1.5, "from_logits": True},
        BINARY_LOGITS,
    ),
    ("binary_focal_crossentropy", "BinaryFocalCrossentropy", {"label_smoothing": 0.1}, BINARY),
    ("categorical_crossentropy", "CategoricalCrossentropy", {}, ONE_HOT),
    ("categorical_crossentropy", "CategoricalCrossentropy", {"label_smoothing": 0.1}, ONE_HOT),
    ("categorical_crossentropy", "CategoricalCrossentropy", {"axis": 0}, ONE_HOT),
    ("categorical_crossentropy", "CategoricalCrossentropy", {"from_logits": True}, ONE_HOT_LOGITS),
    ("categorical_focal_crossentropy", "CategoricalFocalCrossentropy", {}, ONE_HOT),
    (
        "categorical_focal_crossentropy",
        "CategoricalFocalCrossentropy",
        # Keras rounds a list of weights to float32: these are numbers that this does not change.
        {"alpha": [0.125, 0.25, 0.375, 0.5, 0.75], "gamma": 1.0, "label_smoothing": 0.1},
        ONE_HOT,
    ),
    (
        "categorical_focal_crossentropy",
        "CategoricalFocalCrossentropy",
        {"from_logits": True},
        ONE_HOT_LOGITS,
    ),
    ("sparse_categorical_crossentropy", "SparseCategoricalCrossentropy", {}, IDS),
    ("sparse_categorical_crossentropy", "SparseCategoricalCrossentropy", {}, STEPS),
    (
        "sparse_categorical_crossentropy",
        "SparseCategoricalCrossentropy",
        {},
        (IDS[0][:, None], IDS[1]),
    ),
    (
        "sparse_categorical_crossentropy",
        "SparseCategoricalCrossentropy",
        {"from_logits": True},
        IDS_LOGITS,
    ),
    (
        "sparse_categorical_crossentropy",
        "SparseCategoricalCrossentropy",
        {"ignore_class": 3},
        STEPS,
    ),
    (
        "sparse_categorical_crossentropy",
        "SparseCategoricalCrossentropy",
        {"ignore_class": -1, "from_logits": True},
        (np.array([0, -1, 1, -1, 2, 3]), IDS_LOGITS[1]),
    ),
    (
        "categorical_generalized_cross_entropy",
        "CategoricalGeneralizedCrossEntropy",
        {"q": 0.3},
        IDS,
    ),
    ("circle", "Circle", {}, EMBEDDINGS),
    ("circle", "Circle", {"gamma": 10.0, "margin": 0.2, "remove_diagonal": False}, EMBEDDINGS),
    ("ctc", "CTC", {}, CTC),
]
IDENTIFIERS = [f"{name}-{i}" for i, (name, *_) in enumerate(CASES)]
cases = pytest.mark.parametrize(("function", "cls", "options", "data"), CASES, ids=IDENTIFIERS)


def close(actual, expected, rtol=2e-5, atol=2e-6):
    actual, expected = tf.convert_to_tensor(actual), tf.convert_to_tensor(expected)
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    np.testing.assert_allclose(
        tf.cast(actual, "float64"), tf.cast(expected, "float64"), rtol=rtol, atol=atol
    )


@cases
def test_functions_equal_keras(function, cls, options, data):
    y_true, y_pred = map(tf.constant, data)
    expected = getattr(keras.losses, function)(y_true, y_pred, **options)
    ours = getattr(losses, function)
    close(ours(y_true, y_pred, **options), expected)
    compiled = tf.function(lambda a, b: ours(a, b, **options), autograph=False, jit_compile=True)
    close(compiled(y_true, y_pred), expected)
    specs = [tf.TensorSpec([None, *x.shape[1:]], x.dtype) for x in (y_true, y_pred)]
    any_batch = tf.function(lambda a, b: ours(a, b, **options), specs, autograph=False)
    close(any_batch(y_true, y_pred), expected)


@pytest.mark.parametrize("dtype", ["int64", "float16", "float64"])
@pytest.mark.parametrize(
    "function",
    ["mean_squared_error", "mean_absolute_error", "huber", "log_cosh", "poisson", "hinge"],
)
def test_targets_take_the_dtype_of_predictions(function, dtype):
    y_true, y_pred = np.array([[0, 3], [2, 1]]), POSITIVE[1][:2, :2]
    ours = getattr(losses, function)
    expected = ours(y_true.astype("float32"), y_pred)
    close(ours(tf.constant(y_true, dtype), tf.constant(y_pred)), expected)


@pytest.mark.parametrize(
    "function", ["sparse_categorical_crossentropy", "categorical_generalized_cross_entropy"]
)
def test_class_ids_may_have_a_last_axis_of_size_1(function):
    """Keras's generalized crossentropy compares each with each then."""
    options = {"q": 0.3} if "general" in function else {}
    ours = getattr(losses, function)
    close(ours(IDS[0][:, np.newaxis], IDS[1], **options), ours(*IDS, **options))


@pytest.mark.parametrize(
    "reduction", ["sum_over_batch_size", "mean", "sum", "mean_with_sample_weight", "none", None]
)
@cases
def test_classes_equal_keras_in_every_reduction(function, cls, options, data, reduction):
    y_true, y_pred = data
    ours = getattr(losses, cls)(**options, reduction=reduction)
    theirs = getattr(keras.losses, cls)(**options, reduction=reduction)
    assert ours.name == theirs.name
    close(ours(y_true, y_pred), theirs(y_true, y_pred))
    unreduced = theirs.call(tf.constant(y_true, "float32"), tf.constant(y_pred))
    weights = np.linspace(0.0, 2.0, unreduced.shape[0] if unreduced.shape.rank else 1)
    weights = weights.astype("float32").reshape([-1] + [1] * (unreduced.shape.rank - 1))
    # For losses of steps, Keras 3.15.1 divides by the sum of the samples' weights, not by that of the steps'.
    of_each = np.broadcast_to(weights, unreduced.shape) if unreduced.shape.rank else weights
    close(ours(y_true, y_pred, weights), theirs(y_true, y_pred, of_each))


@cases
def test_signatures_and_configurations_equal_keras(function, cls, options, data):
    for name in (function, cls):
        ours = inspect.signature(getattr(losses, name)).parameters
        theirs = inspect.signature(getattr(keras.losses, name)).parameters
        assert {n: p.default for n, p in ours.items()} == {n: p.default for n, p in theirs.items()}
        assert list(ours) == list(theirs)
    loss = getattr(losses, cls)(**options, reduction="sum")
    config = losses.serialize(loss)
    expected = keras.losses.serialize(getattr(keras.losses, cls)(**options, reduction="sum"))
    # Keras forgets some options (the delta of Huber, an axis); what it writes we write too.
    assert {**config["config"], **expected.pop("config")} == config.pop("config")
    assert config == expected
    again = losses.deserialize(losses.serialize(loss))
    assert type(again) is type(loss)
    close(again(*data), loss(*data))
    for option, value in options.items():
        assert getattr(loss, option) == value


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
@cases
def test_dtypes_equal_keras(function, cls, options, data, dtype):
    ours = getattr(losses, cls)(**options, dtype=dtype)
    theirs = getattr(keras.losses, cls)(**options, dtype=dtype)
    assert ours.dtype == dtype
    rtol = {"float16": 1e-2, "bfloat16": 5e-2, "float64": 1e-9}[dtype]
    expected = theirs(*data)
    assert ours(*data).dtype == expected.dtype
    if np.isfinite(float(expected)):
        close(ours(*data), expected, rtol, rtol)
    assert losses.deserialize(losses.serialize(ours)).dtype == dtype


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@cases
def test_functions_have_the_dtype_of_keras(function, cls, options, data, dtype):
    y_true, y_pred = data[0], tf.cast(data[1], dtype)
    ours, theirs = (
        getattr(module, function)(y_true, y_pred, **options) for module in (losses, keras.losses)
    )
    assert ours.dtype == theirs.dtype


@cases
def test_gradients_equal_keras_and_are_finite(function, cls, options, data):
    y_true, y_pred = map(tf.constant, data)
    y_pred = y_pred[:, :]
    gradients = []
    for module in (losses, keras.losses):
        with tf.GradientTape() as tape:
            tape.watch(y_pred)
            loss = getattr(module, cls)(**options)(y_true, y_pred)
        gradients.append(tape.gradient(loss, y_pred))
    ours, theirs = gradients
    assert np.all(np.isfinite(ours))
    known = np.isfinite(theirs)  # Keras's circle has NaN rows where a label occurs once.
    np.testing.assert_allclose(ours.numpy()[known], theirs.numpy()[known], rtol=1e-4, atol=1e-6)


@cases
def test_symbolic_calls_are_recorded(function, cls, options, data):
    y_true, y_pred = (KerasTensor((None, *x.shape[1:]), x.dtype) for x in data)
    ours = getattr(losses, function)
    result = ours(y_true, y_pred, **options)
    assert result.node.operation is ours
    assert len(result.shape) == len(ours(*map(tf.constant, data), **options).shape)


@pytest.mark.parametrize("jit_compile", [False, True])
@pytest.mark.parametrize(
    ("name", "activation", "data"),
    [
        ("BinaryCrossentropy", tf.sigmoid, BINARY_LOGITS),
        ("CategoricalCrossentropy", tf.nn.softmax, ONE_HOT_LOGITS),
        ("SparseCategoricalCrossentropy", tf.nn.softmax, IDS_LOGITS),
    ],
)
def test_saturated_probabilities_in_a_graph_use_their_logits(name, activation, data, jit_compile):
    y_true, logits = data[0], 50 * data[1]
    loss = getattr(losses, name)()
    step = tf.function(
        lambda x: loss(y_true, activation(x)), autograph=False, jit_compile=jit_compile
    )
    close(step(logits), getattr(keras.losses, name)(from_logits=True)(y_true, logits))


def test_logits_that_a_tensor_carries_are_used():
    logits = tf.constant(50 * ONE_HOT_LOGITS[1])
    y_pred = tf.nn.softmax(logits)
    y_pred._keras_logits = logits
    actual = losses.categorical_crossentropy(ONE_HOT[0], y_pred)
    close(actual, losses.categorical_crossentropy(ONE_HOT[0], logits, from_logits=True))
    with pytest.warns(UserWarning, match="output of a Softmax, which are not logits"):
        losses.categorical_crossentropy(ONE_HOT[0], y_pred, from_logits=True)


@pytest.mark.parametrize(
    "options",
    [{}, {"from_logits": True}, {"ignore_class": 3}, {"ignore_class": 3, "from_logits": True}],
)
@pytest.mark.parametrize("with_axis", [False, True])
def test_class_ids_find_their_classes_on_any_axis(options, with_axis):
    ids, scores = STEPS
    first = np.moveaxis(scores, -1, 1)
    given = ids[:, None] if with_axis else ids
    expected = losses.sparse_categorical_crossentropy(ids, scores, **options)
    for axis in (1, -2):
        result = losses.sparse_categorical_crossentropy(given, first, axis=axis, **options)
        np.testing.assert_allclose(result, expected, rtol=1e-6)
    cls = losses.SparseCategoricalCrossentropy
    np.testing.assert_allclose(
        cls(axis=1, **options)(given, first), cls(**options)(ids, scores), rtol=1e-6
    )


@pytest.mark.parametrize("mode", ["eager", "graph", "xla"])
def test_an_ignored_class_leaves_the_logits_of_the_others_known(mode):
    """Keras's loss stops at -log(epsilon), and has no gradient there."""
    logits = tf.constant([[0.0, 60.0], [1.0, 2.0], [np.nan, np.inf]])

    def loss_and_gradient(logits):
        with tf.GradientTape() as tape:
            tape.watch(logits)
            found = losses.sparse_categorical_crossentropy(
                [0, 1, 255], activations.softmax(logits), ignore_class=255
            )
        return found, tape.gradient(found, logits)

    if mode != "eager":
        loss_and_gradient = tf.function(
            loss_and_gradient, autograph=False, jit_compile=mode == "xla"
        )
    found, gradient = loss_and_gradient(logits)
    close(found, [60.0, np.log1p(np.exp(-1.0)), 0.0])
    p = 1 / (1 + np.exp(-1.0))
    close(gradient, [[-1.0, 1.0], [1 - p, p - 1], [0.0, 0.0]])


def test_class_ids_find_the_logits_of_a_softmax_on_another_axis():
    logits = np.array([[[60.0], [-60.0]]], "float32")
    loss = losses.sparse_categorical_crossentropy([[1]], ops.softmax(logits, axis=1), axis=1)
    np.testing.assert_allclose(loss, [[120.0]])


def test_circle_with_references():
    labels, embeddings = EMBEDDINGS
    options = {"ref_labels": labels[:4] + 1, "ref_embeddings": embeddings[:4]}
    options["remove_diagonal"] = False
    expected = keras.losses.circle(labels, embeddings, **options)
    close(losses.circle(labels, embeddings, **options), expected)


@pytest.mark.parametrize("y_true", [REAL[0][:, 0], REAL[0][:, :1]])
@pytest.mark.parametrize("y_pred", [REAL[1][:, 0], REAL[1][:, :1]])
@pytest.mark.parametrize("name", ["mean_squared_error", "log_cosh", "cosine_similarity"])
def test_vectors_and_columns_match_as_in_keras(name, y_true, y_pred):
    expected = getattr(keras.losses, name)(y_true, y_pred)
    close(getattr(losses, name)(y_true, y_pred), expected)


def test_integers_and_lists_are_taken_as_floats():
    assert float(losses.mean_squared_error([1, 2], [2, 4])) == 2.5
    assert float(losses.MeanSquaredError()([[1, 2]], np.array([[2, 4]]))) == 2.5


def test_single_class_warns_as_in_keras():
    with pytest.warns(SyntaxWarning, match="one class only"):
        losses.categorical_crossentropy(np.ones((2, 1), "float32"), np.ones((2, 1), "float32"))


@pytest.mark.parametrize("name", [name for name in dir(keras.losses) if name[0] != "_"])
def test_every_public_name_of_keras_exists(name):
    assert hasattr(losses, name)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: losses.mean_squared_error(tf.ones((3, 2)), tf.ones((4, 2))), r"\(3, 2\).*\(4, 2"),
        (lambda: losses.MeanAbsoluteError()(tf.ones((3,)), tf.ones((4, 1))), r"\(3, 1\).*\(4, 1"),
        (lambda: losses.hinge(tf.ones((3, 2)), tf.ones((3, 5))), r"\(3, 2\).*\(3, 5\)"),
        (
            lambda: losses.binary_crossentropy(tf.ones((3, 1)), tf.ones((3, 2))),
            r"true.*1\).*pred.*2\)",
        ),
        (
            lambda: losses.categorical_crossentropy(tf.ones((3, 1)), tf.ones((3, 2))),
            "must have the shape",
        ),
        (
            lambda: losses.categorical_crossentropy(tf.ones((1, 5)), tf.ones((3, 5))),
            r"y_true of shape \(1, 5\) and y_pred of shape \(3, 5\)",
        ),
        (lambda: losses.categorical_crossentropy(*IDS), r"\(6,\).*\(6, 5\).*to_categorical"),
        (lambda: losses.categorical_crossentropy(*ONE_HOT, axis=True), "`axis`.*True"),
        (lambda: losses.categorical_focal_crossentropy(*ONE_HOT, axis=False), "`axis`.*False"),
        (lambda: losses.sparse_categorical_crossentropy(*ONE_HOT), r"Class ids.*\(6, 5\).*\(6, 5"),
        (
            lambda: losses.sparse_categorical_crossentropy(*IDS, axis=0),
            r"Class ids.*\(6,\).*\(5, 6\)",
        ),
        (lambda: losses.sparse_categorical_crossentropy(*IDS, axis=2), "out of bounds.*axis=2"),
        (
            lambda: losses.SparseCategoricalCrossentropy()(IDS[0][:4], IDS[1]),
            r"Class ids.*\(4,\).*\(6, 5\)",
        ),
        (
            lambda: losses.categorical_generalized_cross_entropy(IDS[0][:4], IDS[1], 0.5),
            r"\(4,\).*\(6, 5\)",
        ),
        (lambda: losses.CategoricalGeneralizedCrossEntropy(q=1.0), "between 0 and 1.*1.0"),
        (lambda: losses.ctc(LABELS[0], CTC[1]), r"CTC needs.*\(4,\).*\(2, 9, 5\)"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()
