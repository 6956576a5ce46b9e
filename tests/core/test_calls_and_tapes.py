"""Direct calls that no tape follows may use kernels without gradients; all others have right gradients."""

import contextlib

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import layers

STEPS, FEATURES = 24, 8


@contextlib.contextmanager
def eagerly():
    tfkit.config.run_functions_eagerly(True)
    try:
        yield
    finally:
        tfkit.config.run_functions_eagerly(False)


def attended(x):
    return layers.MultiHeadAttention(2, 4)(x, x)


MODELS = {
    "LSTM": lambda x: layers.LSTM(4)(x),
    "GRU": lambda x: layers.GRU(4, return_sequences=True)(x),
    "attention": attended,
    "gelu": lambda x: layers.Dense(3)(layers.Dense(5, activation="gelu")(x)),
    "both directions": lambda x: layers.Bidirectional(layers.LSTM(3))(x),
    "masked": lambda x: layers.LSTM(4)(layers.Masking()(x)),
}


def rows(count=2):
    x = np.random.default_rng(2).normal(size=(count, STEPS, FEATURES)).astype("float32")
    x[0, 4:] = 0
    return tf.constant(x)


def gradients(model, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(tf.sin(model(x)))
    return [loss, *tape.gradient(loss, [x, *model.trainable_variables])]


def hessian_product(model, x):
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(tf.sin(model(x)))
        slope = tape.gradient(loss, x)
    return [outer.gradient(slope, x)]


def by_persistent_tape(model, x):
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, z = tf.sin(model(x)), tf.cos(model(x))
    return [tape.gradient(y, x), tape.gradient(z, x)]


def jacobian(model, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(model(x), axis=range(1, model(x).shape.rank))
    return [tape.jacobian(y, x)]


def forward(model, x):
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
        y = model(x)
    return [y, accumulator.jvp(y)]


def forward_over_backward(model, x):
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
        _, slope, *_ = gradients(model, x)
    return [accumulator.jvp(slope)]


def in_a_function(model, x):
    return tf.function(lambda x: gradients(model, x))(x)


def of_a_recomputation(model, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.recompute_grad(lambda x: model(x))(x)
    return [tape.gradient(y, x)]


def beside_a_pause(model, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        with tape.stop_recording():
            still = model(x)
        y = model(x) * still
    return [tape.gradient(y, x)]


def check_derivatives(model, *functions):
    x = rows()[:, : model.input.shape[1]]
    with eagerly():
        value, expected = model(x), [compute(model, x) for compute in functions]
    for _ in range(3):
        np.testing.assert_allclose(model(x), value, rtol=1e-5, atol=1e-6)
    for compute, results in zip(functions, expected, strict=True):
        for a, b in zip(compute(model, x), results, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5, err_msg=compute.__name__)
    np.testing.assert_allclose(model(x), value, rtol=1e-5, atol=1e-6)


def model_of(name, steps=STEPS):
    tfkit.utils.set_random_seed(0)
    inputs = tfkit.Input((steps, FEATURES))
    return tfkit.Model(inputs, MODELS[name](inputs))


@pytest.mark.parametrize("name", MODELS)
def test_gradients_are_right_after_calls_that_no_tape_follows(name):
    check_derivatives(model_of(name), gradients, gradients)


@pytest.mark.parametrize(("name", "steps"), [("LSTM", 3), ("attention", STEPS)])
def test_other_derivatives_are_right_after_such_calls(name, steps):
    functions = by_persistent_tape, hessian_product, forward, forward_over_backward, beside_a_pause
    check_derivatives(model_of(name, steps), *functions)


def test_derivatives_in_other_functions_are_right_after_such_calls():
    check_derivatives(model_of("LSTM"), in_a_function, of_a_recomputation)
    model, x = model_of("LSTM"), rows()
    for _ in range(3):
        model(x)
    rows_of_jacobian = jacobian(model, x)[0]
    summed = tf.reduce_sum(rows_of_jacobian, axis=0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(model(x))
    np.testing.assert_allclose(summed, tape.gradient(y, x), rtol=1e-4, atol=1e-5)


def nodes_of(layer):
    """The types of operations in each trace of a layer's direct calls."""
    (kind,) = layer._tfkit.direct._kinds.values()
    graphs = [trace._program.graph.as_graph_def() for trace in kind._traces]
    return [
        {node.op for node in graph.node}
        | {n.op for f in graph.library.function for n in f.node_def}
        for graph in graphs
    ]


def test_a_kernel_without_a_gradient_is_used_for_calls_that_no_tape_follows():
    layer = layers.LSTM(4)
    for _ in range(3):
        layer(rows())
    gradients(layer, rows())
    plain, recorded = nodes_of(layer)
    assert "BlockLSTMV2" in plain
    assert "BlockLSTMV2" not in recorded


def test_layers_without_such_kernels_have_one_trace_for_both():
    layer = layers.Dense(4)
    for _ in range(3):
        layer(rows()[:, 0])
    gradients(layer, rows()[:, 0])
    assert len(nodes_of(layer)) == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: layers.LSTM(4),
        lambda: layers.Dense(4, activation="softmax"),
        lambda: tfkit.Sequential([layers.Conv1D(4, 3), layers.BatchNormalization(), Scaled()]),
    ],
)
def test_a_tape_comes_first(make):
    layer = make()
    layer(rows())
    first = [gradients(layer, rows()) for _ in range(3)]
    for _ in range(2):
        layer(rows())
    for found in (*first, gradients(layer, rows())):
        for a, b in zip(found, first[0], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("count", [1, 2, 70])
def test_states_pass_from_call_to_call(count):
    layer = layers.LSTM(4, stateful=True, return_state=True)
    with eagerly():
        expected = [layer(rows(count)) for _ in range(4)]
    layer.reset_state()
    for values in expected:
        for a, b in zip(layer(rows(count)), values, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_initial_states_and_masks():
    layer, mask = layers.LSTM(4, return_sequences=True), rows()[:, :, 0] > 0
    states = [tf.ones((2, 4)), tf.fill((2, 4), 0.5)]
    for options in ({"initial_state": states}, {"mask": mask}):
        with eagerly():
            expected = layer(rows(), **options)
        for _ in range(3):
            np.testing.assert_allclose(layer(rows(), **options), expected, rtol=1e-5, atol=1e-6)


def test_sizes_differ_from_call_to_call():
    model = tfkit.Sequential([tfkit.Input((STEPS, FEATURES)), layers.LSTM(4)])
    for count in (1, 1, 3, 200, 2, 1):
        with eagerly():
            expected = model(rows(count))
        np.testing.assert_allclose(model(rows(count)), expected, rtol=1e-5, atol=1e-6)
        assert gradients(model, rows(count))[1].shape == (count, STEPS, FEATURES)


def test_xla_compiles_no_such_kernel():
    model = tfkit.Sequential([tfkit.Input((STEPS, FEATURES)), layers.LSTM(4)])
    model.compile(jit_compile=True)
    with eagerly():
        expected = model(rows())
    for _ in range(3):
        np.testing.assert_allclose(model(rows()), expected, rtol=1e-5, atol=1e-6)
    assert all("BlockLSTMV2" not in nodes for nodes in nodes_of(model))


def test_equal_layers_share_their_programs():
    names = set()
    for _ in range(2):
        layer = layers.Dense(4)
        for _ in range(3):
            gradients(layer, rows()[:, 0])
        (kind,) = layer._tfkit.direct._kinds.values()
        (pair,) = kind._traces[0].call._recorded._pairs.values()
        names |= {pair._forward._name, pair._backward._name}
    assert len(names) == 2


def test_what_cannot_be_differentiated_in_a_trace_stays_eager():
    layer, x = layers.RandAugment((0, 1), seed=1), tf.ones((2, 8, 8, 3))
    for _ in range(2):
        layer(x, training=True)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = layer(x, training=True)
    assert tape.gradient(y, x).shape == x.shape


# --- The trace of the latest call --------------------------------------------------------------------------


class Scaled(layers.Layer):
    def __init__(self):
        super().__init__()
        self.factor = 2.0

    def call(self, x, extra=None, training=False):
        if extra is not None:
            x = x + extra
        self.add_loss(tf.reduce_sum(x))
        return x * (10 * self.factor if training else self.factor)


def test_values_and_losses_are_those_of_each_call():
    layer = Scaled()
    for value in (1.0, 2.0, 3.0, 4.0):
        assert float(layer(tf.constant([value]))[0]) == 2 * value
        assert [float(loss) for loss in layer.losses] == [value]


@pytest.mark.parametrize(
    ("change", "call", "expected"),
    [
        (lambda layer: setattr(layer, "factor", 5.0), lambda layer, x: layer(x), 5),
        (lambda layer: None, lambda layer, x: layer(x, training=True), 20),
        (lambda layer: None, lambda layer, x: layer(x, x), 4),
        (lambda layer: None, lambda layer, x: layer(x, extra=x), 4),
        (lambda layer: None, lambda layer, x: layer(tf.concat([x, x], 0)), 2),
        (lambda layer: None, lambda layer, x: layer(tf.Variable(x)), 2),
        (lambda layer: None, lambda layer, x: layer(x.numpy()), 2),
        (lambda layer: None, lambda layer, x: tf.function(layer)(x), 2),
    ],
)
def test_what_differs_from_the_latest_call_is_seen(change, call, expected):
    layer, x = Scaled(), tf.constant([1.0])
    for _ in range(4):
        assert float(layer(x)[0]) == 2
    change(layer)
    for _ in range(3):
        assert float(call(layer, x)[0]) == expected
    assert float(layer(x)[0]) == 2 * layer.factor / 2


def test_conversions_take_place_after_calls_that_needed_none():
    layer = layers.Identity(dtype="float16")
    for _ in range(4):
        assert layer(tf.constant([1.0], "float16")).dtype == "float16"
    for _ in range(3):
        assert layer(tf.constant([1.0], "float32")).dtype == "float16"
        assert layer(tf.constant([1], "int32")).dtype == "int32"
    layer.dtype_policy = "float32"
    assert layer(tf.constant([1.0], "float16")).dtype == "float32"


def test_a_mask_is_seen_after_calls_without_one():
    layer = layers.GlobalAveragePooling1D()
    x = tf.constant([[[1.0], [3.0]]])
    for _ in range(4):
        assert float(layer(x)[0, 0]) == 2
    masked = layers.Masking(mask_value=3.0)(x)
    for _ in range(3):
        assert float(layer(masked)[0, 0]) == 1
        assert float(layer(x)[0, 0]) == 2


def test_settings_are_seen_after_calls():
    calls = []
    note = calls.append

    class Noting(tfkit.Model):
        def call(self, x):
            note(not tf.is_symbolic_tensor(x))
            return 2 * x

    model = Noting()
    for _ in range(4):
        model(tf.ones(1))
    assert calls == [True, False]
    model.run_eagerly = True
    model(tf.ones(1))
    assert calls == [True, False, True]
    model.run_eagerly = False
    model(tf.ones(1))
    with eagerly():
        model(tf.ones(1))
    assert calls[3:] == [False, True]
    model.compile(jit_compile=True)
    for _ in range(3):
        assert float(model(tf.ones(1))[0]) == 2
    assert any(uses_xla for uses_xla, _ in model._tfkit.direct._kinds)


def test_flags_and_arrays_of_the_latest_call_are_noticed():
    model = tfkit.Sequential([tfkit.layers.Dropout(0.5, seed=1)])
    x = np.ones((4, 50), "float32")
    tensor = tf.constant(x)
    for _ in range(3):
        for inputs in (x, tensor, x.astype("float64")):
            assert (model(inputs).numpy() == 1).all()
            assert (model(inputs, training=False).numpy() == 1).all()
            assert (model(inputs, training=None).numpy() == 1).all()
            assert (model(inputs, training=True).numpy() == 0).any()
