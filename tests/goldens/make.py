"""Writes the goldens of the present format: small files that every later version must load.

PYTHONPATH=. python tests/goldens/make.py FOLDER

Run it once for each new version of the format, into a folder of its own, and never again.
"""

import sys
from pathlib import Path

import numpy as np

import tfkit
from tfkit import layers


@tfkit.saving.register_keras_serializable("goldens")
class Golden(tfkit.Model):
    """A list, a dict, half precision, statistics, a seed, and a metric."""

    def __init__(self, units=3):
        super().__init__()
        self.blocks = [layers.Dense(units, name="first"), layers.Dense(units, dtype="bfloat16")]
        self.heads = {"a/b": layers.Dense(2), "": layers.Dense(2, dtype="float16")}
        self.norm = layers.BatchNormalization()
        self.dropout = layers.Dropout(0.5, seed=7)
        self.seen = tfkit.metrics.Mean()

    def call(self, x):
        self.seen.update_state(x)
        for block in self.blocks:
            x = block(x)
        x = self.dropout(self.norm(x))
        return tfkit.ops.cast(self.heads["a/b"](x), "float32") + tfkit.ops.cast(
            self.heads[""](x), "float32"
        )


def numbers(path, shape):
    """What a variable holds in the goldens: small numbers that every dtype can hold, by its path."""
    start = sum(map(ord, path)) % 8
    return (np.arange(np.prod(shape, dtype=int)).reshape(shape) + start) % 8


def build():
    """The model with the optimizer's slots made, and all variables at known values."""
    model = Golden()
    model.compile("adam", "mse", run_eagerly=True)
    model.fit(np.ones((4, 3), "float32"), np.ones((4, 2), "float32"), verbose=0)
    for path, variable in state_of(model).items():
        variable.assign(numbers(path, variable.shape).astype(variable.dtype.as_numpy_dtype))
    return model


def state_of(model):
    """All variables of a model by path, weights, slots and metrics."""
    from tfkit.src.files.saving import contents, entries

    groups = {
        entries.WEIGHTS: contents.plain_state(model),
        entries.OPTIMIZER: contents.optimizer_state(model),
        entries.METRICS: contents.metrics_state(model),
    }
    return {f"{group}/{path}": v for group, found in groups.items() for path, v in found.items()}


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir()
    model = build()
    model.save(folder / "model.h5")
    model.save_weights(folder / "model.weights.h5")
    model.save_weights(folder / "model.weights.json", max_shard_size=150 / 2**30)
