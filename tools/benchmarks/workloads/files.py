"""Saving and loading a whole model of 200 MB, with its optimizer's configuration, over an older file.

tfkit writes `.h5`, with checksums and `fsync`; Keras `.keras`.
"""

import os
import tempfile

import numpy as np

from benchmarks.frameworks import FRAMEWORKS
from benchmarks.timing import peak_memory, repeat

LAYERS, UNITS = 13, 2000  # 13 times 4 million numbers.


class Files:
    def measure(self, framework, kind, quick):
        if not FRAMEWORKS[framework].module:
            return {}  # Plain TensorFlow has no counterpart.
        keras = FRAMEWORKS[framework].load()
        units = 20 if quick else UNITS
        model = keras.Sequential(
            [keras.Input((units,)), *(keras.layers.Dense(units) for _ in range(LAYERS))]
        )
        model.compile("sgd", "mse")
        suffix = ".h5" if framework == "tfkit" else ".keras"
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model" + suffix)
            model.save(path)
            save = repeat(lambda: model.save(path), quick, most=7)
            load = repeat(lambda: keras.models.load_model(path), quick, most=7)
            loaded = keras.models.load_model(path)
        np.testing.assert_array_equal(loaded.get_weights()[-2], model.get_weights()[-2])
        return {"save": save, "load": load, "memory": peak_memory()}


WORKLOAD = Files()
