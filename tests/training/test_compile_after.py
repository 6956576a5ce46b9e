"""From how many steps on XLA compiles a training, and that this depends on nothing but their number."""

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit.src.engine import program_cache
from tfkit.src.optimizers import compiling
from tfkit.src.training import loop, steps_per_program
from tfkit.src.training.array_program import ArrayProgram
from tfkit.src.training.compile_cost import steps_that_pay_for_parts
from tfkit.src.training.data import make_arrays

ROWS = np.random.RandomState(0).rand(40, 3).astype("float32")
TARGETS = ROWS.sum(1, keepdims=True)


@pytest.fixture(autouse=True)
def after(same_start):
    """Each test begins with a change after 8 steps."""
    tfkit.config.set_compile_after(8)


def make(**options):
    tfkit.utils.set_random_seed(0)
    model = tfkit.Sequential(
        [tfkit.Input((3,)), tfkit.layers.Dense(8, "tanh"), tfkit.layers.Dense(1)]
    )
    model.compile("adam", "mse", **options)
    return model


def kind(model, mode="train"):
    return model.plan[mode].kind


def fit(model, **options):
    return model.fit(ROWS, TARGETS, batch_size=10, verbose=0, **options)


def test_a_short_training_is_not_compiled_and_says_why():
    model = make()
    fit(model)  # 4 steps
    assert str(model.plan["train"]).startswith("graph loop: XLA would compile for longer")
    assert "8 steps" in str(model.plan["train"])


@pytest.mark.parametrize(
    ("batch_size", "expected"),
    [(5, ["XLA loop", "XLA loop"]), (10, ["graph loop", "XLA loop"])],  # 8 and 4 steps an epoch
)
def test_an_epoch_at_whose_end_there_are_enough_steps_is_compiled_from_its_first_step_on(
    monkeypatch, batch_size, expected
):
    kinds = {}
    run = loop.Steps._run_program

    def watched(self, *arguments):
        result = run(self, *arguments)
        kinds.setdefault(self.epoch, set()).add(kind(self.model))
        return result

    monkeypatch.setattr(loop.Steps, "_run_program", watched)
    make().fit(ROWS, TARGETS, batch_size=batch_size, epochs=2, verbose=0)
    assert kinds == {epoch: {each} for epoch, each in enumerate(expected)}


def test_steps_of_one_fit_count_for_the_next():
    model = make()
    fit(model)
    assert kind(model) == "graph loop"
    fit(model)
    assert kind(model) == "XLA loop"
    model.compile("adam", "mse")
    fit(model)
    assert kind(model) == "graph loop"  # A model that was compiled anew begins anew.


@pytest.mark.parametrize(("jit_compile", "expected"), [(True, "XLA loop"), (False, "graph loop")])
def test_who_says_it_has_it_at_once(jit_compile, expected):
    model = make(jit_compile=jit_compile)
    fit(model)
    assert kind(model) == expected


def test_validations_count_by_themselves():
    model = make()
    fit(model, epochs=4, validation_data=(ROWS[:10], TARGETS[:10]), validation_freq=2)
    assert (kind(model), kind(model, "test")) == ("XLA loop", "graph loop")
    for _ in range(6):
        model.evaluate(ROWS[:10], TARGETS[:10], batch_size=10, verbose=0)
    assert kind(model, "test") == "XLA loop"


def test_single_batches_count():
    model = make()
    for _ in range(7):
        model.train_on_batch(ROWS, TARGETS)
    assert kind(model) == "graph loop"
    model.train_on_batch(ROWS, TARGETS)
    assert kind(model) == "XLA loop"


def batches(number):
    def generate():
        for index in range(number):
            yield ROWS[index % 4 :: 4], TARGETS[index % 4 :: 4]

    specs = tuple(tf.TensorSpec([None, size]) for size in (3, 1))
    return tf.data.Dataset.from_generator(generate, output_signature=specs)


def test_data_of_unknown_length_change_over_at_the_same_step(monkeypatch):
    """However long the programs are that time makes, the weights are equal bit for bit."""
    tfkit.config.set_compile_after(512)
    weights = []
    for seconds in (1e-9, 10.0):
        monkeypatch.setattr(steps_per_program, "_SECONDS_A_PROGRAM", seconds)
        model = make()
        model.fit(batches(520), verbose=0)
        assert kind(model) == "XLA loop"
        weights.append([weight.numpy() for weight in model.weights])
    for one, other in zip(*weights, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_training_that_continues_takes_the_programs_of_one_that_was_not_disturbed(tmp_path):
    def train(**options):
        model = make()
        fit(model)  # Earlier steps count.
        fit(model, epochs=2, **options)
        return model

    whole = train()

    class Stop(tfkit.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            raise InterruptedError

    with pytest.raises(InterruptedError):
        train(resume=str(tmp_path / "state"), callbacks=[Stop()])
    again = make()
    fit(again, epochs=2, resume=str(tmp_path / "state"), callbacks=[tfkit.callbacks.Callback()])
    assert kind(again) == kind(whole) == "XLA loop"


class OfUnknownSize(tfkit.layers.Layer):
    def call(self, inputs):
        size = tf.cast(tf.reduce_max(tf.abs(inputs)), "int32")
        return inputs + tf.reduce_sum(tf.zeros([size]))


class PartOfWeight(tfkit.layers.Layer):
    def build(self, shape):
        self.table = self.add_weight((9, 1))
        self.turn = self.add_weight((), "zeros", "int32", trainable=False)

    def call(self, inputs):
        rows = self.table[self.turn : self.turn + 3]
        self.turn.assign((self.turn + 1) % 5)
        return inputs * tf.reduce_sum(rows, 0)


@pytest.mark.parametrize("layer", [OfUnknownSize, PartOfWeight])
def test_a_refusal_by_xla_after_the_change_is_no_error(layer):
    model = make()
    model.add(layer())
    model.compile("adam", "mse")
    fit(model)
    with pytest.warns(UserWarning, match="XLA cannot compile a program of this model"):
        fit(model, epochs=3)
    assert kind(model) == "graph loop"


class Counted(OfUnknownSize):
    def build(self, shape):
        self.seen = self.add_weight((), "zeros", trainable=False)
        super().build(shape)

    def call(self, inputs):
        self.seen.assign_add(tf.reduce_sum(inputs[:, 0]))
        return super().call(inputs)


@pytest.mark.parametrize("source", ["dataset", "generator", "arrays"])
@pytest.mark.parametrize("method", ["fit", "evaluate"])
def test_no_batch_is_lost_where_xla_refuses_a_program(source, method):
    x = np.arange(80, dtype="float32").reshape(40, 2)
    batches = [(x[i : i + 4], x[i : i + 4, :1]) for i in range(0, 40, 4)]
    spec = (tf.TensorSpec((None, 2)), tf.TensorSpec((None, 1)))
    data = {
        "dataset": {"x": tf.data.Dataset.from_generator(lambda: batches, output_signature=spec)},
        "generator": {"x": (batch for batch in batches)},
        "arrays": {"x": x, "y": x[:, :1], "batch_size": 4},
    }[source]
    tfkit.config.set_compile_after(0)
    model = tfkit.Sequential([tfkit.Input((2,)), Counted(), tfkit.layers.Dense(1)])
    model.compile("sgd", "mse")
    with pytest.warns(UserWarning, match="XLA cannot compile a program of this model"):
        getattr(model, method)(**data, verbose=0)
    assert model.layers[0].seen == x[:, 0].sum()


def test_an_estimate_is_made_where_nothing_is_set():
    tfkit.config.set_compile_after(None)
    model = make()
    fit(model)
    assert "steps" in str(model.plan["train"])


@pytest.mark.parametrize("value", [-1, 1.5, "8", True])
def test_other_values_are_refused(value):
    with pytest.raises(ValueError, match="num_steps"):
        tfkit.config.set_compile_after(value)
    assert tfkit.config.compile_after() == 8


@pytest.mark.parametrize("as_dataset", [False, True])
@pytest.mark.parametrize("accumulated", [None, 2])
def test_updates_are_compiled_only_in_trainings_of_enough_steps(
    as_dataset, accumulated, monkeypatch
):
    compiled = []
    provide = program_cache.provide
    monkeypatch.setattr(
        program_cache, "provide", lambda names, _: (compiled.extend(names), provide(names, _))
    )
    data = {"x": ROWS, "y": TARGETS, "batch_size": 10}
    if as_dataset:
        data = {"x": tf.data.Dataset.from_tensor_slices((ROWS, TARGETS)).batch(10)}

    def train():
        tfkit.utils.set_random_seed(0)
        layers = tfkit.layers  # XLA is slow with convolutions.
        model = tfkit.Sequential([layers.Reshape((3, 1)), layers.Conv1D(2, 2), layers.Flatten()])
        model.add(layers.Dense(1))
        optimizer = tfkit.optimizers.Adam(0.1, gradient_accumulation_steps=accumulated)
        model.compile(optimizer, "mse")
        for _ in range(2):  # 4 steps each
            model.fit(**data, verbose=0, shuffle=False)
            found.append((bool(compiled), "XLA compiles the updates" in str(model.plan["train"])))
        return [weight.numpy() for weight in model.weights]

    found = []
    plain = train()
    assert found == [(False, False)] * 2
    monkeypatch.setattr(compiling, "MIN_NUMBERS", 1)
    found = []
    for one, other in zip(train(), plain, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    assert found == [(False, False), (True, True)]


def test_how_many_steps_pay_for_updates_depends_on_the_sizes_of_variables():
    def estimate(units):
        model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(units)])
        model.compile("adam", "mse", jit_compile="auto")
        model.fit(ROWS, np.zeros((40, units), "float32"), verbose=0)
        program = model._tfkit_programs.find(
            model, "train", ArrayProgram, make_arrays(ROWS, np.zeros((40, units)), None, 10)
        )
        return steps_that_pay_for_parts(program.trace)

    assert estimate(4) is None
    assert 50 < estimate(150_000) < 200
