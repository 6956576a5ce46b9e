"""Workers that are killed in the middle of a training, and started again."""

import json

import numpy as np
import pytest
import tensorflow as tf

from tests.distribution.processes import Started, addresses, killed_at_the_end, task_of
from tfkit.src.training.devices import lost_processes

LIMIT = 400  # seconds for one training: a busy machine takes several times as long

SCRIPT = """
import json, os, pathlib, signal, sys
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
import numpy as np
import tfkit as keras

folder, *kills = sys.argv[1:]
folder = pathlib.Path(folder)
task = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
attempt = len(list(folder.glob("killed*")))


class Kill(keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        begun = folder / f"begun{attempt}"
        if task == 0 and not begun.exists():
            begun.write_text(str(int(self.model.optimizer.iterations)))

    def on_train_batch_end(self, batch, logs=None):
        # In each attempt, the other worker.
        if attempt == len(kills) or task != attempt % 2:
            return
        kind, number = kills[attempt].split(":")
        if int(self.model.optimizer.iterations) == int(number):
            (folder / f"killed{attempt}").touch()
            os.kill(os.getpid(), getattr(signal, kind))


keras.utils.set_random_seed(0)
with strategy.scope():
    model = keras.Sequential(
        [
            keras.Input((6,)),
            keras.layers.Dense(8, "relu"),
            keras.layers.Dropout(0.2),
            keras.layers.Dense(1),
        ]
    )
    model.compile("adam", "mse")
x = np.random.default_rng(0).random((90, 6))
backup = keras.callbacks.BackupAndRestore(folder / "state.h5", save_freq=5)
model.fit(x, x.sum(1), batch_size=8, epochs=4, verbose=0, callbacks=[Kill(), backup])
if task == 0:
    values = [weight.numpy().tolist() for weight in model.weights]
    (folder / "weights.json").write_text(json.dumps([int(model.optimizer.iterations), values]))
"""


def two_workers(script, folder, *arguments):
    """Returns two processes that run a script, with their output in `0.log` and `1.log`."""
    file = folder / "script.py"
    file.write_text(script)
    cluster = addresses(worker=2)
    variables = ({"TF_CONFIG": json.dumps(task_of(cluster, "worker", i))} for i in range(2))
    ended = folder / "ended", 2
    return [
        Started([file, *arguments], folder / f"{index}.log", variables=each, companions=ended)
        for index, each in enumerate(variables)
    ]


def undisturbed(folder):
    """Returns the updates and weights of a training."""
    folder.mkdir()
    with killed_at_the_end() as processes:
        processes += two_workers(SCRIPT, folder, folder)
        for index, process in enumerate(processes):
            status = process.wait(LIMIT)
            assert status == 0, [index, *((folder / f"{i}.log").read_text() for i in range(2))]
    return json.loads((folder / "weights.json").read_text())


def killed(folder, *kills):
    """The same with these signals, each `KIND:NUMBER OF UPDATES`, after which `tfkit launch` starts again."""
    folder.mkdir()
    script = folder / "script.py"
    script.write_text(SCRIPT)
    options = "--workers", 2, "--grace", 60, "--restarts", len(kills)
    with killed_at_the_end() as processes:
        launch = Started(["-m", "tfkit.launch", *options, script, folder, *kills], folder / "log")
        processes.append(launch)
        assert launch.wait(LIMIT) == 0, (folder / "log").read_text()
    assert (folder / "log").read_text().count("; all are started again") == len(kills)
    return json.loads((folder / "weights.json").read_text())


def test_a_training_whose_workers_are_killed_ends_with_the_undisturbed_weights(tmp_path):
    updates, expected = undisturbed(tmp_path / "undisturbed")
    assert updates == 4 * 12
    again, found = killed(tmp_path / "killed", "SIGKILL:9", "SIGTERM:33")
    assert again == updates
    # The second one was asked to end, and saved where it was; the state before was that of 30 updates.
    begun = [int((tmp_path / f"killed/begun{attempt}").read_text()) for attempt in range(3)]
    assert begun == [0, 5, 33]
    for value, weight in zip(expected, found, strict=True):
        np.testing.assert_array_equal(value, weight)


LOST = """
import os
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
import numpy as np
import tfkit as keras

with strategy.scope():
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
leave = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: epoch and os._exit(1))
others = [leave] if strategy.cluster_resolver.task_id else []
x = np.ones((8, 1))
model.fit(x, x, epochs=10**6, batch_size=4, verbose=0, callbacks=others)
"""


def test_a_process_that_is_gone_ends_the_others_with_its_name(tmp_path):
    with killed_at_the_end() as processes:
        processes += two_workers(LOST, tmp_path)
        status = processes[0].wait(LIMIT)
    error = (tmp_path / "0.log").read_text()
    assert status == 1, error
    assert "one of its processes has ended or does not answer: worker 1. Start all" in error


@pytest.mark.parametrize(
    ("workers", "message", "lost"),
    [
        (1, "Socket closed", ["worker 0"]),
        (1, "node /job:chief/replica:0/task:0/device:CPU:0", ["worker 0"]),
        (2, "task /job:worker/task:1 is unhealthy; /job:chief/replica:0/task:0", ["worker 1"]),
        (2, "Socket closed", []),
    ],
)
def test_which_processes_an_error_can_mean(workers, message, lost):
    cluster = tf.train.ClusterSpec({"chief": ["a:1"], "worker": ["b:1", "c:1"][:workers]})
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        cluster, task_type="chief", task_id=0
    )
    assert lost_processes(resolver, message) == lost
