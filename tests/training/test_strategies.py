"""`fit` and `evaluate` refuse strategies of `tf.distribute` that they would ignore."""

import numpy as np
import pytest
import tensorflow as tf

import tfkit as keras

X = np.ones((4, 2), "float32")


def make_model(**options):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2)])
    model.compile("sgd", "mse", **options)
    return model


@pytest.mark.parametrize("options", [{}, {"run_eagerly": True}], ids=["compiled", "eager"])
def test_a_strategy_is_refused_in_its_scope_and_after_it(options):
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    with strategy.scope():
        model = make_model(**options)
        with pytest.raises(NotImplementedError, match="MirroredStrategy yet"):
            model.fit(X, X, verbose=0)
    before = model.get_weights()
    for method in (model.fit, model.evaluate):
        with pytest.raises(
            NotImplementedError, match=rf"`{method.__name__}\(\)` does not run under Mirrored"
        ):
            method(X, X, verbose=0)
    for method in (model.train_on_batch, model.test_on_batch):
        with pytest.raises(NotImplementedError, match="does not run under Mirrored"):
            method(X, X)
    for one, other in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(one, other)
    assert model.predict(X, verbose=0).shape == (4, 2)


def test_the_strategy_of_a_model_is_that_of_its_variables_else_the_one_in_scope():
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    alone = make_model()
    assert alone.distribute_strategy is tf.distribute.get_strategy()
    with strategy.scope():
        model = make_model()
        assert alone.distribute_strategy is strategy
    assert model.distribute_strategy is strategy


def test_a_model_of_its_own_is_not_trained_in_a_scope():
    model = make_model()
    with (
        tf.distribute.MirroredStrategy(["CPU:0"]).scope(),
        pytest.raises(NotImplementedError, match=r"outside of `strategy\.scope"),
    ):
        model.fit(X, X, verbose=0)
    model.fit(X, X, verbose=0)
