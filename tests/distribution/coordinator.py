"""A script under `ParameterServerStrategy`: `python -m tests.distribution.coordinator FOLDER WORKER SERVER`.

`WORKER` and `SERVER` are the process numbers of the first worker and of the first parameter server, which the
script kills. The folder gets a file with what was seen, as `NAME.json`, after each part.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import tensorflow as tf

import tfkit as keras
from tfkit import layers

X = np.random.default_rng(0).random((1000, 8)).astype("float32")
Y = X.sum(1, keepdims=True)
WORDS = np.array([["a b"], ["b c d"], ["d"], ["e f a"]] * 5)
TARGETS = np.arange(20.0)[:, None]


class Rows(keras.metrics.Metric):
    """The number of rows that steps have seen."""

    def __init__(self, name="rows", **options):
        super().__init__(name=name, **options)
        self.rows = self.add_weight(shape=(), name="rows")

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.rows.assign_add(tf.cast(tf.shape(y_true)[0], "float32"))

    def result(self):
        return self.rows


class InTurn(keras.callbacks.Callback):
    """Is called after each step, so that one step runs after the other."""

    def on_train_batch_end(self, batch, logs=None):
        pass


class Telling(layers.Layer):
    """Tells the log of the process that runs a step."""

    WORD = "a step"

    def call(self, x):
        tf.print(self.WORD)
        return tf.identity(x)


class KillIn(keras.callbacks.Callback):
    """Kills a process in the middle of an epoch."""

    def __init__(self, pid, epoch):
        super().__init__()
        self.pid, self.epoch = pid, epoch

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == self.epoch:
            threading.Timer(0.1, os.kill, (self.pid, signal.SIGKILL)).start()


class Own(keras.Model):
    """A step of one's own, whose logs are a result and a value of the last step."""

    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(1)
        self.error = keras.metrics.MeanSquaredError("error")
        self.seen = Rows()

    def call(self, x):
        return self.dense(x)

    @property
    def metrics(self):
        return [self.error, self.seen]

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            outputs = self(x, training=True)
            loss = tf.reduce_mean((outputs - y) ** 2)
        gradients = tape.gradient(loss, self.trainable_weights)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_weights, strict=True))
        self.error.update_state(y, outputs)
        self.seen.update_state(y, outputs)
        return {**{metric.name: metric.result() for metric in self.metrics}, "last": loss}


def dense(**options):
    model = keras.Sequential([layers.Dense(16, "relu"), layers.Dropout(0.1), layers.Dense(1)])
    model.compile(**{"optimizer": "adam", "loss": "mse", "metrics": [Rows()], **options})
    return model


def own():
    model = Own()
    model.compile("adam")
    return model


def of_words():
    words = layers.TextVectorization(output_sequence_length=4)
    words.adapt(WORDS)
    model = keras.Sequential(
        [
            keras.Input((1,), dtype="string"),
            words,
            layers.Embedding(10, 4),
            layers.Flatten(),
            layers.Dense(1),
        ]
    )
    model.compile("adam", "mse")
    return model


def mixed():
    model = keras.Sequential([layers.Dense(4, dtype="mixed_bfloat16"), layers.Dense(1)])
    model.compile("adam", "mse")
    return model


def uneven():
    def batches():
        for count in (5, 3, 5, 5, 2, 7, 1):
            yield X[:count], Y[:count]

    specs = tf.TensorSpec([None, 8]), tf.TensorSpec([None, 1])
    return (tf.data.Dataset.from_generator(batches, output_signature=specs),)


def ragged():
    rows = tf.ragged.constant([[1, 2], [3], [4, 5, 6], [7], [8, 9]])
    return (tf.data.Dataset.from_tensor_slices((rows, Y[:5])).batch(2),)


def of_ragged():
    mean = layers.Lambda(lambda x: tf.reduce_mean(x, 1))
    inputs = keras.Input((None,), ragged=True, dtype="int32")
    model = keras.Sequential([inputs, layers.Embedding(10, 4), mean, layers.Dense(1)])
    model.compile("adam", "mse")
    return model


def part_in_turn(scope, **_):
    """Steps that run one after the other, beside one device."""
    found = {}
    cases = {
        "dense": (dense, lambda: (X[:100], Y[:100])),
        "own": (own, lambda: (X[:100], Y[:100])),
        "words": (of_words, lambda: (WORDS, TARGETS)),
        "words in batches": (
            of_words,
            lambda: (tf.data.Dataset.from_tensor_slices((WORDS, TARGETS)).batch(7),),
        ),
        "mixed": (mixed, lambda: (X[:50], Y[:50])),
        "uneven": (dense, uneven),
        "ragged": (of_ragged, ragged),
    }
    for name, (make, data) in cases.items():
        results = []
        for here in (contextlib.nullcontext(), scope()):
            keras.utils.set_random_seed(3)
            with here:
                model = make()
                # In the scope or after it, for both there are cases.
                if name == "dense":
                    model.fit(*data(), verbose=0, callbacks=[InTurn()])
            history = model.fit(*data(), epochs=2, verbose=0, callbacks=[InTurn()]).history
            results.append([np.asarray(it).tolist() for it in history.values()])
            results[-1] += [weight.tolist() for weight in model.get_weights()]
            if name == "words":
                results[-1].append(model.predict(WORDS, verbose=0).tolist())
        found[name] = results
    return found


def part_together(scope, folder, **_):
    """Steps that run at the same time, and what is done with the model then."""
    with scope():
        model = dense()
    history = model.fit(X, Y, batch_size=16, epochs=5, verbose=0, validation_data=(X, Y)).history
    with scope():
        other = own()
    logs = other.fit(X, Y, batch_size=16, verbose=0).history
    path = folder / "model.keras"
    model.save(path)
    known = {"Rows": Rows}
    alone = keras.models.load_model(path, custom_objects=known)
    with scope():
        again = keras.models.load_model(path, custom_objects=known)
    again.fit(X[:50], Y[:50], verbose=0)
    outputs = [
        [
            each.predict(X, verbose=0).tolist(),
            each.predict(tf.data.Dataset.from_tensor_slices(X[:70]).batch(32), verbose=0).tolist(),
            each.predict_on_batch(X[:3]).tolist(),
            each(X[:3]).numpy().tolist(),
        ]
        for each in (model, alone)
    ]
    return {
        "history": history,
        "own": logs,
        "updates": int(model.optimizer.iterations),
        "updates later": int(again.optimizer.iterations),
        "evaluation": model.evaluate(X, Y, verbose=0, return_dict=True),
        "outputs": outputs,
        "devices": sorted({weight.device for weight in again.variables}),
        "plans": [str(plan) for plan in model.plan.values()],
        "slots": all(
            slot.device == slot.slot.weight.device
            for slot in model.optimizer.variables
            if hasattr(slot, "slot")
        ),
    }


def part_refused(scope, **_):
    """Messages of what does not go."""

    def message(**options):
        try:
            with scope():
                model = dense(**options)
            model.fit(X[:50], Y[:50], verbose=0)
        except ValueError as error:
            return str(error)

    accumulating = keras.optimizers.Adam(gradient_accumulation_steps=2)
    found = {
        "jit_compile": message(jit_compile=True),
        "run_eagerly": message(run_eagerly=True),
        "accumulation": message(optimizer=accumulating),
    }
    alone = dense()
    alone.build((None, 8))
    with scope():
        try:
            alone.fit(X, Y, verbose=0)
        except ValueError as error:
            found["outside"] = str(error)
        model = keras.Sequential([layers.Embedding(10, 4), layers.Flatten(), layers.Dense(1)])
        model.compile("sgd", "mse")
    ids = np.full((64, 3), 9)
    for value in (10, 9):  # After an error the workers go on.
        ids[40] = value
        try:
            model.fit(ids, np.zeros(64), verbose=0)
        except tf.errors.InvalidArgumentError as error:
            found["value"] = str(error)
    return found


def part_worker(scope, folder, worker, **_):
    """A worker is killed, and comes back after a while."""
    with scope():
        model = keras.Sequential([Telling(), layers.Dense(4), layers.Dense(1)])
        model.compile("adam", "mse", metrics=[Rows()])
    model.fit(X, Y, verbose=0)
    before = int(model.optimizer.iterations)
    kill = KillIn(worker, 3)
    history = model.fit(X, Y, batch_size=8, epochs=8, verbose=0, callbacks=[kill]).history
    found = {"history": history, "updates": int(model.optimizer.iterations) - before}
    task = json.loads(os.environ["TF_CONFIG"]) | {"task": {"type": "worker", "index": 0}}
    log = folder / "again.log"
    environment = {"TF_CONFIG": json.dumps(task), "TFKIT_LAUNCHER": str(os.getpid())}
    with open(log, "w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "tfkit.launch", "--server"],
            env=os.environ | environment,
            stdout=output,
            stderr=output,
        )
    try:
        deadline = time.monotonic() + 60
        while Telling.WORD not in log.read_text() and time.monotonic() < deadline:
            model.fit(X, Y, verbose=0)
        found["took part"] = Telling.WORD in log.read_text()
    finally:
        process.kill()
        process.wait()
    found["later"] = model.fit(X, Y, verbose=0).history
    return found


def part_server(scope, server, **_):
    """A parameter server is killed."""
    with scope():
        model = dense()
    started = time.monotonic()
    try:
        model.fit(X, Y, batch_size=8, epochs=1000, verbose=0, callbacks=[KillIn(server, 3)])
    except tf.errors.UnavailableError as error:
        return {"message": str(error), "seconds": time.monotonic() - started}


def main(folder, worker, server):
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    known = {
        "scope": strategy.scope,
        "folder": Path(folder),
        "worker": int(worker),
        "server": int(server),
    }
    for part in (part_in_turn, part_together, part_refused, part_worker, part_server):
        found = part(**known)
        path = Path(folder) / f"{part.__name__.removeprefix('part_')}.json"
        path.write_text(json.dumps(found))
        print(path.name, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
