"""`model(x)` with one row, outside of any program."""

import numpy as np
import tensorflow as tf

from benchmarks.frameworks import FRAMEWORKS
from benchmarks.timing import peak_memory, repeat
from benchmarks.workloads import predict, transformer

BLOCKS = 4


class Call:
    def measure(self, framework, kind, quick):
        measures = {}
        for name, shape, model in (
            ("MLP 64-32-32-1", [1, 64], predict),
            ("transformer, 4 blocks", [1, transformer.LENGTH, transformer.WIDTH], transformer),
        ):
            call, x = self.function(framework, model, np.random.rand(*shape).astype("float32"))
            for _ in range(3):
                call(x)  # builds and traces
            measures[name] = repeat(lambda: call(x), quick, most=1000)  # noqa: B023
        return measures | {"memory": peak_memory()}

    def function(self, framework, module, x):
        """Returns a compiled call, and its argument in the form of the framework."""
        blocks = [BLOCKS] if module is transformer else []
        if FRAMEWORKS[framework].module:
            keras = FRAMEWORKS[framework].load()
            return module.build_model(keras, *blocks), keras.ops.convert_to_tensor(x)
        x = tf.constant(x)
        call = tf.function(module.Plain(*blocks), jit_compile=True)
        return call.get_concrete_function(x), x


WORKLOAD = Call()
