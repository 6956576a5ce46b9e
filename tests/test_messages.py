"""Errors for everyday mistakes: what was passed, what was expected, and no line of tfkit above them."""

import traceback

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import callbacks, layers, metrics, models, random

F = np.ones


def mlp(loss="mse"):
    model = tfkit.Sequential([tfkit.Input((4,), name="x"), layers.Dense(1)])
    model.compile("sgd", loss)
    return model


def returning(result):
    class Mine(tfkit.Model):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(1)

        def call(self, inputs):
            return result(self, inputs)

    model = Mine()
    model.compile("sgd", "mse")
    return model


def without_return():
    layer = layers.Dense(1, kernel_regularizer=lambda kernel: None)
    model = tfkit.Sequential([tfkit.Input((4,)), layer])
    model.compile("sgd", "mse")
    return model


MISTAKES = [
    (
        lambda: layers.Concatenate(axis=5)([F((2, 3)), F((2, 3))]),
        ValueError,
        r"axis 5.*\(2, 3\), \(2, 3\)",
    ),
    (
        lambda: layers.Concatenate()([[F((2, 3)), F((2, 3))]]),
        ValueError,
        "not nested in further lists",
    ),
    (lambda: layers.Add()([[F((2, 3)), F((2, 3))]]), ValueError, "not nested in further lists"),
    (lambda: layers.MaxPooling2D(0), ValueError, "`pool_size`.*MaxPooling2D.*pool_size=0"),
    (lambda: layers.Conv2D(2, 3, strides=2, dilation_rate=2), ValueError, "`strides`.*Conv2D"),
    (lambda: layers.Rescaling("1/255"), ValueError, "`scale`.*a number.*'1/255'"),
    (lambda: layers.Rescaling(1.0, offset="-1"), ValueError, "`offset`.*a number.*'-1'"),
    (
        lambda: layers.LSTM(2)(F((1, 2, 3), "f"), initial_state=[F((1, 3), "f")] * 2),
        ValueError,
        r"sizes \[2, 2\].*state 0 has the shape \(1, 3\)",
    ),
    (
        lambda: layers.deserialize({"class_name": "Foo", "config": {}}),
        ValueError,
        "'Foo'.*not registered",
    ),
    (lambda: metrics.get("foo"), ValueError, "tfkit.metrics: 'foo'"),
    (
        lambda: layers.deserialize({"name": "a"}),
        ValueError,
        "tfkit.layers: a dict with 'class_name'",
    ),
    (lambda: layers.deserialize("Dense"), ValueError, "Received: 'Dense'"),
    (lambda: metrics.deserialize([]), ValueError, r"tfkit.metrics.*Received: \[\]"),
    (
        lambda: layers.deserialize({}, custom_objects=[layers.Dense]),
        TypeError,
        "`custom_objects` must be a dict.*Dense",
    ),
    (lambda: tfkit.device("npu:0"), ValueError, "'cpu:0'.*kinds.*'CPU'.*device_name='npu:0'"),
    (
        lambda: layers.LSTM(2)(F((2, 5, 3), "f"), mask=F((2, 4), "?")),
        ValueError,
        r"mask of layer 'lstm.*mask of shape \(2, 4\), inputs of shape \(2, 5, 3\)",
    ),
    (
        lambda: tfkit.optimizers.SGD().apply([F(3, "f")], [tf.Variable(F(2, "f"), name="v")]),
        ValueError,
        r"variable 'v'.*shape, \(2,\).*of shape \(3,\)",
    ),
    (
        lambda: mlp().fit(iter([([[1.0] * 4], [1.0])]), verbose=0),
        ValueError,
        r"arrays or tensors.*\[1.0, 1.0, 1.0, 1.0\].*np.array",
    ),
    (
        lambda: without_return().fit(F((4, 4)), F((4, 1)), verbose=0),
        ValueError,
        "regularizer.*returned None.*`return`",
    ),
    (
        lambda: metrics.MeanSquaredError().update_state(F((3, 2)), F((4, 5))),
        ValueError,
        "same shape",
    ),
    (lambda: callbacks.LearningRateScheduler(0.1), TypeError, "`schedule` must be a function.*0.1"),
    (lambda: callbacks.ModelCheckpoint("m.txt"), ValueError, "m.txt"),
    (lambda: random.normal(3), ValueError, r"`shape` must be a tuple of sizes, such as `\(3,\)`"),
    (lambda: random.randint(np.int64(3), 0, 5), ValueError, "`shape` must be a tuple"),
    (lambda: random.gamma(3, 1.0), ValueError, "`shape` must be a tuple"),
    (lambda: random.dropout(F(3), 1.5), ValueError, "`rate` must be from 0 to 1.*1.5"),
    (lambda: models.load_model(None), TypeError, "`filepath` must be the path.*None"),
    (lambda: mlp().load_weights(3), TypeError, "`filepath` must be the path.*3"),
    (lambda: mlp().save(None), ValueError, "`filepath` must be the path.*None"),
    (
        lambda: mlp().fit({"a": F((4, 4))}, F((4, 1)), verbose=0),
        ValueError,
        r"inputs \['x'\].*keys \['a'\], without \['x'\]",
    ),
    (
        lambda: mlp().fit(np.array(["2020-01-01"] * 4, "datetime64[D]"), F((4, 1)), verbose=0),
        ValueError,
        r"dates.*datetime64\[D\]",
    ),
    (
        lambda: returning(lambda self, x: self.dense).fit(F((4, 4)), F((4, 1)), verbose=0),
        ValueError,
        "compares numbers.*Dense",
    ),
]


@pytest.mark.parametrize(("call", "kind", "message"), MISTAKES)
def test_mistakes_are_explained(call, kind, message):
    with pytest.raises(kind, match=message) as caught:
        call()
    files = [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert not [file for file in files if "/tfkit/src/" in file and "contextlib" not in file]
