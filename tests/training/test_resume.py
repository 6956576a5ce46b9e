"""A training that is interrupted and goes on ends as one that is not: bit for bit."""

import functools
import inspect
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tfkit as keras
from tfkit.callbacks import CallbackList

RNG = np.random.default_rng(0)
X = RNG.normal(size=(53, 4)).astype("float32")
Y = (X.sum(1, keepdims=True) > 0).astype("float32")
X_VAL, Y_VAL = X[:20] + 0.1, Y[:20]
NUM_STEPS = 7  # of 8 rows, the last of 5
LAYERS, CALLBACKS = keras.layers, keras.callbacks


class Interrupted(Exception):
    """The power went off."""


class Interrupt(CALLBACKS.SparseCallback):
    """Raises after so many steps of all epochs; may run several steps at once, up to that one."""

    def __init__(self, after):
        super().__init__()
        self.left = after

    def chunk_limit(self, next_batch_index):
        return max(1, self.left)

    def wants_logs(self, num_steps):
        return False

    def on_train_steps_end(self, last_batch_index, num_steps, logs=None):
        self.left -= num_steps
        if self.left == 0:
            raise Interrupted


class Rates(CALLBACKS.Callback):
    """A user's callback with a state, of all kinds that a state can have."""

    def __init__(self):
        super().__init__()
        self.seen = []
        self.latest = (None, np.float32(0), np.zeros(2))

    def on_epoch_begin(self, epoch, logs=None):
        rate = float(tf.convert_to_tensor(self.model.optimizer.learning_rate))
        self.seen.append((epoch, rate, np.random.random()))
        self.latest = ("x", np.float32(rate), np.full(2, rate))

    def get_state(self):
        return {"seen": self.seen, "latest": self.latest}

    def set_state(self, state):
        self.seen, self.latest = state["seen"], state["latest"]


def make_model(optimizer=None, jit_compile="auto", run_eagerly=False):
    model = keras.Sequential(
        [
            keras.Input((4,)),
            LAYERS.BatchNormalization(),
            LAYERS.Dropout(0.3),
            LAYERS.Dense(1, activation="sigmoid"),
        ]
    )
    if optimizer is None:
        schedule = keras.optimizers.schedules.ExponentialDecay(0.05, 5, 0.9)
        optimizer = keras.optimizers.Adam(schedule, use_ema=True, ema_momentum=0.9)
    model.compile(
        optimizer,
        "binary_crossentropy",
        metrics=["accuracy"],
        jit_compile=jit_compile,
        run_eagerly=run_eagerly,
    )
    return model


def outcome(model):
    """Everything that two trainings could differ in."""
    state = model.variables + model.optimizer.variables + model.metrics_variables
    values = [np.asarray(variable) for variable in state]
    history = {name: np.asarray(values) for name, values in model.history.history.items()}
    return values, history, list(model.history.epoch), np.random.random()


def assert_same(one, other):
    for mine, theirs in zip(one[0], other[0], strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert one[1].keys() == other[1].keys()
    for name in one[1]:
        np.testing.assert_array_equal(one[1][name], other[1][name])
    assert one[2:] == other[2:]


def make_without_xla():
    return make_model(jit_compile=False)  # Compiling takes longer than all the rest.


def make_small(jit_compile=False):
    """For what hardly depends on the model."""
    model = keras.Sequential(
        [keras.Input((4,)), LAYERS.Dropout(0.3), LAYERS.Dense(1, activation="sigmoid")]
    )
    model.compile(keras.optimizers.SGD(0.5, momentum=0.9), "mse", jit_compile=jit_compile)
    return model


@functools.cache
def arrays(**options):
    """A function that fits a model to arrays; the same one for the same options."""

    def fit(model, callbacks, folder):
        given = {"epochs": 5, "batch_size": 8, "validation_data": (X_VAL, Y_VAL)} | options
        model.fit(X, Y, verbose=0, callbacks=callbacks, **given)

    return fit


def attempt(fit, make, seed, folder, *callbacks):
    keras.utils.set_random_seed(seed)
    model = make()
    fit(model, [*callbacks], folder)
    return outcome(model)


@pytest.fixture(scope="module")
def check(tmp_path_factory):
    """Trains straight, and with interruptions, each time in new objects and after another seed."""

    @functools.cache
    def straight(fit, make):
        folder = tmp_path_factory.mktemp("straight")
        return attempt(fit, make, 1, folder), folder

    def check(fit, interruptions, save_freq="epoch", make=make_without_xla):
        """Gives the folders of the two trainings.

        Args:
            fit: function of a new model, a list of callbacks, and a folder.
            interruptions: after how many steps each attempt is interrupted.
        """
        expected, folder = straight(fit, make)
        again, path = tmp_path_factory.mktemp("again"), tmp_path_factory.mktemp("state") / "backup"
        for number, after in enumerate(interruptions):
            backup = CALLBACKS.BackupAndRestore(path, save_freq)
            with pytest.raises(Interrupted):
                attempt(fit, make, 1 + 99 * number, again, backup, Interrupt(after))
        got = attempt(fit, make, 99, again, CALLBACKS.BackupAndRestore(path, save_freq))
        assert_same(got, expected)
        assert not path.exists()
        return folder, again

    return check


# --- Arrays -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("after", "save_freq", "make"),
    [(17, "epoch", make_without_xla), (14, 7, make_without_xla), (20, 1, make_model)],
)
def test_any_step_of_the_third_epoch(check, after, save_freq, make):
    check(arrays(), [after], save_freq, make)


def test_interrupted_again_and_again(check):
    check(arrays(), [3, 1, 14], save_freq=2)


@pytest.mark.parametrize("shuffle", [False, "batch"])
def test_other_orders(check, shuffle):
    check(arrays(shuffle=shuffle), [17], 4, make_small)


@pytest.mark.filterwarnings("ignore:Your input ran out of data")
@pytest.mark.parametrize(("steps", "after", "save_freq"), [(10, 19, 3), (4, 6, 3), (4, 6, "epoch")])
def test_epochs_of_more_and_of_fewer_steps_than_there_are_batches(check, steps, after, save_freq):
    check(arrays(steps_per_epoch=steps, epochs=3), [after], save_freq, make_small)


def make_plain():
    return make_model(keras.optimizers.SGD(0.5, momentum=0.9), jit_compile=False)


def all_callbacks(folder):
    return [
        CALLBACKS.ReduceLROnPlateau("loss", patience=1, min_delta=0.05, factor=0.5),
        CALLBACKS.LearningRateScheduler(lambda epoch, rate: rate * 0.9),
        CALLBACKS.EarlyStopping("val_accuracy", patience=2, restore_best_weights=True),
        CALLBACKS.ModelCheckpoint(folder / "best.h5", "val_loss", save_best_only=True),
        CALLBACKS.ModelCheckpoint(
            str(folder / "{epoch}-{batch}.weights.h5"), save_weights_only=True, save_freq=4
        ),
        CALLBACKS.CSVLogger(folder / "log.csv"),
        CALLBACKS.TensorBoard(folder / "board", update_freq=3),
        Rates(),
    ]


KEPT = {}  # The callbacks of the latest training in a folder.


def fit_with_all_callbacks(model, callbacks, folder):
    KEPT[folder] = all_callbacks(folder)
    arrays(epochs=8)(model, [*callbacks, *KEPT[folder]], folder)


@pytest.mark.parametrize("save_freq", ["epoch", 3])
def test_callbacks_go_on(check, save_freq):
    straight, again = check(fit_with_all_callbacks, [10, 9], save_freq, make_plain)
    names = sorted(path.name for path in straight.glob("*.h5"))
    assert len(names) > 3
    assert names == sorted(path.name for path in again.glob("*.h5"))
    for name in names:
        model, other = make_plain(), make_plain()
        model.load_weights(straight / name)
        other.load_weights(again / name)
        for mine, theirs in zip(model.variables, other.variables, strict=True):
            np.testing.assert_array_equal(mine, theirs)
    assert (straight / "log.csv").read_text() == (again / "log.csv").read_text()
    one, other = KEPT[straight], KEPT[again]
    for mine, theirs in zip(one, other, strict=True):
        for (key, value), (other_key, other_value) in zip(
            sorted(mine.get_state().items()), sorted(theirs.get_state().items()), strict=True
        ):
            assert key == other_key
            tf.nest.map_structure(np.testing.assert_array_equal, value, other_value)
    assert other[-1].seen == one[-1].seen
    assert type(other[-1].latest[1]) is np.float32


def test_eager_steps(check):
    check(arrays(epochs=2), [10], 5, lambda: make_model(run_eagerly=True))


class Unbuilt(keras.Model):
    """Weights that the first step makes, a second optimizer, draws without a seed, an own loss."""

    def __init__(self):
        super().__init__()
        self.hidden = LAYERS.Dense(6, activation="tanh")
        self.head = LAYERS.Dense(1)
        self.other_optimizer = keras.optimizers.Adam(0.01)
        self.mean = keras.metrics.Mean(name="mean")

    def call(self, inputs):
        return self.head(self.hidden(inputs) + keras.random.normal((6,)))

    def train_step(self, data):
        x, y = data
        with tf.GradientTape(persistent=True) as tape:
            loss = tf.reduce_mean((self(x, training=True) - y) ** 2)
        for optimizer, layer in ((self.optimizer, self.head), (self.other_optimizer, self.hidden)):
            weights = layer.trainable_weights
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        self.mean.update_state(loss)
        return {"mean": self.mean.result(), "last": loss}


def make_unbuilt():
    model = Unbuilt()
    model.compile("rmsprop")
    return model


@pytest.mark.parametrize("save_freq", ["epoch", NUM_STEPS])
def test_a_model_of_ones_own_that_is_not_built_yet(check, save_freq):
    check(arrays(validation_data=None), [17], save_freq, make_unbuilt)


def test_states_of_recurrent_layers_go_on(check):
    def make():
        model = keras.Sequential(
            [
                keras.Input((3, 2), batch_size=4),
                LAYERS.GRU(3, stateful=True, dropout=0.2),
                LAYERS.Dense(1),
            ]
        )
        model.compile("adam", "mse", jit_compile=False)
        return model

    x, y = RNG.normal(size=(24, 3, 2)), RNG.normal(size=(24, 1))

    def fit(model, callbacks, folder):
        model.fit(x, y, 4, 4, verbose=0, shuffle=False, callbacks=callbacks)

    check(fit, [15], 4, make)


def test_float16_with_accumulation_in_the_middle(check):
    def make():
        inner = keras.optimizers.Adam(0.01, gradient_accumulation_steps=4)
        optimizer = keras.optimizers.LossScaleOptimizer(inner, dynamic_growth_steps=3)
        return make_model(optimizer, jit_compile=False)

    check(arrays(), [17], 5, make)


# --- Datasets -----------------------------------------------------------------------------------------


def batches(form):
    data = tf.data.Dataset.from_tensor_slices((X, Y))
    if form == "cached order":
        return data.shuffle(53, seed=5).cache().batch(8).prefetch(2)
    if form == "repeated order":
        return data.shuffle(53, seed=5).repeat(2).batch(16).prefetch(2)
    if form == "unknown length":
        data = data.filter(lambda x, y: x[0] > -10.0)
    data = data.shuffle(53, seed=5).batch(8)
    data = data.map(lambda *batch: batch) if form == "changed" else data
    data = data.repeat() if form == "endless" else data
    return data.prefetch(tf.data.AUTOTUNE)


FORMS = [
    ("reshuffled", 3),
    ("changed", 3),
    ("cached order", "epoch"),
    ("repeated order", 3),
    ("unknown length", 3),
    ("endless", 3),
]


@pytest.mark.parametrize(("form", "save_freq"), FORMS)
def test_datasets(check, form, save_freq):
    options = {"steps_per_epoch": 9} if form == "endless" else {}

    def fit(model, callbacks, folder):
        tf.random.set_seed(7)  # `shuffle` takes its seed together with this one.
        test = tf.data.Dataset.from_tensor_slices((X_VAL, Y_VAL)).shuffle(20, seed=1).batch(6)
        model.fit(
            batches(form),
            epochs=4,
            verbose=0,
            callbacks=callbacks,
            validation_data=test,
            **options,
        )

    check(fit, [25], save_freq, make_small)


def test_the_small_last_batch_is_the_first_after_the_interruption(check):
    """XLA compiles for the size of the first batch: that of the epoch, and not of the resumed part."""

    def fit(model, callbacks, folder):
        tf.random.set_seed(7)
        model.fit(batches("reshuffled"), epochs=4, verbose=0, callbacks=callbacks)

    check(fit, [13], 6, lambda: make_small(jit_compile=True))


def test_a_pass_that_was_read_to_its_end_is_not_read_on(check):
    def fit(model, callbacks, folder):
        tf.random.set_seed(7)
        options = {"epochs": 4, "steps_per_epoch": NUM_STEPS, "verbose": 0}
        model.fit(batches("changed"), callbacks=callbacks, **options)

    check(fit, [16], NUM_STEPS, make_small)


class Rows(keras.utils.PyDataset):
    def __len__(self):
        return NUM_STEPS

    def __getitem__(self, index):
        start = index % NUM_STEPS * 8
        return X[start : start + 8], Y[start : start + 8]


@pytest.mark.parametrize("form", ["PyDataset", "generator"])
def test_batches_from_python(check, form):
    def endless():
        while True:
            yield from map(Rows().__getitem__, range(NUM_STEPS))

    def fit(model, callbacks, folder):
        data, steps = (Rows(), None) if form == "PyDataset" else (endless(), NUM_STEPS)
        model.fit(data, epochs=4, verbose=0, callbacks=callbacks, steps_per_epoch=steps)

    check(fit, [17], 4, make_small)


# --- `fit(resume=...)` --------------------------------------------------------------------------------


def fit_resume(model, path, epochs, **options):
    data = (X[:24], Y[:24])
    return model.fit(*data, 8, epochs, verbose=0, resume=path, **options)


def test_resume_starts_goes_on_and_has_nothing_left_to_do(tmp_path):
    path = tmp_path / "new folder"
    one = make_without_xla()
    assert fit_resume(one, path, 2).epoch == [0, 1]
    assert [file.name for file in path.iterdir()] == ["training.h5"]
    straight = make_without_xla()
    straight.set_weights(one.get_weights())
    other = make_without_xla()
    assert fit_resume(other, path, 3).epoch == [0, 1, 2]
    assert int(other.optimizer.iterations) == 9
    assert len(other.history.history["loss"]) == 3
    again = make_without_xla()
    assert fit_resume(again, path, 3).history == other.history.history
    for mine, theirs in zip(again.variables, other.variables, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_a_training_that_was_stopped_stays_so(tmp_path):
    stop = lambda: CALLBACKS.EarlyStopping("loss", min_delta=100, patience=1)  # noqa: E731
    history = fit_resume(make_without_xla(), tmp_path / "state.h5", 9, callbacks=[stop()])
    assert history.epoch == [0, 1]
    again = fit_resume(make_without_xla(), tmp_path / "state.h5", 9, callbacks=[stop()])
    assert again.epoch == [0, 1]
    assert [file.name for file in tmp_path.iterdir()] == ["state.h5"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The state inside the second epoch of a training."""
    path = tmp_path_factory.mktemp("saved") / "state.h5"
    backup = CALLBACKS.BackupAndRestore(path, 4)
    with pytest.raises(Interrupted):
        make_without_xla().fit(X[:24], Y[:24], 8, 3, 0, callbacks=[backup, Interrupt(5)])
    return path


class OneState(CALLBACKS.Callback):
    def get_state(self):
        return {"a": 1}


def narrow():
    model = keras.Sequential([keras.Input((4,)), LAYERS.Dense(1)])
    model.compile(keras.optimizers.Adam(), "mse", jit_compile=False)
    return model


REFUSED = {
    "another model": (narrow, {}, r"the file has \(4,\) float32, the model nothing"),
    "another optimizer": (
        lambda: make_model("adamax", jit_compile=False),
        {},
        "optimizer: the file has Adam, this training Adamax",
    ),
    "other data": (make_without_xla, {"x": X, "y": Y}, "'rows': 24.*'rows': 53"),
    "another batch size": (make_without_xla, {"batch_size": 4}, "'batch_size': 8"),
    "another callback": (make_without_xla, {"callbacks": [OneState()]}, "callbacks: the file has"),
    "too few epochs": (make_without_xla, {"epochs": 1}, "is in its epoch 2"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_state_of_something_else_is_refused(saved, case):
    make, options, message = REFUSED[case]
    model = make()
    before = [variable.numpy() for variable in model.variables]
    content = saved.read_bytes()
    options = {"x": X[:24], "y": Y[:24], "batch_size": 8, "epochs": 3} | options
    with pytest.raises(ValueError, match=message):
        model.fit(**options, verbose=0, resume=saved)
    for variable, value in zip(model.variables, before, strict=True):
        np.testing.assert_array_equal(variable, value)
    assert int(model.optimizer.iterations) == 0
    assert saved.read_bytes() == content


def test_state_goes_by_path_and_not_by_place(tmp_path):
    class Pair(keras.Model):
        def __init__(self, first, second):
            super().__init__()
            self.members = {first: LAYERS.Dense(4), second: LAYERS.Dense(4)}

        def call(self, inputs):
            return self.members["a"](inputs) - self.members["b"](inputs)

    results = []
    for names in (("a", "b"), ("b", "a")):
        model = Pair(*names)
        model.compile("adam", "mse", jit_compile=False)
        fit_resume(model, tmp_path, 1)
        kernels = [model.members[name].kernel for name in "ab"]
        slots = {id(v.slot.weight): v for v in model.optimizer.variables if hasattr(v, "slot")}
        results.append([np.asarray(v) for k in kernels for v in (k, slots[id(k)])])
    for mine, theirs in zip(*results, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_other_files_are_refused(tmp_path):
    model = make_without_xla()
    model.save_weights(tmp_path / "m.weights.h5")
    with pytest.raises(keras.saving.LoadError, match="does not contain the state of a training"):
        fit_resume(model, tmp_path / "m.weights.h5", 2)
    (tmp_path / "text.h5").write_text("no HDF5")
    with pytest.raises(keras.saving.LoadError, match=r"text\.h5"):
        fit_resume(model, tmp_path / "text.h5", 2)


@pytest.mark.parametrize("damage", [b"", b"damaged", None])
def test_the_state_before_the_last(tmp_path, damage):
    options = {"double_checkpoint": True, "delete_checkpoint": False}
    backup = lambda: CALLBACKS.BackupAndRestore(tmp_path, **options)  # noqa: E731
    model = make_without_xla()
    model.fit(X[:8], Y[:8], epochs=3, verbose=0, callbacks=[backup()])
    assert len(list(tmp_path.iterdir())) == 2
    if damage is None:
        (tmp_path / "training.h5").unlink()  # The power went off between the two.
    else:
        (tmp_path / "training.h5").write_bytes(damage)
    counted = CALLBACKS.LambdaCallback(on_epoch_begin=lambda epoch, logs: epochs.append(epoch))
    epochs, again = [], make_without_xla()
    train = lambda: again.fit(X[:8], Y[:8], epochs=3, verbose=0, callbacks=[backup(), counted])  # noqa: E731
    if damage is None:
        train()
    else:
        with pytest.warns(UserWarning, match="the state before the last"):
            train()
    assert epochs == [2]
    for mine, theirs in zip(again.variables, model.variables, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_what_a_callback_cannot_say_is_an_error(tmp_path):
    class Odd(CALLBACKS.Callback):
        def get_state(self):
            return {"when": object()}

    with pytest.raises(TypeError, match="'callbacks/Odd/0/when' is <object"):
        fit_resume(make_without_xla(), tmp_path, 1, callbacks=[Odd()])
    assert not list(tmp_path.iterdir())
    fit_resume(make_without_xla(), tmp_path, 1, callbacks=[OneState()])
    model = make_without_xla()
    with pytest.raises(keras.saving.LoadError, match="OneState has its own `get_state"):
        fit_resume(model, tmp_path, 2, callbacks=[OneState()])
    assert int(model.optimizer.iterations) == 0


def test_a_callback_that_goes_on_with_a_lost_file_is_an_error(tmp_path):
    log = lambda: CALLBACKS.CSVLogger(tmp_path / "log.csv")  # noqa: E731
    fit_resume(make_without_xla(), tmp_path / "state.h5", 1, callbacks=[log()])
    (tmp_path / "log.csv").unlink()
    with pytest.raises(keras.saving.LoadError, match="it has 0 bytes, and had"):
        fit_resume(make_without_xla(), tmp_path / "state.h5", 2, callbacks=[log()])


def test_arguments():
    for freq in (0, -1, "batch", True, 2.5):
        with pytest.raises(ValueError, match="`save_freq` must be"):
            CALLBACKS.BackupAndRestore("somewhere", freq)
    with pytest.raises(ValueError, match="`backup_dir`"):
        CALLBACKS.BackupAndRestore("")
    with pytest.raises(RuntimeError, match=r"in `model\.fit\(\)` only"):
        CALLBACKS.BackupAndRestore("somewhere").on_train_begin()
    with pytest.raises(ValueError, match="Pass one of the two"):
        make_without_xla().fit(X, Y, resume="a", callbacks=CALLBACKS.BackupAndRestore("b"))
    backup, other = CALLBACKS.BackupAndRestore("somewhere"), CALLBACKS.Callback()
    assert CallbackList([backup, other], add_history=True).callbacks[-1] is backup


def test_the_bar_goes_on(tmp_path, capsys):
    def train(*more):
        backup = CALLBACKS.BackupAndRestore(tmp_path, 4)
        make_without_xla().fit(X[:24], Y[:24], 8, 3, verbose=2, callbacks=[backup, *more])

    with pytest.raises(Interrupted):
        train(Interrupt(5))
    assert "Epoch 2/3" in capsys.readouterr().out
    train()
    out = capsys.readouterr().out
    assert "Epoch 1/3" not in out
    assert out.count("Epoch 2/3\n3/3 - ") == 1


# --- Every optimizer ----------------------------------------------------------------------------------

OPTIMIZERS = sorted(
    name
    for name, cls in inspect.getmembers(keras.optimizers)
    if isinstance(cls, type)
    and issubclass(cls, keras.optimizers.Optimizer)
    and name not in ("Optimizer", "LossScaleOptimizer", "MultiOptimizer")
)
WRAPPED = ["in LossScaleOptimizer", "with EMA", "in the middle of accumulation", "with decay"]


def optimizer_of(name):
    options = {
        "with EMA": {"use_ema": True, "ema_overwrite_frequency": 7},
        "in the middle of accumulation": {"gradient_accumulation_steps": 4},
        "with decay": {"weight_decay": 0.01, "clipnorm": 1.0},
        "in LossScaleOptimizer": {"gradient_accumulation_steps": 3},
    }
    if name not in WRAPPED:
        return getattr(keras.optimizers, name)()
    inner = keras.optimizers.Adam(0.01, **options[name])
    if name == "in LossScaleOptimizer":
        return keras.optimizers.LossScaleOptimizer(inner, dynamic_growth_steps=4)
    return inner


@pytest.mark.parametrize("name", OPTIMIZERS + WRAPPED)
def test_ten_steps_a_file_and_ten_more_are_twenty(tmp_path, name):
    model = keras.Sequential([keras.Input((4,)), LAYERS.Dropout(0.4), LAYERS.Dense(1)])
    model.compile(optimizer_of(name), "mse", jit_compile=False)
    for _ in range(10):
        model.train_on_batch(X, Y)
    model.save(tmp_path / "m.h5")
    loaded = keras.models.load_model(tmp_path / "m.h5")
    for _ in range(10):
        model.train_on_batch(X, Y)
        loaded.train_on_batch(X, Y)
    pairs = zip(
        model.variables + model.optimizer.variables,
        loaded.variables + loaded.optimizer.variables,
        strict=True,
    )
    for expected, got in pairs:
        np.testing.assert_array_equal(got, expected)


# --- kill -9 ------------------------------------------------------------------------------------------

PROGRAM = Path(__file__).with_name("killed_program.py")


def test_killed_and_run_again(tmp_path):
    """The same program, killed at a random step of the third epoch of five, ends as one that was not."""
    step = int(np.random.default_rng(os.getpid()).integers(15, 21))
    forms, jobs = ("arrays", "dataset"), []
    for form in forms:
        straight, again = (tmp_path / form / name for name in ("straight", "again"))
        straight.mkdir(parents=True)
        again.mkdir()
        jobs += [(str(straight), form, 0), (str(again), form, step), (str(again), form, 0)]
    done = subprocess.run(
        [sys.executable, str(PROGRAM), json.dumps(jobs)],
        env={**os.environ, "PYTHONPATH": str(PROGRAM.parents[2]), "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [0, -9, 0] * len(forms), done.stderr
    for form in forms:
        folders = [tmp_path / form / name for name in ("straight", "again")]
        expected, got = (json.loads((path / "results.json").read_text()) for path in folders)
        assert math.isfinite(expected["history"]["loss"][-1])
        assert got == expected, f"{form}, killed after step {step}"
        for folder in folders:
            names = {path.name for path in folder.iterdir()}
            assert names == {"results.json", "best.h5", "log.csv"}
