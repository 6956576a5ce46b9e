"""`Operation`, `Function` and the scopes, beside Keras's."""

import threading

import keras as oracle
import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit.src.symbolic import tensors
from tfkit.src.weights.variables.name_scope import current_path

BOTH = [tfkit, oracle]
X = np.arange(6, dtype="float32").reshape(2, 3)


def scaled(keras):
    @keras.saving.register_keras_serializable("test_scopes")
    class Scaled(keras.Operation):
        def __init__(self, factor, shift=1.0, name=None):
            super().__init__(name=name)
            self.factor, self.shift = factor, shift

        def call(self, x):
            return self.factor * x + self.shift

    return Scaled


# --- Operation --------------------------------------------------------------------------------------


@pytest.mark.parametrize("keras", BOTH)
def test_an_operation_computes_and_is_recorded(keras):
    operation = scaled(keras)(2.0, name="twice")
    np.testing.assert_array_equal(operation(tf.constant(X)), 2 * X + 1)
    inputs = keras.Input((3,))
    outputs = operation(inputs)
    assert outputs.shape == (None, 3)
    assert operation.input is inputs
    assert operation.output is outputs
    operation(outputs)
    assert operation.output is outputs
    assert repr(operation) == "<Operation name=twice>"


def test_a_model_that_holds_an_operation_is_saved(tmp_path):
    keras = tfkit  # Keras's own warns of an argument of `__array__`, which is an error here.
    inputs = keras.Input((3,))
    operation = scaled(keras)(2.0, shift=3.0)
    model = keras.Model(inputs, operation(keras.layers.Dense(2)(operation(inputs))))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(X), model(X))
    again = [it for it in loaded.operations if type(it).__name__ == "Scaled"]
    assert len(again) == 1
    assert again[0].get_config() == operation.get_config()


def test_configurations_are_those_of_keras():
    ours, theirs = (scaled(keras)(2.0, name="op").get_config() for keras in BOTH)
    assert ours == theirs == {"name": "op", "factor": 2.0, "shift": 1.0}
    with pytest.raises(TypeError, match="its argument `factor` cannot be saved"):
        scaled(tfkit)(object()).get_config()


@pytest.mark.parametrize("keras", BOTH)
def test_layers_are_operations_and_functional_models_are_functions(keras):
    inputs = keras.Input((3,))
    dense = keras.layers.Dense(2)
    assert isinstance(dense, keras.Operation)
    assert isinstance(keras.Model(inputs, dense(inputs)), keras.Function)
    assert not isinstance(dense, keras.Function)
    assert not isinstance(keras.optimizers.SGD(), keras.Operation)


@pytest.mark.parametrize("keras", BOTH)
def test_an_operation_says_what_is_missing(keras):
    class Empty(keras.Operation):
        pass

    with pytest.raises(NotImplementedError):
        Empty()(X)
    with pytest.raises(AttributeError, match="never been called"):
        Empty().output  # noqa: B018
    with pytest.raises(ValueError, match="cannot contain character `/`"):
        Empty(name="a/b")


# --- Function ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("keras", BOTH)
def test_a_function_computes_what_was_recorded(keras):
    x, y = keras.KerasTensor((None, 3)), keras.KerasTensor((None, 3))
    function = keras.Function({"x": x, "y": y}, [x + y, (x + y) ** 2], name="f")
    total, square = function({"x": X, "y": X})
    np.testing.assert_array_equal(total, 2 * X)
    np.testing.assert_array_equal(square, 4 * X**2)
    symbolic = function({"x": keras.KerasTensor((4, 3)), "y": keras.KerasTensor((4, 3))})
    assert [tensor.shape for tensor in symbolic] == [(4, 3), (4, 3)]
    assert [
        operation.name.rpartition("_")[0] or operation.name for operation in function.operations
    ][-1].startswith("power")
    assert function.inputs == [x, y]
    assert len(function.outputs) == 2
    again = keras.Function(function.inputs, function.outputs)
    np.testing.assert_array_equal(again([X, X])[1], 4 * X**2)


@pytest.mark.parametrize("keras", BOTH)
def test_a_function_between_results_of_calls_leaves_out_what_is_before(keras):
    x = keras.Input((3,))
    between = keras.layers.Dense(2)(x) * 2
    function = keras.Function(between, keras.ops.exp(between))
    assert [operation.name.partition("_")[0] for operation in function.operations] == ["exp"]
    np.testing.assert_allclose(function(X[:, :2]), np.exp(X[:, :2]), rtol=1e-6)
    assert function.compute_output_shape((7, 2)) == (7, 2)
    assert function.compute_output_spec(keras.KerasTensor((4, 2))).shape == (4, 2)


@pytest.mark.parametrize("keras", BOTH)
@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (X, "invalid input structure"),
        ([X, X[0]], "incompatible inputs"),
        ([X, X[:, :2]], "incompatible inputs"),
    ],
)
def test_a_function_refuses_inputs_that_do_not_fit(keras, inputs, message):
    x, y = keras.KerasTensor((None, 3)), keras.KerasTensor((None, 3))
    with pytest.raises(ValueError, match=message):
        keras.Function([x, y], x + y)(inputs)
    with pytest.raises(ValueError, match="`outputs` argument cannot be empty"):
        keras.Function(x, [])


# --- StatelessScope ---------------------------------------------------------------------------------


@pytest.mark.parametrize("keras", BOTH)
def test_a_stateless_scope_undoes_what_it_keeps(keras):
    first, second = keras.Variable([1.0, 2.0]), keras.Variable([0.0, 0.0])
    untouched = keras.Variable(3.0)
    with keras.StatelessScope([(first, np.array([5.0, 6.0], "float32"))]) as scope:
        second.assign(first + 1)
        second.assign_add([1.0, 1.0])
        np.testing.assert_array_equal(second + 0.0, [7.0, 8.0])
        np.testing.assert_array_equal(scope.get_current_value(second), [7.0, 8.0])
    for variable, before, after in ((first, [1, 2], [5, 6]), (second, [0, 0], [7, 8])):
        np.testing.assert_array_equal(variable.numpy(), before)
        np.testing.assert_array_equal(scope.get_current_value(variable), after)
    assert scope.get_current_value(untouched) is None


def test_layers_metrics_and_optimizers_change_nothing_in_a_stateless_scope():
    model = tfkit.Sequential(
        [
            tfkit.Input((3,)),
            tfkit.layers.BatchNormalization(),
            tfkit.layers.Dropout(0.5),
            tfkit.layers.Dense(1),
        ]
    )
    metric, optimizer = tfkit.metrics.Mean(), tfkit.optimizers.Adam()
    optimizer.build(model.trainable_variables)
    for _ in range(2):  # The second time there is a trace of the call.
        model(X, training=True)
    everything = [*model.variables, *metric.variables, *optimizer.variables]
    before = [variable.numpy() for variable in everything]
    with tfkit.StatelessScope() as scope:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(X, training=True))
        metric.update_state(loss)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        assert float(metric.result()) == float(loss)
        inside = [variable.numpy() for variable in everything]
    for variable, value in zip(everything, before, strict=True):
        np.testing.assert_array_equal(variable.numpy(), value, err_msg=variable.path)
    changed = [
        variable
        for variable, value in zip(everything, before, strict=True)
        if scope.get_current_value(variable) is not None
    ]
    assert (
        len(changed) >= 2 + 1 + 2 + 4 + 8
    )  # Moments, seed, metric, weights, slots and iterations.
    for variable, value in zip(everything, inside, strict=True):
        if scope.get_current_value(variable) is not None:
            np.testing.assert_array_equal(scope.get_current_value(variable), value)


@pytest.mark.parametrize("keras", BOTH)
def test_losses_are_collected_unless_only_shapes_are_asked_for(keras):
    layer = keras.layers.Dense(1, kernel_initializer="ones", activity_regularizer="l2")
    layer.build((None, 3))
    with keras.StatelessScope(collect_losses=True) as scope:
        layer(X)
        with keras.SymbolicScope():
            layer(X)
    assert len(scope.losses) == 1
    with keras.StatelessScope() as scope:
        layer(X)
    assert scope.losses == []


def test_scopes_nest_and_run_in_traces():
    count = tfkit.Variable(1.0)
    with tfkit.StatelessScope() as outer:
        count.assign(2.0)
        with tfkit.StatelessScope() as inner:
            count.assign(3.0)
        assert float(count) == 2.0
        assert float(inner.get_current_value(count)) == 3.0
    assert float(count) == 1.0
    assert float(outer.get_current_value(count)) == 2.0

    @tf.function
    def traced(more):
        with tfkit.StatelessScope() as scope:
            if more > 0:
                count.assign_add(more)
        return scope.get_current_value(count)

    assert [float(traced(tf.constant(more))) for more in (4.0, -1.0, 5.0)] == [5.0, 1.0, 6.0]
    assert float(count) == 1.0


@pytest.mark.parametrize("keras", BOTH)
def test_a_stateless_scope_refuses_what_does_not_fit(keras):
    variable = keras.Variable([0.0, 0.0])
    with pytest.raises(ValueError, match="all keys in argument `mapping` must be Variable"):
        keras.StatelessScope([("variable", X)])
    with pytest.raises(ValueError, match="all values in argument `mapping` must be tensors with"):
        keras.StatelessScope([(variable, keras.ops.ones((3,)))])


def test_changes_in_part_are_undone():
    table = tfkit.Variable(X)
    with tfkit.StatelessScope() as scope:
        table.scatter_update(tf.IndexedSlices([[9.0, 9.0, 9.0]], [0]))
    np.testing.assert_array_equal(table.numpy(), X)
    assert float(scope.get_current_value(table)[0, 0]) == 9.0


# --- name_scope -------------------------------------------------------------------------------------


@pytest.mark.parametrize("keras", BOTH)
def test_name_scopes_are_in_the_paths_of_variables(keras):
    with keras.name_scope("outer") as outer, keras.name_scope("inner"):
        variable = keras.Variable(1.0, name="scale")
    assert outer.name == "outer"
    assert variable.path == "outer/inner/scale"
    with keras.name_scope("a", caller=1), keras.name_scope("a", caller=1):
        assert keras.Variable(1.0, name="v").path == "a/v"
    with keras.name_scope("a"), keras.name_scope("b", override_parent="/x/y"):
        assert keras.Variable(1.0, name="v").path == "x/y/b/v"
    for name in ("a/b", 4):
        with pytest.raises(ValueError, match="must be a string"):
            keras.name_scope(name)


def test_name_scopes_name_operations_and_belong_to_their_thread():
    found = []
    with tf.Graph().as_default(), tfkit.name_scope("block"):
        assert tf.constant(1.0).op.name.startswith("block/")
        thread = threading.Thread(target=lambda: found.append(current_path()))
        thread.start()
        thread.join()
    assert found == [""]


# --- RematScope -------------------------------------------------------------------------------------


class Counting(tfkit.layers.Layer):
    """Counts how often its `call` is traced or run, and how often its activation is."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.dense = tfkit.layers.Dense(units, kernel_initializer="ones")
        self.counts = {"calls": 0, "activations": 0}
        self.activation = self.counted

    def build(self, shape):
        self.dense.build(shape)

    def compute_output_spec(self, x):
        return tfkit.KerasTensor((*x.shape[:-1], self.dense.units))

    def counted(self, x):
        self.counts["activations"] += 1
        return tf.tanh(x)

    def call(self, x):
        self.counts["calls"] += 1
        return self.activation(self.dense(x))


def counts_of_a_gradient(scope, units=2):
    with scope:
        layer = Counting(units, name="counting")
    layer.build((None, 3))
    x = tf.constant(X / 10)

    @tf.function
    def gradient(x):
        with tf.GradientTape() as tape:
            y = layer(x)
        return tape.gradient(y, [layer.dense.kernel])

    return gradient(x)[0], layer.counts


@pytest.mark.parametrize(
    ("arguments", "calls", "activations"),
    [
        ({"mode": None}, 1, 1),
        ({}, 2, 2),
        ({"mode": "activations"}, 1, 2),
        ({"mode": "larger_than", "output_size_threshold": 4}, 1, 1),
        ({"mode": "larger_than", "output_size_threshold": 1}, 2, 2),
        ({"mode": "list_of_layers", "layer_names": ["other"]}, 1, 1),
        ({"mode": "list_of_layers", "layer_names": ["counting"]}, 2, 2),
    ],
)
def test_a_remat_scope_computes_again_what_its_mode_says(arguments, calls, activations):
    expected, _ = counts_of_a_gradient(tfkit.RematScope(mode=None))
    found, counts = counts_of_a_gradient(tfkit.RematScope(**arguments))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    # `custom_gradient` may trace the first computation twice.
    more = {name: count > 1 for name, count in counts.items()}
    assert more == {"calls": calls > 1, "activations": activations > 1}, counts


def test_a_model_made_in_a_remat_scope_trains_as_one_outside():
    x = np.random.default_rng(0).integers(1, 5, (16, 4))
    x[:, 2:] *= np.random.default_rng(1).integers(0, 2, (16, 2))
    results = []
    for mode in (None, "full"):
        tfkit.utils.set_random_seed(0)
        with tfkit.RematScope(mode=mode):
            layers = [
                tfkit.layers.Embedding(6, 3, mask_zero=True),
                tfkit.layers.LSTM(3),
                tfkit.layers.Dropout(0.5, seed=1),
                tfkit.layers.Dense(1, activity_regularizer="l2"),
            ]
            model = tfkit.Sequential([tfkit.Sequential(layers)])
        model.compile("sgd", "mse")
        history = model.fit(x, np.ones((16, 1)), epochs=2, batch_size=4, shuffle=False, verbose=0)
        results.append([*history.history["loss"], *model.get_weights()])
    for ours, expected in zip(*results, strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-6)


def test_gradients_reach_keyword_arguments_of_what_is_computed_again():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tfkit.remat(lambda a, *, b: tf.square(a) * b["b"])(tf.constant(3.0), b={"b": x})
    np.testing.assert_array_equal(tape.gradient(y, x), [9.0, 9.0])


@pytest.mark.parametrize("keras", BOTH)
def test_a_remat_scope_refuses_other_modes(keras):
    with pytest.raises(ValueError, match="mode"):
        keras.RematScope(mode="invalid")


# --- KerasTensor ------------------------------------------------------------------------------------


def test_ragged_tensors_keep_what_is_said_of_their_rows():
    x = tfkit.KerasTensor((2, None, None), ragged=True, ragged_rank=1, row_splits_dtype="int32")
    with tf.Graph().as_default():
        value = tensors.placeholder(x)
    assert (value.ragged_rank, value.row_splits.dtype) == (1, tf.int32)
    again = tensors.specification(value)
    assert (again.ragged_rank, again.row_splits_dtype) == (1, "int32")
    plain = tfkit.KerasTensor((2,))
    assert (
        plain.ragged_rank is plain.row_splits_dtype is oracle.KerasTensor((2,)).ragged_rank is None
    )
    with pytest.raises(TypeError, match=r"Unexpected keyword arguments of KerasTensor: \['rank'\]"):
        tfkit.KerasTensor((2,), rank=1)
