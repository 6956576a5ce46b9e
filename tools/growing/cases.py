"""The cases: each function does the work of one size, and notes figures in a `Meter`."""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf

import tfkit
from growing.meter import resident, settled
from tfkit import layers


def sequential(size, meter):
    """Measures a `Sequential` model with many layers."""

    def build():
        # Narrow layers: the number of layers counts, not the products.
        return tfkit.Sequential([tfkit.Input((4,))] + [layers.Dense(4) for _ in range(size)])

    _life_of(build, meter)


def functional(size, meter):
    """Measures a functional model with many layers, every third of which adds two tensors."""

    _life_of(lambda: _graph(size), meter)


def _graph(size):
    x = inputs = tfkit.Input((4,))
    for _ in range(size // 3):
        x = layers.Add()([x, layers.Dense(4)(layers.Activation("tanh")(x))])
    return tfkit.Model(inputs, x)


def _life_of(build, meter):
    x = np.ones((64, 4), "float32")
    with meter.time("build"):
        model = build()
    with meter.time("first call"):
        model(x)
    model.compile("sgd", "mse")
    with meter.time("first fit"):
        model.fit(x, x, verbose=0)
    with meter.time("predict"):
        model.predict(x, verbose=0)
    with contextlib.redirect_stdout(io.StringIO()), meter.time("summary"):
        model.summary()
    with tempfile.TemporaryDirectory() as folder:
        for ending in ("keras", "h5"):
            path = os.path.join(folder, f"model.{ending}")
            with meter.time(f"save .{ending}"):
                model.save(path)
            with meter.time(f"load .{ending}"):
                tfkit.saving.load_model(path)


def plot(size, meter):
    """Measures `plot_model` of this functional model."""
    model = _graph(size)
    with tempfile.TemporaryDirectory() as folder:
        for ending in ("svg", "png"):
            with meter.time(ending):
                tfkit.utils.plot_model(model, os.path.join(folder, f"model.{ending}"))


def weights(size, meter):
    """Measures a layer with many weights."""

    class Holder(layers.Layer):
        def build(self, input_shape):
            self.parts = [self.add_weight(shape=(4,), initializer="ones") for _ in range(size)]

        def call(self, inputs):
            return inputs * tf.add_n([tf.convert_to_tensor(part) for part in self.parts])

    inputs = tfkit.Input((4,))
    with meter.time("build"):
        model = tfkit.Model(inputs, Holder()(inputs))
    with meter.time("get_weights and set_weights"):
        model.set_weights(model.get_weights())
    model.compile("adam", "mse")
    x = np.ones((32, 4), "float32")
    with meter.time("first fit"):
        model.fit(x, x, verbose=0)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.weights.h5")
        with meter.time("save_weights"):
            model.save_weights(path)
        with meter.time("load_weights"):
            model.load_weights(path)


def vocabulary(size, meter):
    """Measures a `StringLookup` with a large vocabulary."""
    words = np.array([f"word{number}" for number in range(size)])
    with meter.peak("peak memory, MiB"):
        with meter.time("constructor"):
            layer = layers.StringLookup(vocabulary=words)
        with meter.time("first call"):
            layer(tf.constant(["word1", "none"]))
    adapted = layers.StringLookup()
    with meter.time("adapt"):
        adapted.adapt(tf.data.Dataset.from_tensor_slices(words).batch(4096))
    with tempfile.TemporaryDirectory() as folder:
        for lookup, kind in ((adapted, ", adapted"), (layer, ", passed")):
            model = tfkit.Sequential([tfkit.Input((1,), dtype="string"), lookup])
            path = os.path.join(folder, "model.keras")
            with meter.time(f"save{kind}"):
                model.save(path)
            with meter.time(f"load{kind}"):
                tfkit.saving.load_model(path)


def mapped(size, meter):
    """Measures `fit` on a memory-mapped file with rows of 4 KiB."""
    with tempfile.NamedTemporaryFile() as file:
        file.truncate(size * 4096)
        x = np.memmap(file.name, "float32", "r", shape=(size, 1024))
        y = np.zeros((size, 1), "float32")
        model = tfkit.Sequential([tfkit.Input((1024,)), layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(x[:2048], y[:2048], batch_size=1024, verbose=0)
        before, most = resident(), [0.0]

        class Watch(tfkit.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                most[0] = max(most[0], resident() - before)

        with meter.time("fit"):
            model.fit(x, y, batch_size=1024, verbose=0, callbacks=[Watch()])
        meter.figures["peak memory, MiB"] = most[0]


def rows(size, meter):
    """Measures `predict` for many rows."""
    x = np.zeros((size, 16), "float32")
    model = tfkit.Sequential([tfkit.Input((16,)), layers.Dense(32, "relu"), layers.Dense(1)])
    model.predict(x[:64], verbose=0)
    with meter.peak("peak memory, MiB"), meter.time("predict"):
        model.predict(x, batch_size=256, verbose=0)


def models(size, meter):
    """Measures many models that are created, trained and deleted in one process."""
    x = np.ones((64, 4), "float32")

    def live():
        model = tfkit.Sequential([layers.Dense(8, "relu"), layers.Dense(4)])
        model.compile("adam", "mse")
        model.fit(x, x, verbose=0)

    for _ in range(5):
        live()
    before = settled()
    with meter.time("all models"):
        for _ in range(size):
            live()
    meter.figures["memory growth, MiB"] = max(0.0, settled() - before)


def grid(size, meter):
    """Measures a hyperparameter search over learning rates and dropout rates."""
    x = np.ones((64, 4), "float32")
    with meter.time("all models"):
        for number in range(size):
            model = tfkit.Sequential(
                [layers.Dense(8, "relu"), layers.Dropout(number / 1000), layers.Dense(4)]
            )
            model.compile(tfkit.optimizers.Adam(0.001 * (number + 1)), "mse")
            model.fit(x, x, epochs=2, verbose=0)


def steps(size, meter):
    """Measures a training run of many steps, with progress bar and history."""
    x = np.ones((size // 10, 4), "float32")
    model = tfkit.Sequential([tfkit.Input((4,)), layers.Dense(1)])
    model.compile("sgd", "mse", metrics=["mae"])
    batch = tf.data.Dataset.from_tensors((x[:1], x[:1, :1])).repeat()
    ways = {
        "10 epochs": (x, x[:, :1], {"epochs": 10}),
        "epochs of 1,000 steps": (x[:1000], x[:1000, :1], {"epochs": size // 1000}),
        "10 epochs of a dataset": (batch, None, {"epochs": 10, "steps_per_epoch": size // 10}),
    }
    for name, (data, targets, options) in ways.items():
        first = {"epochs": 1} if targets is not None else {"steps_per_epoch": 100}
        model.fit(data, targets, batch_size=None if targets is None else 1, verbose=0, **first)
        before = resident()
        with open(os.devnull, "w") as out, contextlib.redirect_stdout(out), meter.time(name):
            options["batch_size"] = None if targets is None else 1
            model.fit(data, targets, verbose=1, **options)
        meter.figures[f"{name}: memory growth, MiB"] = max(0.0, resident() - before)


def callbacks(size, meter):
    """Measures `fit` for 2,000 steps, with many callbacks that have a hook for batches."""

    class Count(tfkit.callbacks.Callback):
        seen = 0

        def on_train_batch_end(self, batch, logs=None):
            self.seen += 1

    x = np.ones((2000, 4), "float32")
    model = tfkit.Sequential([tfkit.Input((4,)), layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(x[:64], x[:64, :1], batch_size=1, verbose=0, callbacks=[Count()])
    with meter.time("fit"):
        model.fit(x, x[:, :1], batch_size=1, verbose=0, callbacks=[Count() for _ in range(size)])


_TRAINING = """
import os, sys, time, numpy as np, tfkit

def train(width):
    start = time.process_time()
    x = np.ones((2048, 8), "float32")
    model = tfkit.Sequential([tfkit.layers.Dense(width), tfkit.layers.Dense(1)])
    model.compile("adam", "mse", jit_compile=True)
    model.fit(x, x[:, :1], verbose=0)
    return time.process_time() - start

"""
_FORKING = f"""{_TRAINING}
used, running, left = [], [], int(sys.argv[1])
while left or running:
    while left and len(running) < 4:
        running.append(os.fork())
        left -= 1
        if not running[-1]:
            train(8)
            os._exit(0)
    _, status, usage = os.wait4(running.pop(0), 0)
    assert not status
    used.append(usage.ru_utime + usage.ru_stime)
print(sum(used), used[0], used[-1])
"""


def processes(size, meter):
    """Measures processes that train equal models, four at a time, and share the program cache."""
    with tempfile.TemporaryDirectory() as folder:
        numbers = _numbers(folder, _FORKING, size)
        meter.figures.update(
            zip(("all processes", "first process", "last process"), numbers, strict=True)
        )
        meter.figures["cache size, MiB"] = _size_of(folder)


def kept(size, meter):
    """Measures a program cache with many programs of 64 KiB, and a limit of 256 MiB."""
    with tempfile.TemporaryDirectory() as folder:
        _fit(folder, 8)
        (inside,) = Path(folder).glob("programs/*")
        for number in range(size):
            with open(inside / f"{number:032}-0-program.pb", "wb") as file:
                file.truncate(1 << 16)
            os.utime(file.name, (0, number))
        meter.figures["cache size before, MiB"] = _size_of(folder)
        meter.figures["fit, program not in the cache"] = _fit(folder, 9)
        meter.figures["cache size after, MiB"] = _size_of(folder)
        meter.figures["fit, program in the cache"] = _fit(folder, 9)


def _fit(folder, width):
    """Returns the CPU seconds of a training in a new process, with a cache of programs in a folder."""
    (spent,) = _numbers(folder, f"{_TRAINING}\nprint(train(int(sys.argv[1])))", width)
    return spent


def _numbers(folder, code, argument):
    """Returns the numbers that a Python program prints."""
    command = [sys.executable, "-c", code, str(argument)]
    env = {**os.environ, "TFKIT_CACHE": folder}
    output = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True).stdout
    return map(float, output.split())


def _size_of(folder):
    return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()) / 2**20


# By name: the function and the sizes; the cost between the last two gives the exponent.
CASES = {
    "sequential": (sequential, (10, 100, 500, 2000)),
    "functional": (functional, (9, 99, 501, 2001)),
    "plot": (plot, (9, 99, 300, 501)),
    "weights": (weights, (100, 1000, 10_000)),
    "vocabulary": (vocabulary, (10_000, 100_000, 1_000_000, 10_000_000)),
    "mapped": (mapped, (2**17, 2**19, 2**20)),
    "rows": (rows, (10_000, 100_000, 1_000_000, 10_000_000)),
    "models": (models, (10, 100, 1000)),
    "grid": (grid, (5, 50)),
    "steps": (steps, (100_000, 1_000_000, 10_000_000)),
    "callbacks": (callbacks, (1, 10, 100)),
    "processes": (processes, (2, 20, 200)),
    "kept": (kept, (100, 1000, 4000, 16_000)),
}
