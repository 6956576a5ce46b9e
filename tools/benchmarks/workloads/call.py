"""`model(x)` with one row, outside of any program."""

import numpy as np
import tensorflow as tf

from benchmarks.frameworks import FRAMEWORKS
from benchmarks.timing import peak_memory, repeat
from benchmarks.workloads import predict, transformer

BLOCKS = 4


class Call:
    def measure(self, framework, kind, quick):
        mlp = np.random.rand(1, 64).astype("float32")
        states = np.random.rand(1, transformer.LENGTH, transformer.WIDTH).astype("float32")
        runs = [
            ("MLP 64-32-32-1", predict, mlp, "auto"),
            ("transformer, 4 blocks", transformer, states, "auto"),
        ]
        # By hand it is compiled by XLA unless said otherwise, and tfkit's model only if that is asked for.
        if framework == "tfkit":
            runs.append(("MLP, jit_compile=True", predict, mlp, True))
        if framework == "plain":
            runs.append(("MLP, no XLA", predict, mlp, False))
        measures = {}
        for name, module, x, jit_compile in runs:
            call, x = self.function(framework, module, x, jit_compile)
            for _ in range(3):
                call(x)  # builds and traces
            measures[name] = repeat(lambda: call(x), quick, most=1000)  # noqa: B023
        if framework == "plain":
            measures["MLP, jit_compile=True"] = measures["MLP 64-32-32-1"]
        return measures | {"memory": peak_memory()}

    def function(self, framework, module, x, jit_compile):
        """Returns a compiled call, and its argument in the form of the framework."""
        blocks = [BLOCKS] if module is transformer else []
        if FRAMEWORKS[framework].module:
            keras = FRAMEWORKS[framework].load()
            model = module.build_model(keras, *blocks)
            if jit_compile is True:
                model.compile(jit_compile=True)
            return model, keras.ops.convert_to_tensor(x)
        x = tf.constant(x)
        call = tf.function(module.Plain(*blocks), jit_compile=jit_compile is not False)
        return call.get_concrete_function(x), x


WORKLOAD = Call()
