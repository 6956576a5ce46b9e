"""The behaviour of `Layer` that everything else rests on."""

import collections
import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit.src.core import tracking


def linear_class(framework):
    class Linear(framework.layers.Layer):
        def __init__(self, units):
            super().__init__()
            self.units = units

        def build(self, input_shape):
            self.kernel = self.add_weight(shape=(input_shape[-1], self.units))

        def call(self, x):
            return framework.ops.matmul(x, self.kernel)

    return Linear


def containers(framework):
    linear = linear_class(framework)

    class Net(framework.layers.Layer):
        def __init__(self):
            super().__init__()
            self.blocks = []
            self.head = linear(7)
            self.heads = {"b": linear(2), "a": linear(3)}
            self.pair = (linear(4), linear(5))
            for units in (8, 9):
                self.blocks.append(linear(units))

        def call(self, x):
            self.scale = None
            parts = [*self.blocks, self.head, *self.pair, self.heads["a"], self.heads["b"]]
            return framework.ops.concatenate([part(x) for part in parts], axis=-1)

    return Net()


def test_weights_come_in_the_order_of_keras():
    x = np.ones((2, 3), "float32")
    ours, theirs = containers(tfkit), containers(keras)
    ours(x)
    theirs(x)
    assert [w.shape for w in ours.weights] == [w.shape for w in theirs.weights]
    assert list(tracking.named_weights(ours)) == [
        "head/kernel",
        "heads/b/kernel",
        "heads/a/kernel",
        "pair/0/kernel",
        "pair/1/kernel",
        "blocks/0/kernel",
        "blocks/1/kernel",
    ]


def variables(framework):
    """A layer with weights of `add_weight`, and variables in attributes in between."""

    class Layer(framework.layers.Layer):
        def __init__(self):
            super().__init__()
            self.first = framework.Variable([1.0], name="first")
            self.second = self.add_weight(shape=(1,), name="second")
            self.third = [framework.Variable([2.0], name="third")]
            self.counter = framework.Variable(0, trainable=False, name="counter")

        def build(self, input_shape):
            self.fourth = self.add_weight(shape=(1,), name="fourth")
            self.fifth = framework.Variable([3.0], name="fifth")

        def call(self, x):
            return x * self.first + self.second * self.third[0] + self.fourth * self.fifth

    return framework.Sequential([framework.Input((1,)), Layer()])


def test_variables_in_attributes_come_in_the_order_of_keras(tmp_path):
    ours, theirs = variables(tfkit), variables(keras)
    assert [weight.name for weight in ours.weights] == [weight.name for weight in theirs.weights]
    # By this order Keras finds the weights of a layer in a file.
    tfkit.interop.keras.save_weights(ours, tmp_path / "w.weights.h5")
    theirs.load_weights(tmp_path / "w.weights.h5")
    x = np.ones((2, 1), "float32")
    np.testing.assert_allclose(theirs(x), ours(x), rtol=1e-6)


def test_a_shared_layer_counts_once():
    class Shared(tfkit.layers.Layer):
        def __init__(self):
            super().__init__()
            self.one = tfkit.layers.Dense(2)
            self.two = self.one

        def call(self, x):
            return self.two(self.one(x))

    layer = Shared()
    layer(np.ones((1, 2)))
    assert len(layer.weights) == 2


def test_direct_calls_are_traced_once_for_each_kind():
    traces = []
    note = traces.append  # A list that `call` reads itself, and changes, would keep it eager.

    class Counting(tfkit.layers.Layer):
        def call(self, x):
            note(x.shape)
            return x * 2.0

    layer = Counting()
    for rows in (1, 1, 1, 2, 3, 4, 1, 9):
        np.testing.assert_array_equal(layer(np.ones((rows, 2))), np.full((rows, 2), 2.0))
    # One plain call, one trace for the first shape, one for all others.
    assert len(traces) == 3


def test_a_changed_attribute_is_seen_by_compiled_calls():
    class Scale(tfkit.layers.Layer):
        def __init__(self):
            super().__init__()
            self.factor = 1.0

        def call(self, x):
            return x * self.factor

    class Outer(tfkit.layers.Layer):
        def __init__(self):
            super().__init__()
            self.scale = Scale()

        def call(self, x):
            return self.scale(x)

    layer, x = Outer(), tf.ones((1,))
    for factor in (1.0, 3.0, 3.0, 5.0):
        layer.scale.factor = factor
        for _ in range(3):
            assert float(layer(x)[0]) == factor


def test_a_call_that_sets_attributes_runs_each_time():
    class Counter(tfkit.layers.Layer):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def call(self, x):
            self.calls += 1
            self.last = x
            return x

    layer = Counter()
    for _ in range(4):
        layer(tf.ones((2,)))
    assert layer.calls == 4
    np.testing.assert_array_equal(layer.last, [1.0, 1.0])


class Branches(tfkit.layers.Layer):
    def call(self, x):
        if tf.reduce_sum(x) > 0:
            y = x + 1.0
        else:
            y = x - 1.0
        for _ in tf.range(3):
            y = y * 2.0
        return y


def test_branches_and_loops_on_tensors_work_compiled():
    layer = Branches()
    for _ in range(3):
        assert layer(tf.constant([1.0])).numpy().tolist() == [16.0]
        assert layer(tf.constant([-1.0])).numpy().tolist() == [-16.0]
    assert layer(tfkit.Input((4,))).shape == (None, 4)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_a_users_weight_works_under_a_mixed_policy(policy):
    class Linear(tfkit.layers.Layer):
        def build(self, input_shape):
            self.w = self.add_weight(shape=(input_shape[-1], 2))
            self.b = self.add_weight(shape=(2,), initializer="zeros")

        def call(self, x):
            return tf.matmul(x, self.w) + self.b

    layer = Linear(dtype=policy)
    with tf.GradientTape() as tape:
        y = layer(np.ones((1, 3)))
        loss = tf.reduce_sum(y)
    assert y.dtype.name == policy.removeprefix("mixed_")
    assert [g.dtype for g in tape.gradient(loss, layer.trainable_weights)] == [tf.float32] * 2
    assert layer.w.dtype == tf.float32


def test_build_gets_one_shape_for_each_argument():
    class Two(tfkit.layers.Layer):
        def build(self, query_shape, value_shape):
            self.shapes = (query_shape, value_shape)

        def call(self, query, value):
            return query

    layer = Two()
    layer(tf.ones((1, 2)), value=tf.ones((3, 4)))
    assert layer.shapes == ((1, 2), (3, 4))

    class Wrong(tfkit.layers.Layer):
        def build(self, query_shape, key_shape):
            raise AssertionError("never reached")

        def call(self, query, value):
            return query

    with pytest.raises(ValueError, match="key_shape"):
        Wrong()(tf.ones((1, 2)), tf.ones((3, 4)))


@pytest.mark.parametrize("framework", [keras, tfkit])
def test_what_is_built_by_two_shapes_is_built_again_by_both(framework):
    class Bilinear(framework.layers.Layer):
        def build(self, query_shape, value_shape):
            self.kernel = self.add_weight(shape=(query_shape[-1], value_shape[-1]))

        def call(self, query, value):
            return query @ self.kernel @ framework.ops.transpose(value)

    layer, again = Bilinear(), Bilinear()
    layer(tf.ones((1, 2)), value=tf.ones((3, 4)))
    again.build_from_config(layer.get_build_config())
    assert tuple(again.kernel.shape) == (2, 4)


def test_a_mode_without_a_default_is_that_of_the_caller_and_false_where_there_is_none():
    seen = []

    class Inner(tfkit.layers.Layer):
        def call(self, x, training):
            seen.append(training)
            return x

    class Outer(tfkit.layers.Layer):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def call(self, x, training=None):
            return self.inner(x, training=None)

    for training in (True, False, None):
        Outer()(tf.ones((1, 1)), training=training)
    assert seen == [True, False, False]


def test_a_direct_build_is_not_repeated():
    layer = linear_class(tfkit)(3)
    layer.build((None, 2))
    before = layer.kernel
    layer(np.ones((1, 2)))
    assert layer.kernel is before
    assert len(layer.weights) == 1


def test_a_failed_build_leaves_no_weights():
    class Failing(tfkit.layers.Layer):
        def build(self, input_shape):
            self.w = self.add_weight(shape=(2,))
            raise RuntimeError("no")

        def call(self, x):
            return x

    layer = Failing()
    with pytest.raises(RuntimeError):
        layer(tf.ones((1, 2)))
    assert not layer.built
    assert layer._tfkit.weights == []


def test_stateless_call_changes_nothing_and_has_gradients():
    layer = tfkit.layers.Dense(2)
    x = tf.ones((1, 3))
    layer(x)
    before = layer.get_weights()
    values = [tf.constant(value + 1.0) for value in before]
    with tf.GradientTape() as tape:
        tape.watch(values)
        y, state = layer.stateless_call(values, [], x)
        loss = tf.reduce_sum(y)
    np.testing.assert_allclose(y, x.numpy() @ values[0].numpy() + values[1].numpy(), rtol=1e-5)
    assert state == []
    assert tape.gradient(loss, values)[1].numpy().tolist() == [1.0, 1.0]
    for old, new in zip(before, layer.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)


def gradients_of_stateless_call(library, run):
    """Returns first and second gradients with respect to inputs, given values, and a variable of others."""
    outside = library.Variable([[1.5]])
    layers = [library.layers.Embedding(4, 3), library.layers.Dense(3, "tanh")]
    layers.append(library.layers.Dense(3, activation=lambda x: tf.sin(x * outside)))
    for layer, shape in zip(layers, [(1, 2), (1, 2, 3), (1, 2, 3)], strict=True):
        layer.build(shape)
    sizes = [weight.shape for layer in layers for weight in layer.trainable_weights]
    numbers = np.random.RandomState(0)
    values = [tf.constant(numbers.normal(size=tuple(size)), "float32") for size in sizes]
    x = tf.constant(numbers.normal(size=(1, 2, 3)), "float32")

    def compute(x, values):
        sources = [x, *values, outside if library is tfkit else outside.value]
        with tf.GradientTape() as second:
            second.watch(sources)
            with tf.GradientTape() as first:
                first.watch(sources)
                y = x + layers[0].stateless_call(values[:1], [], tf.constant([[1, 3]]))[0]
                y = layers[1].stateless_call(values[1:3], [], y)[0]
                y = layers[2].stateless_call(values[3:], [], y)[0]
            found = [tf.convert_to_tensor(it) for it in first.gradient(y, sources)]
            size = sum(tf.reduce_sum(it**2) for it in found)
        return found + [tf.convert_to_tensor(it) for it in second.gradient(size, sources)]

    return run(compute)(x, values)


@pytest.mark.parametrize(
    "run", [lambda it: it, tf.function, functools.partial(tf.function, jit_compile=True)]
)
def test_gradients_of_stateless_call_reach_inputs_values_and_other_variables(run):
    expected = gradients_of_stateless_call(keras, lambda it: it)
    found = gradients_of_stateless_call(tfkit, run)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)
        assert np.abs(theirs).max() > 0.1


@pytest.mark.parametrize("framework", [tfkit, keras])
def test_stateless_compute_loss_uses_the_values_that_it_is_given(framework):
    dense = framework.layers.Dense(
        1, use_bias=False, kernel_initializer="ones", kernel_regularizer="l2"
    )
    model = framework.Sequential(
        [framework.Input((3,)), framework.layers.BatchNormalization(), dense]
    )
    model.compile("sgd", "mse", metrics=["mae"])
    x = tf.ones((2, 3))
    model.fit(x, tf.zeros((2, 1)), verbose=0)
    before = [variable.numpy() for variable in (*model.variables, *model.metrics_variables)]
    values = [tf.ones(weight.shape) * 2.0 for weight in model.trainable_variables]
    state = [tf.identity(tf.convert_to_tensor(it)) for it in model.non_trainable_variables]
    metrics = [tf.identity(tf.convert_to_tensor(it)) for it in model.metrics_variables]
    with tf.GradientTape() as tape:
        tape.watch(values)
        loss, after = model.stateless_compute_loss(
            values, state, metrics, x=x, y=tf.zeros((2, 1)), y_pred=tf.ones((2, 1))
        )
    np.testing.assert_allclose(loss, 1.0 + 0.01 * 3 * 4, rtol=1e-6)
    np.testing.assert_allclose(tape.gradient(loss, values[2]), [[0.04]] * 3, rtol=1e-6)
    assert [len(part) for part in after] == [3, 2, len(metrics)]
    for variable, value in zip((*model.variables, *model.metrics_variables), before, strict=True):
        np.testing.assert_array_equal(variable.numpy(), value)


def test_set_weights_is_all_or_nothing():
    layer = tfkit.layers.Dense(2)
    layer(tf.ones((1, 3)))
    before = layer.get_weights()
    with pytest.raises(ValueError, match=r"shape \(2,\).*\(3,\)"):
        layer.set_weights([before[0] + 1, np.ones(3)])
    np.testing.assert_array_equal(layer.kernel, before[0])


def test_trainable_reaches_the_layers_inside():
    model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(2), tfkit.layers.Dense(1)])
    model.layers[0].trainable = False
    assert len(model.trainable_weights) == len(model.non_trainable_weights) == 2
    model.trainable = False
    assert model.trainable_weights == []
    model.trainable = True
    assert len(model.trainable_weights) == 4


def frozen_and_not(library):
    """Which weights of a layer, and of one inside it, say that they are trained, as layers are frozen."""

    class Inner(library.layers.Layer):
        def build(self, input_shape):
            self.count = self.add_weight(name="count", trainable=False)
            self.kernel = self.add_weight(shape=(2, 2), name="kernel")
            self.bias = self.add_weight(shape=(2,), name="bias")

        def call(self, x):
            return x @ self.kernel + self.bias

    class Outer(Inner):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.inner = Inner()

        def build(self, input_shape):
            super().build(input_shape)
            self.inner.build(input_shape)

    def seen(layer):
        flags = [(weight.name, weight.trainable) for weight in layer.weights]
        return flags, [weight.name for weight in layer.trainable_weights]

    layer, made_frozen = Outer(), Outer(trainable=False)
    stages = []
    for each in (layer, made_frozen):
        each.build((None, 2))
        stages.append(seen(each))
        each.inner.trainable = False
        stages.append(seen(each))
        each.trainable = False
        stages.append(seen(each))
        each.trainable = True
        stages.append(seen(each))
        each.bias.trainable = False
        stages.append(seen(each))
    x = tf.ones((3, 2))
    with (
        tf.GradientTape() as tape
    ):  # A frozen weight still has gradients, for whoever asks for them.
        loss = tf.reduce_sum(layer(x))
    bias = layer.bias if library is tfkit else layer.bias.value
    return stages, tape.gradient(loss, bias).numpy().tolist()


def test_weights_know_whether_their_layer_is_frozen():
    assert frozen_and_not(tfkit) == frozen_and_not(keras)


@pytest.mark.parametrize(
    ("action", "error", "match"),
    [
        (lambda: tfkit.layers.Dense(-1), ValueError, r"units.*-1"),
        (lambda: tfkit.layers.Dense(2, activation="rellu"), ValueError, "rellu.*'relu'"),
        (lambda: tfkit.layers.Dense(2, nme="x"), (TypeError, ValueError), "nme"),
        (lambda: tfkit.layers.Dense(2)(3), ValueError, "Only input tensors"),
        (
            lambda: tfkit.layers.Dense(2)(tf.ones((2, 3)), tf.ones((2, 3))),
            TypeError,
            r"`training` is passed by keyword only.*`call\(inputs, training\)`",
        ),
        (lambda: tfkit.layers.Layer(name="a/b"), ValueError, "a/b"),
        (lambda: tfkit.layers.Layer(trainable="yes"), ValueError, "trainable=yes"),
        (lambda: linear_class(tfkit)(3).count_params(), ValueError, "isn't built"),
        (lambda: tfkit.layers.Dense(2, dtype="float31"), ValueError, "float31"),
        (lambda: tfkit.layers.Dense(2, dtype=1), ValueError, "Received: 1"),
        (lambda: tfkit.layers.Layer().add_weight("w"), ValueError, "keyword argument.*name='w'"),
        (lambda: tfkit.layers.Layer().add_weight("w", shape=(2,)), ValueError, "add_weight.'w'"),
        (
            lambda: tfkit.layers.Layer().add_weight((2,), shape=(2,)),
            ValueError,
            "`shape` was passed both positionally and as a keyword",
        ),
        (
            lambda: tfkit.layers.Layer().add_weight((2,), "zeros", "float32", "w"),
            TypeError,
            "at most 3 positional arguments.*Received: 4, of which 'w'",
        ),
    ],
)
def test_bad_arguments_are_refused(action, error, match):
    with pytest.raises(error, match=match):
        action()


def test_a_wrong_rank_names_the_path_of_the_layer():
    class Outer(tfkit.layers.Layer):
        def __init__(self):
            super().__init__(name="outer")
            self.inner = tfkit.layers.Dense(2)

        def call(self, x):
            return self.inner(x)

    layer = Outer()
    layer(tf.ones((2, 3)))
    with pytest.raises(ValueError, match=r"outer/inner.*axis -1.*value 3"):
        layer(tf.ones((2, 4)))


def test_an_argument_that_cannot_be_saved_is_named():
    class Holder(tfkit.layers.Layer):
        def __init__(self, thing):
            super().__init__()

    with pytest.raises(TypeError, match="`thing`"):
        Holder(object()).get_config()


def of_overrides(library):
    """Configurations of layers whose `get_config` starts from that of their base class."""
    layers = library.layers

    class Own(layers.Layer):
        def __init__(self, units=3, **kwargs):
            super().__init__(**kwargs)
            self.units = units

        def get_config(self):
            return dict(units=self.units, **super().get_config())

    class Wide(layers.Dense):
        def __init__(self, factor, units=2, **kwargs):
            super().__init__(units * factor, **kwargs)

        def get_config(self):
            return dict(factor=1, **super().get_config())

    class Words(layers.Embedding):
        def __init__(self, *sizes, scale, **kwargs):
            super().__init__(*sizes, **kwargs)
            self.scale = scale

        def get_config(self):
            return dict(scale=self.scale, **super().get_config())

    class Steps(layers.LSTM):
        def get_config(self):
            config = super().get_config()
            config["units"] = 5
            return config

    class Around(layers.Wrapper):
        def __init__(self, layer, power=1, **kwargs):
            super().__init__(layer, **kwargs)

        def get_config(self):
            return dict(power=2, **super().get_config())

    class Whole(library.Model):
        def __init__(self, depth=2):
            super().__init__()

        def get_config(self):
            return dict(depth=4, **super().get_config())

    built = Words(3, 4, scale=2)
    built.build()
    made = [
        Own(4),
        Own(4, activity_regularizer="l2"),
        Wide(3),
        built,
        Steps(2),
        Around(layers.Dense(2)),
        Whole(3),
    ]
    configs = [each.get_config() for each in made]
    for each, config in zip(made[:-1], configs, strict=False):
        type(each).from_config(dict(config))
    beside = {"activity_regularizer", "quantization_config"}  # tfkit leaves out what is None.
    return [sorted(config.keys() - beside) for config in configs], configs[2]["units"]


def test_an_override_of_get_config_starts_from_what_keras_gives_it():
    assert of_overrides(tfkit) == of_overrides(keras)


def test_checkpoints_find_members_in_containers(tmp_path):
    ours = containers(tfkit)
    x = np.ones((2, 3), "float32")
    expected = ours(x).numpy()
    path = tf.train.Checkpoint(layer=ours).save(str(tmp_path / "c"))
    other = containers(tfkit)
    other(x)
    tf.train.Checkpoint(layer=other).restore(path)
    np.testing.assert_array_equal(other(x), expected)


def test_a_layer_that_hands_on_its_symbolic_input():
    class Same(tfkit.layers.Layer):
        def call(self, inputs):
            return inputs

        def compute_output_spec(self, inputs):
            return inputs

    inputs = tfkit.Input((3,))
    hidden = tfkit.layers.Dense(4, name="below")(inputs)
    model = tfkit.Model(inputs, tfkit.layers.Dense(2)(Same(name="same")(hidden)))
    assert [layer.name for layer in model.layers][1:3] == ["below", "same"]
    assert hidden.node.operation.name == "below"
    assert model(np.ones((2, 3))).shape == (2, 2)


def test_weights_have_the_path_of_the_layer_whose_build_made_them():
    def make(framework):
        class Pair(framework.layers.Layer):
            def build(self, input_shape):
                self.first = framework.layers.Dense(2, name="first")
                self.first.build(input_shape)
                self.second = framework.layers.Dense(2, name="second")
                self.second.build(input_shape)

            def call(self, inputs):
                return self.first(inputs) + self.second(inputs)

        return Pair(name="pair")

    ours, theirs = make(tfkit), make(keras)
    for layer in (ours, theirs):
        layer(np.ones((2, 3), "float32"))
    assert [weight.path for weight in ours.weights] == [weight.path for weight in theirs.weights]


def test_a_complete_layer_is_not_built_again():
    layer = tfkit.layers.Dense(2)
    layer.build((None, 3))
    kernel = layer.kernel
    with pytest.raises(ValueError, match="once it is built"):
        layer.build((None, 4))
    assert layer.kernel is kernel
    assert len(layer.weights) == 2


def test_the_shape_of_the_first_argument_is_called_input_shape_too():
    for where in (tfkit, keras):
        dense, attention = where.layers.Dense(2), where.layers.Attention()
        assert tuple(dense.compute_output_shape(input_shape=(None, 3))) == (None, 2)
        shapes = [(1, 2, 4), (1, 3, 5), (1, 3, 4)]
        assert tuple(attention.compute_output_shape(input_shape=shapes)) == (1, 2, 5)


def test_shapes_of_named_tuples():
    pair = collections.namedtuple("pair", "a b")

    class Both(tfkit.layers.Layer):
        def call(self, inputs):
            return pair(inputs, inputs[:, :1])

    assert Both().compute_output_shape((None, 3)) == pair((None, 3), (None, 1))


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "float64"])
def test_inputs_have_the_default_dtype_under_every_policy(policy):
    for framework in (tfkit, keras):
        before = framework.config.dtype_policy()
        framework.config.set_dtype_policy(policy)
        try:
            assert framework.Input((3,)).dtype == "float32"
        finally:
            framework.config.set_dtype_policy(before)


def test_shape_initializer_and_dtype_of_a_weight_may_come_by_position():
    weight = tfkit.layers.Layer().add_weight((2, 3), "ones", "float16", name="w")
    assert (weight.shape, weight.dtype, weight.label) == ((2, 3), tf.float16, "w")
    np.testing.assert_array_equal(weight, np.ones((2, 3)))


def declaring(shape, call):
    """A layer that says the shape of its outputs."""

    class Declaring(tfkit.layers.Layer):
        def __init__(self):
            super().__init__()
            self.dense = tfkit.layers.Dense(2)

        def call(self, inputs):
            return call(self, inputs)

        def compute_output_shape(self, input_shape):
            return shape(input_shape)

    return Declaring()


def test_a_declared_shape_is_given_without_a_call():
    def refuse(layer, inputs):
        raise RuntimeError("called")

    layer = declaring(lambda shape: (shape, {"a": [shape, (*shape[:-1], 7)]}), refuse)
    outputs = layer.compute_output_spec(tfkit.KerasTensor((None, 3)))
    assert isinstance(outputs, tuple)
    assert outputs[0].shape == (None, 3)
    assert [output.shape for output in outputs[1]["a"]] == [(None, 3), (None, 7)]


def test_a_declared_shape_says_what_a_trace_cannot_know():
    def through_python(layer, inputs):
        return tf.py_function(lambda x: 2 * x, [layer.dense(inputs)], tf.float32)

    layer = declaring(lambda shape: (*shape[:-1], 2), through_python)
    inputs = tfkit.Input((3,))
    outputs = layer(inputs)
    assert outputs.shape == (None, 2)
    assert len(layer.weights) == 2  # The call was traced, which built the layer.
    model = tfkit.Model(inputs, tfkit.layers.Dense(1)(outputs))
    assert model(np.ones((4, 3))).shape == (4, 1)


def test_a_declared_shape_may_come_from_the_layer_itself():
    layer = declaring(
        lambda shape: super(type(layer), layer).compute_output_shape(shape), lambda s, x: s.dense(x)
    )
    assert layer.compute_output_shape((None, 3)) == (None, 2)
    assert not layer.built


def test_building_for_no_shape_marks_a_layer_as_built():
    layer = tfkit.layers.Layer()
    layer.build(None)
    assert layer.built
    layer = declaring(None, lambda layer, inputs: layer.dense(inputs))
    with pytest.warns(UserWarning, match=r"build\(None\).*'dense.*not built"):
        layer.build(None)
    assert layer(np.ones((2, 3))).shape == (2, 2)


@pytest.mark.parametrize("kind", [list, tuple])
def test_masks_of_nested_inputs_come_in_the_same_nest(kind):
    seen = []

    class Nested(tfkit.layers.Layer):
        def call(self, first, second, first_mask=None, second_mask=None):
            seen.append((first_mask, second_mask))
            return first[0] + second

    tensors = [tf.ones((2, 3)) for _ in range(3)]
    for tensor in tensors:
        tensor._keras_mask = tf.constant([True, False])
    Nested()(kind(tensors[:2]), tensors[2])
    assert type(seen[0][0]) is kind
    assert len(seen[0][0]) == 2


def test_calls_with_nests_of_other_forms_may_follow_each_other():
    class Total(tfkit.layers.Layer):
        def call(self, values):
            return tf.add_n(tf.nest.flatten(values))

    layer = Total()
    x = tf.ones((2, 3))
    for values in 3 * ([x], {"a": x}, (x, [x]), {"b": x}, x):
        for _ in range(2):
            assert float(layer(values)[0, 0]) == len(tf.nest.flatten(values))


def test_compiled_calls_get_their_arguments_that_are_no_tensors():
    runs = []
    note = runs.append

    class Options(tfkit.layers.Layer):
        def call(self, x, *, factor=1.0, times=1, name=None, flag=True):
            note((factor, times, name, flag))
            return x * factor * times

    layer = Options()
    arguments = [(0.5, 3, None, True), (-0.0, 3, "a", False), (2, 4, "b", True)]
    for factor, times, name, flag in arguments:
        for _ in range(4):
            result = layer(tf.ones(2), factor=factor, times=times, name=name, flag=flag)
            assert result.numpy().tolist() == [factor * times] * 2
    assert [(type(run[0]), *run) for run in dict.fromkeys(runs)] == [
        (type(each[0]), *each) for each in arguments
    ]
    assert len(runs) <= 2 * len(arguments)  # The others ran what was compiled.


def test_containers_may_contain_themselves():
    class Ring(tfkit.layers.Layer):
        def __init__(self):
            super().__init__()
            self.parts = [tfkit.layers.Dense(2), {}]
            self.parts[1]["again"] = self.parts

    layer = Ring()
    layer.parts[0].build((None, 3))
    assert [weight.shape for weight in layer.weights] == [(3, 2), (2,)]


def test_an_input_has_the_dtype_that_was_asked_for_or_the_global_one():
    assert tfkit.Input((3,), dtype="int32").dtype == "int32"
    assert tfkit.layers.InputLayer((3,), dtype="bfloat16").dtype == "bfloat16"
    assert tfkit.Input((3,)).dtype == tfkit.config.floatx() == "float32"


def test_an_input_may_be_a_symbolic_tensor():
    tensor = tfkit.KerasTensor((2, 3), "float16")
    inputs = tfkit.Input(tensor=tensor, shape=(3,), batch_size=2)
    assert inputs is tensor
    other = tfkit.KerasTensor((2, 3))
    assert tfkit.Input(tensor=other, shape=[3], batch_size=2) is other
    assert tfkit.Model(inputs, tfkit.layers.Dense(4)(inputs)).output.shape == (2, 4)
    with pytest.warns(UserWarning, match="`input_shape` is deprecated"):
        assert tfkit.layers.InputLayer(input_shape=(3,)).batch_shape == (None, 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shape": (4,)}, r"incompatible `shape`.*\(4,\).*\(3,\)"),
        ({"batch_shape": (2, 4)}, "incompatible `batch_shape`"),
        ({"batch_size": 5}, "incompatible `batch_size`.*5.*2"),
        ({"dtype": "float16"}, "incompatible `dtype`"),
        ({"sparse": True}, "incompatible `sparse`"),
        ({"input_tensor": np.ones((2, 3))}, "must be a KerasTensor"),
        ({"input_tensor": None, "batch_size": 2, "batch_shape": (2, 3)}, "both `batch_size` and"),
    ],
)
def test_an_input_that_contradicts_its_tensor_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        tfkit.layers.InputLayer(**{"input_tensor": tfkit.KerasTensor((2, 3)), **options})


def test_a_policy_without_a_name_is_the_global_one():
    tfkit.config.set_dtype_policy("mixed_bfloat16")
    try:
        assert tfkit.DTypePolicy().name == "mixed_bfloat16"
    finally:
        tfkit.src.base.registry.dtype_policies.reset_dtype_policy()
    assert tfkit.DTypePolicy().name == "float32"
    assert tfkit.dtype_policies.get(tf.float16).name == "float16"
    with pytest.raises(TypeError, match=r"must be a string.*12"):
        tfkit.DTypePolicy(12)
    with pytest.raises(ValueError, match="Received: 12"):
        tfkit.dtype_policies.get(12)
    with pytest.raises(ValueError, match=r"policy=None.*reset_dtype_policy"):
        tfkit.config.set_dtype_policy(None)


class Scaled(tfkit.layers.Layer):
    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units

    def get_config(self):
        return dict(units=self.units, **super().get_config())


class Powered(Scaled):
    def __init__(self, power, **kwargs):
        super().__init__(**kwargs)
        self.power = power

    def get_config(self):
        return dict(power=self.power, **super().get_config())


class Doubled(tfkit.layers.Dense):
    def __init__(self, half, **kwargs):
        super().__init__(2 * half, **kwargs)
        self.half = half

    def get_config(self):
        config = dict(half=self.half, **super().get_config())
        del config["units"]
        return config


class Counting(tfkit.Model):
    def __init__(self, n, **kwargs):
        super().__init__(**kwargs)
        self.n = n

    def get_config(self):
        return dict(n=self.n, **super().get_config())


@pytest.mark.parametrize(
    ("make", "own"),
    [
        (lambda: Scaled(3), {"units"}),
        (lambda: Powered(2, units=3), {"units", "power"}),
        (lambda: Counting(3), {"n"}),
    ],
)
def test_the_base_of_an_override_of_get_config_knows_its_own_arguments_only(make, own):
    layer = make()
    config = layer.get_config()
    assert set(config) == {"name", "trainable", "dtype", *own}
    assert type(layer).from_config(config).get_config() == config


def test_an_override_of_get_config_gets_all_arguments_of_the_layer_it_is_made_from():
    layer = Doubled(2, use_bias=False)
    layer.activation = tfkit.activations.get("relu")
    config = layer.get_config()
    assert set(config) == {*keras.layers.Dense(4).get_config(), "half"} - {"units"}
    assert config["use_bias"] is False
    assert config["activation"] == "relu"
    assert Doubled.from_config(config).units == 4


class Summed(tfkit.layers.Layer):
    """A call with any number of arguments."""

    def build(self, *args, **kwargs):
        self.scale = self.add_weight(shape=(), initializer="ones")

    def call(self, *args, **kwargs):
        return self.scale * (args[0] + args[1])


def test_a_call_with_any_arguments_is_built_again():
    layer = Summed()
    layer(tf.ones((2, 3)), tf.ones((2, 3)))
    again = Summed()
    again.build_from_config(layer.get_build_config())
    assert again.built
    assert len(again.weights) == 1


class Wrapped(tfkit.layers.Layer):
    """Its `call` is replaced in the constructor, by a function that passes keywords on."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        method = self.call

        @functools.wraps(method)
        def checked(inputs, **options):
            return method(inputs * 2, **options)

        self.call = checked

    def call(self, inputs, scale=1.0, mask=None, training=None):
        factor = 3.0 if training else 1.0
        kept = 1.0 if mask is None else tf.cast(mask, "float32")[..., None]
        return inputs * scale * factor * kept


def test_arguments_that_are_filled_in_go_by_keyword():
    layer, x = Wrapped(), tf.ones((2, 3))
    for _ in range(3):  # Also where the call is compiled.
        assert layer(x).numpy()[0, 0] == 2
        assert layer(x, scale=2.0, training=True).numpy()[0, 0] == 12
    tokens = tfkit.Input((3,), dtype="int32")
    embedded = tfkit.layers.Embedding(4, 2, mask_zero=True, embeddings_initializer="ones")(tokens)
    model = tfkit.Model(tokens, Wrapped()(embedded))
    assert model(np.array([[1, 2, 0]])).numpy()[0, :, 0].tolist() == [2, 2, 0]


def test_build_of_a_layer_with_nothing_inside_does_not_call_it():
    class Scale(tfkit.layers.Layer):
        def call(self, inputs, parameters):
            return inputs * parameters["scale"]

    layer = Scale()
    layer.build((None, 3))
    assert layer.built
    assert layer(tf.ones((2, 3)), {"scale": tf.constant(2.0)}).numpy().tolist() == [[2, 2, 2]] * 2


def test_a_layer_may_have_a_method_of_its_own_that_is_called_forward():
    class Flow(tfkit.layers.Layer):
        def call(self, inputs, inverse=False):
            return self._inverse(inputs) if inverse else self._forward(inputs)

        def _forward(self, inputs):
            return inputs * 2

        def _inverse(self, inputs):
            return inputs / 2

    layer = Flow()
    for _ in range(3):
        assert layer(tf.ones((1,))).numpy() == 2
        assert layer(tf.ones((1,)), inverse=True).numpy() == 0.5


@pytest.mark.parametrize("num_sizes", [1, 2, 5])
def test_sizes_in_turns_need_one_trace(num_sizes):
    """Each size runs eagerly once; the first trace is for all of them."""
    ran = []
    note = ran.append

    class Noting(tfkit.layers.Layer):
        def call(self, x):
            note(x.shape)
            return x + 1.0

    layer = Noting()
    for index in range(12):
        layer(np.ones((2, 3 + index % num_sizes), "float32"))
    assert len(ran) == num_sizes + 1


@pytest.mark.parametrize("makes", ["build", "call"])
def test_tapes_record_while_a_model_is_built(makes):
    class Slope(tfkit.layers.Layer):
        def build(self, _):
            if makes == "build":
                self.factor = self.slope(tf.constant(3.0))

        def slope(self, x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x**2
            return tape.gradient(y, x)

        def call(self, x):
            return self.factor * x if makes == "build" else self.slope(x) * 3

    model = tfkit.Sequential([Slope()])
    assert model(tf.ones((1, 2))).numpy().tolist() == [[6, 6]]
    assert model.output_shape == (1, 2)
