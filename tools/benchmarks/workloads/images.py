"""Four random layers, for images one at a time and in batches in `tf.data`, and in a model under `fit`."""

import numpy as np
import tensorflow as tf

from benchmarks.frameworks import FRAMEWORKS
from benchmarks.timing import peak_memory, repeat

SIZE, BATCH = 64, 32


def random_layers(keras):
    return [
        keras.layers.RandomFlip("horizontal", seed=1),
        keras.layers.RandomRotation(0.1, seed=2),
        keras.layers.RandomZoom(0.2, seed=3),
        keras.layers.RandomContrast(0.2, seed=4),
    ]


def build_model(keras):
    layers = [*random_layers(keras), keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(1)]
    model = keras.Sequential([keras.Input((SIZE, SIZE, 3)), *layers])
    model.compile("sgd", "mse")
    return model


class Images:
    def measure(self, framework, kind, quick):
        if not FRAMEWORKS[framework].module:
            return {}  # There is nothing to do by hand.
        keras = FRAMEWORKS[framework].load()
        count = BATCH if quick else 64 * BATCH
        images = np.random.uniform(0, 255, (count, SIZE, SIZE, 3)).astype("float32")
        augment = keras.layers.Pipeline(random_layers(keras))
        alone = tf.data.Dataset.from_tensor_slices(images)

        def change(image):
            return augment(image, training=True)

        measures = {
            "image in map": self.pass_over(alone.map(change), quick),
            "image in parallel map": self.pass_over(
                alone.map(change, num_parallel_calls=tf.data.AUTOTUNE), quick
            ),
            "image in batches": self.pass_over(alone.batch(BATCH).map(change), quick),
        }
        model, targets = build_model(keras), np.zeros((count, 1), "float32")

        def fit():
            model.fit(images, targets, batch_size=BATCH, verbose=0)

        fit()  # traces
        measures["image in fit"] = repeat(fit, quick)
        seconds = {name: value / count for name, value in measures.items()}
        return seconds | {"memory": peak_memory()}

    def pass_over(self, dataset, quick):
        """Seconds of a whole pass, of which Python sees the end only."""

        @tf.function(autograph=False)
        def run():
            return dataset.reduce(np.int64(0), lambda number, _: number + 1)

        run()  # traces
        return repeat(run, quick)


WORKLOAD = Images()
