"""`fit` under strategies of `tf.distribute`: what is refused, and in whose scope a model is trained."""

import numpy as np
import pytest
import tensorflow as tf

import tfkit as keras

X = np.ones((4, 2), "float32")


def make_model(**options):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2)])
    model.compile("sgd", "mse", **options)
    return model


@pytest.mark.parametrize("options", [{"jit_compile": True}, {"run_eagerly": True}], ids=str)
def test_what_a_strategy_cannot_run_is_refused_and_changes_nothing(options):
    with tf.distribute.MirroredStrategy(["CPU:0"]).scope():
        model = make_model(**options)
    before = model.get_weights()
    for method in (model.fit, model.evaluate):
        with pytest.raises(ValueError, match="cannot be combined with MirroredStrategy"):
            method(X, X, verbose=0)
    for method in (model.train_on_batch, model.test_on_batch):
        with pytest.raises(ValueError, match=next(iter(options))):
            method(X, X)
    for one, other in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(one, other)
    assert model.predict(X, verbose=0).shape == (4, 2)


def test_a_model_is_trained_under_its_strategy_in_the_scope_and_after_it():
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    alone = make_model()
    with strategy.scope():
        model = make_model()
        model.set_weights(alone.get_weights())
        model.fit(X, X, verbose=0)
    model.fit(X, X, verbose=0)
    alone.fit(X, X, epochs=2, verbose=0)
    for one, other in zip(model.get_weights(), alone.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_the_strategy_of_a_model_is_that_of_its_variables_else_the_one_in_scope():
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    alone = make_model()
    assert alone.distribute_strategy is tf.distribute.get_strategy()
    with strategy.scope():
        model = make_model()
        assert alone.distribute_strategy is strategy
    assert model.distribute_strategy is strategy


def test_a_strategy_that_keeps_one_copy_is_refused():
    strategy = tf.distribute.experimental.CentralStorageStrategy()
    with strategy.scope():
        model = make_model()
        for method in (model.fit, model.evaluate):
            with pytest.raises(
                ValueError, match=r"CentralStorageStrategy.* Use `tf.distribute.Mirrored"
            ):
                method(X, X, verbose=0)


def test_operators_read_copied_weights_in_the_dtype_of_the_call():
    """As those of a weight without copies: `bias[0]` and `-weight` as well as `x @ kernel`."""

    class Halves(keras.layers.Layer):
        def build(self, input_shape):
            self.weight = self.add_weight(shape=(2, 3), initializer="ones")

        def call(self, x):
            weight = self.weight
            values = [
                weight[0],
                -weight,
                abs(weight),
                2 * weight,
                1 - weight,
                weight**2,
                x @ weight,
            ]
            assert all(value.dtype == tf.bfloat16 for value in values)
            return values[-1] + weight[1]

    weights = []
    for strategy in (tf.distribute.get_strategy(), tf.distribute.MirroredStrategy(["CPU:0"])):
        keras.utils.set_random_seed(0)
        with strategy.scope():
            halves, gru = (
                Halves(dtype="mixed_bfloat16"),
                keras.layers.GRU(2, dtype="mixed_bfloat16"),
            )
            model = keras.Sequential([keras.Input((4, 2)), halves, gru])
            model.compile("sgd", "mse")
        model.fit(np.ones((2, 4, 2)), np.ones((2, 2)), verbose=0)
        weights.append(model.get_weights())
    for one, other in zip(*weights, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-2)  # Three digits of bfloat16.
