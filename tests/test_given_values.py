"""Values that a trace reads in place of variables: for each call its own, whatever the threads."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import layers


class Hypernetwork(layers.Layer):
    """A layer whose parts get weights and states from its inputs."""

    def __init__(self):
        super().__init__()
        self.dense, self.normalization = layers.Dense(3), layers.BatchNormalization()

    def build(self, input_shape):
        self.dense.build(input_shape)
        self.normalization.build((None, 3))

    def call(self, x):
        sums = tf.reduce_sum(x) * tf.ones((4, 3))
        y, _ = self.dense.stateless_call([sums, tf.zeros(3)], [], x)
        mean = tf.reduce_mean(x) * tf.ones(3)
        state = [mean, tf.ones(3)]
        return self.normalization.stateless_call([tf.ones(3), mean], state, y, training=False)[0]


@pytest.mark.parametrize("how", ["direct", "traced", "exported"])
def test_threads_do_not_read_the_values_of_others(how, tmp_path):
    model = tfkit.Sequential([tfkit.Input((4,)), Hypernetwork()])
    run = model
    if how == "traced":
        run = tf.function(model)
    elif how == "exported":
        model.export(tmp_path / "model", verbose=False)
        loaded = tf.saved_model.load(str(tmp_path / "model"))
        run = loaded.serve
    inputs = [tf.random.stateless_normal((8, 4), (seed, 0)) for seed in range(16)]
    run(inputs[0])  # Before the first compiled call.
    expected = [run(x).numpy() for x in inputs]
    graph = tf.function(run).get_concrete_function(inputs[0]).graph.as_graph_def()
    functions = [graph.node, *(it.node_def for it in graph.library.function)]
    assert not [node.name for nodes in functions for node in nodes if node.op == "AssignVariableOp"]

    def count_wrong(number):
        return sum(not np.array_equal(run(inputs[number]), expected[number]) for _ in range(60))

    with ThreadPoolExecutor(16) as threads:
        assert sum(threads.map(count_wrong, range(16))) == 0


class Counts(layers.Layer):
    """A layer that changes its state, in several ways."""

    def __init__(self, how, dtype=None):
        super().__init__(dtype=dtype)
        self.how = how
        self.count = self.add_weight(shape=(2,), trainable=False, name="count")
        self.scale = self.add_weight(shape=(2,), initializer="ones", name="scale")

    def call(self, x):
        if self.how == "assigned":
            self.count.assign_add([1.0, 1.0])
            self.count.assign(self.count * 2.0)
            self.count.assign_sub([1.0, 0.0])
        elif self.how == "in a loop":
            self.count.assign_add([1.0, 1.0])
            for _ in tf.range(3):
                self.count.assign_add([1.0, 2.0])
        elif self.how == "in a branch":
            if tf.reduce_sum(x) > 0.0:
                self.count.assign_add([1.0, 2.0])
        else:
            self.count.scatter_add(tf.IndexedSlices(tf.ones(1), [1]))
        return x * self.scale + self.count


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
@pytest.mark.parametrize("how", ["assigned", "in a loop", "in a branch", "scattered"])
def test_states_are_changed_in_their_given_value(how, dtype):
    layer = Counts(how, dtype)
    layer(tf.ones((1, 2)))
    own = layer.count.numpy()

    def run(start, scale):
        with tf.GradientTape() as tape:
            tape.watch(scale)
            y, state = layer.stateless_call([scale], [start], tf.ones((1, 2)))
        y = tf.cast(y, "float32")
        return y, state[0], tape.gradient(y, scale), layer.count + 0.0

    arguments = tf.constant([5.0, 6.0]), tf.constant([2.0, 3.0])
    expected = run(*arguments)
    for one, other in zip(tf.function(run)(*arguments), expected, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(layer.count, own)


class Assigns(layers.Layer):
    """A layer that assigns to a weight that has a given value."""

    def __init__(self, how):
        super().__init__()
        self.how = how
        self.scale = self.add_weight(shape=(2,), initializer="ones")

    def call(self, x):
        if self.how == "directly":
            self.scale.assign(self.scale * 3.0)
        elif self.how == "in a branch" and tf.reduce_sum(x) > 0.0:
            self.scale.assign(x[0])
        return self.compute(x) if self.how == "in a function" else x * self.scale

    @tf.function
    def compute(self, x):
        return x * self.scale


def test_an_assigned_weight_has_the_gradient_of_its_given_value():
    layer = Assigns("directly")
    layer.build((None, 2))

    def run(value):
        with tf.GradientTape() as tape:
            tape.watch(value)
            y, _ = layer.stateless_call([value], [], tf.ones((1, 2)))
        return y, tape.gradient(y, value)

    for runs in (run, tf.function(run)):
        for one, other in zip(runs(tf.constant([2.0, 3.0])), ([[6, 9]], [1, 1]), strict=True):
            np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(layer.scale, [1.0, 1.0])


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("in a branch", "is changed in a branch, in a loop"),
        ("in a function", "that has been traced before"),
    ],
)
def test_what_would_not_see_the_given_value_is_refused(how, message):
    layer = Assigns(how)
    layer(tf.ones((1, 2)))
    run = tf.function(lambda value: layer.stateless_call([value], [], tf.ones((1, 2)))[0])
    with pytest.raises(NotImplementedError, match=message):
        run(tf.constant([2.0, 3.0]))
    np.testing.assert_array_equal(layer.scale, [1.0, 1.0])
