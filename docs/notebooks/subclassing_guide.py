# %% [markdown]
# # Custom layers and models
#
# A layer is a class with weights and a formula. A model is a layer that can also be trained and saved. This
# notebook shows both, from a linear layer to a variational autoencoder that learns to generate digits.

# %%
import numpy as np

import tfkit as keras
from tfkit import layers, ops

keras.utils.set_random_seed(0)

# %% [markdown]
# ## A layer: weights, and a formula
#
# `add_weight` makes a weight, and `call` is the formula. The layer knows its weights because they are attributes.


# %%
class Linear(layers.Layer):
    def __init__(self, units=32, input_dim=32):
        super().__init__()
        self.w = self.add_weight(shape=(input_dim, units), initializer="random_normal")
        self.b = self.add_weight(shape=(units,), initializer="zeros")

    def call(self, inputs):
        return ops.matmul(inputs, self.w) + self.b


linear = Linear(4, input_dim=2)
print(linear(ops.ones((2, 2))))
assert linear.weights == [linear.w, linear.b]

# %% [markdown]
# ## Weights that are not trained
#
# A weight with `trainable=False` keeps a state: no optimizer changes it, and files contain it.


# %%
class ComputeSum(layers.Layer):
    def __init__(self, input_dim):
        super().__init__()
        self.total = self.add_weight(shape=(input_dim,), initializer="zeros", trainable=False)

    def call(self, inputs):
        self.total.assign_add(ops.sum(inputs, axis=0))
        return self.total


my_sum = ComputeSum(2)
for _ in range(2):
    print(np.asarray(my_sum(ops.ones((2, 2)))))
print("weights:", len(my_sum.weights), "trainable:", len(my_sum.trainable_weights))

# %% [markdown]
# ## Weights whose shape follows from the input
#
# `build` runs before the first call and receives the shape of the input, so the layer needs no `input_dim`.


# %%
class Linear(layers.Layer):
    def __init__(self, units=32):
        super().__init__()
        self.units = units

    def build(self, input_shape):
        self.w = self.add_weight(shape=(input_shape[-1], self.units), initializer="random_normal")
        self.b = self.add_weight(shape=(self.units,), initializer="random_normal")

    def call(self, inputs):
        return ops.matmul(inputs, self.w) + self.b


linear = Linear(32)
print("before:", len(linear.weights), "weights")
linear(ops.ones((2, 2)))
print("after: ", [tuple(weight.shape) for weight in linear.weights])

# %% [markdown]
# ## Layers in layers
#
# A layer that is an attribute of another one belongs to it, with its weights.


# %%
class MLPBlock(layers.Layer):
    def __init__(self):
        super().__init__()
        self.linear_1 = Linear(32)
        self.linear_2 = Linear(32)
        self.linear_3 = Linear(1)

    def call(self, inputs):
        x = ops.relu(self.linear_1(inputs))
        x = ops.relu(self.linear_2(x))
        return self.linear_3(x)


mlp = MLPBlock()
mlp(ops.ones((3, 64)))
print("weights:", len(mlp.weights))

# %% [markdown]
# ## Losses of a layer
#
# `add_loss` adds a term to the loss that `fit` minimizes. `losses` contains the terms of the last call, and those of
# regularizers.


# %%
class ActivityRegularization(layers.Layer):
    def __init__(self, rate=1e-2):
        super().__init__()
        self.rate = rate

    def call(self, inputs):
        self.add_loss(self.rate * ops.mean(inputs))
        return inputs


inputs = keras.Input((3,))
outputs = layers.Dense(3, kernel_regularizer="l2")(ActivityRegularization()(inputs))
model = keras.Model(inputs, outputs)
model(np.ones((2, 3)))
print([float(loss) for loss in model.losses])
model.compile("adam", loss="mse")
model.fit(np.ones((2, 3)), np.zeros((2, 3)), verbose=2)
# %% [markdown]
# ## Configurations
#
# The arguments of the constructor are recorded, so a layer can be saved and recreated without a `get_config`.

# %%
again = Linear.from_config(Linear(64).get_config())
print(again.get_config()["units"])


# %% [markdown]
# ## Training and inference
#
# If `call` has an argument `training`, it is `True` in `fit` and false elsewhere. `mask` is passed in the same way.


# %%
class CustomDropout(layers.Layer):
    def __init__(self, rate, **kwargs):
        super().__init__(**kwargs)
        self.rate = rate
        self.seed_generator = keras.random.SeedGenerator(1337)

    def call(self, inputs, training=None):
        if training:
            return keras.random.dropout(inputs, rate=self.rate, seed=self.seed_generator)
        return inputs


dropout = CustomDropout(0.5)
print(np.asarray(dropout(np.ones((1, 6)), training=True)), np.asarray(dropout(np.ones((1, 6)))))

# %% [markdown]
# ## Putting it together: an autoencoder that generates digits
#
# The encoder maps an image to a distribution of 32 numbers, `Sampling` draws from it, and the decoder turns the
# numbers back into an image. The divergence from the normal distribution is a loss of the model. Its factor is that
# of the variational bound for a mean over pixels; with a factor of 1 it outweighs the pixels, and all digits look
# the same.


# %%
class Sampling(layers.Layer):
    def __init__(self):
        super().__init__()
        self.seed_generator = keras.random.SeedGenerator(1337)

    def call(self, inputs):
        z_mean, z_log_var = inputs
        epsilon = keras.random.normal(ops.shape(z_mean), seed=self.seed_generator)
        return z_mean + ops.exp(0.5 * z_log_var) * epsilon


class Encoder(layers.Layer):
    def __init__(self, latent_dim=32, intermediate_dim=64):
        super().__init__()
        self.dense_proj = layers.Dense(intermediate_dim, activation="relu")
        self.dense_mean = layers.Dense(latent_dim)
        self.dense_log_var = layers.Dense(latent_dim)
        self.sampling = Sampling()

    def call(self, inputs):
        x = self.dense_proj(inputs)
        z_mean, z_log_var = self.dense_mean(x), self.dense_log_var(x)
        return z_mean, z_log_var, self.sampling((z_mean, z_log_var))


class Decoder(layers.Layer):
    def __init__(self, original_dim, intermediate_dim=64):
        super().__init__()
        self.dense_proj = layers.Dense(intermediate_dim, activation="relu")
        self.dense_output = layers.Dense(original_dim, activation="sigmoid")

    def call(self, inputs):
        return self.dense_output(self.dense_proj(inputs))


class VariationalAutoEncoder(keras.Model):
    def __init__(self, original_dim, intermediate_dim=64, latent_dim=32):
        super().__init__()
        self.kl_weight = latent_dim / original_dim
        self.encoder = Encoder(latent_dim, intermediate_dim)
        self.decoder = Decoder(original_dim, intermediate_dim)

    def call(self, inputs):
        z_mean, z_log_var, z = self.encoder(inputs)
        divergence = -0.5 * ops.mean(z_log_var - ops.square(z_mean) - ops.exp(z_log_var) + 1)
        self.add_loss(self.kl_weight * divergence)
        return self.decoder(z)


# %%
(x_train, _), _ = keras.datasets.mnist.load_data()
x_train = x_train.reshape(60000, 784).astype("float32") / 255
vae = VariationalAutoEncoder(784)
vae.compile(keras.optimizers.Adam(1e-3), loss="mse")
history = vae.fit(x_train, x_train, epochs=4, batch_size=64, verbose=2)

# %%
history

# %% [markdown]
# Digits, their reconstructions, and generated digits:

# %%
import io

from IPython.display import Image
from matplotlib import pyplot

drawn = np.asarray(vae.decoder(keras.random.normal((12, 32), seed=0)))
rows = [x_train[:12], vae.predict(x_train[:12], verbose=0), drawn]
grid = np.vstack([np.hstack(list(row.reshape(-1, 28, 28))) for row in rows])
picture = io.BytesIO()
pyplot.imsave(picture, grid.repeat(2, 0).repeat(2, 1), cmap="gray")
Image(picture.getvalue())
