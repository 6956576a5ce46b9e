"""Programs of several steps, and callbacks that stop a loop, beside Keras."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit.src.training import compilation

X, Y = np.ones((26, 3), "float32"), np.ones((26, 1), "float32")


def make(framework, **options):
    model = framework.Sequential([framework.Input((3,)), framework.layers.Dense(1)])
    model.compile("sgd", "mse", **options)
    return model


def counter(framework):
    """A callback that writes down which hooks for batches are called with which index."""

    class Counter(framework.callbacks.Callback):
        def __init__(self):
            super().__init__()
            self.calls = []

    def hook(name):
        return lambda self, batch, logs=None: self.calls.append((name, batch))

    for mode in ("train", "test", "predict"):
        for end in ("begin", "end"):
            name = f"on_{mode}_batch_{end}"
            setattr(Counter, name, hook(name))
    return Counter()


def as_arrays(x, y):
    return {"x": x, "y": y, "batch_size": 4}


def as_dataset(x, y):
    return {"x": tf.data.Dataset.from_tensor_slices((x, y)).batch(4)}


def of_unknown_size(x, y):
    rows = tf.data.Dataset.from_tensor_slices((x, y)).batch(4)
    return {"x": rows.filter(lambda x, y: True)}


@pytest.mark.filterwarnings("ignore:Your input ran out of data; interrupting")  # Of Keras.
@pytest.mark.parametrize("steps", [1, 3, 50])
@pytest.mark.parametrize("form", [as_arrays, as_dataset, of_unknown_size])
def test_hooks_for_batches_are_called_for_each_program_as_in_keras(form, steps):
    calls = []
    for framework in (tfkit, keras):
        model, callback = make(framework, steps_per_execution=steps), counter(framework)
        data = form(X, Y)
        model.fit(**data, epochs=2, verbose=0, shuffle=False, callbacks=[callback])
        model.evaluate(**data, verbose=0, callbacks=[callback])
        if form is not of_unknown_size:
            model.predict(
                data["x"], batch_size=data.get("batch_size"), verbose=0, callbacks=[callback]
            )
        calls.append(callback.calls)
    ours, theirs = calls
    if form is of_unknown_size:  # Keras begins with a batch that does not come.
        ours, theirs = ([call for call in each if "end" in call[0]] for each in calls)
    assert ours == theirs


@pytest.mark.parametrize("form", [as_arrays, as_dataset])
def test_outputs_of_a_program_reach_the_hook_together(form):
    class Outputs(tfkit.callbacks.Callback):
        seen = []

        def on_predict_batch_end(self, batch, logs=None):
            self.seen.append(np.array(logs["outputs"]))

    data = form(X, Y)
    model = make(tfkit, steps_per_execution=3)
    outputs = model.predict(
        data["x"], batch_size=data.get("batch_size"), verbose=0, callbacks=[Outputs()]
    )
    assert [len(each) for each in Outputs.seen] == [12, 12, 2]
    np.testing.assert_array_equal(np.concatenate(Outputs.seen), outputs)


def test_callbacks_of_ours_know_how_many_steps_a_program_had(tmp_path):
    class Steps(tfkit.callbacks.SparseCallback):
        seen = []

        def on_train_steps_end(self, last_batch_index, num_steps, logs=None):
            self.seen.append((last_batch_index, num_steps))

    make(tfkit, steps_per_execution=3).fit(
        **as_arrays(X, Y), verbose=0, callbacks=[Steps(), counter(tfkit)]
    )
    assert Steps.seen == [(2, 3), (5, 3), (6, 1)]


@pytest.mark.parametrize(
    ("method", "attribute", "hook"),
    [
        ("fit", "stop_training", "on_train_batch_end"),
        ("evaluate", "stop_evaluating", "on_test_batch_end"),
        ("predict", "stop_predicting", "on_predict_batch_end"),
    ],
)
@pytest.mark.parametrize("framework", [tfkit, keras])
def test_a_callback_stops_the_loop(framework, method, attribute, hook):
    """Over data without end, and over arrays; the next call runs again."""
    seen = []

    class Stopper(framework.callbacks.Callback):
        pass

    def stop(self, batch, logs=None):
        seen.append(batch)
        setattr(self.model, attribute, batch == 2)

    setattr(Stopper, hook, stop)
    model = make(framework)
    options = {"shuffle": False} if method == "fit" else {}
    without_end = tf.data.Dataset.from_tensor_slices((X, Y)).batch(4).repeat()
    arrays = (X,) if method == "predict" else (X, Y)
    for data in ((without_end,), arrays):
        getattr(model, method)(*data, verbose=0, callbacks=[Stopper()], **options)
        getattr(model, method)(*arrays, verbose=0, **options)
    assert seen == [0, 1, 2, 0]


def test_a_deterministic_program_is_not_compiled_by_xla(monkeypatch):
    monkeypatch.setattr(compilation, "is_op_determinism_enabled", lambda: True)
    assert make(tfkit).jit_compile is False
    assert make(tfkit, jit_compile=True).jit_compile is True
