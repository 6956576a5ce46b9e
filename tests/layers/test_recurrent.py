"""Recurrent layers beyond the conformance table: masks, states, dropout, cells of users."""

import inspect
import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import layers
from tfkit.src.layers.recurrent import gru, loops, lstm, options

X = np.random.default_rng(0).normal(size=(3, 5, 4)).astype("float32")
MASK = np.array([[0, 0, 1, 1, 0], [1, 1, 1, 0, 0], [0, 0, 0, 0, 0]], bool)
STATE = np.random.default_rng(2).normal(size=(3, 4)).astype("float32")


def pair(name, units=4, **options):
    """A layer and Keras's, with the same weights."""
    layer, oracle = (getattr(each, name)(units, **options) for each in (layers, keras.layers))
    layer.build(X.shape)
    oracle.build(X.shape)
    draws = np.random.default_rng(1)
    weights = [draws.normal(size=weight.shape) for weight in oracle.weights]
    layer.set_weights(weights)
    oracle.set_weights(weights)
    return layer, oracle


def outputs_and_gradients(layer, **options):
    x = tf.constant(X)
    weights = [getattr(weight, "value", weight) for weight in layer.trainable_weights]
    if isinstance(layer, layers.Layer):
        weights = layer.trainable_weights
    with tf.GradientTape() as tape:
        tape.watch(x)
        outputs = tf.nest.flatten(layer(x, **options))
        loss = tf.add_n([tf.reduce_sum(tf.sin(output)) for output in outputs])
    return [*outputs, *tape.gradient(loss, [x, *weights])]


def assert_all_close(actual, expected):
    for a, b in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)


VARIANTS = [
    {"return_sequences": True, "return_state": True},
    {"return_sequences": True, "zero_output_for_mask": True},
    {"go_backwards": True},
    {"unroll": True},
    {"activation": "relu"},
    {"activation": "elu"},
]


@pytest.mark.parametrize("name", ["SimpleRNN", "LSTM", "GRU"])
@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_masks_and_first_states_are_used_as_in_keras(name, options):
    layer, oracle = pair(name, **options)
    first = [STATE, 2 * STATE][: len(layer.state_size)]
    for mask, state in itertools.product((None, MASK), (None, first)):
        given = {"mask": mask, "initial_state": state}
        assert_all_close(
            outputs_and_gradients(layer, **given), outputs_and_gradients(oracle, **given)
        )


@pytest.mark.parametrize("unroll", [False, True])
@pytest.mark.parametrize("name", ["SimpleRNN", "LSTM", "GRU"])
def test_the_last_output_is_that_of_the_last_step_that_counts(name, unroll):
    """As Keras documents `zero_output_for_mask`; Keras 3.15.1 gives 0 where the last step is masked."""
    assert not MASK[:, -1].any()
    layer, oracle = pair(name, unroll=unroll)
    zeros, of_keras = pair(name, unroll=unroll, zero_output_for_mask=True)
    assert_all_close(
        outputs_and_gradients(zeros, mask=MASK), outputs_and_gradients(layer, mask=MASK)
    )
    assert not np.any(of_keras(X, mask=tf.constant(MASK)))
    assert np.any(oracle(X, mask=tf.constant(MASK)))


@pytest.mark.parametrize("name", ["SimpleRNN", "LSTM", "GRU"])
@pytest.mark.parametrize(
    "options", [{"dropout": 0.4}, {"dropout": 0.4, "recurrent_dropout": 0.3}], ids=len
)
def test_dropout_draws_as_keras_does_and_the_same_in_all_steps(name, options):
    layer, oracle = pair(name, seed=3, **options)
    expected = outputs_and_gradients(oracle, training=True)
    assert_all_close(outputs_and_gradients(layer, training=True), expected)
    seeds = layer.cell.seed_generator.state.numpy()
    layer(X)  # Unlike in Keras, a call that drops nothing draws nothing.
    np.testing.assert_array_equal(layer.cell.seed_generator.state, seeds)


@pytest.mark.parametrize("units", [1, 5])
@pytest.mark.parametrize("name", ["SimpleRNN", "LSTM", "GRU"])
def test_kernels_that_are_multiplied_in_halves_give_what_keras_gives(name, units, monkeypatch):
    monkeypatch.setattr(loops, "_LARGE_FORWARD", 0)
    monkeypatch.setattr(loops, "_LARGE_BACKWARD", 0)
    layer, oracle = pair(name, units=units, return_sequences=True, return_state=True)
    for mask in (None, MASK):
        actual, expected = (
            outputs_and_gradients(each, mask=mask, training=True) for each in (layer, oracle)
        )
        assert_all_close(actual, expected)


def products_in_loops(function, *arguments):
    """How many products the loops of a function make in each step."""
    definition = function.get_concrete_function(*arguments).graph.as_graph_def()
    bodies = [each for each in definition.library.function if "while_body" in each.signature.name]
    return [sum(node.op == "MatMul" for node in each.node_def) for each in bodies]


@pytest.mark.parametrize(
    ("units", "num_rows", "num_products"), [(64, None, 2), (64, 1, 1), (8, None, 1)]
)
def test_large_kernels_are_multiplied_in_halves(units, num_rows, num_products):
    function = tf.function(layers.LSTM(units), autograph=False)
    assert products_in_loops(function, tf.TensorSpec((num_rows, 5, 3))) == [num_products]


def test_any_number_of_steps_in_a_traced_and_in_a_compiled_program():
    layer, _ = pair("LSTM", return_sequences=True)
    expected = [outputs_and_gradients(layer), layer(X[:, :2])]
    for jit_compile in (False, True):
        traced = tf.function(
            lambda x: layer(x),
            input_signature=[tf.TensorSpec([None, None, 4])],
            jit_compile=jit_compile,
        )
        np.testing.assert_allclose(traced(X), expected[0][0], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(traced(X[:, :2]), expected[1], rtol=1e-5, atol=1e-5)


def test_second_derivatives_go_through_the_loop():
    layer, _ = pair("GRU")

    def second(model):
        x = tf.constant(X)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                loss = tf.reduce_sum(model(x) ** 2)
            slope = inner.gradient(loss, x)
        return outer.gradient(slope, x)

    unrolled, _ = pair("GRU", unroll=True)
    np.testing.assert_allclose(
        tf.function(second)(layer), tf.function(second)(unrolled), rtol=1e-4, atol=1e-4
    )


class Accumulate(layers.Layer):
    """A user's cell, which makes its weight in its first call."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = self.state_size = units
        self.dense = layers.Dense(units)

    def call(self, inputs, states):
        total = states[0] + self.dense(inputs)
        return total, [total]


def test_cells_of_users_and_stacks_of_cells_run():
    layer = layers.RNN(Accumulate(2), return_sequences=True)
    outputs = layer(X)
    np.testing.assert_allclose(
        outputs, np.cumsum(X @ layer.cell.dense.kernel.numpy(), axis=1), rtol=1e-4, atol=1e-5
    )
    assert [path for path, _ in layer._tfkit_members()] == ["cell"]
    assert len(layer.weights) == 2

    class Plain:
        """A cell that is no layer."""

        state_size = 4

        def call(self, inputs, states):
            return inputs + states[0], [inputs]

    np.testing.assert_allclose(layers.RNN(Plain())(X), X[:, -1] + X[:, -2], rtol=1e-5)


def test_stacked_cells_are_keras_s():
    def make(module, **options):
        cells = [module.LSTMCell(3, **options), module.GRUCell(4), module.SimpleRNNCell(2)]
        return module.RNN(cells, return_state=True)

    layer, oracle = make(layers), make(keras.layers)
    layer(X), oracle(X)
    draws = np.random.default_rng(1)
    weights = [draws.normal(size=weight.shape) for weight in oracle.weights]
    layer.set_weights(weights)
    oracle.set_weights(weights)
    for mask in (None, MASK):
        results = tf.nest.flatten(layer(X, mask=mask)), tf.nest.flatten(oracle(X, mask=mask))
        assert_all_close(*results)
    copy = layers.RNN.from_config(layer.get_config())
    copy(X)
    copy.set_weights(layer.get_weights())
    assert_all_close(tf.nest.flatten(copy(X)), tf.nest.flatten(layer(X)))
    dropped = make(layers, dropout=0.5, recurrent_dropout=0.5)
    assert not np.allclose(dropped(X, training=True)[0], dropped(X)[0])


def test_stateful_layers_go_on_where_the_batch_before_ended():
    layer, _ = pair("LSTM")
    kept = layers.LSTM(4, stateful=True)
    kept.build(X.shape)
    kept.set_weights(layer.get_weights())
    first, second = kept(X[:, :2]), kept(X[:, 2:])
    np.testing.assert_allclose(second, layer(X), rtol=1e-5, atol=1e-6)
    kept.reset_state()
    np.testing.assert_allclose(kept(X[:, :2]), first, rtol=1e-6)
    assert len(kept.weights) == 3
    with pytest.raises(ValueError, match=r"Expected batch size: 3.*\(2, 5, 4\)"):
        kept(X[:2])
    with pytest.raises(ValueError, match="batch size must be known"):
        layers.LSTM(4, stateful=True)(tfkit.Input((5, 4)))


def test_a_smaller_batch_is_not_spread_over_the_kept_states():
    kept = layers.LSTM(4, stateful=True)
    for _ in range(3):
        kept(X)
    before = [state.numpy() for state in kept.states]
    entry = tfkit.Input(batch_shape=X.shape)
    model = tfkit.Model(entry, kept(entry))
    for call in (kept, kept, model, model):  # The second of each would run a trace for any batch.
        with pytest.raises(ValueError, match=r"Expected batch size: 3.*\(1, 5, 4\)"):
            call(X[:1])
        np.testing.assert_array_equal(before, [state.numpy() for state in kept.states])


@pytest.mark.parametrize("several", [False, True])
def test_states_of_stacked_cells_have_the_form_of_their_sizes(several):
    def cell_of(framework):
        class Add(framework.layers.Layer):
            state_size = [4] if several else 4

            def call(self, inputs, states):
                return inputs + states[0], [inputs + states[0]]

        return Add()

    given = [tf.ones((len(X), 4)), tf.ones((len(X), 4)) * 2]
    given = [[state] for state in given] if several else given
    ours, theirs = (
        framework.layers.RNN([cell_of(framework), cell_of(framework)], return_state=True)
        for framework in (tfkit, keras)
    )
    for arguments in ({}, {"initial_state": given}):
        results = ours(X, **arguments)
        expected = theirs(X, **arguments)
        tf.nest.assert_same_structure(results, expected)
        assert_all_close(tf.nest.flatten(results), tf.nest.flatten(expected))


def test_symbolic_states_of_stacked_cells_are_tensors_where_the_size_is_an_integer():
    def model(module):
        cells = [
            module.layers.GRUCell(4),
            module.layers.SimpleRNNCell(3),
            module.layers.LSTMCell(2),
        ]
        source = module.Input((5, 4))
        output, first, second, third = module.layers.RNN(cells, return_state=True)(source)
        joined = module.layers.Concatenate()([first, second, *third])
        return module.Model(source, [output, first, second, third, joined])

    ours, theirs = model(tfkit), model(keras)
    ours.set_weights(theirs.get_weights())
    results, expected = ours(X), theirs(X)
    tf.nest.assert_same_structure(results, expected)
    assert_all_close(tf.nest.flatten(results), tf.nest.flatten(expected))


def test_a_decoder_starts_with_the_states_of_an_encoder():
    def model(module):
        source, target = module.Input((None, 4)), module.Input((None, 4))
        _, *states = module.layers.LSTM(4, return_state=True)(source)
        outputs = module.layers.LSTM(4, return_sequences=True)(target, initial_state=states)
        return module.Model([source, target], outputs)

    ours, theirs = model(tfkit), model(keras)
    ours.set_weights(theirs.get_weights())
    given = [X, X[:, :3]]
    np.testing.assert_allclose(ours(given), theirs(given), rtol=1e-5, atol=1e-6)


def test_bidirectional_layers_take_states_masks_and_a_layer_for_each_direction():
    def make(module):
        return module.Bidirectional(
            module.LSTM(3, return_sequences=True, return_state=True),
            backward_layer=module.LSTM(
                5, return_sequences=True, return_state=True, go_backwards=True
            ),
        )

    layer, oracle = make(layers), make(keras.layers)
    layer(X), oracle(X)
    layer.set_weights(oracle.get_weights())
    for mask in (None, MASK):
        results = tf.nest.flatten(layer(X, mask=mask)), tf.nest.flatten(oracle(X, mask=mask))
        assert_all_close(*results)
    states = [item * 2 for item in layer(X)[1:]]
    assert_all_close(
        tf.nest.flatten(layer(X, initial_state=states)),
        tf.nest.flatten(oracle(X, initial_state=states)),
    )
    assert layer.forward_layer.name.startswith("forward_lstm")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: layers.LSTM(-1), "`units`.*positive integer.*units=-1"),
        (lambda: layers.GRU(3, activation="reluu"), "reluu"),
        (lambda: layers.LSTM(3, dropout=1.5), "`dropout`.*0 to 1.*1.5"),
        (lambda: layers.LSTM(3, use_cudnn=True)(X), "use_cudnn=True.*no cuDNN kernel"),
        (lambda: layers.GRU(3, use_cudnn="yes"), "`use_cudnn`.*'yes'"),
        (
            lambda: layers.TimeDistributed(layers.Dense(3))(X, mask=MASK[:, :-1]),
            "a mask of shape",
        ),
        (lambda: layers.RNN(object()), "call.*Received: cell"),
        (lambda: layers.LSTM(3)(X[0]), "expected ndim=3, found ndim=2"),
        (lambda: layers.LSTM(3)(X, initial_state=[STATE]), "2 state.*of 1"),
        (
            lambda: layers.LSTM(3, unroll=True)(tfkit.Input((None, 4))),
            "unroll=True.*number of steps",
        ),
        (lambda: layers.Bidirectional(3), "a recurrent layer.*layer=3"),
        (lambda: layers.Bidirectional(layers.LSTM(3), merge_mode="max"), "merge_mode.*'max'"),
        (
            lambda: layers.Bidirectional(layers.LSTM(3), backward_layer=layers.LSTM(3)),
            "different `go_backwards`",
        ),
        (lambda: layers.TimeDistributed(layers.Dense(3))(STATE), r"at least 3 axes.*\(3, 4\)"),
    ],
)
def test_refusals_say_what_was_expected(call, message):
    with pytest.raises(ValueError, match=message):
        call()


class Sum(layers.Layer):
    """A cell of a user's, which nobody has registered."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.state_size = [units, units]

    def build(self, input_shape):
        self.w = self.add_weight(shape=(input_shape[-1], self.units), initializer="ones")

    def call(self, inputs, states):
        output = inputs @ self.w + states[0] + states[1]
        return output, [output, states[1] + 1]


@pytest.mark.parametrize("wrap", [lambda layer: layer, layers.Bidirectional])
def test_a_cell_that_is_not_registered_can_be_copied(wrap):
    layer = wrap(layers.RNN(Sum(3), return_sequences=True))
    width = 3 if wrap is not layers.Bidirectional else 6
    assert layer.compute_output_shape((None, 5, 4)) == (None, 5, width)
    assert not layer.built
    model = tfkit.Sequential([tfkit.Input(X.shape[1:]), layer, layers.Lambda(lambda x: x * 2)])
    copy = tfkit.models.clone_model(model)
    assert copy.layers[0] is not layer
    np.testing.assert_allclose(copy(X), model(X), rtol=1e-5)


def test_stacked_cells_of_several_states_keep_them():
    layer = layers.RNN([Sum(3), Sum(2)], stateful=True)
    first, second = layer(X), layer(X)
    assert np.all(second.numpy() > first.numpy())
    layer.reset_state()
    np.testing.assert_allclose(layer(X), first)


def test_old_values_of_implementation_are_accepted():
    options = {"kernel_initializer": "ones", "recurrent_initializer": "ones"}
    results = [layers.GRU(3, implementation=mode, **options)(X) for mode in (0, 1, 2)]
    for result in results[1:]:
        np.testing.assert_allclose(result, results[0], rtol=1e-6)
    assert not hasattr(layers.SimpleRNN(3), "use_cudnn")  # As in Keras.


def test_a_mask_reaches_the_layer_that_is_distributed():
    class Masked(layers.Layer):
        def call(self, inputs, mask=None):
            return inputs if mask is None else inputs * tf.cast(mask, tf.float32)[:, None]

    layer = layers.TimeDistributed(Masked())
    np.testing.assert_array_equal(layer(X, mask=MASK), X * MASK[:, :, None])


@pytest.mark.parametrize("unroll", [False, True])
def test_a_cell_that_changes_the_shape_of_its_states_is_refused(unroll):
    class Grows(layers.Layer):
        state_size = 4

        def call(self, x, states):
            return x + states, x + states  # `states` is a list of one.

    with pytest.raises(ValueError, match=r"Expected: \[\(3, 4\)\]. Received: \[\(1, 3, 4\)\]"):
        layers.RNN(Grows(), unroll=unroll)(X)


KINDS = {
    "SimpleRNN": (options.RecurrentOptions, {"units", "activation"}),
    "LSTM": (lstm.LSTMOptions, {"units", "activation", "recurrent_activation"}),
    "GRU": (gru.GRUOptions, {"units", "activation", "recurrent_activation"}),
}


@pytest.mark.parametrize("name", [kind + end for kind in KINDS for end in ("", "Cell")])
def test_options_are_taken_by_name_and_by_position(name):
    cls = getattr(layers, name)
    parameters = [it for it in inspect.signature(cls).parameters.values() if it.name != "kwargs"]
    given = {it.name: it.default for it in parameters}
    given |= {"units": 3, "dropout": 0.25, "recurrent_dropout": 0.5, "seed": 7}
    given |= {it: not given[it] for it, default in given.items() if isinstance(default, bool)}
    by_name, by_position = cls(**given), cls(*given.values())
    for layer in (by_name, by_position):
        assert {it: getattr(layer, it) for it in given if not isinstance(given[it], str)} == {
            it: value for it, value in given.items() if not isinstance(value, str)
        }
        assert layer.recurrent_initializer.__class__.__name__ == "Orthogonal"
    with pytest.raises(TypeError, match="position"):
        cls(*given.values(), None)


@pytest.mark.parametrize("kind", KINDS)
def test_type_checkers_know_the_options_that_there_are(kind):
    typed, in_front = KINDS[kind]
    layer = set(inspect.signature(getattr(layers, kind)).parameters)
    assert layer - {"kwargs"} <= typed.__annotations__.keys() | in_front | {
        "activity_regularizer",
        "use_cudnn",
    }
    cell = set(inspect.signature(getattr(layers, f"{kind}Cell")).parameters)
    assert cell - {"kwargs"} <= options.CellOptions.__annotations__.keys() | in_front | {
        "unit_forget_bias",
        "reset_after",
    }


def test_options_of_a_layer_reach_the_cell():
    layer = layers.LSTM(
        2, implementation=1, dtype="float64", trainable=False, recurrent_dropout=0.5
    )
    cell = layer.cell
    assert (cell.implementation, cell.compute_dtype, cell.trainable) == (1, "float64", False)
    assert (cell.name, cell.recurrent_dropout) == ("lstm_cell", 0.5)
    with pytest.raises(ValueError, match=r"passed to LSTM: .*Did you mean 'dropout'"):
        layers.LSTM(2, dropuot=0.5)


@pytest.mark.parametrize("reset_after", [False, True])
def test_recurrent_dropout_that_is_set_later_drops_the_same_for_all_gates(reset_after):
    layer = layers.GRU(3, reset_after=reset_after, seed=1)
    x = tf.random.stateless_normal((2, 4, 3), (1, 2))
    plain = layer(x)
    cell, mask = layer.cell, tf.constant([[0.0, 2.0, 2.0]])
    projected, state = cell.project(x[:, 0]), plain
    same, _ = cell.step(projected, [state], mask)
    np.testing.assert_allclose(same, cell.step(projected, [state], [mask] * 3)[0], rtol=1e-6)
    assert np.abs(same - cell.step(projected, [state], None)[0]).max() > 1e-3
    cell.recurrent_dropout = 0.5
    assert np.abs(layer(x, training=True) - plain).max() > 1e-3


IMAGES = np.random.default_rng(3).normal(size=(2, 3, 5, 5, 1)).astype("float32")
MADE_AGAIN = {
    **{kind: lambda each, kind=kind: getattr(each, kind)(2) for kind in KINDS},
    **{
        f"{kind}Cell": lambda each, kind=kind: each.RNN(getattr(each, f"{kind}Cell")(2))
        for kind in KINDS
    },
    "stack": lambda each: each.RNN([each.SimpleRNNCell(2), each.GRUCell(3), each.LSTMCell(2)]),
    "ConvLSTM2D": lambda each: each.ConvLSTM2D(2, 2),
}


@pytest.mark.parametrize("wrap", ["itself", "Bidirectional"])
@pytest.mark.parametrize("name", MADE_AGAIN)
def test_a_layer_from_a_configuration_draws_keras_s_first_weights(name, wrap):
    found = []
    for library in (tfkit, keras):
        layer = MADE_AGAIN[name](library.layers)
        library.utils.set_random_seed(1)
        if wrap == "itself":
            layer = type(layer).from_config(layer.get_config())
        else:
            layer = library.layers.Bidirectional(layer)
        layer(IMAGES if name == "ConvLSTM2D" else X)
        found.append([np.asarray(weight) for weight in layer.weights])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("kind", ["GRU", "SimpleRNN"])
@pytest.mark.parametrize("steps", [1, 5, 7, 13])
def test_a_loop_of_several_steps_a_pass_computes_the_same(kind, steps, monkeypatch):
    x = np.random.default_rng(steps).normal(size=(2, steps, 3)).astype("float32")
    x[1, steps // 2 :] = 0
    found = []
    for few_rows in (range(9), ()):
        monkeypatch.setattr(loops, "_FEW_ROWS", few_rows)
        tfkit.utils.set_random_seed(0)
        inputs = tfkit.Input((steps, 3))
        masked = layers.Masking()(inputs)
        options = {"return_sequences": True, "return_state": True}
        outputs = getattr(layers, kind)(4, go_backwards=True, **options)(masked)
        model = tfkit.Model(inputs, [outputs, getattr(layers, kind)(4)(inputs)])
        model(x)
        found.append(tf.nest.flatten(model(x)))  # The second call is traced.
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)
