"""A training that ends, or is killed, and is continued for more epochs equals one that was not: bit for bit.

`python tests/training/test_continued.py` runs all cases, 864, in half an hour; the suite runs a sample.
"""

import itertools
import sys
import tempfile

import numpy as np
import pytest
import tensorflow as tf

import tfkit as keras
from tfkit.src.training import loop

X = np.random.RandomState(0).rand(29, 3).astype("float32")
Y = X.sum(1, keepdims=True)
STEPS, EPOCHS = 8, 4  # of 4 rows, the last of 1
EXECUTIONS = 3  # of 3 steps, the last of 2: callbacks hear of these


class Killed(Exception):
    pass


class Kill(keras.callbacks.Callback):
    """Ends a training after so many steps, or executions of several steps."""

    def __init__(self, after):
        super().__init__()
        self.left = after

    def on_train_batch_end(self, batch, logs=None):
        self.left -= 1
        if not self.left:
            raise Killed


class Rows(keras.utils.PyDataset):
    def __len__(self):
        return STEPS

    def __getitem__(self, index):
        return X[4 * index : 4 * index + 4], Y[4 * index : 4 * index + 4]


def of_unknown_length():
    spec = tf.TensorSpec((None, 3)), tf.TensorSpec((None, 1))
    batches = [Rows()[index] for index in range(STEPS)]
    return tf.data.Dataset.from_generator(lambda: iter(batches), output_signature=spec)


SOURCES = {
    "arrays": lambda: {"x": X, "y": Y, "batch_size": 4},
    "slices": lambda: {"x": tf.data.Dataset.from_tensor_slices((X, Y)).shuffle(29, 1).batch(4)},
    "dataset": lambda: {
        "x": tf.data.Dataset.from_tensor_slices((X, Y))
        .shuffle(29, 1)
        .batch(4)
        .map(lambda x, y: (x, y))
    },
    "unknown length": lambda: {"x": of_unknown_length()},
    "PyDataset": lambda: {"x": Rows()},
    "unshuffled": lambda: {"x": X, "y": Y, "batch_size": 4, "shuffle": False},
}
# XLA from the first step, from the second epoch, from the third, never.
CHANGES = (0, STEPS + 1, 2 * STEPS + 1, 10**6)
CASES = list(
    itertools.product(
        SOURCES,
        CHANGES,
        (1, 2, 3),  # epochs of the first training
        (None, 3, 13),  # killed after so many steps of the second one
        ("plain", "validation", "executions", "accumulation"),
    )
)


def train(source, option, epochs, callbacks=()):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, "tanh")])
    model.add(keras.layers.Dropout(0.2))
    model.add(keras.layers.Dense(1))
    model.compile(
        keras.optimizers.Adam(gradient_accumulation_steps=2 if option == "accumulation" else None),
        "mse",
        metrics=["mae"],
        steps_per_execution=3 if option == "executions" else None,
    )
    data = SOURCES[source]()
    if option == "validation":
        data["validation_data"] = (X[:8] + 1, Y[:8])
    model.fit(**data, epochs=epochs, verbose=0, callbacks=list(callbacks))
    state = model.variables + model.optimizer.variables
    return model, [np.asarray(variable) for variable in state], model.history.history


def check(folder, source, change, first, killed_after, option):
    keras.config.set_compile_after(change)

    def backup():
        return keras.callbacks.BackupAndRestore(folder, save_freq=2, delete_checkpoint=False)

    whole, *expected = train(source, option, EPOCHS)
    part, *_ = train(source, option, first, [backup()])
    calls = EXECUTIONS if option == "executions" else STEPS
    if killed_after is not None and killed_after < calls * (EPOCHS - first):
        with pytest.raises(Killed):
            train(source, option, EPOCHS, [backup(), Kill(killed_after)])
    model, *found = train(source, option, EPOCHS, [backup()])
    if source != "unknown length":
        in_part = "XLA loop" if change <= first * STEPS else "graph loop"
        assert part.plan["train"].kind == in_part
    assert model.plan["train"].kind == whole.plan["train"].kind
    for mine, other in zip(found[0], expected[0], strict=True):
        np.testing.assert_array_equal(mine, other)
    assert found[1] == expected[1]


@pytest.fixture(autouse=True)
def short_stride(same_start, monkeypatch):
    """Lets the plan change within epochs of unknown length."""
    monkeypatch.setattr(loop, "_STRIDE", 3)


@pytest.mark.parametrize(
    ("source", "change", "first", "killed_after", "option"),
    [
        ("arrays", 9, 1, None, "validation"),
        ("arrays", 17, 1, 13, "plain"),
        ("slices", 17, 2, 3, "accumulation"),
        ("dataset", 9, 1, 3, "executions"),
        ("unknown length", 9, 1, 13, "plain"),
        ("PyDataset", 17, 2, None, "plain"),
        ("PyDataset", 9, 1, 3, "plain"),
    ],
)
def test_a_continued_training_equals_one_that_was_not_interrupted(
    tmp_path, source, change, first, killed_after, option
):
    check(tmp_path, source, change, first, killed_after, option)


def test_fits_of_one_model_equal_one_fit():
    """`initial_epoch` continues, also where the plan changes between."""
    keras.config.set_compile_after(17)
    _, expected, history = train("arrays", "plain", EPOCHS)
    model, *_ = train("arrays", "plain", 1)
    further = model.fit(X, Y, 4, EPOCHS, initial_epoch=1, verbose=0).history
    assert further["loss"] == history["loss"][1:]
    state = model.variables + model.optimizer.variables
    for mine, other in zip(state, expected, strict=True):
        np.testing.assert_array_equal(mine, other)


def test_a_model_that_has_gone_on_follows_the_plan_of_an_earlier_state(tmp_path):
    """Its program is compiled already; the state is from before."""
    keras.config.set_compile_after(2 * STEPS + 1)
    _, expected, _ = train("arrays", "plain", EPOCHS)
    model, *_ = train(
        "arrays", "plain", 1, [keras.callbacks.BackupAndRestore(tmp_path, delete_checkpoint=False)]
    )
    model.fit(X, Y, 4, 6, verbose=0)
    assert model.plan["train"].kind == "XLA loop"
    model.fit(X, Y, 4, EPOCHS, verbose=0, resume=tmp_path)
    state = model.variables + model.optimizer.variables
    for mine, other in zip(state, expected, strict=True):
        np.testing.assert_array_equal(mine, other)


if __name__ == "__main__":
    loop._STRIDE = 3
    chosen = CASES[:: int(sys.argv[1]) if len(sys.argv) > 1 else 1]
    failed = 0
    for case in chosen:
        with tempfile.TemporaryDirectory() as state:
            try:
                check(state, *case)
            except (Exception, pytest.fail.Exception) as error:
                failed += 1
                print(*case, f"{type(error).__name__}: {error}", flush=True)
    print(f"{len(chosen)} cases, {failed} of them failed")
    sys.exit(bool(failed))
