"""What users do with a model under a strategy; each feature runs in the processes of `cases.py`.

A feature takes the strategy and a folder, which processes of a cluster share, and fails by an exception. It
is compared with a model that the same process trains without a strategy.
"""

import contextlib
import copy
import pickle
import re
import time
import traceback

import numpy as np
import pytest
import tensorflow as tf

import tfkit as keras
from tfkit import layers

RNG = np.random.RandomState(1)
X = RNG.randn(23, 4).astype("float32")
CLASSES = RNG.randint(0, 3, 23)
WEIGHTS = np.linspace(0, 2, 23).astype("float32")
FEATURES = {}
PLAIN = contextlib.nullcontext()


def feature(function):
    FEATURES[function.__name__] = function
    return function


@keras.saving.register_keras_serializable("features")
class Subclassed(keras.Model):
    def __init__(self, units=3, **kwargs):
        super().__init__(**kwargs)
        self.hidden, self.out = layers.Dense(5, "relu"), layers.Dense(units)

    def call(self, x):
        return self.out(self.hidden(x))


def sequential():
    return keras.Sequential([keras.Input((4,)), layers.Dense(5, "relu"), layers.Dense(3)])


def functional():
    inputs = keras.Input((4,))
    return keras.Model(inputs, layers.Dense(3)(layers.Dense(5, "relu")(inputs)))


def compiled(scope, make=functional, compile_inside=True, **options):
    keras.utils.set_random_seed(3)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    with scope:
        model = make()
        if compile_inside:
            model.compile("adam", loss, metrics=["accuracy"], **options)
    if not compile_inside:
        model.compile("adam", loss, metrics=["accuracy"], **options)
    return model


def fitted(model, seed=5, **options):
    keras.utils.set_random_seed(seed)
    return model.fit(X, CLASSES, **{"batch_size": 5, "epochs": 2, "verbose": 0, **options}).history


def assert_equal(model, other):
    for value, expected in zip(model.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-6)


def copies_of(strategy, variable):
    return [copy.numpy() for copy in strategy.experimental_local_results(variable)]


def place_of(strategy):
    """The number of this process, and the number of processes."""
    resolver = strategy.cluster_resolver
    workers = resolver.cluster_spec().as_dict().get("worker", ()) if resolver else ()
    return (resolver.task_id, len(workers)) if workers else (0, 1)


def own(strategy, folder):
    """A folder of this process."""
    folder = folder / f"process{place_of(strategy)[0]}"
    folder.mkdir(exist_ok=True)
    return folder


@feature
def all_kinds_of_models_and_compile_outside_of_the_scope(strategy, folder):
    for make, inside in ((functional, False), (sequential, True), (Subclassed, False)):
        plain = compiled(PLAIN, make)
        model = compiled(strategy.scope(), make, inside)
        options = {"validation_split": 0.3}
        history, expected = fitted(model, **options), fitted(plain, **options)
        assert model.distribute_strategy is strategy
        assert_equal(model, plain)
        np.testing.assert_allclose(history["val_loss"], expected["val_loss"], rtol=1e-5)


@feature
def files(strategy, folder):
    folder = own(strategy, folder)
    model = compiled(strategy.scope())
    fitted(model)
    for name in ("model.h5", "model.keras"):
        model.save(folder / name)
        assert_equal(keras.models.load_model(folder / name), model)
        with strategy.scope():
            loaded = keras.models.load_model(folder / name)
        assert loaded.distribute_strategy is strategy
        assert int(loaded.optimizer.iterations) == int(model.optimizer.iterations)
    model.save_weights(folder / "a.weights.h5")
    model.export(folder / "exported", verbose=False)
    exported = tf.saved_model.load(folder / "exported")
    np.testing.assert_allclose(exported.serve(X), model.predict(X, verbose=0), rtol=1e-5, atol=1e-6)
    other = compiled(strategy.scope())
    other.load_weights(folder / "a.weights.h5")
    assert_equal(other, model)
    fitted(model, 6)
    fitted(loaded, 6)
    assert_equal(loaded, model)


@feature
def copies(strategy, folder):
    model = compiled(strategy.scope())
    fitted(model)
    found = [copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    with strategy.scope():
        found += [copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
        clone = keras.models.clone_model(model)
        clone.compile(copy.deepcopy(model.optimizer), model.loss)
    assert [each.distribute_strategy is strategy for each in found] == [False, False, True, True]
    clone.set_weights([value + 1 for value in model.get_weights()])
    for weight, expected in zip(clone.weights, model.get_weights(), strict=True):
        for value in copies_of(strategy, weight):
            np.testing.assert_array_equal(value, expected + 1)
    fitted(model, 6)
    for each in found:
        fitted(each, 6)
        assert_equal(each, model)


@feature
def resuming(strategy, folder):
    whole, first, second = (compiled(strategy.scope()) for _ in range(3))
    expected = fitted(whole, epochs=3)
    fitted(first, epochs=1, resume=folder)
    found = fitted(second, seed=9, epochs=3, resume=folder)
    assert found == expected
    for value, weight in zip(second.get_weights(), whole.get_weights(), strict=True):
        np.testing.assert_array_equal(value, weight)


@feature
def callbacks(strategy, folder):
    found = []
    for scope, place in ((PLAIN, own(strategy, folder)), (strategy.scope(), folder)):
        sums = []

        class Reading(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None, sums=sums):
                sums.append([self.model.get_weights()[0].sum(), logs["loss"]])

            def on_epoch_end(self, epoch, logs=None):
                kernel = self.model.layers[1].kernel
                kernel.assign(kernel * 0.9)

        model = compiled(scope)
        history = fitted(
            model,
            epochs=5,
            validation_data=(X, CLASSES, WEIGHTS),
            class_weight={0: 1.0, 1: 3.0, 2: 0.5},
            callbacks=[
                Reading(),
                keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate / 2),
                keras.callbacks.EarlyStopping("loss", patience=0, min_delta=0.02),
                keras.callbacks.ModelCheckpoint(place / "{epoch}.keras"),
                keras.callbacks.CSVLogger(place / "log.csv"),
            ],
        )
        names = sorted(file.name for file in place.glob("*.*"))
        rows = (place / "log.csv").read_text().count("\n") if (place / "log.csv").exists() else 0
        found.append((model, history, sums, names, rows))
    (plain, expected, *_), (model, history, *_) = found
    np.testing.assert_allclose(found[1][2], found[0][2], rtol=1e-4, atol=1e-6)
    for name, values in expected.items():
        np.testing.assert_allclose(history[name], values, rtol=1e-5)
    assert_equal(model, plain)
    if place_of(strategy)[0] == 0:
        assert (
            found[1][3:] == found[0][3:]
        )  # Each file is there, once; that of the log has no row twice.


@feature
def a_callback_stops_all_processes_together(strategy, folder):
    task, processes = place_of(strategy)
    last = task == processes - 1

    class Stopping(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            self.model.stop_training |= last and int(self.model.optimizer.iterations) == 7

        def on_epoch_end(self, epoch, logs=None):
            self.model.stop_training |= last

    model = compiled(strategy.scope())
    fitted(model, epochs=4, callbacks=[Stopping()])
    assert int(model.optimizer.iterations) == 5
    other = compiled(strategy.scope())
    stopping = Stopping()
    stopping.on_epoch_end = lambda epoch, logs=None: None
    fitted(other, epochs=4, callbacks=[stopping])
    assert int(other.optimizer.iterations) == 7


@feature
def a_loop_of_ones_own(strategy, folder):
    dataset = tf.data.Dataset.from_tensor_slices((X, CLASSES)).batch(8)
    crossentropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction=None)
    found = []
    for is_plain in (True, False):
        model = compiled(PLAIN if is_plain else strategy.scope())
        with PLAIN if is_plain else strategy.scope():
            accuracy = keras.metrics.SparseCategoricalAccuracy()

        def step(x, y, model=model, accuracy=accuracy):
            with tf.GradientTape() as tape:
                logits = model(x, training=True)
                loss = tf.reduce_sum(crossentropy(y, logits)) / 8
            gradients = tape.gradient(loss, model.trainable_variables)
            model.optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
            accuracy.update_state(y, logits)
            return loss

        @tf.function
        def distributed(x, y, step=step):
            return strategy.reduce("SUM", strategy.run(step, (x, y)), axis=None)

        batches = dataset if is_plain else strategy.experimental_distribute_dataset(dataset)
        run = step if is_plain else distributed
        losses = [float(run(x, y)) for _ in range(2) for x, y in batches]
        found.append((losses, float(accuracy.result()), model))
        fitted(model)
    np.testing.assert_allclose(found[1][0], found[0][0], rtol=1e-5)
    np.testing.assert_allclose(found[1][1], found[0][1], rtol=1e-6)
    assert_equal(found[1][2], found[0][2])


@feature
def single_batches_and_evaluation_with_weights(strategy, folder):
    found = []
    for scope in (PLAIN, strategy.scope()):
        model = compiled(scope, sequential, weighted_metrics=["accuracy"])
        results = [model.train_on_batch(X[:count], CLASSES[:count]) for count in (23, 1)]
        results += [
            model.train_on_batch(X[:3], CLASSES[:3], class_weight={0: 2.0, 1: 1.0, 2: 0.5}),
            model.test_on_batch(X, CLASSES, WEIGHTS),
            model.evaluate(X, CLASSES, 5, sample_weight=WEIGHTS, verbose=0),
            model.predict_on_batch(X[:3]).ravel(),
            model.predict(X[:1], verbose=0).ravel(),
            model.predict(tf.data.Dataset.from_tensor_slices(X).batch(5), verbose=0).ravel(),
        ]
        found.append(np.concatenate(results))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-4, atol=1e-6)


class Adversarial(keras.Model):
    def __init__(self):
        super().__init__()
        self.generator = keras.Sequential([keras.Input((2,)), layers.Dense(4)])
        self.judge = keras.Sequential([keras.Input((4,)), layers.Dense(1)])
        self.seeds = keras.random.SeedGenerator(1)
        self.judged = keras.metrics.Mean(name="judged")

    def compile(self, **optimizers):
        super().compile()
        self.optimizers = optimizers

    @property
    def metrics(self):
        return [self.judged]

    def train_step(self, x):
        crossentropy = keras.losses.BinaryCrossentropy(from_logits=True)
        count = tf.shape(x)[0]
        real = tf.ones((count, 1))
        drawn = keras.random.normal((count, 2), seed=self.seeds)
        with tf.GradientTape() as tape:
            both = tf.concat([x, self.generator(drawn)], 0)
            loss = crossentropy(tf.concat([real, 0 * real], 0), self.judge(both))
        weights = self.judge.trainable_weights
        self.optimizers["judge"].apply(tape.gradient(loss, weights), weights)
        with tf.GradientTape() as tape:
            made = crossentropy(real, self.judge(self.generator(drawn)))
        weights = self.generator.trainable_weights
        self.optimizers["generator"].apply(tape.gradient(made, weights), weights)
        self.judged.update_state(loss)
        return {"judged": self.judged.result(), "made": made}


@feature
def two_models_and_two_optimizers(strategy, folder):
    found = []
    for scope in (PLAIN, strategy.scope()):
        keras.utils.set_random_seed(3)
        with scope:
            model = Adversarial()
            model.compile(judge=keras.optimizers.Adam(), generator=keras.optimizers.Adam())
        history = model.fit(X, batch_size=5, epochs=2, shuffle=False, verbose=0).history
        found.append((model, history["judged"]))
    assert_equal(found[1][0], found[0][0])
    np.testing.assert_allclose(found[1][1], found[0][1], rtol=1e-5)


@feature
def parts_of_different_places_are_refused(strategy, folder):
    outside = functional()
    inside = compiled(strategy.scope())
    unbuilt = Subclassed()
    unbuilt.compile("adam", "mse")
    refused = (
        lambda: compiled(strategy.scope(), lambda: outside),
        lambda: inside.compile(keras.optimizers.SGD(), "mse"),
        lambda: inside.compile("sgd", "mse", metrics=[keras.metrics.MeanAbsoluteError()]),
        lambda: fitted(unbuilt),
    )
    optimizer = inside.optimizer
    for call in refused:
        scope = strategy.scope() if call is refused[-1] else PLAIN
        message = "belongs.*inside of one `strategy.scope\\(\\)`"
        with scope, pytest.raises(ValueError, match=message):
            call()
    assert inside.optimizer is optimizer
    fitted(inside)


class Counting(keras.Model):
    """Counts how often each row was seen."""

    def __init__(self):
        super().__init__()
        self.seen = self.add_weight(shape=(23,), initializer="zeros", trainable=False)

    @property
    def metrics(self):
        return []

    def train_step(self, data):
        rows = data[0] if isinstance(data, tuple) else data
        mine = tf.reduce_sum(tf.one_hot(tf.cast(rows, "int32"), 23), 0)
        self.seen.assign_add(tf.distribute.get_replica_context().all_reduce("SUM", mine))
        return {"loss": 0.0}


def with_policy(name, dataset):
    options = tf.data.Options()
    policy = tf.data.experimental.AutoShardPolicy[name]
    options.experimental_distribute.auto_shard_policy = policy
    return dataset.with_options(options)


class Numbers(keras.utils.PyDataset):
    def __len__(self):
        return 5

    def __getitem__(self, index):
        return (np.arange(23)[5 * index : 5 * index + 5],)


@feature
def rows_are_seen_once(strategy, folder):
    rows = tf.data.Dataset.range(23)
    task, processes = place_of(strategy)
    service = tf.data.experimental.service
    dispatcher = service.DispatchServer()
    config = service.WorkerConfig(dispatcher_address=dispatcher.target.split("://")[1])
    worker = service.WorkerServer(config)
    assert worker is not None  # It serves as long as it is there.
    own_rows = rows.shard(processes, task).batch(3)
    # The first process has no row, or it has more batches than the other.
    late = rows.skip(0 if task else 23) if processes > 1 else rows
    uneven = (rows.skip(4) if task else rows.take(4)) if processes > 1 else rows
    given = {
        **{name: with_policy(name, rows.batch(5)) for name in ("AUTO", "FILE", "DATA", "HINT")},
        "OFF": with_policy("OFF", own_rows),
        "OFF, nothing in one": with_policy("OFF", late.batch(5)),
        "OFF, uneven": with_policy("OFF", uneven.batch(2)),
        "service": rows.batch(5).apply(service.distribute("parallel_epochs", dispatcher.target)),
        "generator": (np.arange(n, min(n + 5, 23)) for n in [*range(0, 23, 5)] * 2),
        "PyDataset": Numbers(),
    }
    if processes == 1:
        given["distributed"] = strategy.experimental_distribute_dataset(rows.batch(4))
        given["of a function"] = strategy.distribute_datasets_from_function(
            lambda context: rows.batch(context.get_per_replica_batch_size(4))
        )
    with strategy.scope():
        model = Counting()
    model.compile()
    for name, data in given.items():
        model.seen.assign(tf.zeros(23))
        keras.utils.set_random_seed(1)
        limits = {"steps_per_epoch": 5} if name == "generator" else {}
        model.fit(data, epochs=2, verbose=0, **limits)
        np.testing.assert_array_equal(model.seen.numpy(), np.full(23, 2), err_msg=name)


@feature
def other_data_in_each_process_are_refused(strategy, folder):
    task, processes = place_of(strategy)
    if processes == 1:
        return
    rows = tf.data.Dataset.range(23)
    refused = {
        "is divided by `shard": rows.shard(2, task).batch(3),
        "numbers of batches: 4, 5": rows.take(4 + task).batch(1),
        "in a different order in each process": rows.map(lambda row: row)
        .shuffle(9, seed=task)
        .batch(3),
        "the number of batches must be known": with_policy(
            "OFF", rows.filter(lambda row: row >= 0).batch(3)
        ),
        "Pass the `tf.data.Dataset` itself": strategy.experimental_distribute_dataset(
            rows.batch(4)
        ),
        "numbers of rows: 20, 21": np.arange(20 + task),
    }
    with strategy.scope():
        model = Counting()
    model.compile()
    for message, data in refused.items():
        with pytest.raises(ValueError, match=re.escape(message)):
            model.fit(data, verbose=0)
    assert not model.seen.numpy().any()


def names_for(num_replicas):
    """The features that are run with a number of replicas: with four of them, those that divide rows."""
    if num_replicas == 1:  # Parameter servers: what needs their variables in other places.
        return ["files", "copies", "resuming", "callbacks"]
    if num_replicas < 4:
        return list(FEATURES)
    return ["single_batches_and_evaluation_with_weights", "rows_are_seen_once"]


def run_all(strategy, folder):
    """Returns a dict from each feature to the traceback of its failure, or to an empty text."""
    results = {}
    for name in names_for(strategy.num_replicas_in_sync):
        function = FEATURES[name]
        place = folder / f"{name}-{strategy.num_replicas_in_sync}-{place_of(strategy)[1]}"
        place.mkdir(exist_ok=True)
        started = time.perf_counter()
        try:
            function(strategy, place)
            results[name] = ""
        except Exception:
            results[name] = traceback.format_exc()
        print(name, round(time.perf_counter() - started, 1), flush=True)
    return results
