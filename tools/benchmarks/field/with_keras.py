"""The works by `fit`, `predict` and a call of the model: in tfkit, and in Keras on its backends."""

import importlib
import time

import numpy as np

from benchmarks.training import epoch_timer


class Trained:
    """A model of one work.

    Args:
        work: the work.
        name: the name of the framework.
    """

    def __init__(self, work, name):
        self.keras = importlib.import_module("tfkit" if name == "tfkit" else "keras")
        self.imported = time.perf_counter()
        self.is_tfkit = name == "tfkit"
        self.work = work
        self.x, self.y = work.data()
        self.keras.utils.set_random_seed(0)
        self.model, self.arguments = work.workload.build(self.keras)
        self.model.compile(**self.arguments)
        self.timer = epoch_timer(self.keras)

    def as_input(self, x):
        return self.keras.ops.convert_to_tensor(x)

    def call(self, x):
        outputs = self.model(x)
        if hasattr(outputs, "block_until_ready"):
            outputs.block_until_ready()

    def epoch(self):
        """Trains for an epoch, and returns its seconds, without what `fit` does before and after."""
        options = {"batch_size": self.work.batch_size, "callbacks": [self.timer], "verbose": 0}
        self.model.fit(self.x, self.y, **options)
        return self.timer.take()[0]

    def warm_up(self):
        """Trains as in a long training, in which XLA takes part."""
        if self.is_tfkit:
            self.keras.config.set_compile_after(0)
        self.epoch()

    def predict(self, x):
        return np.asarray(self.model.predict(x, verbose=0))
