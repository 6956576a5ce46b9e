"""Programs that write their training steps themselves."""

import numpy as np
import tensorflow as tf

from benchmarks.programs.images import pictures
from benchmarks.programs.vectors import classes


def vae(keras, size):
    layers, ops = keras.layers, keras.ops

    class Sampling(layers.Layer):
        def __init__(self):
            super().__init__()
            self.seed_generator = keras.random.SeedGenerator(1337)

        def call(self, inputs):
            mean, log_var = inputs
            noise = keras.random.normal(ops.shape(mean), seed=self.seed_generator)
            return mean + ops.exp(0.5 * log_var) * noise

    class Autoencoder(keras.Model):
        def __init__(self, encoder, decoder):
            super().__init__()
            self.encoder, self.decoder = encoder, decoder
            self.total = keras.metrics.Mean(name="total")
            self.divergence = keras.metrics.Mean(name="divergence")

        @property
        def metrics(self):
            return [self.total, self.divergence]

        def train_step(self, data):
            with tf.GradientTape() as tape:
                mean, log_var, code = self.encoder(data)
                difference = keras.losses.binary_crossentropy(data, self.decoder(code))
                reconstruction = ops.mean(difference) * 784
                divergence = -0.5 * (1 + log_var - ops.square(mean) - ops.exp(log_var))
                divergence = ops.mean(ops.sum(divergence, axis=1))
                total = reconstruction + divergence
            gradients = tape.gradient(total, self.trainable_weights)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_weights, strict=True))
            self.total.update_state(total)
            self.divergence.update_state(divergence)
            return {"loss": self.total.result(), "divergence": self.divergence.result()}

    inputs = keras.Input((784,))
    h = layers.Dense(128, activation="relu")(inputs)
    mean, log_var = layers.Dense(8)(h), layers.Dense(8)(h)
    encoder = keras.Model(inputs, [mean, log_var, Sampling()([mean, log_var])])
    decoder = keras.Sequential(
        [
            keras.Input((8,)),
            layers.Dense(128, activation="relu"),
            layers.Dense(784, activation="sigmoid"),
        ]
    )
    model = Autoencoder(encoder, decoder)
    model.compile(optimizer=keras.optimizers.Adam())
    x, _ = pictures(size(1920), 28, 1)
    history = model.fit(x.reshape(-1, 784), batch_size=64, epochs=2, verbose=0)
    return history.history["loss"][-1]


def gan(keras, size):
    layers, ops = keras.layers, keras.ops

    class Adversaries(keras.Model):
        def __init__(self, discriminator, generator):
            super().__init__()
            self.discriminator, self.generator = discriminator, generator
            self.seed_generator = keras.random.SeedGenerator(1337)
            self.d_metric = keras.metrics.Mean(name="d_loss")
            self.g_metric = keras.metrics.Mean(name="g_loss")

        def compile(self, d_optimizer, g_optimizer, loss_fn):
            super().compile()
            self.d_optimizer, self.g_optimizer = d_optimizer, g_optimizer
            self.loss_fn = loss_fn

        @property
        def metrics(self):
            return [self.d_metric, self.g_metric]

        def noise(self, rows):
            return keras.random.normal((rows, 16), seed=self.seed_generator)

        def train_step(self, images):
            rows = ops.shape(images)[0]
            both = ops.concatenate([self.generator(self.noise(rows)), images], axis=0)
            labels = ops.concatenate([ops.ones((rows, 1)), ops.zeros((rows, 1))], axis=0)
            with tf.GradientTape() as tape:
                d_loss = self.loss_fn(labels, self.discriminator(both))
            weights = self.discriminator.trainable_weights
            gradients = tape.gradient(d_loss, weights)
            self.d_optimizer.apply_gradients(zip(gradients, weights, strict=True))
            with tf.GradientTape() as tape:
                predictions = self.discriminator(self.generator(self.noise(rows)))
                g_loss = self.loss_fn(ops.zeros((rows, 1)), predictions)
            weights = self.generator.trainable_weights
            gradients = tape.gradient(g_loss, weights)
            self.g_optimizer.apply_gradients(zip(gradients, weights, strict=True))
            self.d_metric.update_state(d_loss)
            self.g_metric.update_state(g_loss)
            return {"d_loss": self.d_metric.result(), "g_loss": self.g_metric.result()}

    discriminator = keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            layers.Conv2D(16, 3, 2, padding="same"),
            layers.LeakyReLU(0.2),
            layers.Conv2D(32, 3, 2, padding="same"),
            layers.LeakyReLU(0.2),
            layers.GlobalMaxPooling2D(),
            layers.Dense(1),
        ]
    )
    generator = keras.Sequential(
        [
            keras.Input((16,)),
            layers.Dense(7 * 7 * 16),
            layers.LeakyReLU(0.2),
            layers.Reshape((7, 7, 16)),
            layers.Conv2DTranspose(16, 4, 2, padding="same"),
            layers.LeakyReLU(0.2),
            layers.Conv2DTranspose(16, 4, 2, padding="same"),
            layers.LeakyReLU(0.2),
            layers.Conv2D(1, 7, padding="same", activation="sigmoid"),
        ]
    )
    model = Adversaries(discriminator, generator)
    model.compile(
        keras.optimizers.Adam(0.0003),
        keras.optimizers.Adam(0.0003),
        keras.losses.BinaryCrossentropy(from_logits=True),
    )
    x, _ = pictures(size(640), 28, 1)
    dataset = tf.data.Dataset.from_tensor_slices(x).shuffle(1024, seed=0).batch(32)
    return model.fit(dataset, epochs=1, verbose=0).history["d_loss"][-1]


def custom_loop(keras, size):
    x, y = classes(size(3200), 30, 10)
    inputs = keras.Input((30,))
    h = keras.layers.Dense(64, activation="relu")(inputs)
    h = keras.layers.Dense(64, activation="relu")(h)
    model = keras.Model(inputs, keras.layers.Dense(10)(h))
    optimizer = keras.optimizers.Adam(0.001)
    loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    metric = keras.metrics.SparseCategoricalAccuracy()

    @tf.function
    def train_step(rows, labels):
        with tf.GradientTape() as tape:
            logits = model(rows, training=True)
            loss = loss_fn(labels, logits)
        gradients = tape.gradient(loss, model.trainable_weights)
        optimizer.apply_gradients(zip(gradients, model.trainable_weights, strict=True))
        metric.update_state(labels, logits)
        return loss

    losses = []
    for _ in range(2):
        for rows, labels in tf.data.Dataset.from_tensor_slices((x, y)).batch(32):
            losses.append(float(train_step(rows, labels)))
        metric.reset_state()
    return float(np.mean(losses[-10:]))
