"""The steps of a model use nothing private, so that a user can copy them into a subclass."""

import inspect
import re
import textwrap
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit.utils import unpack_x_y_sample_weight

STEPS = ("train_step", "test_step", "predict_step")


def copied(*names):
    """A class of models with steps of their own, made of the source of tfkit's."""
    # What a user would import; a step that needs more fails.
    names_of_module = {
        "Any": Any,
        "tf": tf,
        "unpack_x_y_sample_weight": unpack_x_y_sample_weight,
    }
    for name in names:
        source = textwrap.dedent(inspect.getsource(getattr(tfkit.Model, name)))
        exec(source, names_of_module)
    return type("Copied", (tfkit.Model,), {name: names_of_module[name] for name in names})


@pytest.mark.parametrize("eagerly", [False, True])
def test_a_copied_step_trains_as_the_original_does(eagerly):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 3)).astype("float32"), rng.normal(size=(20, 1)).astype("float32")
    found = []
    for cls in (tfkit.Model, copied(*STEPS)):
        tfkit.utils.set_random_seed(1)
        inputs = tfkit.Input((3,))
        hidden = tfkit.layers.Dense(4, "tanh", kernel_regularizer="l2")(inputs)
        outputs = tfkit.layers.Dense(1)(tfkit.layers.Dropout(0.5)(hidden))
        model = cls(inputs, outputs)
        model.compile("adam", "mse", metrics=["mae"], run_eagerly=eagerly)
        history = model.fit(x, y, 8, 2, 0, sample_weight=np.arange(20), shuffle=False).history
        results = [*history.values(), model.evaluate(x, y, verbose=0), *model.get_weights()]
        found.append([*results, model.predict(x, verbose=0)])
    for own, original in zip(*found, strict=True):
        np.testing.assert_array_equal(own, original)


def test_a_step_of_training_calls_no_private_method():
    source = inspect.getsource(tfkit.Model.train_step)
    assert not re.findall(r"(?<!\w)_\w+\(|\._\w+\(", source)


class StepOfKeras(tfkit.Model):
    """A step as it is copied from Keras, with its name of the mean of the losses."""

    def train_step(self, data):
        x, y, sample_weight = unpack_x_y_sample_weight(data)
        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self.compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight)
        self._loss_tracker.update_state(loss, sample_weight=tf.shape(x)[0])
        gradients = tape.gradient(loss, self.trainable_weights)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_weights, strict=True))
        return self.compute_metrics(x, y, y_pred, sample_weight=sample_weight)


class OwnTracker(StepOfKeras):
    """The same, with a metric of its own under that name."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._loss_tracker = tfkit.metrics.Mean(name="own")


@pytest.mark.parametrize(("cls", "names"), [(StepOfKeras, ["loss"]), (OwnTracker, ["own", "loss"])])
def test_a_step_of_keras_finds_the_mean_of_the_losses(cls, names):
    x, y = np.eye(5, 3, dtype="float32"), np.arange(5, dtype="float32")[:, None]
    found = []
    for made in (tfkit.Model, cls):
        tfkit.utils.set_random_seed(1)
        inputs = tfkit.Input((3,))
        model = made(inputs, tfkit.layers.Dense(1)(inputs))
        model.compile("sgd", "mse")
        found.append(model.fit(x, y, 2, 2, 0, shuffle=False).history)
    np.testing.assert_allclose(found[1][names[0]], found[0]["loss"], rtol=1e-6)
    assert sorted(metric.name for metric in model.metrics) == sorted(names)
