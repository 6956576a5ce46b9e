"""The private names of a user's own classes are the user's: `_state`, `_graph`, `_files` replace nothing."""

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import layers

# Names that Keras's classes have too, or that TensorFlow looks for.
SHARED = {
    "_allow_non_tensor_positional_args", "_apply_weight_decay", "_clip_gradients", "_compute_loss",
    "_direction", "_dtype", "_dtype_policy", "_get_current_learning_rate", "_get_variable_index",
    "_inbound_nodes", "_iterations", "_learning_rate", "_loss_tracker", "_model", "_name", "_name_scope",
    "_repr_html_",
    "_trackable_children", "_trainable", "_use_weight_decay",
}  # fmt: skip


class Layer(layers.Layer):
    def build(self, shape):
        self.w = self.add_weight((shape[-1],), name="w")

    def call(self, x):
        return x * self.w


class Model(tfkit.Model):
    def __init__(self):
        super().__init__()
        self.layer = Layer()

    def call(self, x):
        return self.layer(x)


class Metric(tfkit.metrics.Metric):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.count = self.add_variable((), "zeros", name="count")

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.count.assign_add(1.0)

    def result(self):
        return self.count


class Loss(tfkit.losses.Loss):
    def call(self, y_true, y_pred):
        return tf.reduce_mean(tf.square(y_true - y_pred), -1)


class Optimizer(tfkit.optimizers.Optimizer):
    def __init__(self):
        super().__init__(learning_rate=0.1)

    def update_step(self, gradient, variable, learning_rate):
        variable.assign_sub(gradient * tf.cast(learning_rate, variable.dtype))


class Callback(tfkit.callbacks.Callback):
    pass


class Schedule(tfkit.optimizers.schedules.LearningRateSchedule):
    def __call__(self, step):
        return 0.1


X = np.ones((4, 3), "float32")


def trained():
    """All these objects after a training with them."""
    model, optimizer, loss, metric, callback = Model(), Optimizer(), Loss(), Metric(), Callback()
    model.compile(optimizer, loss, metrics=[metric])
    model.fit(X, X, verbose=0, callbacks=[callback])
    stack = tfkit.Sequential([tfkit.Input((3,)), Layer()])
    stack.compile("sgd", "mse")
    stack.fit(X, X, verbose=0)
    return [model.layer, model, stack, optimizer, loss, metric, callback, Schedule()]


@pytest.fixture(scope="module")
def objects():
    return trained()


def private_names(instance):
    """The names with an underscore that tfkit gives the object or its classes."""
    own = [cls for cls in type(instance).__mro__ if cls.__module__.startswith("tfkit")]
    names = {name for cls in own for name in vars(cls)} | set(vars(instance))
    return {
        name
        for name in names
        if name.startswith("_")
        and not name.startswith(("__", "_tfkit", "_self_"))
        and name not in ("_abc_impl",)
    }


def test_private_names_of_base_classes_begin_with_tfkit(objects):
    found = {type(it).__name__: private_names(it) - SHARED for it in objects}
    assert not any(found.values()), found


def test_a_program_may_use_any_private_name_of_its_own():
    """What a program of a year ago may have called its own parts, in a method and as attributes."""

    class Mine(Model):
        def __init__(self):
            super().__init__()
            self._graph, self._files, self._devices, self._programs = "graph", [], {}, 3
            self._state = self._stack = self._values = None

        def _compile(self):
            raise AssertionError

        _change = _record = _members = _frame = _stored = _in_order = _entries = _compile

    model = Mine()
    model.compile("sgd", "mse")
    history = model.fit(X, X, verbose=0)
    assert np.isfinite(history.history["loss"][0])
    model.predict(X, verbose=0)
    assert (model._graph, model._programs) == ("graph", 3)
