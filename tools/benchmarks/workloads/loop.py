"""A training loop that a user writes, with a tape and without any `tf.function`."""

import numpy as np
import tensorflow as tf

from benchmarks.frameworks import FRAMEWORKS
from benchmarks.plain import Adam
from benchmarks.timing import peak_memory, repeat
from benchmarks.workloads import cnn, mlp


class OwnLoop:
    def measure(self, framework, kind, quick):
        measures = {}
        for name, work in (("MLP step", mlp.WORKLOAD), ("CNN step", cnn.WORKLOAD)):
            x, y = (tf.constant(it[: work.batch_size]) for it in work.data(work.batch_size))
            step = self.step(framework, work, x, y)
            for _ in range(2 if quick else 40):
                step()
            measures[name] = repeat(step, quick, most=1000)
        return measures | {"memory": peak_memory()}

    def step(self, framework, work, x, y):
        """Returns a function that trains on one batch."""
        if not FRAMEWORKS[framework].module:
            model = work.plain()
            optimizer = Adam(model.weights, fused=True)

            def by_hand():
                with tf.GradientTape() as tape:
                    loss = model.loss(x, y, np.int32(0))
                optimizer.update(tape.gradient(loss, model.weights))

            return by_hand
        keras = FRAMEWORKS[framework].load()
        model, options = work.build(keras)
        optimizer, compute = keras.optimizers.get(options["optimizer"]), options["loss"]

        def step():
            with tf.GradientTape() as tape:
                loss = compute(y, model(x, training=True))
            gradients = tape.gradient(loss, model.trainable_weights)
            optimizer.apply_gradients(zip(gradients, model.trainable_weights, strict=True))

        return step


WORKLOAD = OwnLoop()
