"""`predict` computes few rows of an LSTM by TensorFlow's kernel for sequences."""

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import layers

STEPS, FEATURES = 6, 3


def model_of(*parts, dtype="float32"):
    tfkit.utils.set_random_seed(0)
    model = tfkit.Sequential([tfkit.Input((STEPS, FEATURES), dtype=dtype), *parts])
    draws = np.random.default_rng(1)
    model.set_weights([draws.normal(size=it.shape) for it in model.get_weights()])
    return model


def rows(count):
    return np.random.default_rng(2).normal(size=(count, STEPS, FEATURES)).astype("float32")


def kernels_of(model, mode="predict"):
    """How often the traced step of a mode has the kernel."""
    (trace,) = (it for (kind, _), it in model._tfkit_programs._traces.items() if kind == mode)
    definition = trace.function.graph.as_graph_def()
    nodes = [*definition.node, *(n for f in definition.library.function for n in f.node_def)]
    return sum(node.op == "BlockLSTMV2" for node in nodes)


COMPUTED = {
    "last output": lambda: layers.LSTM(4),
    "all outputs": lambda: layers.LSTM(4, return_sequences=True),
    "backward": lambda: layers.LSTM(4, go_backwards=True, return_sequences=True),
    "states": lambda: layers.LSTM(4, return_state=True, name="last"),
    "dropout": lambda: layers.LSTM(4, dropout=0.5, recurrent_dropout=0.5),
    "no forget bias": lambda: layers.LSTM(4, unit_forget_bias=False),
}


@pytest.mark.parametrize("name", COMPUTED)
def test_predictions_are_those_of_calls(name):
    model = model_of(COMPUTED[name]())
    for count in (1, 5, 150):
        found, expected = model.predict(rows(count), batch_size=150, verbose=0), model(rows(count))
        for a, b in zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    assert kernels_of(model) == 1


def test_both_directions_and_several_layers():
    model = model_of(layers.Bidirectional(layers.LSTM(4, return_sequences=True)), layers.LSTM(2))
    np.testing.assert_allclose(
        model.predict(rows(3), verbose=0), model(rows(3)), rtol=1e-5, atol=1e-6
    )
    assert kernels_of(model) == 3


def test_states_pass_from_batch_to_batch():
    tfkit.utils.set_random_seed(0)
    inputs = tfkit.Input(batch_shape=(2, STEPS, FEATURES))
    layer = layers.LSTM(4, stateful=True)
    model = tfkit.Model(inputs, layer(inputs))
    found = [model.predict(rows(2), batch_size=2, verbose=0) for _ in range(2)]
    assert kernels_of(model) == 1
    layer.reset_state()
    for values in found:
        np.testing.assert_allclose(values, model(rows(2)), rtol=1e-5, atol=1e-6)


LOOPED = {
    "other activation": lambda: layers.LSTM(4, activation="relu"),
    "other gates": lambda: layers.LSTM(4, recurrent_activation="hard_sigmoid"),
    "no bias": lambda: layers.LSTM(4, use_bias=False),
    "unrolled": lambda: layers.LSTM(4, unroll=True),
    "16 bits": lambda: layers.LSTM(4, dtype="mixed_bfloat16"),
    "64 bits": lambda: layers.LSTM(4, dtype="float64"),
    "large": lambda: layers.LSTM(200),
    "GRU": lambda: layers.GRU(4),
}


@pytest.mark.parametrize("name", LOOPED)
def test_others_are_computed_by_the_loop(name):
    model = model_of(LOOPED[name]())
    model.predict(rows(1), verbose=0)
    assert kernels_of(model) == 0


def test_masks_are_computed_by_the_loop():
    model = model_of(layers.Masking(), layers.LSTM(4))
    x = rows(3)
    x[1, 4:] = 0
    np.testing.assert_allclose(model.predict(x, verbose=0), model(x), rtol=1e-5, atol=1e-6)
    assert kernels_of(model) == 0


def test_dropout_in_predictions_is_drawn():
    inputs = tfkit.Input((STEPS, FEATURES))
    model = tfkit.Model(inputs, layers.LSTM(4, dropout=0.5)(inputs, training=True))
    first, second = (model.predict(rows(2), verbose=0) for _ in range(2))
    assert abs(first - second).max() > 1e-3
    assert kernels_of(model) == 0


@pytest.mark.parametrize("options", [{"jit_compile": True}, {"run_eagerly": True}])
def test_programs_without_kernels_have_none(options):
    model = model_of(layers.LSTM(4))
    model.compile("sgd", "mse", **options)
    np.testing.assert_allclose(
        model.predict(rows(2), verbose=0), model(rows(2)), rtol=1e-5, atol=1e-6
    )
    if "jit_compile" in options:
        assert kernels_of(model) == 0


def test_training_and_evaluation_have_gradients_and_losses_of_the_loop():
    model = model_of(layers.LSTM(4), layers.Dense(1))
    model.compile("sgd", "mse")
    x, y = rows(4), np.ones((4, 1), "float32")
    expected = float(tf.reduce_mean((model(x) - y) ** 2))
    np.testing.assert_allclose(model.evaluate(x, y, verbose=0), expected, rtol=1e-5)
    model.fit(x, y, verbose=0)
    assert kernels_of(model, "train") == kernels_of(model, "test") == 0


def by_tape(layer, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(layer(x))
    return tape.gradient(y, x)


class Slope(tfkit.Model):
    def __init__(self, slope):
        super().__init__()
        self.lstm = layers.LSTM(4)
        self.slope = slope

    def call(self, x):
        return self.slope(self.lstm, x)


def test_a_gradient_within_a_prediction():
    model = Slope(by_tape)
    x = tf.constant(rows(3))
    np.testing.assert_allclose(model.predict(x, verbose=0), model(x), rtol=1e-4, atol=1e-6)
    assert kernels_of(model) == 0


def test_a_gradient_that_is_not_announced_is_refused():
    model = Slope(lambda layer, x: tf.gradients(tf.reduce_sum(layer(x)), x)[0])
    with pytest.raises(LookupError, match=r"use `tf\.GradientTape`"):
        model.predict(rows(3), verbose=0)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_a_function_within_a_prediction_is_trained_or_compiled_too(jit_compile):
    class Nested(tfkit.Model):
        def __init__(self):
            super().__init__()
            self.lstm = layers.LSTM(4)
            self.lstm.build((None, STEPS, FEATURES))
            self.run = tf.function(lambda x: self.lstm(x), jit_compile=jit_compile)

        def call(self, x):
            return self.run(x)

    model = Nested()
    model.compile("sgd", "mse")
    before = model.lstm(rows(3))
    np.testing.assert_allclose(model.predict(rows(3), verbose=0), before, rtol=1e-5, atol=1e-6)
    if not jit_compile:
        model.fit(rows(3), np.ones((3, 4), "float32"), verbose=0)
        assert np.abs(model.lstm(rows(3)) - before).max() > 1e-4


def test_a_cell_with_other_formulas_is_computed_by_the_loop():
    class Doubling(layers.LSTMCell):
        def gates(self, projections, states):
            states, kept = super().gates(projections, states)
            return [2 * states[0], states[1]], kept

    layer = layers.LSTM(4)
    layer.cell = Doubling(4)
    model = model_of(layer)
    np.testing.assert_allclose(
        model.predict(rows(3), verbose=0), model(rows(3)), rtol=1e-5, atol=1e-6
    )
    assert kernels_of(model) == 0


def test_new_weights_are_used():
    model = model_of(layers.LSTM(4))
    before = model.predict(rows(2), verbose=0)
    model.layers[0].cell.kernel.assign(2 * model.layers[0].cell.kernel)
    after = model.predict(rows(2), verbose=0)
    assert abs(after - before).max() > 1e-3
    np.testing.assert_allclose(after, model(rows(2)), rtol=1e-5, atol=1e-6)
