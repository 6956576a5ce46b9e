"""The variational autoencoder of Keras's guide to subclassing, on MNIST or on random rows of that size."""

import os

import numpy as np

from benchmarks.lazily import tf
from benchmarks.plain import dense
from benchmarks.training import Training

PIXELS, UNITS, LATENT = 784, 64, 32
BATCH_SIZE = 64
NUM_STEPS = 938  # all of MNIST; the last batch is half full


def data(rows):
    images = read_mnist() if rows == BATCH_SIZE * NUM_STEPS else None
    if images is None:
        images = np.random.rand(min(rows, 60000), PIXELS).astype("float32")
    return images, images


def read_mnist():
    """Returns the training digits, from the folders in TFKIT_DATA; `None` if they are not there."""
    for folder in os.environ.get("TFKIT_DATA", "").split(os.pathsep):
        path = os.path.join(folder, "mnist.npz")
        if folder and os.path.exists(path):
            with np.load(path) as arrays:
                return arrays["x_train"].reshape(-1, PIXELS).astype("float32") / 255
    return None


def build(keras):
    layers, ops = keras.layers, keras.ops

    class Sampling(layers.Layer):
        def __init__(self):
            super().__init__()
            self.seed_generator = keras.random.SeedGenerator(1337)

        def call(self, inputs):
            z_mean, z_log_var = inputs
            epsilon = keras.random.normal(ops.shape(z_mean), seed=self.seed_generator)
            return z_mean + ops.exp(0.5 * z_log_var) * epsilon

    class Encoder(layers.Layer):
        def __init__(self):
            super().__init__()
            self.dense_proj = layers.Dense(UNITS, activation="relu")
            self.dense_mean = layers.Dense(LATENT)
            self.dense_log_var = layers.Dense(LATENT)
            self.sampling = Sampling()

        def call(self, inputs):
            x = self.dense_proj(inputs)
            z_mean = self.dense_mean(x)
            z_log_var = self.dense_log_var(x)
            return z_mean, z_log_var, self.sampling((z_mean, z_log_var))

    class Decoder(layers.Layer):
        def __init__(self):
            super().__init__()
            self.dense_proj = layers.Dense(UNITS, activation="relu")
            self.dense_output = layers.Dense(PIXELS, activation="sigmoid")

        def call(self, inputs):
            return self.dense_output(self.dense_proj(inputs))

    class VariationalAutoEncoder(keras.Model):
        def __init__(self):
            super().__init__()
            self.encoder = Encoder()
            self.decoder = Decoder()

        def call(self, inputs):
            z_mean, z_log_var, z = self.encoder(inputs)
            divergence = z_log_var - ops.square(z_mean) - ops.exp(z_log_var) + 1
            self.add_loss(-0.5 * ops.mean(divergence))
            return self.decoder(z)

    return VariationalAutoEncoder(), {"optimizer": "adam", "loss": "mean_squared_error"}


class Plain:
    def __init__(self):
        self.encoder = dense(PIXELS, UNITS) + dense(UNITS, LATENT) + dense(UNITS, LATENT)
        self.decoder = dense(LATENT, UNITS) + dense(UNITS, PIXELS)
        self.weights = self.encoder + self.decoder

    def __call__(self, x):
        return self.compute(x, 0)[0]

    def loss(self, x, y, step):
        output, divergence = self.compute(x, step)
        return tf.reduce_mean(tf.square(output - y)) + divergence

    def compute(self, x, step):
        """Returns the output, and the divergence of the distribution of the code from a normal one."""
        w, b, w_mean, b_mean, w_log_var, b_log_var = self.encoder
        hidden = tf.nn.relu(x @ w + b)
        z_mean, z_log_var = hidden @ w_mean + b_mean, hidden @ w_log_var + b_log_var
        seed = tf.stack([1337, tf.cast(step, "int32")])
        epsilon = tf.random.stateless_normal(tf.shape(z_mean), seed, alg="philox")
        z = z_mean + tf.exp(0.5 * z_log_var) * epsilon
        w, b, w_output, b_output = self.decoder
        output = tf.sigmoid(tf.nn.relu(z @ w + b) @ w_output + b_output)
        divergence = -0.5 * tf.reduce_mean(z_log_var - tf.square(z_mean) - tf.exp(z_log_var) + 1)
        return output, divergence


WORKLOAD = Training(BATCH_SIZE, NUM_STEPS, data, build, Plain, program="xla loop")
