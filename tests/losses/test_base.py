"""The base class: nests, masks, weights, reductions, names and configurations."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfkit import losses
from tfkit.src.base.registry import tables as registry
from tfkit.src.losses.reduction import scale_loss_for_distribution, unscale_loss_for_distribution

rng = np.random.default_rng(1)
Y_TRUE = rng.normal(size=(2, 3, 4)).astype("float32")
Y_PRED = rng.normal(size=(2, 3, 4)).astype("float32")
MASK = np.array([[True, False, True], [False, False, True]])
REDUCTIONS = ["sum_over_batch_size", "mean", "sum", "mean_with_sample_weight", None]


def masked(values, mask):
    tensor = tf.constant(values)
    tensor._keras_mask = tf.constant(mask)
    return tensor


@pytest.mark.parametrize("weights", [None, rng.uniform(size=(2, 3)), rng.uniform(size=(2, 1))])
@pytest.mark.parametrize("mask", [MASK, np.zeros_like(MASK), np.ones_like(MASK)])
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_masks_and_weights_equal_keras(reduction, mask, weights):
    ours = losses.MeanSquaredError(reduction=reduction)
    theirs = keras.losses.MeanSquaredError(reduction=reduction)
    expected = theirs(Y_TRUE, masked(Y_PRED, mask), weights)
    actual = ours(Y_TRUE, masked(Y_PRED, mask), weights)
    np.testing.assert_allclose(actual, expected, rtol=1e-6)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_ignored_class_and_mask_together(reduction):
    ids = np.array([[0, 3, 1], [3, 2, 3]])
    y_pred = tf.nn.softmax(Y_PRED)
    results = [
        module.SparseCategoricalCrossentropy(ignore_class=3, reduction=reduction)(
            ids, masked(y_pred, MASK)
        )
        for module in (losses, keras.losses)
    ]
    np.testing.assert_allclose(*results, rtol=1e-6)


@pytest.mark.parametrize("size", [3, 2])
def test_a_weight_for_each_sample_weighs_samples_whatever_the_number_of_steps(size):
    """Keras refuses, or for as many steps as samples weighs the steps instead."""
    y_true, y_pred = Y_TRUE[:, :size], Y_PRED[:, :size]
    weights = np.array([1.0, 3.0], "float32")
    loss = losses.MeanSquaredError(reduction="sum")
    expected = keras.losses.MeanSquaredError(reduction="sum")(y_true, y_pred, weights[:, None])
    np.testing.assert_allclose(loss(y_true, y_pred, weights), expected, rtol=1e-6)
    specs = [tf.TensorSpec((None, size, 4))] * 2 + [tf.TensorSpec((None,))]
    step = tf.function(loss, specs, autograph=False)
    np.testing.assert_allclose(step(y_true, y_pred, weights), expected, rtol=1e-6)


def test_empty_batches_are_zero():
    spec = tf.TensorSpec((None, 4))
    step = tf.function(losses.MeanSquaredError(), [spec, spec], autograph=False)
    assert float(step(tf.zeros((0, 4)), tf.zeros((0, 4)))) == 0.0


@pytest.mark.parametrize("unknown", [0, 1, 2])
def test_what_has_no_known_rank_is_taken_as_it_is(unknown):
    specs = [tf.TensorSpec((None, 1)), tf.TensorSpec((None, 1)), tf.TensorSpec((None,))]
    specs[unknown] = tf.TensorSpec(None)
    values = Y_TRUE[:, 0, :1], Y_PRED[:, 0, :1], np.array([1.0, 3.0], "float32")
    loss = losses.MeanSquaredError(reduction="sum")
    step = tf.function(loss, specs, autograph=False)
    np.testing.assert_allclose(step(*values), loss(*values), rtol=1e-6)


def test_nests():
    def summed(y_true, y_pred):
        return losses.mean_squared_error(y_true["a"], y_pred["a"]) + tf.abs(y_true["b"][0])[:, 0]

    loss = losses.LossFunctionWrapper(summed, reduction="none")
    y_true = {"a": np.zeros(2), "b": [np.ones((2, 1))]}
    y_pred = {"a": np.ones((2, 1)), "b": [np.ones((2, 1))]}
    np.testing.assert_array_equal(loss(y_true, y_pred), [2.0, 2.0])
    with pytest.raises((ValueError, TypeError), match="structure"):
        loss(y_true, {"a": np.ones((2, 1)), "b": [np.ones((2, 1))] * 2})


def test_subclasses():
    class FirstAxis(losses.Loss):
        def call(self, y_true, y_pred):
            return tf.abs(y_true - y_pred)[:, 0]

    assert FirstAxis().name == "first_axis"
    assert float(FirstAxis(reduction="sum")([[1.0], [2.0]], np.array([[3], [5]]))) == 5.0
    with pytest.raises(NotImplementedError, match="Loss must define `call"):
        losses.Loss()(Y_TRUE, Y_PRED)


@registry.register_keras_serializable("test")
def shifted_error(y_true, y_pred, shift=0.0):
    return tf.reduce_mean(tf.abs(y_true - y_pred) + shift, -1)


def test_wrapped_functions_round_trip():
    for function, options in [(shifted_error, {"shift": 2.0}), (losses.huber, {"delta": 0.5})]:
        loss = losses.LossFunctionWrapper(function, name="mine", reduction="sum", **options)
        again = losses.deserialize(losses.serialize(loss))
        assert (again.name, again.reduction, again.fn) == ("mine", "sum", function)
        np.testing.assert_array_equal(again(Y_TRUE, Y_PRED), loss(Y_TRUE, Y_PRED))
        assert losses.deserialize(losses.serialize(function)) is function
    assert repr(loss) == "<LossFunctionWrapper(huber, kwargs={'delta': 0.5})>"


@pytest.mark.parametrize(
    "name",
    ["bce", "BCE", "kld", "KLD", "mae", "MAE", "mse", "MSE", "mape", "MAPE", "msle", "MSLE"]
    + ["hinge", "Hinge", "KLDivergence", "log_cosh", "dice", "ctc", "CTC", "circle", "tversky"]
    + ["mean_squared_error", "MeanSquaredError", "categorical_crossentropy", "Poisson"],
)
def test_names_resolve_as_in_keras(name):
    ours, theirs = losses.get(name), keras.losses.get(name)
    assert callable(ours)
    assert getattr(ours, "__name__", type(ours).__name__) == getattr(
        theirs, "__name__", type(theirs).__name__
    )


def test_get_takes_what_keras_takes():
    assert losses.get(None) is None
    assert losses.get(shifted_error) is shifted_error
    assert isinstance(losses.get(losses.Huber), losses.Huber)
    config = {"class_name": "CategoricalCrossentropy", "config": {"from_logits": True}}
    assert losses.get(config).from_logits is True


def test_dtypes():
    class Policy:
        compute_dtype = "bfloat16"

    assert losses.Huber().dtype == "float32"
    assert "dtype" not in losses.Huber().get_config()
    assert losses.Huber(dtype=Policy()).dtype == "bfloat16"
    assert losses.Huber(dtype="mixed_float16").dtype == "float16"


def test_replicas_share_the_global_mean():
    value = tf.constant(3.0)
    assert scale_loss_for_distribution(value) is value
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    with strategy.scope():
        assert float(unscale_loss_for_distribution(scale_loss_for_distribution(value))) == 3.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: losses.get("msee"), "Unknown name.*'msee'.*Did you mean"),
        (lambda: losses.get(4), "Could not interpret.*4"),
        (lambda: losses.Huber(reduction="avg"), "Unknown `reduction`.*'avg'"),
        (lambda: losses.Huber(dtype="float31"), "Invalid dtype.*float31"),
        (
            lambda: losses.MeanSquaredError()(Y_TRUE, Y_PRED, np.ones((2, 3, 4))),
            r"more axes.*\(2, 3\).*\(2, 3, 4\)",
        ),
        (lambda: losses.MeanSquaredError()(Y_TRUE, Y_PRED, np.ones(5)), r"\(5,\).*\(2, 3\)"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    "name", [it for it in dir(losses) if hasattr(getattr(keras.losses, it, 0), "get_config")]
)
def test_configurations_equal_keras(name):
    ours, theirs = (getattr(module, name)(name="loss") for module in (losses, keras.losses))
    assert ours.get_config() == theirs.get_config()
    assert type(ours).from_config(theirs.get_config()).get_config() == ours.get_config()


@pytest.mark.parametrize(("name", "option"), [("Huber", "delta"), ("CosineSimilarity", "axis")])
def test_options_that_keras_forgets_are_kept(name, option):
    """Keras leaves them out of the configuration, so that a loss that is loaded has the default."""
    config = getattr(losses, name)(**{option: 2}).get_config()
    assert config[option] == 2
    assert getattr(getattr(losses, name).from_config(config), option) == 2
    assert option not in getattr(keras.losses, name)(**{option: 2}).get_config()


def test_option_that_is_set_later():
    loss = losses.Huber()
    loss.delta = 0.25
    np.testing.assert_allclose(loss(Y_TRUE, Y_PRED), losses.Huber(delta=0.25)(Y_TRUE, Y_PRED))


def test_weights_among_the_targets_are_named_in_the_error():
    loss = losses.MeanSquaredError(name="price")
    with pytest.raises(ValueError, match=r"outputs of loss 'price'.*y_true=\(.*sample_weight"):
        loss((tf.zeros((2, 1)), tf.ones(2)), tf.zeros((2, 1)))
