"""A custom training loop: `tf.GradientTape`, losses added by layers, one compiled step."""

from __future__ import annotations

import argparse

import numpy as np
from matplotlib import pyplot

import tfkit as keras
import tensorflow as tf


def build_model() -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((8,)),
            keras.layers.Dense(32, activation="relu", kernel_regularizer="l2"),
            keras.layers.ActivityRegularization(l1=1e-4),
            keras.layers.Dense(1),
        ]
    )


def main(arguments: list[str] | None = None) -> list[float]:
    """Fits a sum of squares and returns the mean loss of each epoch."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--picture", default="custom_loop.png", help="file to draw")
    options = parser.parse_args(arguments)
    keras.utils.set_random_seed(0)
    x = np.random.normal(size=(1024, 8)).astype("float32")
    y = np.sum(x**2, axis=1, keepdims=True)
    batches = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1024, seed=0).batch(32)
    model = build_model()
    optimizer = keras.optimizers.Adam(0.01)
    loss_function = keras.losses.MeanSquaredError()
    mean_loss = keras.metrics.Mean()

    @tf.function
    def step(inputs: tf.Tensor, targets: tf.Tensor) -> None:
        with tf.GradientTape() as tape:
            outputs = model(inputs, training=True)
            loss = loss_function(targets, outputs) + tf.add_n(model.losses)
        gradients = tape.gradient(loss, model.trainable_weights)
        optimizer.apply_gradients(zip(gradients, model.trainable_weights, strict=True))
        mean_loss.update_state(loss)

    losses = []
    for epoch in range(options.epochs):
        mean_loss.reset_state()
        for inputs, targets in batches:
            step(inputs, targets)
        losses.append(float(mean_loss.result()))
        print(f"epoch {epoch + 1}: loss {losses[-1]:.4f}")
    figure, axis = pyplot.subplots(figsize=(5, 3.2), layout="constrained")
    axis.plot(range(1, len(losses) + 1), losses, marker=".")
    axis.set(xlabel="epoch", ylabel="mean loss (log scale)", yscale="log")
    axis.set_xticks(range(1, len(losses) + 1))
    figure.savefig(options.picture, dpi=80)
    print(f"Picture: {options.picture}")
    return losses


if __name__ == "__main__":
    main()
