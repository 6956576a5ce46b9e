"""Kinds of program: which is chosen, that all compute the same, and how often a step is traced."""

import gc
import logging
import re

import keras as oracle
import numpy as np
import psutil
import pytest
import tensorflow as tf

import tfkit as keras
from tests.tolerances import assert_same_sums
from tfkit.src.training import prediction
from tfkit.src.training.iterator_program import IteratorProgram
from tfkit.src.training.planner import EAGER, GRAPH_LOOP, XLA_LOOP, XLA_STEP

layers = keras.layers
X = np.random.default_rng(0).random((103 * 4 - 1, 6)).astype("float32")
Y = X.sum(axis=1, keepdims=True)
LABELS = (Y[:, 0] > 3).astype("int32")


def perceptron():
    return keras.Sequential(
        [
            keras.Input((6,)),
            layers.Dense(8, activation="relu"),
            layers.Dropout(0.3),
            layers.GaussianNoise(0.1),
            layers.Dense(1),
        ]
    )


def convolutional():
    return keras.Sequential(
        [
            keras.Input((6,)),
            layers.Reshape((3, 2)),
            layers.Conv1D(2, 2),
            layers.Flatten(),
            layers.Dense(1),
        ]
    )


def recurrent():
    return keras.Sequential(
        [keras.Input((6,)), layers.Reshape((3, 2)), layers.LSTM(3), layers.Dense(1)]
    )


def custom_cell():
    """A loop whose gradient TensorFlow makes; its inputs have the same sizes as those of `recurrent`."""
    cell = layers.LSTMCell(3)
    return keras.Sequential(
        [keras.Input((6,)), layers.Reshape((3, 2)), layers.RNN(cell), layers.Dense(1)]
    )


def with_python():
    """A layer with an operation that XLA does not know."""

    class Doubled(layers.Layer):
        def call(self, inputs):
            again = tf.numpy_function(np.copy, [inputs], tf.float32)
            return inputs + tf.stop_gradient(tf.ensure_shape(again, inputs.shape))

    return keras.Sequential([keras.Input((6,)), layers.Dense(1), Doubled(name="doubled")])


def data(form):
    if form == "arrays":
        return {"x": X, "y": Y, "batch_size": 4, "shuffle": False}
    return {"x": tf.data.Dataset.from_tensor_slices((X, Y)).batch(4)}


def train(build, form="arrays", epochs=1, **options):
    keras.utils.set_random_seed(3)
    model = build()
    model.compile("adam", "mse", metrics=["mae"], **options)
    history = model.fit(**data(form), epochs=epochs, verbose=0).history
    return model, history


@pytest.mark.parametrize("form", ["arrays", "tf.data"])
@pytest.mark.parametrize(
    ("build", "kind", "reason"),
    [
        (perceptron, XLA_LOOP, "all of the step"),
        (convolutional, GRAPH_LOOP, "Conv2D of '.*conv1d.*' on CPUs"),
        (recurrent, XLA_LOOP, "all of the step"),
        (with_python, GRAPH_LOOP, "cannot compile the operation PyFunc of '.*doubled'"),
    ],
)
def test_every_kind_gives_the_same_weights(build, kind, reason, form):
    model, history = train(build, form)
    assert model.plan["train"].kind == kind
    assert re.search(reason, model.plan["train"].reason)
    assert f"train: {kind}" in repr(model.plan)
    assert int(model.optimizer.iterations) == 103
    plain, plain_history = train(build, form, jit_compile=False)
    assert plain.plan["train"].kind == GRAPH_LOOP
    eager, eager_history = train(build, form, run_eagerly=True)
    assert eager.plan["train"].kind == EAGER
    for other, other_history in ((plain, plain_history), (eager, eager_history)):
        for weight, expected in zip(model.variables, other.variables, strict=True):
            np.testing.assert_allclose(weight, expected, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(history["loss"], other_history["loss"], rtol=1e-5)


@pytest.mark.filterwarnings("ignore:.*XLA drops the check of the operation GatherV2")
@pytest.mark.parametrize("jit_compile", [False, True])
def test_functions_that_tensorflow_calls_by_name_are_found_in_programs(jit_compile):
    # The operations of `tf.nn.ctc_loss` are functions: their results have the names of the functions' own.
    losses = []
    for module in (oracle, keras):
        model = module.Sequential(
            [module.Input((3, 2)), module.layers.Dense(4, "tanh", kernel_initializer="ones")]
        )

        def loss(labels, outputs, ops=module.ops):
            one, three = ops.ones(1, "int32"), 3 * ops.ones(1, "int32")
            return ops.ctc_loss(labels, outputs, one, three)

        model.compile("adam", loss, jit_compile=jit_compile)
        labels = np.ones((4, 1), "int32")
        history = model.fit(X[:4].reshape(4, 3, 2), labels, batch_size=1, shuffle=False, verbose=0)
        losses.append(history.history["loss"])
    np.testing.assert_allclose(*losses, rtol=1e-5)


@pytest.mark.parametrize("jit_compile", [True, False])
def test_an_array_that_is_input_and_target_is_taken_once(jit_compile, monkeypatch):
    taken = []
    gather = tf.gather
    monkeypatch.setattr(
        tf, "gather", lambda array, *rest: taken.append(array) or gather(array, *rest)
    )
    weights, counts = [], []
    for target in (X, X.copy()):
        keras.utils.set_random_seed(3)
        model = keras.Sequential([keras.Input((6,)), layers.Dense(6)])
        model.compile("adam", "mse", jit_compile=jit_compile)
        taken.clear()
        model.fit(X, target, batch_size=4, verbose=0)
        counts.append(len(taken))
        weights.append(model.get_weights())
    assert counts[1] == 2 * counts[0] > 0
    for one, other in zip(*weights, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_fit_is_cut_into_programs_without_a_trace_in_the_numbers():
    results = []
    for steps in (1, 10, 64):
        model, history = train(perceptron, steps_per_execution=steps)
        results.append([weight.numpy() for weight in model.variables])
        assert int(model.optimizer.iterations) == 103
        assert history == train(perceptron, steps_per_execution=steps)[1]
    for weights in results[1:]:
        for weight, expected in zip(weights, results[0], strict=True):
            np.testing.assert_array_equal(weight, expected)


class Counting(keras.Model):
    """Counts how often it is traced, by mode."""

    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(1)
        self.counts = {"train": 0, "test": 0, "predict": 0}

    def call(self, inputs):
        return self.dense(inputs)

    def train_step(self, data):
        self.counts["train"] += 1
        return super().train_step(data)

    def test_step(self, data):
        self.counts["test"] += 1
        return super().test_step(data)

    def predict_step(self, data):
        self.counts["predict"] += 1
        return super().predict_step(data)


@pytest.mark.parametrize("jit_compile", ["auto", False])
def test_each_step_is_traced_once_for_each_form_of_its_data(jit_compile):
    model = Counting()
    model.compile("sgd", "mse", jit_compile=jit_compile)
    for _ in range(2):
        model.fit(X, Y, batch_size=50, epochs=3, validation_data=(X, Y), verbose=0)
        model.evaluate(X[:77], Y[:77], verbose=0)
    for rows in range(1, 21):
        model.train_on_batch(X[:rows], Y[:rows])
        model.test_on_batch(X[:rows], Y[:rows])
        model.predict_on_batch(X[:rows])
    model.fit(tf.data.Dataset.from_tensor_slices((X, Y)).batch(30), verbose=0)
    for rows in range(1, 65):
        assert model.predict(X[:rows], verbose=0).shape == (rows, 1)
    # As in Keras, the methods for one batch pass `(x, y, None)` and `(x,)`, the others `(x, y)` and `x`.
    assert model.counts == {"train": 2, "test": 2, "predict": 2}


def test_a_log_says_why_a_step_is_traced_again(caplog):
    caplog.set_level(logging.DEBUG, "tfkit")
    model = Counting()
    model.compile("sgd", "mse")
    model.fit(X[:8], Y[:8], verbose=0)
    assert "traced again" not in caplog.text
    model.dense.trainable = False
    model.fit(X[:8], Y[:8], verbose=0)
    assert (
        "The train step is traced again: the attribute `bias.trainable` of a Dense was set"
        in caplog.text
    )
    model.fit(X[:8], Y[:8].astype("int32"), verbose=0)
    assert "tf.int32" in caplog.text


def test_xla_or_an_error_that_names_operation_and_layer():
    model = with_python()
    model.compile("sgd", "mse", jit_compile=True)
    start = model.get_weights()
    with pytest.raises(ValueError, match=r"PyFunc of '.*doubled'.*jit_compile='auto'"):
        model.fit(X, Y, verbose=0)
    np.testing.assert_array_equal(model.get_weights()[0], start[0])
    model = convolutional()
    model.compile("sgd", "mse", jit_compile=True)
    model.fit(X[:10], Y[:10], batch_size=4, verbose=0)
    assert model.plan["train"].kind == XLA_STEP


def test_a_loop_inside_a_step_whose_gradient_tensorflow_makes():
    plain, _ = train(custom_cell)
    assert re.search("gradient of .* of '.*/rnn.*' for one number", plain.plan["train"].reason)
    compiled, _ = train(custom_cell, jit_compile=True)
    assert compiled.plan["train"].kind == XLA_STEP
    for weight, expected in zip(compiled.weights, plain.weights, strict=True):
        np.testing.assert_allclose(weight, expected, rtol=1e-4, atol=1e-6)


class Repeats(layers.Layer):
    """A layer of a user's with a loop of its own."""

    def __init__(self, name):
        super().__init__(name=name)
        self.dense = layers.Dense(3)

    def call(self, x):
        x = self.dense(x)
        return tf.while_loop(
            lambda step, _: step < 3,
            lambda step, x: (step + 1, tf.tanh(self.dense(x))),
            (0, x),
            maximum_iterations=3,
        )[1]


@pytest.mark.parametrize(
    ("jit_compile", "expected"), [("auto", GRAPH_LOOP), (True, XLA_LOOP), (False, GRAPH_LOOP)]
)
def test_batches_of_varying_inner_size_are_not_compiled_by_xla_unless_asked(jit_compile, expected):
    """XLA compiles anew for each size, for seconds; rows of varying number only are no such thing."""

    def batches(sizes):
        for size in sizes:
            yield np.ones((2, size, 3), "float32"), np.ones((2, 1), "float32")

    def fit(inner, sizes):
        model = keras.Sequential([layers.GlobalAveragePooling1D(), layers.Dense(1)])
        model.compile("sgd", "mse", jit_compile=jit_compile)
        specs = (tf.TensorSpec((None, inner, 3)), tf.TensorSpec((None, 1)))
        dataset = tf.data.Dataset.from_generator(lambda: batches(sizes), output_signature=specs)
        model.fit(dataset, verbose=0)
        return model.plan["train"]

    plan = fit(None, (4, 5))
    assert plan.kind == expected
    if jit_compile == "auto":
        assert plan.reason == "XLA would compile again for each size that the batches have"
    assert fit(4, (4, 4)).kind == (GRAPH_LOOP if jit_compile is False else XLA_LOOP)


@pytest.mark.parametrize("name", ["gates_loop", "own_loop", "while", "gradient_tape", "mine"])
def test_a_loop_is_known_by_what_it_is_and_not_by_the_name_of_a_layer_or_model(name):
    x, y = np.ones((64, 3), "float32"), np.ones((64, 1), "float32")
    users = keras.Sequential([keras.Input((3,)), Repeats(name), layers.Dense(1)], name=name)
    ours = keras.Sequential(
        [keras.Input((3,)), layers.Reshape((3, 1)), layers.LSTM(4, name=name), layers.Dense(1)],
        name=name,
    )
    plans = []
    for model in (users, ours):
        model.compile("sgd", "mse")
        model.fit(x, y, verbose=0)
        model.evaluate(x, y, verbose=0)
        plans.append({mode: model.plan[mode].kind for mode in ("train", "test")})
    assert plans == [
        {"train": GRAPH_LOOP, "test": XLA_STEP},
        {"train": XLA_LOOP, "test": XLA_LOOP},
    ]
    assert "the gradient of the operation StatelessWhile" in users.plan["train"].reason


def test_models_with_recurrent_layers_of_other_names_share_what_is_compiled():
    names = []
    for name in ("gates_loop", "other"):
        model = keras.Sequential([keras.Input((5, 2)), layers.LSTM(3, name=name)])
        model.compile("sgd", "mse")
        model.fit(np.ones((8, 5, 2), "float32"), np.ones((8, 3), "float32"), verbose=0)
        (program,) = model._tfkit_programs._latest.values()
        names.append({loop._name for loop in program._loops.values()})
    assert names[0] == names[1]


def test_strings_and_lookups_go_without_xla():
    table = tf.lookup.StaticVocabularyTable(
        tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([0, 1], "int64")), 1
    )

    class Lookup(layers.Layer):
        def call(self, inputs):
            return table.lookup(inputs)

    inputs = keras.Input((2,), dtype="string")
    outputs = layers.Dense(1)(layers.Flatten()(layers.Embedding(3, 4)(Lookup()(inputs))))
    model = keras.Model(inputs, outputs)
    model.compile("adam", "mse")
    words = np.array([["a", "b"], ["b", "c"], ["c", "a"]])
    model.fit(words, np.ones((3, 1)), verbose=0)
    assert model.plan["train"].kind == GRAPH_LOOP
    assert "string" in model.plan["train"].reason


def test_equal_models_share_what_is_compiled():
    names = set()
    for _ in range(2):
        model, _ = train(perceptron)
        names.update(
            loop._name
            for key in model._tfkit_programs._latest.values()
            for loop in key._loops.values()
        )
        train(lambda: keras.Sequential([keras.Input((6,)), layers.Dense(2), layers.Dense(1)]))
    assert len(names) == 2  # the loop, and the one for the smaller last batch


def test_repeated_work_takes_no_more_memory():
    def work(number):
        for _ in range(number):
            model = keras.Sequential([keras.Input((6,)), layers.Dense(4), layers.Dense(1)])
            model.compile("adam", "mse")
            model.fit(X[:32], Y[:32], batch_size=8, verbose=0)
            for rows in range(1, 11):
                model.predict(X[:rows], verbose=0)
            del model
            gc.collect()  # Each time: what lies around until then makes the heap larger for good.
        return psutil.Process().memory_info().rss

    before = work(20)
    assert work(30) - before < 6 * 2**20  # Leaks that were there: 0.3 MiB and 0.9 MiB a model.


OPTIONS = {
    "clipped averages": lambda: keras.optimizers.Adam(
        0.01, global_clipnorm=0.5, use_ema=True, ema_overwrite_frequency=10
    ),
    "accumulated": lambda: keras.optimizers.SGD(0.05, momentum=0.9, gradient_accumulation_steps=4),
    "decayed on a schedule": lambda: keras.optimizers.AdamW(
        keras.optimizers.schedules.CosineDecay(0.01, 50), weight_decay=0.01
    ),
}


@pytest.mark.parametrize("options", OPTIONS)
def test_options_of_optimizers_are_the_same_in_every_kind(options):
    results = []
    for jit_compile in (True, False):
        keras.utils.set_random_seed(3)
        model = perceptron()
        model.compile(OPTIONS[options](), "mse", jit_compile=jit_compile)
        model.fit(X[:90], Y[:90], batch_size=4, verbose=0)
        results.append([*model.variables, *model.optimizer.variables])
    for compiled, plain in zip(*results, strict=True):
        np.testing.assert_allclose(compiled, plain, rtol=2e-4, atol=2e-6)


class CountedSum(keras.Model):
    """A training step of the user's own, with a metric of its own."""

    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(1)
        self.seen = keras.metrics.Sum(name="seen")

    def call(self, inputs):
        return self.dense(inputs)

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self(x, training=True) - y))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        self.seen.update_state(tf.ones(tf.shape(x)[0]))
        return {"loss": loss, "seen": self.seen.result()}


def test_steps_of_users_run_in_every_kind():
    losses = []
    for jit_compile in (True, False):
        keras.utils.set_random_seed(3)
        model = CountedSum()
        model.compile("sgd", jit_compile=jit_compile)
        logs = model.fit(X, Y, batch_size=50, epochs=2, shuffle=False, verbose=0).history
        assert logs["seen"] == [len(X)] * 2
        losses.append(logs["loss"])
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5)


def test_scaled_losses_are_the_same_in_every_kind():
    keras.config.set_dtype_policy("mixed_float16")
    try:
        losses = []
        for jit_compile in (True, False):
            keras.utils.set_random_seed(3)
            model = keras.Sequential([keras.Input((6,)), layers.Dense(8), layers.Dense(1)])
            model.compile("adam", "mse", jit_compile=jit_compile)
            assert type(model.optimizer).__name__ == "LossScaleOptimizer"
            history = model.fit(X, Y, epochs=2, shuffle=False, verbose=0).history
            losses.append(history["loss"])
    finally:
        keras.config.set_dtype_policy("float32")
    np.testing.assert_allclose(losses[0], losses[1], rtol=2e-2)
    assert losses[0][1] < losses[0][0]


def test_each_fit_compiles_for_the_size_of_its_own_batches(monkeypatch):
    """A program of an earlier `fit` would run other sizes outside of XLA, and be slow in silence."""
    sizes = []
    run = IteratorProgram.run

    def noting(program, *args):
        result = run(program, *args)
        sizes.append(program.size)
        return result

    monkeypatch.setattr(IteratorProgram, "run", noting)
    model = keras.Sequential([layers.Dense(1)])
    model.compile("sgd", "mse", jit_compile=True)
    rows = tf.data.Dataset.from_tensor_slices((tf.ones((12, 2)), tf.ones((12, 1))))
    for size in (4, 6):
        model.fit(rows.map(lambda x, y: (x, y)).batch(size), verbose=0)
    assert list(dict.fromkeys(sizes)) == [4, 6]


@pytest.mark.parametrize("rows", [4, 8, 10])
def test_a_large_model_predicts_without_a_loop(rows, monkeypatch):
    inputs = keras.Input((6,))
    model = keras.Model(inputs, [keras.layers.Dense(2)(inputs), keras.layers.Dense(1)(inputs)])
    in_loop = model.predict(X[:rows], batch_size=4, verbose=0)
    monkeypatch.setattr(prediction, "_MIN_OPERATIONS_OF_LARGE", 5)
    monkeypatch.delattr(prediction.PredictProgram, "_steps")
    model.compile()
    alone = model.predict(X[:rows], batch_size=4, verbose=0)
    assert [part.shape for part in alone] == [(rows, 2), (rows, 1)]
    for part, expected in zip(alone, in_loop, strict=True):
        assert_same_sums(part, expected, 6)
