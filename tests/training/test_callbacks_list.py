"""`CallbackList`: who is told what, how often."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfkit.callbacks import (
    Callback,
    CallbackList,
    CSVLogger,
    EarlyStopping,
    History,
    LambdaCallback,
    ModelCheckpoint,
    ProgbarLogger,
    ReduceLROnPlateau,
    SparseCallback,
    TensorBoard,
    TerminateOnNaN,
)

HOOKS = [
    f"on_{mode}batch_{edge}"
    for mode in ("", "train_", "test_", "predict_")
    for edge in ("begin", "end")
]


class Recorder(SparseCallback):
    def __init__(self):
        super().__init__()
        self.calls = []

    def on_train_steps_end(self, last_batch_index, num_steps, logs=None):
        self.calls.append(("train", last_batch_index, num_steps, logs))

    def on_test_steps_end(self, last_batch_index, num_steps, logs=None):
        self.calls.append(("test", last_batch_index, num_steps, logs))

    def on_predict_steps_end(self, last_batch_index, num_steps, logs=None):
        self.calls.append(("predict", last_batch_index, num_steps, logs))


def needs(*callbacks):
    listed = CallbackList(list(callbacks))
    return listed.needs_train_batches, listed.needs_test_batches, listed.needs_predict_batches


def test_callbacks_of_ours_are_content_with_chunks(tmp_path):
    assert needs(
        CSVLogger(tmp_path / "log.csv"),
        EarlyStopping(),
        History(),
        LambdaCallback(on_epoch_end=print),
        ModelCheckpoint("m.keras", save_freq=3),
        ProgbarLogger(),
        ReduceLROnPlateau(),
        Recorder(),
        TensorBoard(tmp_path, update_freq=3),
        TerminateOnNaN(),
        Callback(),
    ) == (False, False, False)


@pytest.mark.parametrize("base", [Callback, ProgbarLogger, TerminateOnNaN])
@pytest.mark.parametrize("hook", HOOKS)
def test_a_hook_for_batches_is_seen(hook, base):
    mine = type("Mine", (base,), {hook: lambda self, batch, logs=None: None})
    expected = ("predict" not in hook and "test" not in hook, "test" in hook, "predict" in hook)
    assert needs(mine()) == expected
    assert needs(LambdaCallback(**{hook: print})) == expected


def test_a_callback_written_for_keras_is_asked_what_it_overrides():
    class Theirs(keras.callbacks.Callback):
        def on_test_batch_end(self, batch, logs=None):
            pass

    assert needs(Theirs()) == (False, True, False)


def test_batch_hooks_reach_every_callback_once():
    seen = []

    class Older(Callback):
        def on_batch_begin(self, batch, logs=None):
            seen.append(("begin", batch))

        def on_batch_end(self, batch, logs=None):
            seen.append(("end", batch, logs))

    recorder = Recorder()
    callbacks = CallbackList([Older(), recorder])
    for batch in range(2):
        callbacks.on_train_batch_begin(batch)
        callbacks.on_train_batch_end(batch, {"loss": batch})
    logs = [{"loss": 0.0}, {"loss": 1.0}]
    assert seen == [("begin", 0), ("end", 0, logs[0]), ("begin", 1), ("end", 1, logs[1])]
    assert recorder.calls == [("train", 0, 1, logs[0]), ("train", 1, 1, logs[1])]


def test_subclass_of_a_sparse_callback_may_override_the_batch_hook():
    class Mine(Recorder):
        def on_train_batch_end(self, batch, logs=None):
            super().on_train_batch_end(batch, {"loss": 7.0})

    mine = Mine()
    CallbackList(mine).on_train_batch_end(3, {})
    assert mine.calls == [("train", 3, 1, {"loss": 7.0})]


def test_chunks_are_told_to_the_mode_that_runs():
    recorder = Recorder()
    callbacks = CallbackList(recorder)
    callbacks.on_train_begin()
    callbacks.on_steps_end(9, 10, {"loss": 1.0})
    callbacks.on_test_begin()
    callbacks.on_steps_end(4, 5, {"loss": 2.0})
    callbacks.on_test_end()
    callbacks.on_steps_end(19, 10, {"loss": 3.0})
    callbacks.on_train_end()
    callbacks.on_predict_begin()
    callbacks.on_steps_end(1, 2)
    assert recorder.calls == [
        ("train", 9, 10, {"loss": 1.0}),
        ("test", 4, 5, {"loss": 2.0}),
        ("train", 19, 10, {"loss": 3.0}),
        ("predict", 1, 2, None),
    ]


def test_end_without_begin_is_refused():
    with pytest.raises(ValueError, match="`on_train_end` needs an `on_train_begin`"):
        CallbackList().on_train_end()


def test_results_are_fetched_once_and_only_where_wanted():
    class Content(Recorder):
        def wants_logs(self, num_steps):
            return num_steps > 1

    fetched = []

    def fetch():
        fetched.append(1)
        return {"loss": 1.0}

    first, second = Content(), Content()
    callbacks = CallbackList([first, second])
    callbacks.on_steps_end(0, 1, fetch)
    assert (fetched, first.calls) == ([], [("train", 0, 1, None)])
    callbacks.on_steps_end(2, 2, fetch)
    assert len(fetched) == 1
    assert second.calls[-1] == ("train", 2, 2, {"loss": 1.0})


def test_chunk_limit_is_that_of_the_most_eager():
    assert CallbackList([EarlyStopping(), ProgbarLogger()]).chunk_limit(0) is None
    callbacks = CallbackList(
        [ModelCheckpoint("m.keras", save_freq=10), ModelCheckpoint("m.keras", save_freq=6)]
    )
    assert callbacks.chunk_limit(0) == 6


def test_logs_are_python_floats_by_name_as_keras():
    received = []
    nested = {
        "z": tf.constant(1.5),
        "a": {"c": np.float32(2.0), "b": np.array(3)},
        "m": tf.Variable(4.0),
        "text": "x",
        "half": tf.constant(0.5, tf.bfloat16),
        "flag": True,
    }
    for module in (keras.callbacks, None):
        make = module.LambdaCallback if module else LambdaCallback
        listed = (module.CallbackList if module else CallbackList)(
            [make(on_epoch_end=lambda epoch, logs: received.append(list(logs.items())))]
        )
        listed.on_epoch_end(0, nested)
    assert received[0] == received[1]
    assert all(type(value) in (float, str) for _, value in received[1])


def test_outputs_of_predictions_stay_arrays():
    received = []
    callback = LambdaCallback(on_predict_batch_end=lambda batch, logs: received.append(logs))
    CallbackList(callback).on_predict_batch_end(0, {"outputs": tf.ones((1, 1))})
    np.testing.assert_array_equal(received[0]["outputs"], [[1.0]])


def test_model_and_params_are_handed_on():
    model, callback = tf.Module(), Callback()
    callbacks = CallbackList([[callback]], add_history=True, model=model, epochs=3, steps=None)
    assert callback.model is model
    assert callbacks.model is model
    assert callback.params == callbacks.params == {"epochs": 3, "steps": None}
    assert isinstance(model.history, History)


@pytest.mark.parametrize("kind", [History, ProgbarLogger])
def test_defaults_are_added_unless_given(kind):
    added = CallbackList(add_history=True, add_progbar=True).callbacks
    assert [type(callback) for callback in added] == [History, ProgbarLogger]
    mine = kind()
    kept = CallbackList([mine], add_history=True, add_progbar=True).callbacks
    assert [callback for callback in kept if isinstance(callback, kind)] == [mine]


def test_a_class_in_the_place_of_a_callback_is_refused():
    with pytest.raises(TypeError, match=r"Call it: `EarlyStopping\(\.\.\.\)`"):
        CallbackList([EarlyStopping])
