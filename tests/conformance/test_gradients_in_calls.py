"""A tape in `call` of a layer that is used in a functional model has the gradients that it has in a call."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tests.conformance.table import CASES


class Slopes(tfkit.layers.Layer):
    """Notes which gradients of a layer there are, in its `call`."""

    def __init__(self, inner):
        super().__init__()
        self.inner, self.found = inner, None

    def call(self, *inputs):
        with tf.GradientTape() as tape:
            floats = [it for it in tf.nest.flatten(inputs) if it.dtype.is_floating]
            tape.watch(floats)
            outputs = tf.nest.flatten(self.inner(*inputs))
            total = tf.add_n([tf.reduce_sum(it) for it in outputs if it.dtype.is_floating])
        weights = [*floats, *self.inner.trainable_variables]
        self.found = [slope is not None for slope in tape.gradient(total, weights)]
        return total


def has_floats(case):
    if case.layer == "RandAugment":
        return False  # Which layers are applied, and have gradients, is drawn in a call.
    return all(it.dtype.kind == "f" for it in tf.nest.flatten(case.data()))


@pytest.mark.parametrize("case", [case for case in CASES if has_floats(case)], ids=str)
def test_gradients_in_a_functional_model_are_those_of_a_call(case):
    slopes = Slopes(case.make(tfkit.layers))
    slopes(*[tf.nest.map_structure(tf.constant, it) for it in case.data()])
    expected, slopes.found = slopes.found, None
    slopes(
        *tf.nest.map_structure(
            lambda it: tfkit.Input(it.shape[1:], it.shape[0], dtype=it.dtype.name), case.data()
        )
    )
    assert slopes.found == expected


X = np.random.RandomState(0).rand(4, 4).astype("float32")


def meta_learner(library, read):
    """A layer that takes a step of gradient descent on its inputs before it computes (MAML)."""

    class Learner(library.layers.Layer):
        def __init__(self):
            super().__init__()
            self.dense = library.layers.Dense(1, kernel_initializer="ones")

        def build(self, input_shape):
            self.dense.build(input_shape)

        def call(self, x):
            values = [read(weight) for weight in self.dense.trainable_variables]
            with tf.GradientTape() as tape:
                tape.watch(values)
                loss = tf.reduce_mean(self.dense.stateless_call(values, [], x)[0] ** 2)
            steps = tape.gradient(loss, values)
            changed = [value - 0.1 * step for value, step in zip(values, steps, strict=True)]
            return self.dense.stateless_call(changed, [], x)[0]

    return Learner()


@pytest.mark.parametrize("jit_compile", [False, True])
@pytest.mark.parametrize(
    "read", [lambda weight: tf.identity(weight.value), lambda weight: weight.value]
)
def test_a_meta_learner_in_a_sequential_model_is_trained_as_in_keras(read, jit_compile):
    results = []
    for library in (tfkit, keras):
        model = library.Sequential([library.Input((4,)), meta_learner(library, read)])
        model.compile(library.optimizers.SGD(0.1), "mse", jit_compile=jit_compile)
        outputs = model.predict(X, verbose=0)
        model.fit(X, X[:, :1], epochs=2, shuffle=False, verbose=0)
        results.append([outputs, *model.get_weights()])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


@pytest.mark.parametrize("multiplied", [False, True])
def test_symbolic_gradients_in_a_functional_model(multiplied):
    """`tf.gradients`, in a graph, does not record: it needs the operations of the layers."""

    class Slope(tfkit.layers.Layer):
        def __init__(self):
            super().__init__()
            self.dense = tfkit.layers.Dense(2, "tanh", kernel_initializer="ones")

        def call(self, x):
            (slope,) = tf.gradients(self.dense(x), x)
            return slope * 2.0 if multiplied else slope

    inputs = tfkit.Input((4,))
    model = tfkit.Model(inputs, Slope()(inputs))
    assert model.output_shape == (None, 4)
    total = X.sum(1, keepdims=True)
    expected = np.broadcast_to((1 + multiplied) * 2 * (1 - np.tanh(total) ** 2), X.shape)
    np.testing.assert_allclose(model.predict(X, verbose=0), expected, rtol=1e-5, atol=1e-6)


def test_without_them_a_call_runs_once_on_symbolic_tensors():
    calls = []

    class Pair(tfkit.layers.Layer):
        def call(self, x):
            calls.append(x)
            return x, None

    Pair()(tfkit.Input((4,)))
    assert len(calls) == 1
