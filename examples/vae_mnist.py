"""A variational autoencoder (VAE) that learns to generate digits.

    python vae_mnist.py --epochs 2 --batch-size 64

Reference: Kingma, Welling (2013), "Auto-Encoding Variational Bayes".
"""

import argparse

import numpy as np
from matplotlib import pyplot

import tfkit as keras
from tfkit import layers, ops


@keras.saving.register_keras_serializable(package="vae_mnist")
class Sampling(layers.Layer):
    """Draws z from the normal distribution with mean `z_mean` and variance `exp(z_log_var)`."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.seed_generator = keras.random.SeedGenerator(1337)

    def call(self, inputs):
        z_mean, z_log_var = inputs
        epsilon = keras.random.normal(ops.shape(z_mean), seed=self.seed_generator)
        return z_mean + ops.exp(0.5 * z_log_var) * epsilon


@keras.saving.register_keras_serializable(package="vae_mnist")
class Encoder(layers.Layer):
    """Maps images to (z_mean, z_log_var, z)."""

    def __init__(self, latent_dim=32, intermediate_dim=64, name="encoder", **kwargs):
        super().__init__(name=name, **kwargs)
        self.dense_proj = layers.Dense(intermediate_dim, activation="relu")
        self.dense_mean = layers.Dense(latent_dim)
        self.dense_log_var = layers.Dense(latent_dim)
        self.sampling = Sampling()

    def call(self, inputs):
        x = self.dense_proj(inputs)
        z_mean = self.dense_mean(x)
        z_log_var = self.dense_log_var(x)
        return z_mean, z_log_var, self.sampling((z_mean, z_log_var))


@keras.saving.register_keras_serializable(package="vae_mnist")
class Decoder(layers.Layer):
    """Maps z back to images."""

    def __init__(self, original_dim, intermediate_dim=64, name="decoder", **kwargs):
        super().__init__(name=name, **kwargs)
        self.dense_proj = layers.Dense(intermediate_dim, activation="relu")
        self.dense_output = layers.Dense(original_dim, activation="sigmoid")

    def call(self, inputs):
        return self.dense_output(self.dense_proj(inputs))


@keras.saving.register_keras_serializable(package="vae_mnist")
class VariationalAutoEncoder(keras.Model):
    """Encoder, decoder and the Kullback-Leibler divergence between z and the prior.

    Args:
        original_dim: number of pixels of an image.
        intermediate_dim: units of the hidden layers.
        latent_dim: number of values that an image is encoded as.
        kl_weight: factor of the divergence, which is a mean over the latent dimensions. The
            variational bound on pixel means has `latent_dim / original_dim`; with 1 the divergence
            outweighs the pixels, and all digits come out as their average.
    """

    def __init__(
        self,
        original_dim,
        intermediate_dim=64,
        latent_dim=32,
        kl_weight=1.0,
        name="autoencoder",
        **kwargs,
    ):
        super().__init__(name=name, **kwargs)
        self.kl_weight = kl_weight
        self.encoder = Encoder(latent_dim, intermediate_dim)
        self.decoder = Decoder(original_dim, intermediate_dim)

    def call(self, inputs):
        z_mean, z_log_var, z = self.encoder(inputs)
        divergence = -0.5 * ops.mean(z_log_var - ops.square(z_mean) - ops.exp(z_log_var) + 1)
        self.add_loss(self.kl_weight * divergence)
        return self.decoder(z)


def to_pixels(images):
    """Returns images with values from 0 to 255 as float rows with values from 0 to 1."""
    return images.reshape(len(images), -1).astype("float32") / 255


def train(images, epochs=2, batch_size=64, kl_weight=1.0):
    """Returns a model that was trained to reconstruct the rows of `images`, and its `History`."""
    vae = VariationalAutoEncoder(images.shape[1], kl_weight=kl_weight)
    vae.compile(keras.optimizers.Adam(learning_rate=1e-3), loss=keras.losses.MeanSquaredError())
    history = vae.fit(images, images, epochs=epochs, batch_size=batch_size)
    return vae, history


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--limit", type=int, help="train on the first images only")
    parser.add_argument(
        "--kl-weight", type=float, default=32 / 784, help="factor of the divergence"
    )
    parser.add_argument("--picture", default="vae_mnist.png", help="file to draw")
    options = parser.parse_args(arguments)

    keras.utils.set_random_seed(0)
    (x_train, _), _ = keras.datasets.mnist.load_data()
    images = to_pixels(x_train[: options.limit])
    vae, history = train(images, options.epochs, options.batch_size, options.kl_weight)
    drawn = vae.decoder(keras.random.normal((12, 32), seed=0))
    rows = [images[:12], vae.predict(images[:12], verbose=0), np.asarray(drawn)]
    grid = np.vstack([np.hstack(list(row.reshape(-1, 28, 28))) for row in rows])
    pyplot.imsave(options.picture, grid.repeat(2, 0).repeat(2, 1), cmap="gray")
    print(f"Picture: {options.picture}: digits, their reconstructions, generated digits")
    return vae, history


if __name__ == "__main__":
    main()
