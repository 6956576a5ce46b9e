"""SIGTERM in a training: the state is saved, the process ends, and the next one goes on from there."""

import os
import signal
import threading

import numpy as np
import pytest

import tfkit as keras

X = np.random.default_rng(0).random((30, 3))
STATUS = 143


class Terminate(keras.callbacks.Callback):
    """Sends SIGTERM to this process in a hook, once so many updates are done."""

    def __init__(self, hook=None, updates=0):
        super().__init__()
        self.updates = updates
        if hook is not None:
            setattr(self, hook, self.send)

    def send(self, *args, **kwargs):
        if int(self.model.optimizer.iterations) == self.updates:
            os.kill(os.getpid(), signal.SIGTERM)


def train(*callbacks, **options):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dropout(0.2), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    options = {"epochs": 2, "validation_data": (X, X[:, 0]), "verbose": 0, **options}
    history = model.fit(X, X[:, 0], batch_size=8, callbacks=list(callbacks), **options)
    return model, history.history


@pytest.fixture(scope="module")
def undisturbed():
    return train(Terminate())


@pytest.mark.parametrize(
    ("hook", "updates"),
    [
        ("on_train_batch_end", 3),
        ("on_train_batch_end", 4),  # The end of an epoch.
        ("on_epoch_begin", 4),
        ("on_test_begin", 4),
        ("on_test_end", 8),  # The end of the training.
    ],
)
def test_sigterm_saves_and_ends_the_process(tmp_path, undisturbed, hook, updates):
    with pytest.raises(SystemExit) as raised:
        train(Terminate(hook, updates), resume=tmp_path)
    assert raised.value.code == STATUS
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    steps = []
    count = keras.callbacks.LambdaCallback(on_train_batch_begin=lambda batch, logs: steps.append(1))
    model, history = train(Terminate(), count, resume=tmp_path)
    assert len(steps) == 8 - updates  # None is done twice.
    assert history == undisturbed[1]
    for value, expected in zip(model.get_weights(), undisturbed[0].get_weights(), strict=True):
        np.testing.assert_array_equal(value, expected)


def test_a_handler_of_the_program_is_left_in_place(tmp_path):
    heard = []
    signal.signal(signal.SIGTERM, lambda *_: heard.append(1))
    try:
        model, _ = train(Terminate("on_train_batch_end", 3), resume=tmp_path)
        assert heard == [1]
        assert int(model.optimizer.iterations) == 8
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def test_a_training_outside_of_the_main_thread_sets_no_handler(tmp_path):
    found = []
    watch = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: found.append(signal.getsignal(signal.SIGTERM))
    )
    thread = threading.Thread(target=train, args=(watch,), kwargs={"resume": tmp_path})
    thread.start()
    thread.join()
    assert found == [signal.SIG_DFL] * 2


def test_without_a_place_for_the_state_sigterm_keeps_its_meaning():
    found = []
    watch = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: found.append(signal.getsignal(signal.SIGTERM))
    )
    train(watch)
    assert found == [signal.SIG_DFL] * 2
