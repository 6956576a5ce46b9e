"""`fit` with a custom `train_step`: a denoising autoencoder, trained on noisy copies of its inputs."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import tfkit as keras
import tensorflow as tf


class Denoiser(keras.Model):
    """Learns to remove noise from its inputs."""

    def __init__(self, units: int = 32, noise: float = 0.3) -> None:
        super().__init__()
        self.noise = noise
        self.hidden = keras.layers.Dense(units, activation="relu")
        self.outputs_layer = keras.layers.Dense(8)
        self.seed_generator = keras.random.SeedGenerator(1)

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        return self.outputs_layer(self.hidden(inputs))

    def train_step(self, data: Any) -> dict[str, tf.Tensor]:
        (x,) = data if isinstance(data, tuple) else (data,)
        noisy = x + keras.random.normal(tf.shape(x), 0.0, self.noise, seed=self.seed_generator)
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x=x, y=x, y_pred=self(noisy, training=True))
        gradients = tape.gradient(loss, self.trainable_weights)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_weights, strict=True))
        return {"loss": loss}


def main(arguments: list[str] | None = None) -> list[float]:
    """Trains the model and returns the loss of each epoch."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--picture", default="custom_train_step.png", help="file to draw")
    options = parser.parse_args(arguments)
    keras.utils.set_random_seed(0)
    directions = np.random.normal(size=(2, 8))
    x = np.random.normal(size=(2048, 2)) @ directions
    model = Denoiser()
    model.compile("adam", loss="mse")
    history = model.fit(x, epochs=options.epochs, verbose=2)
    noisy = x + np.random.normal(scale=model.noise, size=x.shape)
    before, after = (
        np.square(rows - x).mean() for rows in (noisy, model.predict(noisy, verbose=0))
    )
    print(f"Mean squared error of noisy rows: {before:.3f}; after denoising: {after:.3f}")
    history.plot()[0].figure.savefig(options.picture, dpi=80)
    print(f"Picture: {options.picture}")
    return history["loss"]


if __name__ == "__main__":
    main()
