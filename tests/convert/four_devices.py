"""Trainings on four devices of JAX, in a process of its own: XLA makes four of a CPU when it starts.

`python -m tests.convert.four_devices NAME` runs the function `NAME` below.
"""

import os
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import jax
import numpy as np
import tensorflow as tf

import tfkit
from tfkit import distribution, layers, losses, optimizers
from tfkit.src.core.tracking import named_state

WIDTH, HEADS, WORDS, LENGTH, BATCH = 32, 4, 64, 8, 8
IDS = np.random.default_rng(0).integers(0, WORDS, (64, LENGTH + 1)).astype("int32")
X, Y = IDS[:, :-1], IDS[:, 1:]


class Block(layers.Layer):
    def __init__(self):
        super().__init__()
        self.norm = layers.LayerNormalization()
        self.attention = layers.MultiHeadAttention(HEADS, WIDTH // HEADS, dropout=0.1)
        self.up = layers.Dense(4 * WIDTH, "gelu")
        self.down = layers.Dense(WIDTH)
        self.drop = layers.Dropout(0.1)

    def call(self, x):
        y = self.norm(x)
        x = x + self.attention(y, y, use_causal_mask=True)
        return x + self.drop(self.down(self.up(x)))


@tfkit.saving.register_keras_serializable("four_devices")
class Language(tfkit.Model):
    def __init__(self):
        super().__init__()
        self.embedding = layers.Embedding(WORDS, WIDTH)
        self.blocks = [Block() for _ in range(2)]
        self.head = layers.Dense(WORDS)

    def call(self, ids):
        x = self.embedding(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


RULES = {
    ".*embedding/embeddings": (None, "model"),
    ".*attention/(query|key|value)/kernel": (None, "model", None),
    ".*attention/(query|key|value)/bias": ("model", None),
    ".*attention_output/kernel": ("model", None, None),
    ".*(up|head)/kernel": (None, "model"),
    ".*(up|head)/bias": ("model",),
    ".*down/kernel": ("model", None),
}


def parallel(shape, rules=RULES, **options):
    devices = [f"cpu:{index}" for index in range(int(np.prod(shape)))]
    mesh = distribution.DeviceMesh(shape, ["data", "model"], devices)
    layout_map = distribution.LayoutMap(mesh)
    for rule, axes in rules.items():
        layout_map[rule] = axes
    return distribution.ModelParallel(layout_map=layout_map, batch_dim_name="data", **options)


def language(of, optimizer="adam", engine="jax", **options):
    tfkit.utils.set_random_seed(0)
    distribution.set_distribution(of)
    model = Language()
    loss = losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer, loss, metrics=["accuracy"], engine=engine, **options)
    model(X[:1])
    distribution.set_distribution(None)
    return model


class Losses(tfkit.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.seen = []

    def on_train_batch_end(self, batch, logs=None):
        self.seen.append(logs["loss"])


def trained(model, x=X, y=Y, **options):
    """Returns the losses of each step."""
    seen = Losses()
    options = {"batch_size": BATCH, "epochs": 2, "shuffle": False, "verbose": 0} | options
    model.fit(x, y, callbacks=[seen], **options)
    return np.array(seen.seen)
