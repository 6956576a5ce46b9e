"""What was thawed inside a frozen layer is trained with the model around both, as in Keras: LoRA needs it."""

import copy
import pickle

import keras
import numpy as np
import pytest

import tfkit

X, Y = np.ones((4, 2), "float32"), np.zeros((4, 1), "float32")


def block_of(framework):
    class Block(framework.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.inner, self.other = framework.layers.Dense(2), framework.layers.Dense(3)

        def build(self, shape):
            self.inner.build(shape)
            self.other.build((None, 2))

        def call(self, inputs):
            return self.other(self.inner(inputs))

    return Block()


def thawed_in_a_layer(framework):
    block = block_of(framework)
    model = framework.Sequential([framework.Input((2,)), block, framework.layers.Dense(1)])
    block.trainable = False
    block.inner.trainable = True
    return model, block


def thawed_in_a_model(framework):
    inner = framework.Sequential(
        [framework.Input((2,)), framework.layers.Dense(2), framework.layers.Dense(3)]
    )
    model = framework.Sequential([framework.Input((2,)), inner, framework.layers.Dense(1)])
    inner.trainable = False
    inner.layers[0].trainable = True
    return model, inner


def thawed_in_a_frozen_model(framework):
    model, block = thawed_in_a_layer(framework)
    model.trainable = False
    block.inner.trainable = True
    return model, block


CASES = (thawed_in_a_layer, thawed_in_a_model, thawed_in_a_frozen_model)


def changed_by_fit(model):
    before = model.get_weights()
    model.compile("sgd", "mse")
    model.fit(X, Y, verbose=0)
    return [bool((a != b).any()) for a, b in zip(before, model.get_weights(), strict=True)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_the_same_is_trained_as_in_keras(case):
    expected, part_of_keras = case(keras)
    model, part = case(tfkit)
    assert len(model.trainable_weights) == len(expected.trainable_weights)
    assert len(part.trainable_weights) == len(part_of_keras.trainable_weights)
    if model.trainable_weights:
        model.set_weights(expected.get_weights())
        changed = changed_by_fit(model)
        assert sum(changed) == len(model.trainable_weights)
        assert changed == changed_by_fit(expected)


@pytest.mark.parametrize("value", [True, False])
def test_what_is_inside_is_set_though_the_value_is_the_same(value):
    """TensorFlow skips such an assignment, and so does Keras on it, but not with JAX and PyTorch."""
    model, block = thawed_in_a_layer(tfkit)
    block.trainable = value
    block.inner.trainable = not value
    block.trainable = value
    assert block.inner.trainable is value
    assert len(model.trainable_weights) == (6 if value else 2)


@pytest.mark.parametrize(
    "copied",
    [
        copy.deepcopy,
        lambda model: pickle.loads(pickle.dumps(model)),
        lambda model: tfkit.Sequential.from_config(model.get_config()),
        tfkit.models.clone_model,
    ],
    ids=["deepcopy", "pickle", "config", "clone"],
)
def test_copies_train_the_same(copied):
    model, _ = thawed_in_a_model(tfkit)
    found = copied(model)
    assert len(found.trainable_weights) == 4
    model.trainable = False
    model.layers[0].layers[0].trainable = True
    assert not model.trainable_weights
    assert not copied(model).trainable_weights
    model.trainable = True
    model.layers[0].trainable = False
    model.layers[0].layers[0].trainable = True
    assert [weight.trainable for weight in found.weights] == [w.trainable for w in model.weights]


def test_a_copy_of_a_layer_trains_the_same():
    model, _ = thawed_in_a_layer(tfkit)
    assert len(copy.deepcopy(model).trainable_weights) == 4


@pytest.mark.parametrize("make", ["sequential", "functional"])
def test_a_model_that_is_frozen_from_the_start_stays_frozen_in_another(make, tmp_path):
    inputs = tfkit.Input((2,))
    if make == "sequential":
        inner = tfkit.Sequential([inputs, tfkit.layers.Dense(3)], trainable=False)
    else:
        inner = tfkit.Model(inputs, tfkit.layers.Dense(3)(inputs), trainable=False)
    model = tfkit.Sequential([tfkit.Input((2,)), inner, tfkit.layers.Dense(1)])
    assert len(model.trainable_weights) == 2
    model.save(tmp_path / "m.keras")
    assert len(tfkit.models.load_model(tmp_path / "m.keras").trainable_weights) == 2
