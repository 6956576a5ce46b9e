"""`compile(engine="jax")`: the numbers of TensorFlow's `fit`, what callbacks and files see, refusals."""

import gc
import os
import pickle
import signal
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tests.guide.vae import vae_class
from tfkit import callbacks, layers, ops, optimizers

jax = pytest.importorskip("jax", reason="JAX is not installed: pip install 'tfkit-dl[jax]'")

BATCH, STEPS = 16, 64
ROWS = BATCH * STEPS
_draws = np.random.default_rng(0)
FLOATS = _draws.normal(size=(ROWS, 12)).astype("float32")
SERIES = _draws.normal(size=(ROWS, 6, 12)).astype("float32")
IMAGES = _draws.normal(size=(ROWS, 8, 8, 1)).astype("float32")
LENGTHS = _draws.integers(1, 7, ROWS)
LABELS = _draws.integers(0, 4, ROWS).astype("int32")
# An identifier occurs at most once in a batch: see `test_repeated_rows_of_an_embedding`.
WORDS = np.concatenate([_draws.permutation(96) for _ in range(STEPS)]).reshape(ROWS, 6)
# Five whole batches, so that no program for a smaller last one is compiled.
X, Y = FLOATS[:80], LABELS[:80]


def cross_entropy():
    return tfkit.losses.SparseCategoricalCrossentropy(from_logits=True)


def mlp():
    return tfkit.Sequential(
        [
            tfkit.Input((12,)),
            layers.Dense(16, activation="gelu"),
            layers.Dropout(0.3, seed=1),
            layers.Dense(4, kernel_regularizer="l2"),
        ]
    ), FLOATS


def cnn():
    # Without a bias before the normalization: its gradient is 0, and what rounding leaves of it, Adam scales
    # to full steps.
    return tfkit.Sequential(
        [
            tfkit.Input((8, 8, 1)),
            layers.Conv2D(4, 3, use_bias=False),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(4),
        ]
    ), IMAGES


def masked_lstm():
    masked = np.where(np.arange(6)[:, None] < LENGTHS[:, None, None], SERIES, 0)
    return tfkit.Sequential(
        [
            tfkit.Input((6, 12)),
            layers.Masking(),
            layers.LSTM(8, dropout=0.2, seed=1),
            layers.Dense(4),
        ]
    ), masked


def transformer():
    inputs = tfkit.Input((6, 12))
    # Without a bias of the keys, on which attention does not depend.
    attention = layers.MultiHeadAttention(2, 6, dropout=0.1, seed=2, use_bias=False)
    x = layers.LayerNormalization()(inputs + attention(inputs, inputs, use_causal_mask=True))
    x = layers.LayerNormalization()(x + layers.Dense(12)(layers.Dense(24, activation="gelu")(x)))
    return tfkit.Model(inputs, layers.Dense(4)(layers.GlobalAveragePooling1D()(x))), SERIES


def embedding():
    return tfkit.Sequential(
        [
            tfkit.Input((6,), dtype="int32"),
            layers.Embedding(96, 8),
            layers.GlobalAveragePooling1D(),
            layers.Dense(4),
        ]
    ), WORDS.astype("int32")


def vae():
    return vae_class(tfkit)(12, 8, 4), FLOATS


OPTIMIZERS = {
    "sgd": lambda: optimizers.SGD(0.05),
    "adam": lambda: optimizers.Adam(1e-2),
    "adamw": lambda: optimizers.AdamW(1e-2, weight_decay=0.01),
}


def trained(engine, make, optimizer, loss=None, compiled=(), **options):
    """A model after a `fit`, and its history."""
    tfkit.utils.set_random_seed(0)
    model, x = make()
    y = options.pop("y", LABELS[: len(x)])
    settings = {"metrics": ["accuracy"], **dict(compiled)}
    model.compile(optimizer(), loss or cross_entropy(), engine=engine, **settings)
    options = {"batch_size": BATCH, "shuffle": False, "verbose": 0, **options}
    return model, model.fit(x, y, **options).history


def assert_equal_trainings(make, optimizer, atol=1e-4, rtol=1e-5, **options):
    """Returns the model that JAX has trained; TensorFlow's has the same losses, weights and slots."""
    expected, history = trained("tensorflow", make, optimizer, **options)
    model, found = trained("jax", make, optimizer, **options)
    assert "JAX" in str(model.plan)
    assert list(found) == list(history)
    for name, values in history.items():
        np.testing.assert_allclose(found[name], values, rtol=rtol, atol=1e-6, err_msg=name)
    for one, two in zip(expected.variables, model.variables, strict=True):
        np.testing.assert_allclose(two, one, atol=atol, err_msg=one.path)
    pairs = zip(expected.optimizer.variables, model.optimizer.variables, strict=True)
    for one, two in pairs:
        np.testing.assert_allclose(two, one, atol=atol, err_msg=one.path)
    return model


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("make", [mlp, cnn, masked_lstm, transformer, embedding, vae])
def test_fit_has_the_numbers_of_tensorflow(make, optimizer):
    if make is vae:
        assert_equal_trainings(
            make, OPTIMIZERS[optimizer], loss="mse", compiled={"metrics": None}, y=FLOATS
        )
    else:
        assert_equal_trainings(make, OPTIMIZERS[optimizer])


@pytest.mark.parametrize(
    "name",
    [
        "Adadelta",
        "Adafactor",
        "Adagrad",
        "Adamax",
        "Ftrl",
        "Lamb",
        "Lion",
        "Muon",
        "Nadam",
        "RMSprop",
    ],
)
def test_each_optimizer(name):
    assert_equal_trainings(small, lambda: getattr(optimizers, name)(1e-2))


def small(x=X, policy=None):
    return tfkit.Sequential(
        [
            tfkit.Input((12,)),
            layers.Dense(8, activation="tanh", dtype=policy),
            layers.BatchNormalization(dtype=policy),
            layers.Dense(4, dtype=policy),
        ]
    ), x


def rate(step_size):
    return optimizers.schedules.CosineDecay(step_size, 20)


@pytest.mark.parametrize(
    "optimizer",
    [
        lambda: optimizers.SGD(rate(0.1), momentum=0.9, nesterov=True),
        lambda: optimizers.Adam(1e-2, clipnorm=0.01),
        lambda: optimizers.Adam(1e-2, clipvalue=0.01, amsgrad=True),
        lambda: optimizers.SGD(0.1, global_clipnorm=0.1, weight_decay=0.01),
        lambda: optimizers.Adam(1e-2, use_ema=True, ema_overwrite_frequency=3),
        lambda: optimizers.Adam(1e-2, gradient_accumulation_steps=3),
        lambda: optimizers.LossScaleOptimizer(optimizers.SGD(0.1), dynamic_growth_steps=4),
    ],
    ids=["schedule", "clipnorm", "clipvalue", "global", "average", "accumulation", "loss-scale"],
)
def test_options_of_optimizers(optimizer):
    assert_equal_trainings(small, optimizer, epochs=2)


@pytest.mark.parametrize(
    "options",
    [
        {"sample_weight": np.linspace(0, 2, 80)},
        {"class_weight": {0: 2.0, 3: 0.5}},
        {"validation_split": 0.3, "epochs": 2},
        {"shuffle": True, "epochs": 2},
        {"steps_per_epoch": 1, "epochs": 6},
        {"compiled": {"weighted_metrics": ["accuracy"], "steps_per_execution": 2}},
    ],
    ids=lambda options: next(iter(options)),
)
def test_arguments_of_fit(options):
    assert_equal_trainings(small, lambda: optimizers.SGD(0.1), **options)


def test_masks_of_outputs_reach_metrics():
    def make():
        masked = np.where(np.arange(6)[:, None] < LENGTHS[:64, None, None], SERIES[:64], 0)
        return tfkit.Sequential([tfkit.Input((6, 12)), layers.Masking(), layers.Dense(4)]), masked

    labels = np.repeat(LABELS[:64, None], 6, 1)
    assert_equal_trainings(make, lambda: optimizers.SGD(0.1), y=labels, epochs=2)


def test_mixed_precision():
    def make():
        return small(policy="mixed_bfloat16")

    # bfloat16 has 8 bits: two orders of a sum differ by some 0.4 %.
    assert_equal_trainings(make, lambda: optimizers.SGD(0.05), rtol=2e-2, atol=2e-2)


def test_batches_of_datasets_of_any_size():
    def run(engine):
        tfkit.utils.set_random_seed(0)
        model, _ = small()
        model.compile("adam", cross_entropy(), engine=engine)
        dataset = tf.data.Dataset.from_tensor_slices((X[:72], Y[:72])).batch(16)
        batches = ((X[:k], Y[:k]) for k in (3, 3, 5, 5, 5, 3))
        history = model.fit(dataset, epochs=2, validation_data=(X, Y), verbose=0).history
        model.fit(batches, verbose=0)
        return history, model.evaluate(dataset, verbose=0), model.predict(dataset, verbose=0), model

    for one, two in zip(
        *map(tf.nest.flatten, (run("tensorflow")[:3], run("jax")[:3])), strict=True
    ):
        np.testing.assert_allclose(two, one, rtol=1e-4, atol=1e-6)


def test_methods_for_one_batch():
    def run(engine):
        tfkit.utils.set_random_seed(0)
        model, _ = small()
        model.compile("adam", cross_entropy(), metrics=["accuracy"], engine=engine)
        results = [model.train_on_batch(X[:k], Y[:k]) for k in (8, 8, 5)]
        results += [model.test_on_batch(X, Y), model.predict_on_batch(X), model.predict(X, 7, 0)]
        return results, model.get_weights()

    for one, two in zip(*map(tf.nest.flatten, (run("tensorflow"), run("jax"))), strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-5, atol=1e-6)


def stateful():
    model = tfkit.Sequential(
        [
            tfkit.Input(batch_shape=(16, 6, 2)),
            layers.SimpleRNN(4, stateful=True),
            layers.Dense(4),
        ]
    )
    return model, X.reshape(80, 6, 2)


class Pairs(tfkit.Sequential):
    """Compares rows in fours."""

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        fours = ops.reshape(y_pred, (-1, 4, 4))
        return ops.mean((fours[:, 0] - fours[:, 1]) ** 2 - 0.1 * fours[:, 2] * fours[:, 3])


def pairs():
    return Pairs([tfkit.Input((12,)), layers.Dense(4)]), X


@pytest.mark.parametrize("make", [stateful, pairs])
def test_steps_that_accept_some_sizes_only(make):
    options = {"compiled": {"metrics": None}, "epochs": 2}
    assert_equal_trainings(make, lambda: optimizers.SGD(0.1), **options)


class Mixing(tfkit.Sequential):
    """Multiplies by a matrix and a number of the batch, which have no rows."""

    def call(self, inputs, training=False):
        x, matrix, scale = inputs
        return super().call(x, training=training) @ matrix * scale


def test_tensors_of_a_batch_that_have_no_rows():
    def run(engine):
        tfkit.utils.set_random_seed(0)
        model = Mixing([tfkit.Input((12,)), layers.Dense(4)])
        model.compile(optimizers.SGD(0.1), cross_entropy(), engine=engine)
        inputs = X.reshape(5, 16, 12), FLOATS[:20, :4].reshape(5, 4, 4), np.arange(5.0)
        dataset = tf.data.Dataset.from_tensor_slices((inputs, Y.reshape(5, 16)))
        history = model.fit(dataset, validation_data=dataset, verbose=0).history
        return history, model.get_weights()

    for one, two in zip(*map(tf.nest.flatten, (run("tensorflow"), run("jax"))), strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-5, atol=1e-6)


def test_integers_of_64_bits_are_predicted():
    class Largest(tfkit.Sequential):
        def call(self, inputs):
            return tf.argmax(inputs, axis=-1)

    model = Largest([tfkit.Input((12,))])
    model.compile(engine="jax")
    for found in (model.predict(X, 30, 0), model.predict_on_batch(X)):
        assert found.dtype == "int64"
        np.testing.assert_array_equal(found, X.argmax(-1))


class Own(tfkit.Model):
    """Methods of its own, a frozen layer, a weight without a gradient, nests, added losses."""

    def __init__(self):
        super().__init__()
        self.frozen = layers.Dense(6, trainable=False)
        self.heads = {"a": layers.Dense(4), "b": layers.Dense(1)}
        self.unused = self.add_weight(shape=(2,), initializer="ones", name="unused")

    def call(self, inputs, training=False):
        x = self.frozen(inputs["left"]) + inputs["right"][:, :6]
        self.add_loss(0.01 * tf.reduce_sum(x**2))
        if tf.reduce_sum(x) > 0:  # As a condition in the graph.
            x = 2.0 * x
        return {name: head(x) for name, head in self.heads.items()}

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        return super().compute_loss(x, y, y_pred, sample_weight) + tf.reduce_mean(y_pred["b"] ** 4)

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        logs = super().compute_metrics(x, y, y_pred, sample_weight)
        return logs | {"rate": self.optimizer.learning_rate, "largest": ops.max(y_pred["b"])}


def test_own_methods_and_nests():
    def run(engine):
        tfkit.utils.set_random_seed(0)
        model = Own()
        loss = {"a": cross_entropy(), "b": "mse"}
        model.compile(optimizers.Adam(rate(0.01), weight_decay=0.1), loss, engine=engine)
        x, y = {"left": X, "right": X[:, ::-1]}, {"a": Y, "b": X[:, :1]}
        with pytest.warns(UserWarning, match="unused"):
            history = model.fit(x, y, batch_size=16, epochs=2, shuffle=False, verbose=0).history
        return history, model.get_weights()

    expected, found = run("tensorflow"), run("jax")
    for one, two in zip(*map(tf.nest.flatten, (expected, found)), strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-4, atol=1e-6)


def test_low_rank_factors():
    def make():
        model = tfkit.Sequential([tfkit.Input((12,)), layers.Dense(8), layers.Dense(4)])
        model.layers[0].enable_lora(2)
        return model, X

    model = assert_equal_trainings(make, lambda: optimizers.Adam(1e-2), epochs=2)
    assert len(model.trainable_weights) == 5


def test_repeated_rows_of_an_embedding():
    """Their gradients are added, and the sum is squared; TensorFlow's `fit` squares row by row."""
    ids, y = np.tile([[3], [3], [5], [7]], (2, 1)).astype("int32"), LABELS[:8]

    def make(engine):
        tfkit.utils.set_random_seed(0)
        model = tfkit.Sequential(
            [
                tfkit.Input((1,), dtype="int32"),
                layers.Embedding(9, 4),
                layers.Flatten(),
                layers.Dense(4),
            ]
        )
        model.compile(optimizers.Adam(1e-2), cross_entropy(), engine=engine)
        return model

    model, by_hand = make("jax"), make("tensorflow")
    model.fit(ids, y, batch_size=4, epochs=3, shuffle=False, verbose=0)
    for step in range(6):
        rows = slice(step % 2 * 4, step % 2 * 4 + 4)
        with tf.GradientTape() as tape:
            loss = by_hand.loss(y[rows], by_hand(ids[rows], training=True))
        weights = by_hand.trainable_weights
        gradients = [tf.convert_to_tensor(it) for it in tape.gradient(loss, weights)]
        by_hand.optimizer.apply(gradients, weights)
    for one, two in zip(by_hand.get_weights(), model.get_weights(), strict=True):
        np.testing.assert_allclose(two, one, atol=1e-6)


# --- Callbacks, and what they see ---------------------------------------------------------------------


class Watcher(callbacks.Callback):
    """Notes what the variables are after each batch, and sets one between epochs."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def on_train_batch_end(self, batch, logs=None):
        kernel = self.model.layers[0].kernel
        self.seen.append(
            (
                batch,
                logs["loss"],
                float(tf.reduce_sum(kernel)),
                int(self.model.optimizer.iterations),
            )
        )
        if batch == 2:
            kernel.assign(0.9 * kernel)

    def on_epoch_end(self, epoch, logs=None):
        self.model.optimizer.learning_rate = 0.05


def test_callbacks_read_and_set_variables_between_batches():
    def run(engine):
        watcher = Watcher()
        model, history = trained(
            engine, small, lambda: optimizers.Adam(1e-2), epochs=2, callbacks=[watcher]
        )
        return watcher.seen, history, model.get_weights()

    for one, two in zip(*map(tf.nest.flatten, (run("tensorflow"), run("jax"))), strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-4, atol=1e-5)


def test_callbacks_between_epochs(tmp_path):
    saved = {}

    def run(engine):
        path = str(tmp_path / f"{engine}.weights.h5")
        given = [
            callbacks.ReduceLROnPlateau("loss", factor=0.5, patience=1, min_delta=0.2),
            callbacks.EarlyStopping("loss", patience=2, min_delta=0.15, restore_best_weights=True),
            callbacks.ModelCheckpoint(path, save_weights_only=True, save_freq=4),
        ]
        model, history = trained(
            engine, small, lambda: optimizers.Adam(1e-2), epochs=6, callbacks=given
        )
        final = model.get_weights()
        model.load_weights(path)
        saved[engine] = model.get_weights()
        return history, final, saved[engine]

    for one, two in zip(*map(tf.nest.flatten, (run("tensorflow"), run("jax"))), strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-4, atol=1e-5)


def test_training_stops_at_nan():
    x = X.copy()
    x[20] = np.nan
    model, history = trained(
        "jax", lambda: small(x), OPTIMIZERS["sgd"], epochs=3, callbacks=[callbacks.TerminateOnNaN()]
    )
    assert len(history["loss"]) == 1
    assert int(model.optimizer.iterations) < 5


class Failing(callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 2:
            raise RuntimeError("The machine is gone.")


@pytest.mark.parametrize("freq", ["epoch", 4])
def test_a_training_continues_from_its_backup(tmp_path, freq):
    options = {"epochs": 4, "shuffle": True}
    expected, history = trained("jax", mlp_of_few, OPTIMIZERS["adam"], **options)
    backup = callbacks.BackupAndRestore(tmp_path / "backup", save_freq=freq)
    with pytest.raises(RuntimeError, match="gone"):
        trained("jax", mlp_of_few, OPTIMIZERS["adam"], callbacks=[backup, Failing()], **options)
    backup = callbacks.BackupAndRestore(tmp_path / "backup", save_freq=freq)
    model, found = trained("jax", mlp_of_few, OPTIMIZERS["adam"], callbacks=[backup], **options)
    assert found["loss"][-1] == history["loss"][-1]
    for one, two in zip(expected.variables, model.variables, strict=True):
        np.testing.assert_array_equal(two, one)


def mlp_of_few():
    return mlp()[0], X


class Interrupting(callbacks.Callback):
    """Sends Ctrl-C while a program of JAX runs."""

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 1:
            steps = self.model._tfkit_programs._latest["train"]
            run = steps._steps

            def interrupted(*args):
                steps._steps = run
                os.kill(os.getpid(), signal.SIGINT)
                return run(*args)

            steps._steps = interrupted


def test_ctrl_c_keeps_what_was_trained():
    tfkit.utils.set_random_seed(0)
    model, _ = small()
    model.compile("adam", cross_entropy(), engine="jax")
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, Y, batch_size=16, epochs=3, verbose=0, callbacks=[Interrupting()])
    finally:
        signal.signal(signal.SIGINT, previous)
    done = int(model.optimizer.iterations)
    assert 5 < done < 15
    model.fit(X, Y, batch_size=16, verbose=0)
    assert int(model.optimizer.iterations) == done + 5


def test_steps_before_an_error_are_done():
    def batches():
        for start in (0, 16, 32):
            yield X[start : start + 16], Y[start : start + 16]
        raise RuntimeError("no more")

    model, _ = small()
    model.compile("adam", cross_entropy(), engine="jax")
    with pytest.raises(RuntimeError, match="no more"):
        model.fit(batches(), steps_per_epoch=5, verbose=0)
    assert int(model.optimizer.iterations) == 3
    model, _ = pairs()
    model.compile("sgd", engine="jax")
    with pytest.raises(TypeError):  # The last batch has 14 rows.
        model.fit(X[:78], batch_size=16, verbose=0)
    assert int(model.optimizer.iterations) == 4


def test_predictions_of_a_different_thread_while_a_program_runs():
    model, _ = small()
    model.compile("sgd", cross_entropy(), engine="jax")
    model.fit(X, Y, batch_size=16, verbose=0)
    expected, found = model.predict(X, verbose=0), []
    steps = model._tfkit_programs._latest["train"]
    run = steps._steps

    def watched(*arguments):
        results = run(*arguments)  # The arrays that it was given are gone.
        found.append(model.predict(X, verbose=0))
        return results

    steps._steps = watched
    model.fit(X, Y, batch_size=16, verbose=0)
    assert found
    for predicted in found:
        np.testing.assert_array_equal(predicted, expected)


def test_nothing_stays_on_the_device_after_a_fit():
    model, _ = trained("jax", small, OPTIMIZERS["sgd"], validation_split=0.2)
    before = {id(it) for it in jax.live_arrays()}
    model.fit(X, Y, batch_size=16, epochs=2, validation_data=(X, Y), verbose=0)
    gc.collect()
    assert not [it.shape for it in jax.live_arrays() if id(it) not in before]
    expected = model(X).numpy()
    np.testing.assert_allclose(model.predict(X, verbose=0), expected, atol=1e-6)
    np.testing.assert_allclose(model.predict(X, 16, verbose=0), expected, atol=1e-6)


# --- Settings, files, refusals -------------------------------------------------------------------------


def test_the_engine_is_a_setting(tmp_path):
    model, _ = small()
    model.compile("adam", cross_entropy(), engine="jax")
    assert model.get_compile_config()["engine"] == "jax"
    model.fit(X, Y, verbose=0)
    for extension in ("h5", "keras"):
        path = str(tmp_path / f"model.{extension}")
        model.save(path)
        loaded = tfkit.models.load_model(path)
        np.testing.assert_array_equal(loaded.get_weights()[0], model.get_weights()[0])
        loaded.fit(X, Y, verbose=0)
        # Keras has no such argument, so its files do not keep it.
        assert ("JAX" in str(loaded.plan)) == (extension == "h5")
    copy = pickle.loads(pickle.dumps(model))
    copy.evaluate(X, Y, verbose=0)
    assert "JAX" in str(copy.plan)
    model.compile("adam", cross_entropy())
    assert "engine" not in model.get_compile_config()


class OwnStep(tfkit.Sequential):
    def train_step(self, data):
        return super().train_step(data)


class OwnFunction(tfkit.Sequential):
    def make_train_function(self, force=False):
        return super().make_train_function(force)


def compiled(model=None, loss="mse", **options):
    model = model or tfkit.Sequential([tfkit.Input((12,)), layers.Dense(1)])
    model.compile("sgd", loss, engine="jax", **options)
    return model


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (None, {"run_eagerly": True}, "cannot be combined with `run_eagerly=True`"),
        (None, {"jit_compile": False}, "cannot be combined with `jit_compile=False`"),
        (OwnStep([layers.Dense(1)]), {}, "own `train_step` of OwnStep. Override `compute_loss"),
        (OwnFunction([layers.Dense(1)]), {}, "`make_train_function.*of OwnFunction makes"),
    ],
    ids=["eager", "without-xla", "step", "function"],
)
def test_what_compile_refuses(model, options, message):
    with pytest.raises(ValueError, match=message):
        compiled(model, **options)
    assert model is None or not model.compiled


def test_unknown_engines_and_strategies_are_refused():
    model = tfkit.Sequential([layers.Dense(1)])
    with pytest.raises(
        ValueError, match=r"`engine` must be 'tensorflow' or 'jax'. Received: 'torch'"
    ):
        model.compile("sgd", "mse", engine="torch")
    with tf.distribute.OneDeviceStrategy("cpu:0").scope():
        model = tfkit.Sequential([layers.Dense(1)])
    with pytest.raises(ValueError, match="does not use the strategy OneDeviceStrategy"):
        model.compile("sgd", "mse", engine="jax")


def assert_refused(model, x, match, error=ValueError, y=None):
    before = [it.numpy() for it in model.variables]
    with pytest.raises(error, match=match):
        model.fit(x, Y if y is None else y, verbose=0)
    for one, two in zip(before, model.variables, strict=True):
        np.testing.assert_array_equal(two, one)


def test_what_fit_refuses():
    def host(x):
        return tf.numpy_function(np.sort, [x], tf.float32)

    model = compiled()
    inputs = tfkit.Input((12,))
    sorted_on_host = tfkit.layers.Lambda(host, output_shape=(12,))(inputs)
    refused = compiled(tfkit.Model(inputs, layers.Dense(1)(sorted_on_host)))
    assert_refused(
        refused,
        X,
        "`engine='jax'` cannot run model.*Or pass `engine='tensorflow'`",
        NotImplementedError,
    )
    words = tfkit.Sequential(
        [
            tfkit.Input((), dtype="string"),
            layers.StringLookup(vocabulary=["a"]),
            layers.Embedding(2, 1),
        ]
    )
    strings = np.array(["a"] * 80)
    assert_refused(compiled(words), strings, "have: strings. Convert them before the model")
    assert_refused(
        model, X, "integers of int64 from .*jax_enable_x64", OverflowError, y=np.full(80, 2**40)
    )
    wide = compiled(tfkit.Sequential([tfkit.Input((12,)), layers.Dense(1, dtype="float64")]))
    assert_refused(wide, X, "of dtype float64 in float32.*jax_enable_x64")
    tfkit.config.run_functions_eagerly(True)
    try:
        assert_refused(model, X, r"`run_functions_eagerly\(True\)` was called")
    finally:
        tfkit.config.run_functions_eagerly(False)
    with pytest.raises(ValueError, match="`train_function` runs a step on TensorFlow"):
        model.make_train_function()(iter([(X, Y)]))
    model.train_step = lambda data: {}
    assert_refused(model, X, "own `train_step` of Sequential")
    del model.train_step
    model.trainable = False
    with pytest.warns(UserWarning, match="does not have any trainable weights"):
        model.fit(X, Y, verbose=0)


# TensorFlow itself imports JAX where it is installed.
WITHOUT_JAX = """
import sys
import numpy as np
import tfkit
model = tfkit.Sequential([tfkit.Input((2,)), tfkit.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.ones((8, 2)), np.ones((8, 1)), verbose=0)
assert not [name for name in sys.modules if name.startswith("tfkit.src.training.jax")]
sys.modules["jax"] = None
try:
    model.compile("adam", "mse", engine="jax")
except ImportError as error:
    assert "`compile(engine='jax')` needs JAX" in str(error), error
else:
    raise AssertionError
assert model.optimizer.name.lower() == "sgd"
"""


def test_jax_is_imported_when_it_is_asked_for():
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_JAX], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr[-2000:]
