"""Variables: made by one set of rules; given temporary values, and restored whatever happens."""

import contextlib
import copy
import operator

import keras as oracle
import numpy as np
import pytest
import tensorflow as tf

import tfkit as keras
from tfkit.src.base import budget
from tfkit.src.weights.variables.together import temporary_values
from tfkit.src.weights.variables.variables import make_variable

VALUES = ([1.0, 2.0], [[3.0], [4.0]])


def two_variables():
    return [tf.Variable(value) for value in VALUES]


def assert_unchanged(variables):
    for variable, value in zip(variables, VALUES, strict=True):
        np.testing.assert_array_equal(variable, value)


@pytest.mark.parametrize("traced", [False, True])
def test_lent_values_are_seen_and_given_back(traced):
    variables = two_variables()

    def run():
        with temporary_values(variables, [tf.zeros(2), tf.ones((2, 1))], "values"):
            variables[0].assign_add([5.0, 5.0])
            return [tf.identity(variable) for variable in variables]

    seen = (tf.function(run) if traced else run)()
    np.testing.assert_array_equal(seen[0], [5.0, 5.0])
    np.testing.assert_array_equal(seen[1], [[1.0], [1.0]])
    assert_unchanged(variables)


@pytest.mark.parametrize("traced", [False, True])
def test_they_are_given_back_after_an_error(traced):
    variables = two_variables()

    def run():
        with temporary_values(variables, [tf.zeros(2), tf.ones((2, 1))], "values"):
            raise KeyError("an error of the user's")

    with pytest.raises(KeyError, match="of the user's"):
        (tf.function(run, autograph=False) if traced else run)()
    assert_unchanged(variables)


def test_an_error_inside_a_trace_that_goes_on_is_given_back_too():
    variables = two_variables()

    @tf.function(autograph=False)
    def run():
        try:
            with temporary_values(variables, [tf.zeros(2), tf.ones((2, 1))], "values"):
                raise KeyError
        except KeyError:
            return tf.identity(variables[0])

    np.testing.assert_array_equal(run(), VALUES[0])
    assert_unchanged(variables)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([tf.zeros(2)], r"Expected 2 values. Received: 1 values"),
        ([tf.zeros(2), tf.zeros(3)], r"`values\[1\]` has shape \(3,\). Expected .*\(2, 1\)"),
    ],
)
def test_values_that_do_not_fit_change_nothing(values, message):
    variables = two_variables()
    for run in (lambda body: body(), lambda body: tf.function(body, autograph=False)()):
        with pytest.raises(ValueError, match=message):
            run(lambda: temporary_values(variables, values, "values").__enter__())
        assert_unchanged(variables)


def test_a_shape_that_is_known_only_when_the_program_runs_changes_nothing_either():
    variables = two_variables()

    @tf.function(input_signature=[tf.TensorSpec([None]), tf.TensorSpec(None)])
    def run(first, second):
        with temporary_values(variables, [first, second], "values"):
            return tf.identity(variables[0])

    np.testing.assert_array_equal(run(tf.zeros(2), tf.zeros((2, 1))), [0.0, 0.0])
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(tf.zeros(2), tf.zeros(3))
    assert_unchanged(variables)


def test_an_optimizer_that_fails_gives_the_values_back():
    class Fails(keras.optimizers.SGD):
        def update_step(self, gradient, variable, learning_rate):
            super().update_step(gradient, variable, learning_rate)
            raise RuntimeError("half-way")

    variable, optimizer = tf.Variable([1.0, 2.0]), Fails(0.5)
    optimizer.build([variable])
    before = [value.numpy() for value in optimizer.variables]
    state = [tf.zeros_like(value) for value in optimizer.variables]
    with pytest.raises(RuntimeError, match="half-way"):
        optimizer.stateless_apply(state, [tf.ones(2)], [tf.zeros(2)])
    np.testing.assert_array_equal(variable, [1.0, 2.0])
    for value, old in zip(optimizer.variables, before, strict=True):
        np.testing.assert_array_equal(value, old)
    with pytest.raises(ValueError, match="shape"):
        optimizer.stateless_apply([state[0], tf.zeros(7)], [tf.ones(2)], [tf.zeros(2)])
    np.testing.assert_array_equal(variable, [1.0, 2.0])


def test_a_layer_or_metric_that_is_given_a_wrong_second_value_is_unchanged():
    layer = keras.layers.Dense(2)
    layer(tf.ones((1, 3)))
    before = layer.get_weights()
    with pytest.raises(ValueError, match="shape"):
        layer.stateless_call([tf.zeros((3, 2)), tf.zeros(5)], [], tf.ones((1, 3)))
    for value, old in zip(layer.get_weights(), before, strict=True):
        np.testing.assert_array_equal(value, old)
    metric = keras.metrics.Mean()
    metric.update_state([2.0])
    with pytest.raises(ValueError, match="shape"):
        metric.stateless_update_state([tf.constant(7.0), tf.zeros(3)], [1.0])
    assert float(metric.result()) == 2.0


def test_weights_of_mixed_precision_keep_their_bits_when_they_are_lent_inside_a_call():
    inner = keras.layers.Dense(1, dtype="mixed_bfloat16", kernel_initializer="ones")
    inner(tf.ones((1, 3)))
    exact = np.float32(1.0009765)  # Which bfloat16 does not have.
    inner.kernel.assign(np.full((3, 1), exact))

    class Outer(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.inner = inner

        def call(self, x):
            values = [tf.zeros((3, 1)), tf.zeros(1)]
            return self.inner.stateless_call(values, [], x)[0]

    Outer(dtype="mixed_bfloat16")(tf.ones((1, 3)))
    np.testing.assert_array_equal(inner.kernel.numpy(), np.full((3, 1), exact))


@pytest.mark.parametrize("traced", [False, True])
def test_a_weight_of_mixed_precision_has_the_dtype_in_which_it_is_read(traced):
    seen = {}

    def layers_of(library):
        class Layer(library.layers.Layer):
            def build(self, input_shape):
                self.w = self.add_weight(shape=(3,), initializer="ones")
                self.kept = self.add_weight(shape=(3,), autocast=False)
                self.seen = self.add_weight(shape=(3,), trainable=False, initializer="zeros")

            def call(self, x):
                seen[library] = [tf.as_dtype(w.dtype).name for w in (self.w, self.kept)]
                self.seen.assign_add(tf.fill((3,), 1.0009765))  # Which float16 does not have.
                return tf.cast(tf.ones((2, 3)), self.w.dtype) * self.w + tf.zeros(3, self.w.dtype)

        return Layer(dtype="mixed_float16")

    for library in (oracle, keras):
        layer = layers_of(library)
        layer(np.ones((2, 3)))
        layer.seen.assign(np.zeros(3))
        call = tf.function(layer) if traced else layer
        assert call(np.ones((2, 3))).dtype == "float16"
        assert layer.w.dtype == "float32"
        np.testing.assert_array_equal(layer.seen.numpy(), np.full(3, 1.0009765, "float32"))
    assert seen[keras] == seen[oracle] == ["float16", "float32"]


# --- Making them --------------------------------------------------------------------------------------


def makers():
    """Everything of tfkit's that makes a variable, as a function of shape, initializer and aggregation."""
    layer, metric, optimizer = keras.layers.Layer(), keras.metrics.Mean(), keras.optimizers.SGD()
    return {
        "weight": lambda **options: layer.add_weight(**options),
        "metric": lambda **options: metric.add_variable(**options),
        "optimizer": lambda **options: optimizer.add_variable(**options),
    }


@pytest.mark.parametrize("kind", makers())
def test_the_rules_are_the_same_for_all(kind):
    if kind != "weight":
        assert makers()[kind](shape=(2,), initializer="ones", aggregation="mean").shape == (2,)
    with pytest.raises(ValueError, match=r"with shape \(2, None\). Expected non-negative integers"):
        makers()[kind](shape=(2, None), initializer="zeros")
    with pytest.raises(ValueError, match="with shape"):
        makers()[kind](shape=(-1,), initializer="zeros")
    with pytest.raises(ValueError, match=r"gave shape \(3,\). Expected: \(2,\)"):
        makers()[kind](shape=(2,), initializer=lambda shape, dtype: tf.zeros(3, dtype))
    options = {"shape": (2,), "initializer": "zeros"}
    if kind != "weight":  # A layer's has no such argument of the same default.
        options["aggregation"] = "middle"
        with pytest.raises(ValueError, match=r"Unknown `aggregation` of .* Received: 'middle'"):
            makers()[kind](**options)
    with pytest.raises(ValueError, match="more than any machine has"):
        makers()[kind](shape=(1 << 45,), initializer="zeros")
    with budget.limited(0, None), pytest.raises(ValueError, match="the file accounts for"):
        makers()[kind](shape=(1 << 28,), initializer="zeros")


@pytest.mark.parametrize("kind", makers())
def test_the_dtype_is_the_one_asked_for_whatever_the_initializer_gives(kind):
    variable = makers()[kind](
        shape=(2,), dtype="float64", initializer=lambda shape, dtype: tf.ones(shape, "float32")
    )
    assert variable.dtype == tf.float64


def test_a_variable_that_is_made_while_tracing_belongs_to_no_trace():
    made = []

    @tf.function
    def run():
        if not made:
            made.append(make_variable("one", (2,), lambda shape, dtype: tf.ones(shape, dtype)))
            made.append(keras.random.SeedGenerator(3).state)
        return tf.identity(made[0])

    np.testing.assert_array_equal(run(), [1.0, 1.0])
    np.testing.assert_array_equal(made[0].numpy(), [1.0, 1.0])
    np.testing.assert_array_equal(made[1].numpy(), [3, 0])


# --- With Keras's interface ---------------------------------------------------------------------------


VARIABLES = {
    "float": lambda k: k.Variable(0.0),
    "int": lambda k: k.Variable(1),
    "bool": lambda k: k.Variable(True),
    "array": lambda k: k.Variable(np.zeros(3)),
    "cast": lambda k: k.Variable(1.5, dtype="int32"),
    "name": lambda k: k.Variable("zeros", shape=(2,), name="x"),
    "initializer": lambda k: k.Variable(k.initializers.Ones(), shape=(2,), trainable=False),
    "function": lambda k: k.Variable(lambda shape, dtype: tf.ones(shape, dtype), (2,), "float16"),
}


@pytest.mark.parametrize("make", VARIABLES.values(), ids=VARIABLES)
def test_variable_is_made_as_in_keras(make):
    ours, theirs = make(keras), make(oracle)
    assert isinstance(ours, keras.Variable)
    assert isinstance(ours, tf.Variable)
    assert (ours.dtype, ours.shape, ours.trainable) == (
        theirs.dtype,
        theirs.shape,
        theirs.trainable,
    )
    assert ours.ndim == theirs.ndim
    assert ours.name.rstrip("_0123456789") == theirs.name.rstrip("_0123456789")
    assert ours.path == ours.name
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


REFUSED = [
    ({"initializer": "zeros"}, "`shape` argument should be specified"),
    ({"initializer": 0.0, "name": "a/b"}, "cannot contain character `/`"),
    ({"initializer": 0.0, "layout": 1}, "`layout` must be None"),
    ({"initializer": 0.0, "aggregation": "product"}, "Unknown `aggregation`"),
    ({"initializer": 0.0, "synchronization": "never"}, "Unknown `synchronization`"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_a_variable_that_cannot_be_made_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        keras.Variable(**arguments)


OPERATIONS = {
    "int + float": lambda i, f: i + 1.5,
    "float - int": lambda i, f: 1.5 - i,
    "int / int": lambda i, f: i / 2,
    "int / float variable": lambda i, f: i / f,
    "float * int tensor": lambda i, f: f * tf.constant(2),
    "int + float tensor": lambda i, f: i + tf.constant(1.5),
    "power": lambda i, f: i**2,
    "compare": lambda i, f: f > i,
    "value": lambda i, f: f.value + 1,
    "value of both": lambda i, f: f.value * f.value,
    "minus": lambda i, f: -f.value,
    "index": lambda i, f: f.value[0],
    "numpy": lambda i, f: np.asarray(f.value),
    "function": lambda i, f: tf.reduce_sum(f.value),
}


@pytest.mark.parametrize("operate", OPERATIONS.values(), ids=OPERATIONS)
def test_arithmetic_is_that_of_keras(operate):
    ours, theirs = (operate(k.Variable(2), k.Variable([1.0, 3.0])) for k in (keras, oracle))
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(ours, theirs)


DTYPES = {"bool": "bool", "int": "int32", "float": "float32", "complex": "complex64"}
KINDS = {
    "bool": [True, False],
    "int": [3, 2],
    "float": [1.5, 3.0],
    "complex": np.array([1 + 2j, 3 - 1j], "complex64"),
}
OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "&": operator.and_,
    "|": operator.or_,
    "@": operator.matmul,
}


@pytest.mark.parametrize("sign", OPERATORS)
@pytest.mark.parametrize("left", KINDS)
@pytest.mark.parametrize("right", KINDS)
def test_operators_of_two_kinds_of_numbers(left, right, sign):
    results = []
    for k in (keras, oracle):
        a, b = (
            k.Variable(KINDS[left], dtype=DTYPES[left]),
            k.Variable(KINDS[right], dtype=DTYPES[right]),
        )
        with contextlib.suppress(TypeError, ValueError, tf.errors.OpError):
            results.append(OPERATORS[sign](a, b))
    if len(results) == 2:
        assert results[0].dtype == results[1].dtype
        np.testing.assert_array_equal(results[0], results[1])
    else:
        assert not results, "one computes and the other refuses"


@pytest.mark.parametrize("sign", ["+", "*", "==", ">"])
@pytest.mark.parametrize("number", [2, 2.5])
def test_bools_and_numbers_of_python_in_either_order(sign, number):
    for order in (1, -1):
        ours, theirs = (
            OPERATORS[sign](*[k.Variable([True, False], dtype="bool"), number][::order])
            for k in (keras, oracle)
        )
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32"])
def test_powers_of_unsigned_integers(dtype):
    for k in (keras, oracle):
        variable = k.Variable([2, 3], dtype=dtype)
        for power in (variable**variable, variable**2, 2**variable, variable ** k.Variable([1, 2])):
            assert np.asarray(power)[0] in (2, 4)
    variable = keras.Variable([2, 3], dtype=dtype)
    np.testing.assert_array_equal(variable**variable, [4, 27])
    assert (variable**2).dtype == dtype


def test_plus_and_round():
    for k in (keras, oracle):
        np.testing.assert_array_equal(+k.Variable([-1.0, 2.0]), [-1, 2])
        np.testing.assert_array_equal(round(k.Variable([1.25, 2.75])), [1, 3])
        np.testing.assert_array_equal(round(k.Variable([1.25, 2.76]), 1), np.float32([1.2, 2.8]))


def test_several_values_are_no_boolean_as_in_keras():
    for k in (keras, oracle):
        with pytest.raises(TypeError, match="cannot be used as a boolean"):
            bool(k.Variable([1.0, 2.0]))
    assert keras.Variable(2.0)
    assert not keras.Variable(0)


@pytest.mark.parametrize("k", [keras, oracle])
def test_settings_that_no_step_could_use_are_refused(k):
    variable = k.Variable([1.0])
    for name in ("constraint", "regularizer"):
        with pytest.raises(ValueError, match=f"attribute `{name}`"):
            setattr(variable, name, "none")
        assert getattr(variable, name) is None
        setattr(variable, name, abs)
    with pytest.raises(TypeError, match="must be a boolean"):
        variable.overwrite_with_gradient = "true"


CHANGES = {
    "float to int": lambda i, f: i.assign(3.7),
    "bool": lambda i, f: i.assign_add(True),
    "float tensor": lambda i, f: i.assign_add(tf.constant(2.2)),
    "int tensor": lambda i, f: f.assign_sub(tf.constant([1, 1])),
    "broadcast": lambda i, f: f.assign_add(1),
    "int64 array": lambda i, f: f.assign(np.array([4, 5])),
    "value": lambda i, f: f.assign(f.value + 1),
    "sum by name": lambda i, f: i.assign_add(value=2),
    "difference by name": lambda i, f: f.assign_sub(value=[1, 2]),
}


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "traced"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_assigning_casts_as_keras_does(change, traced):
    results = []
    for k in (keras, oracle):
        i, f = k.Variable(2), k.Variable([1.0, 3.0])
        run = tf.function(change) if traced and k is keras else change
        if traced and k is keras:
            tf.function(lambda i=i, f=f: tf.identity(change(i, f)))()
        else:
            run(i, f)
        results.append([i.numpy(), *f.numpy()])
    assert results[0] == results[1]


def test_a_value_of_another_shape_is_refused():
    variable = keras.Variable([1.0, 2.0], name="pair")
    for change in (variable.assign, variable.assign_add, variable.assign_sub):
        with pytest.raises(ValueError, match="shape"):
            change([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"'pair' has shape \(2,\).*Received"):
        variable.assign(1.0)
    np.testing.assert_array_equal(variable, [1.0, 2.0])


def test_value_is_a_method_too_as_in_tensorflow():
    variable = keras.Variable([1.0, 2.0])

    @tf.function
    def run():
        return variable.value() + variable.value

    assert isinstance(variable.value(), tf.Tensor)
    np.testing.assert_array_equal(run(), [2.0, 4.0])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(variable.value() * 3 + variable.value**2)
    np.testing.assert_array_equal(tape.gradient(loss, variable), [5.0, 7.0])
    variable.value.assign([0.0, 0.0])
    assert not variable.numpy().any()
    assert not callable(variable)


def test_weights_have_names_paths_and_axes():
    dense = keras.layers.Dense(2, name="scores")
    dense.build((None, 3))
    assert [(w.name, w.path, w.ndim) for w in dense.weights] == [
        ("kernel", "scores/kernel", 2),
        ("bias", "scores/bias", 1),
    ]
    assert keras.metrics.Mean().variables[0].name == "total"
    optimizer = keras.optimizers.Adam()
    optimizer.build(dense.trainable_weights)
    assert optimizer.variables[2].name == "scores_kernel_momentum"
    assert all(isinstance(variable, keras.Variable) for variable in optimizer.variables)
    mixed = keras.layers.Dense(2, dtype="mixed_bfloat16")
    mixed.build((None, 3))
    assert mixed.kernel.name == "kernel"
    assert isinstance(mixed.kernel, keras.Variable)
    own = tf.Variable(1.0, name="own")
    assert own.name == "own:0"
    assert not isinstance(own, keras.Variable)


def test_a_variable_in_an_attribute_is_tracked_like_a_weight():
    class Scale(keras.layers.Layer):
        def build(self, input_shape):
            self.scale = keras.Variable("ones", shape=(input_shape[-1],), dtype="float32")
            self.steps = keras.Variable(0, trainable=False)

        def call(self, inputs):
            self.steps.assign_add(keras.ops.shape(inputs)[0])
            return inputs * self.scale

    model = keras.Sequential([Scale()])
    model.compile("sgd", "mse")
    x = np.ones((4, 3), "float32")
    model.fit(x, 2 * x, verbose=0)
    (layer,) = model.layers
    assert [w.shape for w in model.trainable_weights] == [(3,)]
    assert len(model.weights) == 2
    assert int(layer.steps) == 4
    assert (layer.scale.numpy() > 1).all()


def test_a_metric_counts_with_integers():
    class Rows(keras.metrics.Metric):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.rows = self.add_weight(name="rows", initializer="zeros")

        def update_state(self, y_true, y_pred, sample_weight=None):
            self.rows.assign_add(keras.ops.shape(y_pred)[0])

        def result(self):
            return self.rows

    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=[Rows(name="rows")])
    x = np.ones((5, 3))
    assert model.fit(x, x[:, :1], verbose=0, batch_size=2).history["rows"] == [5.0]


def test_variables_of_a_strategy_have_the_interface():
    strategy = tf.distribute.MirroredStrategy(["cpu:0"])
    with strategy.scope():
        variable = keras.Variable([1.0, 2.0], name="pair")
    assert isinstance(variable, keras.Variable)
    assert variable.name == "pair"
    variable.assign_add(1)
    np.testing.assert_array_equal(variable.value(), [2.0, 3.0])


def test_variables_are_saved_by_tensorflow(tmp_path):
    module = tf.Module()
    module.variable = keras.Variable([1.0, 2.0], name="pair")
    module.get = tf.function(lambda: module.variable * 2, input_signature=[])
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    np.testing.assert_array_equal(loaded.get(), [2.0, 4.0])
    path = tf.train.Checkpoint(module).save(str(tmp_path / "checkpoint"))
    module.variable.assign([0.0, 0.0])
    tf.train.Checkpoint(module).restore(path).assert_consumed()
    np.testing.assert_array_equal(module.variable, [1.0, 2.0])


@pytest.mark.parametrize("dtype", [None, "float64"])
def test_a_variable_becomes_an_array_without_a_warning(dtype):
    weight = keras.layers.Dense(2)
    weight.build((None, 3))
    for make in (np.array, np.asarray):
        found = make(weight.kernel, dtype)
        assert found.dtype == (dtype or "float32")
        np.testing.assert_allclose(found, weight.kernel.numpy())
    own = np.array(weight.kernel, dtype)
    own += 1  # It is the caller's own.
    assert not np.any(own == weight.kernel.numpy())


def test_a_variable_that_a_strategy_has_divided_is_refused():
    def divided(*args, **options):
        return object()

    with pytest.raises(ValueError, match=r"by its `variable_partitioner`.* without `variable_part"):
        make_variable("weight 'kernel' of layer 'dense'", (2,), tf.zeros, variable_class=divided)


def test_a_variable_of_ones_own_in_a_layer_is_set_with_the_others():
    class Counting(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.steps = tf.Variable(2.0, trainable=False, name="steps")

        def call(self, inputs):
            return inputs * self.steps

    layer = Counting()
    layer.set_weights([5.0])
    assert float(layer.steps) == 5.0
    with pytest.raises(ValueError, match="weight 'steps' has shape"):
        layer.set_weights([[1.0, 2.0]])
    with (
        pytest.raises(ValueError, match="Variable 'steps' has shape"),
        keras.StatelessScope([(layer.steps, [1.0, 2.0])]),
    ):
        pass


def test_gradients_of_values_are_those_of_variables():
    layer = keras.layers.Dense(2)
    layer.build((None, 3))
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch([weight.value for weight in layer.trainable_weights])
        loss = tf.reduce_sum(layer(tf.ones((1, 3))) ** 2)
    gradients = tape.gradient(loss, [weight.value for weight in layer.trainable_weights])
    outputs = layer(tf.ones((1, 3)))
    np.testing.assert_allclose(gradients[0], tf.tile(2 * outputs, [3, 1]), rtol=1e-6)
    np.testing.assert_allclose(gradients[1], 2 * outputs[0], rtol=1e-6)


def test_a_value_is_a_variable_of_tensorflow_but_no_weight_of_the_layer_that_holds_it(tmp_path):
    class Borrowing(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(2)

        def build(self, shape):
            self.dense.build(shape)
            self.kernel, self.rest = self.dense.kernel.value, [self.dense.bias.value]

        def call(self, x):
            return x @ self.kernel + self.rest[0]

    layer = Borrowing()
    outputs = layer(tf.ones((1, 3)))
    assert isinstance(layer.kernel, tf.Variable)
    assert keras.ops.is_tensor(layer.kernel)
    assert list(map(id, layer.weights)) == list(map(id, layer.dense.weights))
    np.testing.assert_array_equal(layer.dense(tf.ones((1, 3))), outputs)
    assert len(list(layer.kernel)) == 3
    assert copy.copy(layer.kernel).ref() == layer.dense.kernel.ref()
    tf.train.Checkpoint(kernel=layer.kernel).save(tmp_path / "checkpoint")


def test_products_of_integers_of_two_dtypes():
    for k in (keras, oracle):
        variable = k.Variable([[3, 3], [3, 3]], dtype="int8")
        product = variable @ k.Variable([[2, 0], [0, 2]], dtype="int16")
        assert product.dtype == "int16"
        np.testing.assert_array_equal(product, [[6, 6], [6, 6]])
