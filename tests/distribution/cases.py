"""Trainings to compare: `python -m tests.distribution.cases KIND FILE` runs them, on devices of the kind.

`KIND` is `one`, `mirrored2`, `mirrored4`; or `workers` or `servers`, a process that finds its place in
`TF_CONFIG`.
The file gets the history, the evaluation, the predictions and the weights of each training; next to it is a
file with the results of `features.py`, except for `one`.
"""

import json
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

import tfkit as keras
from tests.distribution import features, rows  # noqa: F401 (more features)
from tfkit import layers, ops

RNG = np.random.RandomState(0)
X = RNG.randn(37, 8).astype("float32")
CLASSES = RNG.randint(0, 3, 37)
IMAGES = RNG.randn(13, 6, 6, 2).astype("float32")
# Sequences with masked steps; rows differ in length, and so do the replicas.
IDS = RNG.randint(1, 20, (21, 6)) * (np.arange(6) < RNG.randint(1, 7, (21, 1)))
STEPS = RNG.randn(21, 6, 2).astype("float32")
CROSSENTROPY = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


class Sampling(layers.Layer):
    def __init__(self):
        super().__init__()
        self.seeds = keras.random.SeedGenerator(7)

    def call(self, inputs):
        mean, log_variance = inputs
        drawn = keras.random.normal(ops.shape(mean), seed=self.seeds)
        return mean + ops.exp(0.5 * log_variance) * drawn


class VAE(keras.Model):
    """As in Keras's guide: losses, metrics and the update are the model's own."""

    def __init__(self):
        super().__init__()
        self.encoder = layers.Dense(8, "relu")
        self.mean, self.log_variance = layers.Dense(2), layers.Dense(2)
        self.sampling = Sampling()
        self.decoder = keras.Sequential([layers.Dense(8, "relu"), layers.Dense(8)])
        self.total = keras.metrics.Mean(name="total")

    @property
    def metrics(self):
        return [self.total]

    def call(self, x):
        return self.decoder(self.mean(self.encoder(x)))

    def train_step(self, x):
        with tf.GradientTape() as tape:
            hidden = self.encoder(x)
            mean, log_variance = self.mean(hidden), self.log_variance(hidden)
            decoded = self.decoder(self.sampling([mean, log_variance]))
            distance = ops.mean(ops.sum(ops.square(x - decoded), axis=-1))
            divergence = -0.5 * (1 + log_variance - ops.square(mean) - ops.exp(log_variance))
            loss = distance + ops.mean(ops.sum(divergence, axis=1))
        gradients = tape.gradient(loss, self.trainable_weights)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_weights, strict=True))
        self.total.update_state(loss)
        return {"total": self.total.result(), "distance": distance}

    def test_step(self, x):
        return {"distance": ops.mean(ops.square(x - self(x)))}


def mlp(optimizer="adam", **options):
    model = keras.Sequential(
        [
            keras.Input((8,)),
            layers.Dense(16, "relu", kernel_regularizer="l2", activity_regularizer="l2"),
            layers.Dropout(0.3),
            layers.Dense(3),
        ]
    )
    options = {"metrics": ["accuracy"], "weighted_metrics": ["accuracy"], **options}
    model.compile(optimizer, CROSSENTROPY, **options)
    return model


def cnn():
    model = keras.Sequential(
        [
            keras.Input((6, 6, 2)),
            layers.Conv2D(4, 3),
            layers.BatchNormalization(synchronized=True),
            layers.ReLU(),
            layers.GlobalAveragePooling2D(),
            layers.Dense(3),
        ]
    )
    model.compile("sgd", CROSSENTROPY, metrics=["accuracy"])
    return model


def lstm():
    model = keras.Sequential(
        [
            layers.Embedding(20, 8, mask_zero=True),
            layers.LSTM(8, return_sequences=True, dropout=0.3),
            layers.Dropout(0.4),
            layers.Dense(2),
        ]
    )
    model.compile("sgd", "mse", metrics=["mae"], weighted_metrics=["mae"])
    return model


def embedding():
    """Words that occur several times in a batch; Adam squares the sum of their rows of the gradient."""
    model = keras.Sequential(
        [
            layers.Embedding(20, 8, mask_zero=True),
            layers.GlobalAveragePooling1D(),
            layers.Dense(2),
        ]
    )
    model.compile("adam", "mse", metrics=["mae"])
    return model


def measured():
    model = keras.Sequential([keras.Input((8,)), layers.Dense(1, "sigmoid")])
    metrics = ["AUC", "Precision", "RootMeanSquaredError", "R2Score", keras.metrics.MeanIoU(2)]
    model.compile("sgd", "binary_crossentropy", metrics=metrics)
    return model


def vae():
    model = VAE()
    model.compile("adam")
    return model


def averaged():
    """All options of optimizers in one."""
    adam = keras.optimizers.AdamW(
        0.01,
        weight_decay=0.1,
        global_clipnorm=0.1,
        use_ema=True,
        gradient_accumulation_steps=2,
    )
    return mlp(keras.optimizers.LossScaleOptimizer(adam))


def as_dataset():
    is_last = (CLASSES > 1).astype("float32")[:, None]
    return tf.data.Dataset.from_tensor_slices((X, is_last)).shuffle(37, seed=4).batch(9)


WEIGHTS = np.linspace(0, 2, 37).astype("float32")
# Model, data, batch size, further arguments of `fit`. 37 = 4 * 9 + 1: some replicas get no row of the last.
CASES = {
    "mlp": (mlp, (X, CLASSES), 9, {"sample_weight": WEIGHTS}),
    "averaged": (averaged, (X, CLASSES), 10, {"class_weight": {0: 1.0, 1: 3.0, 2: 0.5}}),
    "cnn": (cnn, (IMAGES, CLASSES[:13]), 5, {}),
    "lstm": (lstm, (IDS, STEPS), 5, {}),
    "embedding": (embedding, (IDS, STEPS[:, 0]), 5, {}),
    "vae": (vae, (X,), 9, {}),
    "measured": (measured, as_dataset, None, {}),
}


def run(case, strategy):
    make, data, batch_size, options = CASES[case]
    data = (data(),) if callable(data) else data
    keras.utils.set_random_seed(3)
    with strategy.scope():
        model = make()
    # In a process that is not the first, other orders of rows would be drawn.
    keras.utils.set_random_seed(5 + getattr(strategy.cluster_resolver, "task_id", 0))
    validation = data if len(data) == 2 else None
    history = model.fit(
        *data, batch_size=batch_size, epochs=3, verbose=0, validation_data=validation, **options
    ).history
    results = model.evaluate(*data, batch_size=batch_size, verbose=0, return_dict=True)
    inputs = X if case == "measured" else data[0]
    found = [*history.values(), *results.values(), model.predict(inputs, verbose=0)]
    found += model.get_weights()
    return {f"{case}/{index:03}": value for index, value in enumerate(found)}


def main(kind, path):
    if kind.startswith("mirrored"):
        devices = [tf.config.LogicalDeviceConfiguration()] * int(kind[-1])
        host = tf.config.list_physical_devices("CPU")[0]
        tf.config.set_logical_device_configuration(host, devices)
        strategy = tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(len(devices))])
    elif kind == "workers":
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
    elif kind == "servers":
        resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
        strategy = tf.distribute.ParameterServerStrategy(resolver)
    else:
        strategy = tf.distribute.OneDeviceStrategy("CPU:0")
    found = {}
    for case in CASES:
        found.update(run(case, strategy))
        print(case, flush=True)
    np.savez(path, **found)
    if kind != "one":
        results = features.run_all(strategy, Path(path).parent)
        Path(f"{path}.json").write_text(json.dumps(results))


if __name__ == "__main__":
    main(*sys.argv[1:])
