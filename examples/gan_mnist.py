"""A generative adversarial network (GAN) that generates digits of 14 x 14 pixels.

    python gan_mnist.py --epochs 5

Reference: Goodfellow et al. (2014), "Generative adversarial nets".
"""

import argparse

import numpy as np
from matplotlib import pyplot

import tfkit as keras
from tfkit import layers, ops
import tensorflow as tf

NOISE = 32


def load_images(limit):
    (images, _), _ = keras.datasets.mnist.load_data()
    images = images[:limit].reshape(-1, 14, 2, 14, 2).mean((2, 4)) / 127.5 - 1
    return images[..., None].astype("float32")


def build_generator():
    return keras.Sequential(
        [
            keras.Input((NOISE,)),
            layers.Dense(7 * 7 * 32),
            layers.LeakyReLU(0.2),
            layers.Reshape((7, 7, 32)),
            layers.Conv2DTranspose(32, 4, strides=2, padding="same"),
            layers.LeakyReLU(0.2),
            layers.Conv2D(1, 5, padding="same", activation="tanh"),
        ],
        name="generator",
    )


def build_discriminator():
    return keras.Sequential(
        [
            keras.Input((14, 14, 1)),
            layers.Conv2D(32, 4, strides=2, padding="same"),
            layers.LeakyReLU(0.2),
            layers.Conv2D(64, 4, strides=2, padding="same"),
            layers.LeakyReLU(0.2),
            layers.Flatten(),
            layers.Dropout(0.3),
            layers.Dense(1),
        ],
        name="discriminator",
    )


class GAN(keras.Model):
    """A generator learns to fool a discriminator, which learns to tell generated images from real ones."""

    def __init__(self, generator, discriminator, **kwargs):
        super().__init__(**kwargs)
        self.generator = generator
        self.discriminator = discriminator
        self.seed_generator = keras.random.SeedGenerator(0)
        self.d_loss = keras.metrics.Mean(name="d_loss")
        self.g_loss = keras.metrics.Mean(name="g_loss")

    def compile(self, d_optimizer, g_optimizer, **kwargs):
        super().compile(**kwargs)
        self.d_optimizer = d_optimizer
        self.g_optimizer = g_optimizer

    @property
    def metrics(self):
        return [self.d_loss, self.g_loss]

    def call(self, noise):
        return self.generator(noise)

    def train_step(self, images):
        count = ops.shape(images)[0]
        noise = keras.random.normal((count, NOISE), seed=self.seed_generator)
        with tf.GradientTape() as tape:
            drawn = self.generator(noise, training=True)
            real = self.discriminator(images, training=True)
            fake = self.discriminator(drawn, training=True)
            # Labels of 0.9 instead of 1 keep the discriminator from becoming overconfident.
            d_loss = ops.mean(
                ops.binary_crossentropy(ops.full_like(real, 0.9), real, from_logits=True)
                + ops.binary_crossentropy(ops.zeros_like(fake), fake, from_logits=True)
            )
        variables = self.discriminator.trainable_variables
        self.d_optimizer.apply(tape.gradient(d_loss, variables), variables)

        noise = keras.random.normal((count, NOISE), seed=self.seed_generator)
        with tf.GradientTape() as tape:
            fake = self.discriminator(self.generator(noise, training=True), training=True)
            g_loss = ops.mean(ops.binary_crossentropy(ops.ones_like(fake), fake, from_logits=True))
        variables = self.generator.trainable_variables
        self.g_optimizer.apply(tape.gradient(g_loss, variables), variables)

        self.d_loss.update_state(d_loss)
        self.g_loss.update_state(g_loss)
        return {metric.name: metric.result() for metric in self.metrics}


def shown(image):
    """Returns an image as text."""
    return "\n".join("".join(" .:*#"[int((value + 1) * 2.49)] for value in row) for row in image)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--limit", type=int, default=20000)
    parser.add_argument("--picture", default="gan_mnist.png", help="file to draw")
    options = parser.parse_args(argv)

    keras.utils.set_random_seed(0)
    images = load_images(options.limit)
    gan = GAN(build_generator(), build_discriminator())
    gan.compile(
        d_optimizer=keras.optimizers.Adam(5e-4, beta_1=0.5),
        g_optimizer=keras.optimizers.Adam(5e-4, beta_1=0.5),
    )
    gan.fit(images, batch_size=128, epochs=options.epochs, verbose=2)
    noise = keras.random.normal((200, NOISE), seed=1)
    drawn = np.asarray(gan.generator(noise))[..., 0]
    print(shown(drawn[0]))
    # The distance between the mean generated image and the mean real one.
    distance = float(np.abs(drawn.mean(0) - images.mean(0)[..., 0]).mean())
    print(f"Distance between the mean generated and the mean real image: {distance:.3f}")
    grid = np.vstack([np.hstack(list(row)) for row in drawn[:48].reshape(4, 12, 14, 14)])
    pyplot.imsave(options.picture, grid.repeat(3, 0).repeat(3, 1), cmap="gray")
    print(f"Picture: {options.picture}")
    return distance, drawn


if __name__ == "__main__":
    main()
