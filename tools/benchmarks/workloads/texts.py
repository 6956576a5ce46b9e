"""The vocabulary of a million strings, streamed from `tf.data`."""

import numpy as np
import tensorflow as tf

from benchmarks.frameworks import FRAMEWORKS
from benchmarks.timing import peak_memory, seconds

WORDS, LENGTH, BATCH = 20000, 12, 1024


class Texts:
    def measure(self, framework, kind, quick):
        if not FRAMEWORKS[framework].module:
            return {}  # There is nothing to do by hand.
        keras = FRAMEWORKS[framework].load()
        count = BATCH if quick else 1000 * BATCH
        # Few words are frequent and many are rare, as in a language.
        ranks = np.random.default_rng(0).zipf(1.2, (min(count, 64 * BATCH), LENGTH)) % WORDS
        texts = np.array([" ".join(f"word{rank}" for rank in row) for row in ranks])
        dataset = tf.data.Dataset.from_tensor_slices(texts).repeat().take(count).batch(BATCH)
        layer = keras.layers.TextVectorization(max_tokens=WORDS // 2)
        # Once: what is measured takes seconds, and a second time has nothing to trace.
        return {"adapt": seconds(lambda: layer.adapt(dataset)), "memory": peak_memory()}


WORKLOAD = Texts()
