"""What packages do with Keras, in small: each program gives the same numbers with Keras and with tfkit."""

import copy
import json
import pickle
import tempfile
import warnings
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit

ROWS = np.random.default_rng(0).normal(size=(8, 6, 4)).astype("float32")
X = ROWS[:, 0]
Y = X.sum(axis=1, keepdims=True)


def cached_attention(keras):
    """Attention that keeps the keys and values of earlier steps, from the parts of its base class."""

    class Cached(keras.layers.MultiHeadAttention):
        def call(self, query, value, key=None, cache=None, step=0):
            query = self._query_dense(query)
            keys, values = self._key_dense(value), self._value_dense(value)
            if cache is not None:
                start = [0, step, 0, 0]
                keys = keras.ops.slice_update(cache[0], start, keys)
                values = keras.ops.slice_update(cache[1], start, values)
            mask = None
            if cache is not None:
                mask = keras.ops.reshape(keras.ops.arange(keys.shape[1]) <= step, (1, 1, 1, -1))
            output, _ = self._compute_attention(query, keys, values, attention_mask=mask)
            return self._output_dense(output), (keys, values)

    layer = Cached(2, 3)
    whole, _ = layer(ROWS[:, 5:], ROWS)
    cache = (keras.ops.zeros((8, 6, 2, 3)), keras.ops.zeros((8, 6, 2, 3)))
    for step in range(6):
        output, cache = layer(
            ROWS[:, step : step + 1], ROWS[:, step : step + 1], cache=cache, step=step
        )
    np.testing.assert_allclose(output, whole, rtol=1e-5, atol=1e-6)
    return whole


def backbone_with_presets(keras):
    """A functional model as a class, which is written to a folder and made again from it."""

    class Backbone(keras.Model):
        def __init__(self, width, depth, **kwargs):
            inputs = outputs = keras.Input((4,))
            for index in range(depth):
                outputs = keras.layers.Dense(width, "relu", name=f"block_{index}")(outputs)
            super().__init__(inputs, outputs, **kwargs)
            self.width, self.depth = width, depth

        def get_config(self):
            return {"name": self.name, "width": self.width, "depth": self.depth}

        @classmethod
        def from_config(cls, config):
            return cls(**config)

        @classmethod
        def from_preset(cls, folder):
            config = json.loads(Path(folder, "config.json").read_text())
            backbone = cls.from_config(config["config"])
            backbone.load_weights(Path(folder, "model.weights.h5"))
            return backbone

        def save_to_preset(self, folder):
            config = keras.saving.serialize_keras_object(self)
            Path(folder, "config.json").write_text(json.dumps(config))
            self.save_weights(Path(folder, "model.weights.h5"))

    backbone = Backbone(5, 2)
    with tempfile.TemporaryDirectory() as folder:
        backbone.save_to_preset(folder)
        again = Backbone.from_preset(folder)
    head = keras.Sequential([again, keras.layers.Dense(1)])
    np.testing.assert_array_equal(again.predict(X, verbose=0), backbone.predict(X, verbose=0))
    return head.predict(X, verbose=0)


def quantized_layer(keras):
    """A dense layer whose kernel is rounded, with a gradient as if it were not."""

    class Quantized(keras.layers.Dense):
        def __init__(self, units, bits=4, **kwargs):
            super().__init__(units, **kwargs)
            self.bits = bits

        def call(self, inputs, training=None):
            steps = 2.0 ** (self.bits - 1)
            rounded = keras.ops.round(self.kernel * steps) / steps
            kernel = self.kernel + keras.ops.stop_gradient(rounded - self.kernel)
            return self.activation(keras.ops.matmul(inputs, kernel) + self.bias)

        def get_config(self):
            return {**super().get_config(), "bits": self.bits}

    model = keras.Sequential([keras.Input((4,)), Quantized(8, activation="relu"), Quantized(1, 3)])
    model.compile("sgd", "mse")
    history = model.fit(X, Y, epochs=3, shuffle=False, verbose=0)
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/m.keras")
        loaded = keras.models.load_model(
            f"{folder}/m.keras", custom_objects={"Quantized": Quantized}
        )
    assert loaded.layers[1].bits == 3
    np.testing.assert_allclose(loaded(X), model(X), rtol=1e-6)
    return history.history["loss"], model(X)


def checkpoint_that_notes_its_files(keras):
    """A subclass of `ModelCheckpoint` that does the hooks itself, and notes where its base class saved."""

    class Noting(keras.callbacks.ModelCheckpoint):
        noted: list

        def on_train_batch_end(self, batch, logs=None):
            if self._should_save_on_batch(batch):
                self._save_model(epoch=self._current_epoch, batch=batch, logs=logs)
                self.note(batch, logs)

        def on_epoch_end(self, epoch, logs=None):
            super().on_epoch_end(epoch, logs)
            if self.save_freq == "epoch":
                self.note(None, logs)

        def note(self, batch, logs):
            path = Path(self._get_file_path(epoch=self._current_epoch, batch=batch, logs=logs))
            assert path.exists()
            self.noted.append((len(path.name), self._current_epoch, -1 if batch is None else batch))

    noted = []
    for frequency, file in (("epoch", "{epoch}"), (3, "{epoch}-{batch}")):
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        with tempfile.TemporaryDirectory() as folder:
            callback = Noting(
                f"{folder}/{file}.weights.h5", save_weights_only=True, save_freq=frequency
            )
            callback.noted = []
            model.fit(X, Y, batch_size=2, epochs=3, verbose=0, callbacks=[callback])
        noted.append(np.array(callback.noted))
    return noted


def tuner(keras):
    """A loop over hyperparameters that copies callbacks, keeps the best weights and clears the session."""

    class Best(keras.callbacks.Callback):
        def __init__(self):
            super().__init__()
            self.best = float("inf")

        def on_epoch_end(self, epoch, logs=None):
            if logs["val_loss"] < self.best:
                self.best = logs["val_loss"]
                self.model.save_weights(self.path)

    found = []
    callbacks = [keras.callbacks.EarlyStopping("val_loss", patience=1)]
    with tempfile.TemporaryDirectory() as folder:
        for trial, width in enumerate((2, 8)):
            keras.backend.clear_session()
            keras.utils.set_random_seed(trial)
            model = keras.Sequential([keras.layers.Dense(width, "relu"), keras.layers.Dense(1)])
            model.compile(keras.optimizers.Adam(0.05), "mse", metrics=["mae"])
            best = Best()
            best.path = f"{folder}/{trial}.weights.h5"
            model.fit(
                *(X, Y),
                validation_data=(X, Y),
                epochs=4,
                shuffle=False,
                callbacks=[*copy.deepcopy(callbacks), best],
                verbose=0,
            )
            model.load_weights(best.path)
            found.append(model.evaluate(X, Y, verbose=0, return_dict=True)["loss"])
            np.testing.assert_allclose(found[-1], best.best, rtol=1e-5)
    return found


def probabilistic_model(keras):
    """A likelihood with a step, a metric of its own and tracked metrics."""

    class Normal(keras.Model):
        def __init__(self):
            super().__init__()
            self.net = keras.Sequential([keras.layers.Dense(8, "tanh"), keras.layers.Dense(2)])
            self.score = keras.metrics.Mean(name="score")

        @property
        def metrics(self):
            return [self.score]

        def call(self, inputs):
            return self.net(inputs)

        def likelihood(self, x, y, training=False):
            location, scale = keras.ops.split(self(x, training=training), 2, axis=-1)
            scale = keras.ops.softplus(scale) + 1e-3
            return -keras.ops.log(scale) - 0.5 * keras.ops.square((y - location) / scale)

        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = -keras.ops.mean(self.likelihood(x, y, training=True))
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
            self.score.update_state(loss)
            return {metric.name: metric.result() for metric in self.metrics}

        def test_step(self, data):
            self.score.update_state(-keras.ops.mean(self.likelihood(*data)))
            return {"score": self.score.result()}

    model = Normal()
    model.compile(keras.optimizers.Adam(0.01))
    history = model.fit(X, Y, epochs=3, batch_size=4, shuffle=False, verbose=0)
    return history.history["score"], model.evaluate(X, Y, verbose=0)


def lipschitz_layer(keras):
    """A kernel divided by its largest singular value, found by power iteration, and made a plain layer."""

    class Spectral(keras.layers.Dense):
        def build(self, input_shape):
            super().build(input_shape)
            self.u = self.add_weight(
                shape=(1, self.units), initializer="ones", trainable=False, name="u"
            )

        def bounded(self, training):
            u = self.u
            for _ in range(3):
                v = keras.ops.normalize(keras.ops.matmul(u, keras.ops.transpose(self.kernel)))
                u = keras.ops.normalize(keras.ops.matmul(v, self.kernel))
            if training:
                self.u.assign(u)
            product = keras.ops.matmul(keras.ops.matmul(v, self.kernel), keras.ops.transpose(u))
            return self.kernel / keras.ops.squeeze(product)

        def call(self, inputs, training=False):
            return keras.ops.matmul(inputs, self.bounded(training)) + self.bias

        def plain(self):
            layer = keras.layers.Dense(self.units)
            layer.build((None, self.kernel.shape[0]))
            layer.kernel.assign(self.bounded(False))
            layer.bias.assign(self.bias)
            return layer

    layer = Spectral(3)
    model = keras.Sequential([keras.Input((4,)), layer])
    model.compile("sgd", "mse")
    model.fit(X, X[:, :3], epochs=2, shuffle=False, verbose=0)
    np.testing.assert_allclose(layer.plain()(X), model(X), rtol=1e-5, atol=1e-6)
    return model(X), layer.u


def memory_cell(keras):
    """A recurrent cell of a fixed linear memory and a hidden state, in an RNN that is saved."""

    class Memory(keras.layers.Layer):
        def __init__(self, order, units, **kwargs):
            super().__init__(**kwargs)
            self.order, self.units = order, units
            self.state_size = [units, order]
            self.output_size = units

        def build(self, input_shape):
            self.encoder = self.add_weight(
                shape=(input_shape[-1], 1), initializer="glorot_uniform", name="encoder"
            )
            self.hidden = keras.layers.Dense(self.units, "tanh")
            self.hidden.build((None, input_shape[-1] + self.units + self.order))

        def call(self, inputs, states, training=False):
            hidden, memory = states
            decay = keras.ops.linspace(0.5, 0.9, self.order)
            memory = memory * decay + keras.ops.matmul(inputs, self.encoder)
            hidden = self.hidden(keras.ops.concatenate([inputs, hidden, memory], axis=-1))
            return hidden, [hidden, memory]

        def get_config(self):
            return {**super().get_config(), "order": self.order, "units": self.units}

    inputs = keras.Input((None, 4))
    outputs = keras.layers.RNN(Memory(3, 5), return_sequences=True)(inputs)
    model = keras.Model(inputs, keras.layers.Dense(1)(outputs))
    model.compile("sgd", "mse")
    history = model.fit(ROWS, ROWS[:, :, :1], epochs=2, shuffle=False, verbose=0)
    return history.history["loss"], model.predict(ROWS, verbose=0)


def message_passing(keras):
    """Nodes that receive the sum of their neighbours' messages; the edges are an input."""

    class Messages(keras.layers.Layer):
        def __init__(self, units, **kwargs):
            super().__init__(**kwargs)
            self.message = keras.layers.Dense(units, "relu")
            self.update = keras.layers.Dense(units)

        def call(self, inputs):
            nodes, edges = inputs
            sent = self.message(keras.ops.take(nodes, edges[:, 0], axis=0))
            count = keras.ops.shape(nodes)[0]
            received = keras.ops.segment_sum(sent, edges[:, 1], num_segments=count)
            return self.update(keras.ops.concatenate([nodes, received], axis=-1))

    edges = np.array([[0, 1], [1, 2], [2, 0], [3, 4], [7, 4]], "int32")
    nodes, links = keras.Input((4,)), keras.Input((2,), dtype="int32")
    model = keras.Model([nodes, links], Messages(3)([nodes, links]))
    return model([X, edges])


def pickled_estimator(keras):
    """An object that holds a model, and is pickled with it."""

    class Estimator:
        def fit(self, x, y):
            self.model = keras.Sequential([keras.layers.Dense(3, "relu"), keras.layers.Dense(1)])
            self.model.compile(keras.optimizers.SGD(0.01, momentum=0.9), "mse")
            self.history = self.model.fit(x, y, epochs=2, shuffle=False, verbose=0).history
            return self

    estimator = Estimator().fit(X, Y)
    model = pickle.loads(pickle.dumps(estimator.model))
    np.testing.assert_allclose(
        model.predict(X, verbose=0), estimator.model.predict(X, verbose=0), rtol=1e-6
    )
    model.fit(X, Y, shuffle=False, verbose=0)
    return estimator.history["loss"], model.predict(X, verbose=0)


def logger(keras):
    """A callback of an experiment tracker: it reads the optimizer, counts batches, and writes at the end."""

    class Tracker(keras.callbacks.Callback):
        def __init__(self):
            super().__init__()
            self.lines, self.batches = [], 0

        def on_train_begin(self, logs=None):
            self.started = self.model.count_params() if self.model.built else 0
            self.options = keras.saving.serialize_keras_object(self.model.optimizer)["config"]

        def on_train_batch_end(self, batch, logs=None):
            self.batches += 1

        def on_epoch_end(self, epoch, logs=None):
            rate = float(keras.ops.convert_to_numpy(self.model.optimizer.learning_rate))
            self.lines.append([epoch, rate, *(logs[name] for name in sorted(logs))])

    tracker = Tracker()
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)
    model.compile(keras.optimizers.SGD(schedule), "mse", metrics=["mae"])
    model.fit(X, Y, batch_size=4, epochs=3, shuffle=False, verbose=0, callbacks=[tracker])
    assert (tracker.batches, tracker.started) == (6, 5)
    return tracker.lines


IDIOMS = (
    *(
        cached_attention,
        backbone_with_presets,
        quantized_layer,
        checkpoint_that_notes_its_files,
        tuner,
        probabilistic_model,
    ),
    *(lipschitz_layer, memory_cell, message_passing, pickled_estimator, logger),
)


@pytest.mark.parametrize("idiom", IDIOMS, ids=lambda idiom: idiom.__name__)
def test_an_idiom_gives_the_numbers_of_keras(idiom):
    results = []
    for framework in (keras, tfkit):
        framework.utils.set_random_seed(5)
        with warnings.catch_warnings():
            if framework is keras:  # Its variables as arrays of NumPy 2.
                warnings.simplefilter("ignore", DeprecationWarning)
            found = framework.tree.flatten(idiom(framework))
            results.append([np.asarray(each) for each in found])
    for expected, found in zip(*results, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
