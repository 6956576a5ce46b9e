"""Callbacks side by side with Keras's: the same results in, the same decisions out."""

import types

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import callbacks as ours


class Optimizer:
    def __init__(self, rate):
        self._rate = tf.Variable(rate, dtype=tf.float32)
        self.iterations = tf.Variable(0, dtype=tf.int64)
        self.name = "fake"

    @property
    def learning_rate(self):
        return self._rate.numpy()

    @learning_rate.setter
    def learning_rate(self, value):
        self._rate.assign(value)


class Model:
    """What callbacks use of a model; its weights are the number of the epoch."""

    def __init__(self, rate=0.1, metrics=()):
        self.stop_training = False
        self.optimizer = Optimizer(rate)
        self.weights = [np.zeros(1)]
        self.metrics = metrics
        self.saved = []

    def get_weights(self):
        return [np.copy(weight) for weight in self.weights]

    def set_weights(self, weights):
        self.weights = weights

    def save(self, path, overwrite=True):
        self.saved.append(("model", str(path)))
        with open(path, "w") as file:
            file.write("model")

    def save_weights(self, path, overwrite=True):
        self.saved.append(("weights", str(path)))
        with open(path, "w") as file:
            file.write("weights")


def run(package, callback, results, model, num_batches=0):
    """Drives `callback` through one epoch for each of `results`; the trace of what happened."""
    callbacks = package.CallbackList([callback], model=model, epochs=len(results), verbose=0)
    trace = []
    callbacks.on_train_begin()
    for epoch, logs in enumerate(results):
        model.weights = [np.full(1, float(epoch))]
        callbacks.on_epoch_begin(epoch)
        for batch in range(num_batches):
            callbacks.on_train_batch_begin(batch)
            callbacks.on_train_batch_end(batch, logs)
        callbacks.on_epoch_end(epoch, logs)
        trace.append(float(model.optimizer.learning_rate))
        if model.stop_training:
            break
    callbacks.on_train_end(logs)
    return len(trace), trace, float(model.weights[0][0])


def both(make, results, num_batches=0, rate=0.1):
    answers = []
    for package in (keras.callbacks, ours):
        callback = make(package)
        answers.append(run(package, callback, results, Model(rate), num_batches))
    assert answers[0] == answers[1]
    return answers[1]


UP_AND_DOWN = [1.0, 0.8, 0.9, 0.7, 0.71, 0.72, 0.69, 0.7, 0.7, 0.7, 0.7, 0.6]


def losses(values):
    return [{"loss": value, "val_loss": value} for value in values]


# --- EarlyStopping -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"patience": 1},
        {"patience": 2},
        {"patience": 3},
        {"patience": 2, "min_delta": 0.05},
        {"patience": 2, "min_delta": -0.05},
        {"patience": 3, "baseline": 0.75},
        {"patience": 2, "baseline": 0.5},
        {"patience": 0, "baseline": 0.5},
        {"patience": 2, "start_from_epoch": 4},
        {"patience": 2, "restore_best_weights": True},
        {"patience": 3, "restore_best_weights": True, "start_from_epoch": 5},
        {"patience": 20, "restore_best_weights": True},
        {"patience": 2, "mode": "max"},
        {"patience": 2, "mode": "min", "monitor": "loss"},
        {"patience": 1, "mode": "max", "baseline": 2.0, "restore_best_weights": True},
    ],
)
@pytest.mark.parametrize(
    "values",
    [UP_AND_DOWN, UP_AND_DOWN[::-1], [1.0, np.nan, np.nan, np.nan, 0.5], [1.0, 0.9, 0.8, 0.7]],
)
def test_early_stopping(options, values):
    both(lambda package: package.EarlyStopping(**options), losses(values))


def test_early_stopping_compares_as_float32():
    values = [float(np.float32(value)) for value in (1.0, 0.9, 0.8, 0.7, 0.6)]
    both(lambda package: package.EarlyStopping(min_delta=0.1), losses(values))


def test_early_stopping_forgets_between_fits():
    callback, model = ours.EarlyStopping(patience=1), Model()
    assert run(ours, callback, losses([0.1, 0.2, 0.3]), model)[0] == 2
    model.stop_training = False
    assert run(ours, callback, losses([1.0, 0.9, 0.8]), model)[0] == 3


def test_early_stopping_warns_of_a_missing_result():
    with pytest.warns(UserWarning, match="'val_loss', which is not among the results: loss"):
        run(ours, ours.EarlyStopping(), [{"loss": 1.0}], Model())


def metric(name, direction=None):
    attributes = {"name": name} | ({"_direction": direction} if direction else {})
    return types.SimpleNamespace(**attributes)


@pytest.mark.parametrize(
    ("monitor", "values", "num_epochs"),
    [
        ("val_loss", [2.0, 1.0, 3.0, 4.0], 3),
        ("val_accuracy", [1.0, 2.0, 0.5, 4.0], 3),
        ("auc", [1.0, 2.0, 0.5, 4.0], 3),
        ("mae", [2.0, 1.0, 3.0, 4.0], 3),
    ],
)
def test_auto_mode_asks_the_metric(monitor, values, num_epochs):
    container = types.SimpleNamespace(
        name="compile_metrics",
        metrics=[metric("accuracy", "up"), metric("auc", "up"), metric("mae", "down")],
    )
    model = Model(metrics=[metric("loss"), container])
    callback = ours.EarlyStopping(monitor)
    assert run(ours, callback, [{monitor: value} for value in values], model)[0] == num_epochs


@pytest.mark.parametrize("monitor", ["loss", "val_loss", "accuracy", "val_auc", "mine"])
def test_auto_mode_without_metrics_as_keras(monitor):
    answers = []
    for package in (keras.callbacks, ours):
        try:
            trace = run(package, package.EarlyStopping(monitor), [{monitor: 1.0}], Model())
            answers.append(trace)
        except ValueError:
            answers.append(ValueError)
    assert answers[0] == answers[1]


def test_auto_mode_that_cannot_know_says_what_to_do():
    with pytest.raises(ValueError, match=r"'mine' is better\. Pass `mode='max'` or"):
        run(ours, ours.EarlyStopping("mine"), [{"mine": 1.0}], Model())


def test_unknown_mode_is_taken_for_auto_with_a_warning():
    with pytest.warns(UserWarning, match="Received: mode='most'"):
        assert ours.EarlyStopping(mode="most").mode == "auto"


# --- Learning rate -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"patience": 1},
        {"patience": 1, "factor": 0.5},
        {"patience": 2, "factor": 0.5, "min_delta": 0.05},
        {"patience": 1, "factor": 0.5, "cooldown": 2},
        {"patience": 0, "factor": 0.5, "cooldown": 1},
        {"patience": 1, "factor": 0.5, "min_lr": 0.03},
        {"patience": 1, "mode": "max", "monitor": "loss", "factor": 0.5},
    ],
)
@pytest.mark.parametrize("values", [UP_AND_DOWN, [1.0] * 10, [1.0, 0.99995, 0.9999, 0.99985]])
def test_reduce_on_plateau(options, values):
    both(lambda package: package.ReduceLROnPlateau(**options), losses(values))


def test_reduce_on_plateau_refuses_a_factor_of_one():
    with pytest.raises(ValueError, match=r"Received: factor=1\.0"):
        ours.ReduceLROnPlateau(factor=1.0)


def test_reduce_on_plateau_warns_of_a_missing_result():
    with pytest.warns(UserWarning, match="ReduceLROnPlateau watches 'val_loss'"):
        run(ours, ours.ReduceLROnPlateau(), [{"loss": 1.0}], Model())


@pytest.mark.parametrize(
    "schedule",
    [
        lambda epoch, rate: rate * 0.5 if epoch > 1 else rate,
        lambda epoch: 0.1 / (epoch + 1),
        lambda epoch, rate: np.float32(rate * 0.9),
    ],
)
def test_scheduler(schedule):
    _, rates, _ = both(lambda package: package.LearningRateScheduler(schedule), losses([1.0] * 5))
    assert rates[-1] < rates[0]


def test_scheduler_refuses_what_is_no_float():
    with pytest.raises(ValueError, match=r"Received: 1, a int. Wrap it"):
        run(ours, ours.LearningRateScheduler(lambda epoch, rate: 1), losses([1.0]), Model())


def test_scheduler_does_not_hide_an_error_of_the_schedule():
    def schedule(epoch, rate):
        return rate + "x"

    with pytest.raises(TypeError, match="unsupported operand"):
        run(ours, ours.LearningRateScheduler(schedule), losses([1.0]), Model())


@pytest.mark.parametrize("name", ["LearningRateScheduler", "ReduceLROnPlateau"])
def test_learning_rate_is_among_the_results_of_later_callbacks(name):
    arguments = (lambda epoch, rate: 0.5,) if name == "LearningRateScheduler" else ()
    history = {}
    for package in (keras.callbacks, ours):
        model = Model()
        recorder = package.History()
        callbacks = package.CallbackList(
            [getattr(package, name)(*arguments), recorder], model=model
        )
        callbacks.on_train_begin()
        callbacks.on_epoch_begin(0)
        callbacks.on_epoch_end(0, {"val_loss": 1.0})
        callbacks.on_train_end()
        history[package] = recorder.history
    assert history[keras.callbacks] == history[ours]
    assert set(history[ours]) == {"val_loss", "learning_rate"}


def test_verbose_messages(capsys):
    run(ours, ours.LearningRateScheduler(lambda epoch: 0.5, verbose=1), losses([1.0]), Model())
    run(ours, ours.ReduceLROnPlateau(patience=1, verbose=1), losses([1.0, 1.0]), Model())
    stopping = ours.EarlyStopping(verbose=1, restore_best_weights=True)
    run(ours, stopping, losses([1.0, 2.0]), Model())
    text = capsys.readouterr().out
    assert "Epoch 1: LearningRateScheduler sets learning_rate to 0.5" in text
    assert "Epoch 2: ReduceLROnPlateau lowers learning_rate to 0.01" in text
    assert "Epoch 2: early stopping" in text
    assert "weights of epoch 1" in text


# --- CSVLogger, History, TerminateOnNaN, LambdaCallback ------------------------------------------


@pytest.mark.parametrize("separator", [",", ";"])
@pytest.mark.parametrize("append", [False, True])
@pytest.mark.parametrize(
    "results",
    [
        [{"loss": 1.0, "b": 2.5}, {"loss": 0.5, "b": 1e-9}],
        [{"loss": 1.0, "val_loss": 2.0}, {"loss": 0.5}],
        [{"loss": 1.0, "list": np.array([1.5, 2.5]), "text": "a,b"}],
    ],
)
def test_csv_file_is_keras_s_to_the_byte(tmp_path, separator, append, results):
    contents = []
    for package in (keras.callbacks, ours):
        path = tmp_path / package.__name__.replace(".", "_")
        for _ in range(2):  # the second time appends to the file, or replaces it
            callback = package.CSVLogger(path, separator=separator, append=append)
            run(package, callback, results, Model())
        contents.append(path.read_bytes())
    assert contents[0] == contents[1]


def test_csv_file_can_be_read_while_training_goes_on(tmp_path):
    callback = ours.CSVLogger(tmp_path / "log.csv")
    callback.on_train_begin()
    callback.on_epoch_end(0, {"loss": 1.0})
    assert (tmp_path / "log.csv").read_text() == "epoch,loss,val_loss\n0,1.0,NA\n"
    callback.on_train_end()


def test_csv_logger_out_of_training_says_so():
    with pytest.raises(RuntimeError, match="needs `on_train_begin`"):
        ours.CSVLogger("unused.csv").on_epoch_end(0, {})


def test_history_as_keras():
    answers = []
    for package in (keras.callbacks, ours):
        model = Model()
        callbacks = package.CallbackList(add_history=True, model=model)
        for _ in range(2):
            callbacks.on_train_begin()
            for epoch in range(3):
                callbacks.on_epoch_begin(epoch)
                callbacks.on_epoch_end(epoch, {"val_a": tf.constant(2.0), "loss": np.float32(1)})
            callbacks.on_train_end()
        answers.append((list(model.history.history.items()), model.history.epoch))
    assert answers[0] == answers[1]
    assert answers[1][1] == [0, 1, 2]


@pytest.mark.parametrize("loss", [np.nan, np.inf, -np.inf, 1.0])
def test_terminate_on_nan(loss):
    num_epochs, _, _ = both(
        lambda package: package.TerminateOnNaN(), losses([1.0, loss, 1.0]), num_batches=2
    )
    assert num_epochs == (3 if loss == 1.0 else 2)


def test_terminate_on_nan_at_the_end_of_a_chunk(capsys):
    model = Model()
    callbacks = ours.CallbackList(ours.TerminateOnNaN(), model=model)
    callbacks.on_steps_end(99, 100, {"loss": 1.0})
    assert not model.stop_training
    callbacks.on_steps_end(199, 100, lambda: {"loss": tf.constant(np.nan)})
    assert model.stop_training
    assert "loss is nan at batch 199" in capsys.readouterr().out


def test_terminate_on_nan_can_raise():
    callback = ours.TerminateOnNaN(raise_error=True)
    with pytest.raises(RuntimeError, match="loss is nan at batch 0"):
        run(ours, callback, losses([np.nan]), Model(), num_batches=1)


def test_terminate_on_nan_does_not_look_at_evaluations():
    model = Model()
    callbacks = ours.CallbackList(ours.TerminateOnNaN(), model=model)
    callbacks.on_test_begin()
    callbacks.on_steps_end(9, 10, {"loss": np.nan})
    assert not model.stop_training


def test_lambda_callback_runs_every_hook_it_is_given():
    called = []
    hooks = {
        name: lambda *arguments, name=name: called.append(name)
        for name in vars(ours.Callback)
        if name.startswith("on_") and name not in ("on_batch_begin", "on_batch_end")
    }
    callbacks = ours.CallbackList(ours.LambdaCallback(**hooks))
    for mode in ("train", "test", "predict"):
        getattr(callbacks, f"on_{mode}_begin")()
        getattr(callbacks, f"on_{mode}_batch_begin")(0)
        getattr(callbacks, f"on_{mode}_batch_end")(0, {})
        getattr(callbacks, f"on_{mode}_end")()
    callbacks.on_epoch_begin(0)
    callbacks.on_epoch_end(0)
    assert sorted(called) == sorted(hooks)


def test_lambda_callback_refuses_a_name_that_is_no_hook():
    with pytest.raises(ValueError, match=r"Received: \['on_epoch_ends'\]"):
        ours.LambdaCallback(on_epoch_ends=print)


def test_lambda_callback_keeps_what_is_no_hook():
    assert ours.LambdaCallback(helper=len).helper([1, 2]) == 2


@pytest.mark.parametrize(("monitor", "mode"), [("loss", "auto"), ("val_accuracy", "max")])
def test_monitor_op_is_known_after_an_epoch(monitor, mode):
    operators = []
    for module, library in ((ours, tfkit), (keras.callbacks, keras)):
        model = Model()
        callback = module.EarlyStopping(monitor, mode=mode)
        assert callback.monitor_op is None
        callback.set_model(model)
        callback.on_train_begin()
        callback.on_epoch_end(0, {monitor: 1.0})
        assert callback.monitor_op in (library.ops.less, library.ops.greater)
        operators.append(callback.monitor_op is library.ops.less)
    assert operators[0] == operators[1] == (monitor == "loss")


def test_monitor_op_that_the_user_sets():
    callback = ours.EarlyStopping("anything", patience=1)
    callback.monitor_op = np.less
    model = Model()
    callback.set_model(model)
    for epoch, value in enumerate([2.0, 1.0, 1.5]):
        callback.on_epoch_end(epoch, {"anything": value})
    assert float(callback.best) == 1.0
    assert model.stop_training


def test_tensors_in_logs_are_numbers_for_callbacks():
    seen = []
    callback = ours.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append(logs))
    logs = {"a": tf.constant(2.0), "b": tf.Variable(3), "c": {"d": tf.constant([1.0, 2.0])}}
    ours.CallbackList([callback]).on_epoch_end(0, logs)
    assert (seen[0]["a"], seen[0]["b"]) == (2.0, 3.0)
    np.testing.assert_array_equal(seen[0]["d"], [1.0, 2.0])


@pytest.mark.parametrize("folder", [None, ""])
def test_backup_without_a_folder_is_refused(folder):
    with pytest.raises(ValueError, match=f"Received: backup_dir={folder!r}"):
        ours.BackupAndRestore(folder)


# --- ModelCheckpoint -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("filepath", "options", "num_batches"),
    [
        ("m.keras", {}, 0),
        ("m.h5", {}, 0),
        ("a/b/{epoch:02d}-{val_loss:.2f}.keras", {}, 0),
        ("{epoch}.weights.h5", {"save_weights_only": True}, 0),
        ("{epoch}.keras", {"save_best_only": True}, 0),
        ("{epoch}.keras", {"save_best_only": True, "mode": "max", "monitor": "loss"}, 0),
        ("{epoch}.keras", {"save_best_only": True, "initial_value_threshold": 0.75}, 0),
        ("{epoch}-{batch:02d}.keras", {"save_freq": 3}, 5),
        ("{epoch}-{batch:02d}.weights.h5", {"save_freq": 7, "save_weights_only": True}, 3),
    ],
)
def test_checkpoints_are_those_of_keras(tmp_path, filepath, options, num_batches):
    saved = []
    for package in (keras.callbacks, ours):
        folder, model = tmp_path / package.__name__, Model()
        callback = package.ModelCheckpoint(str(folder / filepath), **options)
        run(package, callback, losses(UP_AND_DOWN), model, num_batches)
        saved.append([(kind, path.removeprefix(str(folder))) for kind, path in model.saved])
    assert saved[0] == saved[1]
    assert saved[1]


def run_in_chunks(callback, model, epochs, steps, most):
    """Runs at most `most` steps at once, and fewer where the callback asks for it."""
    callbacks = ours.CallbackList(callback, model=model)
    callbacks.on_train_begin()
    for epoch in range(epochs):
        callbacks.on_epoch_begin(epoch)
        done = 0
        while done < steps:
            limit = callbacks.chunk_limit(done)
            chunk = min(most, steps - done, most if limit is None else limit)
            done += chunk
            model.optimizer.iterations.assign_add(chunk)
            callbacks.on_steps_end(done - 1, chunk, lambda done=done: {"loss": float(done)})
        callbacks.on_epoch_end(epoch, {"loss": 1.0, "val_loss": 2.0})
    callbacks.on_train_end({"loss": 1.0})


@pytest.mark.parametrize("most", [1, 4, 1000])
def test_checkpoints_after_batches_do_not_depend_on_the_chunks(tmp_path, most):
    model = Model()
    path = str(tmp_path / "{epoch}-{batch}-{loss}.keras")
    run_in_chunks(ours.ModelCheckpoint(path, save_freq=7), model, epochs=2, steps=10, most=most)
    names = [path.removeprefix(str(tmp_path) + "/") for _, path in model.saved]
    assert names == ["1-7-7.0.keras", "2-4-4.0.keras"]


def test_best_checkpoint_after_batches(tmp_path):
    # Keras 3.15 fails here: it looks for the direction only at the end of the first epoch.
    model = Model()
    callback = ours.ModelCheckpoint(
        tmp_path / "{batch}.keras", "loss", save_best_only=True, save_freq=2, mode="max"
    )
    run_in_chunks(callback, model, epochs=1, steps=6, most=6)
    assert len(model.saved) == 3


@pytest.mark.parametrize(
    ("filepath", "options", "message"),
    [
        ("m", {}, "must end in one of"),
        ("m.txt", {}, "Received: filepath='m.txt'"),
        ("m.keras", {"save_weights_only": True}, r"\('.weights.h5',\)"),
        ("m.keras", {"save_freq": "batch"}, "Received: save_freq='batch'"),
        ("m.keras", {"save_freq": 0}, "Received: save_freq=0"),
    ],
)
def test_checkpoint_arguments_are_checked(filepath, options, message):
    with pytest.raises(ValueError, match=message):
        ours.ModelCheckpoint(filepath, **options)


def test_checkpoint_of_an_unknown_result_lists_the_known_ones(tmp_path):
    callback = ours.ModelCheckpoint(tmp_path / "{mae:.2f}.keras")
    with pytest.raises(KeyError, match="'mae', which is not among the results: epoch, loss"):
        run(ours, callback, losses([1.0]), Model())


def test_checkpoint_refuses_a_folder(tmp_path):
    (tmp_path / "m.keras").mkdir()
    with pytest.raises(OSError, match="which is a folder"):
        run(ours, ours.ModelCheckpoint(tmp_path / "m.keras"), losses([1.0]), Model())


def test_best_checkpoint_without_its_result_warns_and_saves(tmp_path):
    model = Model()
    callback = ours.ModelCheckpoint(tmp_path / "m.keras", save_best_only=True)
    with pytest.warns(UserWarning, match="'val_loss' is not a number among the results"):
        run(ours, callback, [{"loss": 1.0}], model)
    assert len(model.saved) == 1


def test_checkpoint_messages(tmp_path, capsys):
    callback = ours.ModelCheckpoint(tmp_path / "m.keras", verbose=1, save_best_only=True)
    run(ours, callback, losses([1.0, 2.0]), Model())
    text = capsys.readouterr().out
    assert "Epoch 1: val_loss improved from nothing (1.00000)" in text
    assert "Epoch 1: saved to" in text
    assert "Epoch 2: val_loss did not improve from 1.00000 (2.00000)" in text
