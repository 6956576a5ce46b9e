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
