"""Exports a transformer, loads the SavedModel and calls it for the first time."""

import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf

from benchmarks.frameworks import FRAMEWORKS
from benchmarks.timing import peak_memory, seconds
from benchmarks.workloads import transformer

BLOCKS = 4


class Export:
    def measure(self, framework, kind, quick):
        x = np.random.rand(1, transformer.LENGTH, transformer.WIDTH).astype("float32")
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder, "model"))
            write = self.writer(framework, path, x)
            measures = {"export": seconds(write)}
            loaded = []
            measures["load"] = seconds(lambda: loaded.append(tf.saved_model.load(path)))
            serve = loaded[0].signatures["serving_default"]
            ((name, _),) = serve.structured_input_signature[1].items()
            measures["first call"] = seconds(lambda: serve(**{name: tf.constant(x)}))
        return measures | {"memory": peak_memory()}

    def writer(self, framework, path, x):
        """Returns a function that writes the SavedModel of a model that was called."""
        if FRAMEWORKS[framework].module:
            model = transformer.build_model(FRAMEWORKS[framework].load(), BLOCKS)
            model(x)
            return lambda: model.export(path, verbose=False)
        module = tf.Module()
        module.plain = transformer.Plain(BLOCKS)
        module.weights = module.plain.weights
        spec = tf.TensorSpec([None, *x.shape[1:]], name="x")
        module.serve = tf.function(module.plain, input_signature=[spec])
        module.serve(x)
        return lambda: tf.saved_model.save(module, path, signatures=module.serve)


WORKLOAD = Export()
