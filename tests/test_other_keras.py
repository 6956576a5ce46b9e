"""Parts of Keras in a model of tfkit: `import tfkit as keras` leaves `from keras import layers` as it was."""

import keras as oracle
import numpy as np
import pytest
import tensorflow as tf

import tfkit

X = np.ones((4, 3), "float32")


@pytest.mark.parametrize(
    "mistake",
    [
        lambda: tfkit.Sequential([tfkit.Input((3,)), oracle.layers.Dense(1)]),
        lambda: tfkit.Sequential([oracle.Input((3,)), tfkit.layers.Dense(1)]),
        lambda: tfkit.layers.Dense(1)(oracle.Input((3,))),
        lambda: tfkit.Model(oracle.Input((3,)), oracle.Input((3,))),
        lambda: tfkit.Sequential().compile(oracle.optimizers.Adam(), "mse"),
    ],
    ids=["layer", "input", "call", "model", "optimizer"],
)
def test_a_part_of_keras_is_refused_with_the_import_to_change(mistake):
    with pytest.raises(ValueError, match="It is one of the library `keras`"):
        mistake()


@pytest.mark.parametrize("held", [lambda layer: layer, lambda layer: [layer]])
def test_a_layer_of_keras_in_an_attribute_is_not_trained_and_says_so(held):
    class Model(tfkit.Model):
        def __init__(self):
            super().__init__()
            self.dense = held(oracle.layers.Dense(1))

    with pytest.warns(UserWarning, match="`dense` .* they are neither trained nor saved"):
        model = Model()
    assert model.trainable_weights == []


def test_everything_else_of_keras_stays_usable():
    model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(1)])
    model.compile("sgd", oracle.losses.MeanSquaredError())
    stop = oracle.callbacks.EarlyStopping(monitor="loss")
    assert "loss" in model.fit(X, X[:, :1], verbose=0, callbacks=[stop]).history
    model.scale = oracle.Variable([2.0])  # Which is no layer.
    assert tfkit.layers.Dense(1)(tf.constant(X)).shape == (4, 1)


def test_several_layers_without_a_list_are_refused():
    with pytest.raises(ValueError, match="takes its layers as one list"):
        tfkit.Sequential(tfkit.layers.Dense(4), tfkit.layers.Dense(1))
