"""A training that a test kills and runs again: `killed_program.py JOBS`.

Jobs are JSON, `[[folder, form, kill_after], ...]`. Each is run in a process of its own, one after the other;
the exit codes are printed as JSON. The processes are forks of this one, which has only imported tfkit: to
import it again takes longer than to train.
"""

import json
import os
import signal
import sys
import traceback
import zlib
from pathlib import Path

import numpy as np
import tensorflow as tf

import tfkit as keras
from tfkit import callbacks


class Kill(callbacks.SparseCallback):
    """Ends the process as a power failure does."""

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
            os.kill(os.getpid(), signal.SIGKILL)


def digest(variables):
    return [zlib.crc32(np.ascontiguousarray(variable).tobytes()) for variable in variables]


def train(folder, form, kill_after):
    keras.utils.set_random_seed(3)
    x = np.random.normal(size=(60, 4)).astype("float32")
    y = (x.sum(1, keepdims=True) > 0).astype("float32")
    model = keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Dense(8, activation="relu"),
            keras.layers.Dropout(0.3),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    if form == "arrays":
        schedule = keras.optimizers.schedules.CosineDecay(0.05, 50)
        plateau = []
        data = {"x": x[:52], "y": y[:52], "batch_size": 8}
    else:
        schedule = 0.05
        plateau = [callbacks.ReduceLROnPlateau("val_loss", patience=0, min_delta=0.2)]
        rows = tf.data.Dataset.from_tensor_slices((x[:52], y[:52]))
        data = {"x": rows.shuffle(52, seed=1).batch(8).prefetch(2)}
    optimizer = keras.optimizers.Adam(schedule, use_ema=True, ema_momentum=0.8)
    model.compile(
        optimizer,
        "binary_crossentropy",
        metrics=["accuracy"],
        jit_compile="auto" if form == "arrays" else False,
    )
    save_freq = 4 if form == "arrays" else "epoch"
    history = model.fit(
        **data,
        epochs=5,
        verbose=0,
        validation_data=(x[52:], y[52:]),
        callbacks=[
            callbacks.BackupAndRestore(folder / "backup", save_freq=save_freq),
            callbacks.EarlyStopping("val_loss", patience=3, restore_best_weights=True),
            callbacks.ModelCheckpoint(folder / "best.h5", "val_loss", save_best_only=True),
            callbacks.CSVLogger(folder / "log.csv"),
            *plateau,
            Kill(kill_after),
        ],
    )
    best = keras.models.load_model(folder / "best.h5")
    results = {
        "model": digest(model.variables + optimizer.variables),
        "best": digest(best.variables + best.optimizer.variables),
        "history": history.history,
        "log": (folder / "log.csv").read_text(),
    }
    (folder / "results.json").write_text(json.dumps(results))


def run(folder, form, kill_after):
    """The exit code of a new process that trains; minus the signal that has ended it."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            train(Path(folder), form, kill_after)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    print(json.dumps([run(*job) for job in json.loads(sys.argv[1])]))
