"""A denoising diffusion model that turns noise into points on a spiral, step by step.

    python diffusion_2d.py --epochs 60

Reference: Ho, Jain, Abbeel (2020), "Denoising diffusion probabilistic models".
"""

import argparse

import numpy as np
from matplotlib import pyplot

import tfkit as keras
from tfkit import layers, ops
import tensorflow as tf

STEPS = 40
BETAS = np.linspace(1e-3, 0.2, STEPS).astype("float32")
LEFT = np.cumprod(1 - BETAS).astype("float32")  # share of the signal after each step


def make_spiral(count, seed=0):
    rng = np.random.default_rng(seed)
    angle = 1.5 * np.pi * (1 + 2 * rng.random(count))
    points = np.stack([angle * np.cos(angle), angle * np.sin(angle)], -1) / 8
    return (points + rng.normal(scale=0.02, size=points.shape)).astype("float32")


@keras.saving.register_keras_serializable(package="diffusion")
class Diffusion(keras.Model):
    """Predicts the noise that was added to points."""

    def __init__(self, width=128, **kwargs):
        super().__init__(**kwargs)
        self.width = width
        self.time = layers.Embedding(STEPS, width)
        self.hidden = [layers.Dense(width, activation="silu") for _ in range(3)]
        self.noise = layers.Dense(2)
        self.seed_generator = keras.random.SeedGenerator(0)

    def call(self, inputs):
        points, step = inputs
        x = ops.concatenate([points, self.time(step)], axis=-1)
        for layer in self.hidden:
            x = layer(x)
        return self.noise(x)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """Returns the error of the predicted noise, for points noised to a random step."""
        step = keras.random.randint(ops.shape(x)[:1], 0, STEPS, seed=self.seed_generator)
        noise = keras.random.normal(ops.shape(x), seed=self.seed_generator)
        left = ops.expand_dims(ops.take(ops.convert_to_tensor(LEFT), step), -1)
        noisy = ops.sqrt(left) * x + ops.sqrt(1 - left) * noise
        return ops.mean(ops.square(noise - self((noisy, step), training=training)))

    def train_step(self, points):
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x=points)
        variables = self.trainable_variables
        self.optimizer.apply(tape.gradient(loss, variables), variables)
        return {"loss": loss}

    def draw(self, count, seed=0):
        """Returns points generated from noise."""
        seeds = keras.random.SeedGenerator(seed)
        x = keras.random.normal((count, 2), seed=seeds)
        for step in reversed(range(STEPS)):
            noise = self((x, ops.full((count,), step, dtype="int32")))
            x = (x - BETAS[step] / np.sqrt(1 - LEFT[step]) * noise) / np.sqrt(1 - BETAS[step])
            if step:
                x = x + np.sqrt(BETAS[step]) * keras.random.normal((count, 2), seed=seeds)
        return np.asarray(x)


def distance(points, others):
    """Returns the mean distance from each point to its nearest neighbor among others."""
    return np.sqrt(((points[:, None] - others[None]) ** 2).sum(-1)).min(1).mean()


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--points", type=int, default=10000)
    parser.add_argument("--picture", default="diffusion_2d.png", help="file to draw")
    options = parser.parse_args(argv)

    keras.utils.set_random_seed(0)
    points = make_spiral(options.points)
    model = Diffusion()
    model.compile(keras.optimizers.Adam(2e-3))
    model.fit(points, batch_size=100, epochs=options.epochs, verbose=2)
    drawn = model.draw(500)
    noise = np.random.default_rng(1).normal(size=(500, 2))
    result, before = distance(drawn, points[:2000]), distance(noise, points[:2000])
    print(f"Mean distance from the spiral: {result:.3f} (generated), {before:.3f} (noise)")
    figure, axes = pyplot.subplots(
        1, 3, figsize=(9, 3.2), sharex=True, sharey=True, layout="constrained"
    )
    shown = {"noise": noise, "generated from noise": drawn, "training data": points[:500]}
    for axis, (title, dots) in zip(axes, shown.items(), strict=True):
        axis.scatter(*dots.T, s=3)
        axis.set_title(title)
    figure.savefig(options.picture, dpi=80)
    print(f"Picture: {options.picture}")
    return result, before


if __name__ == "__main__":
    main()
