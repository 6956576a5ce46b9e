"""What TensorFlow's kernels refuse, every program refuses: the error, where it says it was, the weights."""

import re
import time
import warnings

import numpy as np
import pytest
import tensorflow as tf

import tfkit as keras
from tfkit.src.training.planner import GRAPH_LOOP, XLA_LOOP, XLA_STEP

layers = keras.layers
SIZE, NUM_STEPS, BAD_STEP = 4, 6, 4  # The fourth step has a row that is refused.
Refused = tf.errors.InvalidArgumentError


class Calls(layers.Layer):
    """A layer that calls a function of its input, which is zero but for a column of whole numbers."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def call(self, x):
        return x + 0.0 * tf.cast(self.function(x), x.dtype)


class Table(layers.Layer):
    """Rows of a weight, taken by whole numbers that the layer computes from its input."""

    def build(self, input_shape):
        self.table = self.add_weight(shape=(4, input_shape[-1]))

    def call(self, x):
        return x + tf.gather(self.table, tf.cast(x[:, 0], tf.int32))


def integers(x):
    return tf.cast(x[:, :1], tf.int32)


def asserts(x):
    tf.debugging.assert_less(x, 4.0, message="too large")
    return x


def asserts_in_a_branch(x):
    def check():
        tf.debugging.assert_less(x, 4.0)
        return x

    return tf.cond(tf.reduce_sum(x) > -1.0, check, lambda: x)


def gathers_in_a_loop(x):
    rows = integers(x)[:, 0]
    return tf.while_loop(
        lambda i, y: i < 3,
        lambda i, y: (i + 1, y + tf.gather(tf.zeros([4, 1]), rows + i - i)),
        (0, x[:, :1]),
        maximum_iterations=3,
    )[1]


traced_before = tf.function(lambda x: tf.gather(tf.zeros([4, 2]), integers(x)[:, 0]))


def in_a_traced_function(x):
    return traced_before(x)[:, :1]


# Functions that take 0 to 3 in the first column and refuse 9, and what the kernel says.
FUNCTIONS = {
    "gather, another axis": (
        lambda x: tf.gather(tf.zeros([1, 4]), integers(x)[:, 0], axis=1)[0, :, None],
        r"= 9 is not in \[0, 4\)",
    ),
    "gather_nd": (
        lambda x: tf.gather_nd(tf.zeros([4]), integers(x))[:, None],
        "does not index into",
    ),
    "scatter": (
        lambda x: tf.scatter_nd(integers(x), tf.ones([tf.shape(x)[0]]), [4])[:1, None],
        "does not index into",
    ),
    "element": (lambda x: tf.zeros([4])[tf.reduce_max(integers(x))], "out of bounds"),
    "assert": (asserts, "too large"),
    "assert in a branch": (asserts_in_a_branch, "assertion failed"),
    "gather in a loop": (gathers_in_a_loop, "is not in"),
    "a function traced before": (in_a_traced_function, "is not in"),
    "check_numerics": (
        lambda x: tf.debugging.check_numerics(tf.where(x > 4, np.nan, x), "here"),
        "here : Tensor had NaN",
    ),
    "division": (lambda x: 7 // (9 - integers(x)), "division by zero"),
    "inverse": (
        lambda x: tf.linalg.inv(tf.eye(2) * (9 - tf.reduce_max(x)))[:1, :1],
        "not invertible",
    ),
    "bincount": (
        lambda x: tf.raw_ops.DenseBincount(
            input=4 - integers(x)[:, 0], size=8, weights=tf.constant([], "float32")
        )[:1, None],
        "non-negative",
    ),
}


def data():
    """Inputs and targets of all steps; one row of the bad step has a 9."""
    x = np.zeros((SIZE * NUM_STEPS, 2), "float32")
    x[:, 0] = np.arange(len(x)) % 4
    x[(BAD_STEP - 1) * SIZE + 2, 0] = 9
    return x, np.arange(2.0 * len(x), dtype="float32").reshape(-1, 2) / 10


X, Y = data()


def model_of(layer, jit_compile):
    """A model of the layer with an average of its inputs, which is updated before the loss is known."""
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [keras.Input((2,)), layer, layers.BatchNormalization(), layers.Dense(2)]
    )
    model.compile("adam", "mse", metrics=["mae"], jit_compile=jit_compile)
    return model


def batches(x, y):
    """A dataset that `fit` does not recognize as slices of arrays."""
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(SIZE).map(lambda x, y: (x, y))


def state_of(model):
    return [*model.get_weights(), *(each.numpy() for each in model.optimizer.variables)]


def assert_equal(ours, expected):
    for one, other in zip(ours, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_refused_value_ends_a_compiled_training_and_changes_nothing(name):
    function, message = FUNCTIONS[name]
    model, until_then = (model_of(Calls(function), True) for _ in range(2))
    with pytest.raises(Refused, match=message) as caught:
        model.fit(X, Y, batch_size=SIZE, shuffle=False, verbose=0)
    assert f"epoch 1, step {BAD_STEP} of `fit()`" in str(caught.value)
    assert re.search(r"layer 'sequential\w*/calls'", str(caught.value))
    assert model.plan["train"].kind in (XLA_LOOP, XLA_STEP)
    good = slice((BAD_STEP - 1) * SIZE)
    until_then.fit(X[good], Y[good], batch_size=SIZE, shuffle=False, verbose=0)
    assert_equal(state_of(model), state_of(until_then))


@pytest.mark.parametrize("jit_compile", ["auto", True, False])
@pytest.mark.parametrize("make", [Table, lambda: Calls(asserts)], ids=["ahead", "afterwards"])
@pytest.mark.parametrize("form", ["arrays", "batches"])
def test_every_program_refuses(form, make, jit_compile):
    model, until_then = (model_of(make(), jit_compile) for _ in range(2))
    good = slice((BAD_STEP - 1) * SIZE)

    def passed(x, y):
        if form == "arrays":
            return {"x": x, "y": y, "batch_size": SIZE}
        return {"x": batches(x, y)}

    until_then.fit(**passed(X[good], Y[good]), shuffle=False, verbose=0)
    for _ in range(2):  # Once while the program is new, and once when it is known to compile.
        with pytest.raises(Refused, match=rf"layer 'sequential.*epoch 1, step {BAD_STEP} of"):
            model.fit(**passed(X, Y), shuffle=False, verbose=0)
        assert_equal(state_of(model), state_of(until_then))
        until_then.fit(**passed(X[good], Y[good]), shuffle=False, verbose=0)
    before = state_of(model)
    with pytest.raises(Refused, match=rf"step {BAD_STEP} of `evaluate\(\)`"):
        model.evaluate(**passed(X, Y), verbose=0)
    with pytest.raises(Refused, match="layer 'sequential"):
        model.predict(X, batch_size=SIZE, verbose=0)
    with pytest.raises(Refused, match="layer 'sequential"):
        model.train_on_batch(X, Y)
    with pytest.raises(Refused):
        model(X)
    for _ in range(3):  # Answered by a trace, the third time at the latest.
        model(X[good])
    with pytest.raises(Refused):
        model(X)
    assert_equal(state_of(model), before)
    assert (model.plan["train"].kind == GRAPH_LOOP) == (jit_compile is False)


@pytest.mark.parametrize("jit_compile", ["auto", True])
@pytest.mark.parametrize("label", [3, -1])
def test_labels_out_of_range(label, jit_compile):
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((2,)), layers.Dense(3)])
    model.compile("adam", "sparse_categorical_crossentropy", jit_compile=jit_compile)
    labels = np.arange(len(X)) % 3
    labels[9] = label
    before = model.get_weights()
    with pytest.raises(
        Refused, match=rf"label value of {label} .*\[0, 3\).*\n.*label 1 of the batch"
    ):
        model.fit(X, labels, batch_size=8, shuffle=False, verbose=0)
    assert int(model.optimizer.iterations) == 1
    assert all(np.isfinite(w).all() for w in model.get_weights())
    assert any((a != b).any() for a, b in zip(model.get_weights(), before, strict=True))


def test_sizes_that_xla_would_repeat():
    """TensorFlow's kernel refuses rows of other number; XLA would repeat one row, and does not compile it."""

    def product(x):
        rows = tf.reshape(x, [-1, 1, 2])
        return tf.einsum("bij,bij->bi", rows[: tf.shape(x)[0] // SIZE], rows)

    model = model_of(Calls(product), "auto")
    before = model.get_weights()
    with pytest.raises(Refused, match=r"(?s)Expected dimension 1 .*step 1 of `fit\(\)`"):
        model.fit(X, Y, batch_size=SIZE, shuffle=False, verbose=0)
    assert_equal(model.get_weights(), before)
    assert model.plan["train"].kind == GRAPH_LOOP


class Quantizes(layers.Layer):
    """Has an operation whose kernel refuses values and that has no predicate."""

    def call(self, x):
        return tf.quantization.quantize_and_dequantize_v2(x, -1.0, 1.0, range_given=True)


def test_an_operation_without_a_predicate_is_left_to_tensorflow():
    model = model_of(Quantizes(), "auto")
    model.fit(X, Y, verbose=0)
    assert model.plan["train"].kind == GRAPH_LOOP
    assert "XLA drops the check of the operation QuantizeAndDequantizeV4" in str(model.plan)


def test_a_check_that_xla_drops_all_the_same_is_warned_of():
    model = model_of(Quantizes(), True)
    with pytest.warns(
        UserWarning, match=r"QuantizeAndDequantizeV4 of layer 'sequential\w*/quantizes' for"
    ):
        model.fit(X, Y, verbose=0)
    assert model.plan["train"].kind == XLA_LOOP
    with pytest.warns(
        UserWarning, match="drops the check of the operation QuantizeAndDequantizeV4"
    ):
        [model(X) for _ in range(3)]


def test_of_several_checks_that_xla_drops_the_first_is_named():
    model = keras.Sequential([keras.Input((2,)), Quantizes(), Quantizes(), layers.Dense(2)])
    model.compile("adam", "mse", jit_compile=True)
    for run in (lambda: model.fit(X, Y, verbose=0), lambda: [model(X) for _ in range(3)]):
        with pytest.warns(UserWarning, match="drops the check") as caught:
            run()
        assert len(caught) == 1


@pytest.mark.parametrize(
    "make", [Table, lambda: Calls(lambda x: asserts(x @ tf.eye(2)))], ids=["ahead", "inside"]
)
def test_calls_that_a_tape_records(make):
    """What is computed inside of the call is checked by TensorFlow's kernels, without XLA: that is said."""
    model = model_of(make(), True)
    good = tf.constant(X[:SIZE])

    def gradients(x):
        with tf.GradientTape() as tape:
            total = tf.reduce_sum(model(x))
        return tape.gradient(total, model.trainable_weights)

    expected = gradients(good)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            ours = gradients(good)
        assert len(caught) == (make is not Table)
        with pytest.raises(Refused, match="layer 'sequential"):
            gradients(tf.constant(X))
    for one, other in zip(ours, expected, strict=True):
        np.testing.assert_allclose(
            tf.convert_to_tensor(one), tf.convert_to_tensor(other), rtol=1e-5, atol=1e-6
        )


def test_plain_python_says_the_step():
    model = model_of(Table(), False)
    model.run_eagerly = True
    with pytest.raises(Refused, match=rf"step {BAD_STEP} of `fit\(\)`"):
        model.fit(X, Y, batch_size=SIZE, shuffle=False, verbose=0)


class Resizes(layers.Layer):
    """Resizes images of bfloat16, whose gradient XLA gives in float32."""

    def build(self, input_shape):
        self.images = self.add_weight(shape=(1, 2, 2, 1))

    def call(self, x):
        images = tf.image.resize(tf.cast(self.images, tf.bfloat16), (4, 4))
        return x + tf.reduce_mean(tf.cast(images, x.dtype))


def test_what_xla_computes_wrongly_is_left_to_tensorflow():
    """An operation of a user's own, for those of tfkit go around it."""
    model = model_of(Resizes(), "auto")
    model.fit(X, Y, verbose=0)
    assert model.plan["train"].kind == GRAPH_LOOP
    assert "XLA computes the operation ResizeBilinearGrad of layer 'seq" in str(model.plan)
    with pytest.warns(UserWarning, match="wrongly: the gradient is of float32"):
        model_of(Resizes(), True).fit(X, Y, verbose=0)


def test_what_tfkit_computes_the_other_way_goes_to_xla():
    model = model_of(Calls(lambda x: keras.ops.norm(tf.cast(x, tf.float16), 2, (0, 1))), "auto")
    model.fit(X, Y, verbose=0)
    assert model.plan["train"].kind in (XLA_LOOP, XLA_STEP)


@pytest.mark.parametrize(
    ("layer", "jit_compile", "kind", "weights_before"),
    [
        # The layer, `compile`'s argument, the kind of the program, the step before which weights are.
        ("dense", False, GRAPH_LOOP, 6),
        ("convolution", True, XLA_STEP, 6),
        ("dense", "auto", XLA_LOOP, 2),  # XLA takes the first step alone, then a block.
        ("dense", True, XLA_LOOP, 1),
    ],
)
def test_a_batch_that_cannot_be_read_in_a_program(layer, jit_compile, kind, weights_before):
    """The error names the batch, and says truly which steps have been done: each is done entirely or not."""
    rows = np.random.default_rng(0).normal(size=(10, 4, 3, 1)).astype("float32")

    def read(index, x):
        good = tf.debugging.assert_less(index, np.int64(5), message="unreadable")
        with tf.control_dependencies([good]):
            return x, tf.reduce_sum(x, axis=(1, 2))

    def made():
        keras.utils.set_random_seed(0)
        inner = layers.Conv1D(1, 3) if layer == "convolution" else layers.Flatten()
        model = keras.Sequential([keras.Input((3, 1)), inner, layers.Flatten(), layers.Dense(1)])
        model.compile(
            keras.optimizers.SGD(0.1, momentum=0.9),
            "mse",
            jit_compile=jit_compile,
            steps_per_execution=8,
        )
        return model

    model, expected = made(), made()
    data = tf.data.Dataset.from_tensor_slices(rows).enumerate().map(read)
    weights = "that step" if weights_before == 6 else f"step {weights_before}"
    message = rf"(?s)unreadable.*step 6 of `fit\(\)`\. The weights are those before {weights}\.$"
    with pytest.raises(Refused, match=message):
        model.fit(data, verbose=0)
    assert model.plan["train"].kind == kind
    if weights_before > 1:
        expected.fit(data.take(weights_before - 1), verbose=0)
    assert int(model.optimizer.iterations) == weights_before - 1
    for one, other in zip(model.get_weights(), expected.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)

    # The same program goes on: a later error does not speak of the block of before.
    model.fit(data.take(5), verbose=0)
    assert int(model.optimizer.iterations) == weights_before + 4


def slowly(x):
    """Returns `x` after a while, in which TensorFlow may run what does not depend on it."""
    result = tf.numpy_function(lambda array: (time.sleep(0.02), array)[1], [x], x.dtype)
    result.set_shape(x.shape)
    return result


class Slow(layers.Layer):
    """Counts its calls, and refuses infinity, in a function of its own where `own` is set."""

    def __init__(self, own=False):
        super().__init__()
        self.checked = tf.function(self.check) if own else self.check

    def build(self, shape):
        self.calls = self.add_weight((), initializer="zeros", trainable=False)

    def check(self, x):
        self.calls.assign_add(1)
        return tf.debugging.check_numerics(slowly(x), "refused")

    def call(self, x):
        return self.checked(x)


class InFunction(keras.Sequential):
    """A model whose step is a function of its own."""

    @tf.function(autograph=False)
    def train_step(self, data):
        return super().train_step(data)


class InCondition(keras.Sequential):
    """A model that makes steps under a condition only."""

    def train_step(self, data):
        step = super().train_step
        return tf.cond(tf.size(data[0]) > 0, lambda: step(data), lambda: {"loss": 0.0})


@pytest.mark.filterwarnings("ignore:Gradients do not exist")
@pytest.mark.parametrize("cls", [keras.Sequential, InFunction, InCondition])
@pytest.mark.parametrize("own", [False, True])
def test_a_refused_step_changes_nothing_where_a_call_both_updates_and_refuses(cls, own):
    model = cls([keras.Input((2,)), Slow(own), layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse", jit_compile=False)
    x, y = np.ones((4, 2), "float32"), np.zeros((4, 1), "float32")
    model.train_on_batch(x, y)
    variables = [*model.variables, *model.optimizer.variables]
    before = [variable.numpy() for variable in variables]
    with pytest.raises(tf.errors.InvalidArgumentError, match="refused"):
        model.train_on_batch(np.full_like(x, np.inf), y)
    for variable, value in zip(variables, before, strict=True):
        np.testing.assert_array_equal(variable.numpy(), value, err_msg=variable.name)
