"""The works in plain TensorFlow: a compiled loop over the steps of an epoch."""

import time

import numpy as np

from benchmarks.lazily import tf
from benchmarks.plain import Loop, in_batches
from benchmarks.timing import seconds


class Trained:
    def __init__(self, work, name):
        tf.constant(0)
        self.imported = time.perf_counter()
        workload = work.workload
        self.x, self.y = (tf.constant(each) for each in work.data())
        self.model = workload.plain()
        self.loop = Loop(self.model, workload.program, work.batch_size)
        spec = tf.TensorSpec([None, *self.x.shape[1:]], self.x.dtype)
        self.compute = tf.function(self.model, autograph=False, input_signature=[spec])
        self.in_batches = tf.function(
            in_batches(self.model), autograph=False, input_signature=[spec]
        )
        self.compiled = tf.function(self.model, autograph=False, jit_compile=True)

    as_input = staticmethod(lambda x: tf.constant(x))

    def call(self, x):
        return self.compiled(x)

    def epoch(self):
        return seconds(lambda: self.loop.fit(self.x, self.y))

    def warm_up(self):
        self.epoch()

    def predict(self, x):
        compute = self.compute if len(x) <= 64 else self.in_batches
        return np.asarray(compute(tf.constant(x)))
