"""The works in plain JAX: all steps of an epoch in one compiled `lax.scan`."""

import functools
import itertools
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks.timing import seconds

IMPORTED = time.perf_counter()
BATCH_SIZE = 32  # the default of `predict`


def relu(x):
    return jnp.maximum(x, 0)


def dense(draw, fan_in, units):
    return [draw(fan_in, units), jnp.zeros(units)]


def normalized(x, gamma, beta):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-3) * gamma + beta


def convolved(x, kernel, padding):
    form = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(x, kernel, (1, 1), padding, dimension_numbers=form)


def pooled(x):
    return lax.reduce_window(x, -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


class Network:
    """A network: its weights, its state that is not trained, and its formula.

    The formula returns the outputs, the new state, and an addition to the loss.
    """

    def state(self):
        return []

    def loss(self, outputs, y):
        return -jnp.take_along_axis(jax.nn.log_softmax(outputs), y[:, None], 1).mean()

    def __call__(self, weights, state, x, key):
        return self.outputs(weights, x), state, 0.0


class Perceptron(Network):
    def __init__(self, features, units):
        self.sizes = features, units, units, 10

    def weights(self, draw):
        return [each for pair in itertools.pairwise(self.sizes) for each in dense(draw, *pair)]

    def outputs(self, weights, x):
        w1, b1, w2, b2, w3, b3 = weights
        return relu(relu(x @ w1 + b1) @ w2 + b2) @ w3 + b3


class Cnn(Network):
    def weights(self, draw):
        first, second = draw(3, 3, 1, 32), draw(3, 3, 32, 64)
        return [first, jnp.zeros(32), second, jnp.zeros(64), *dense(draw, 1600, 10)]

    def outputs(self, weights, x):
        k1, b1, k2, b2, w, b = weights
        x = pooled(relu(convolved(x, k1, "VALID") + b1))
        x = pooled(relu(convolved(x, k2, "VALID") + b2))
        return x.reshape(len(x), -1) @ w + b


class Resnet(Network):
    def weights(self, draw):
        kernels = [draw(3, 3, 3, 32), *(draw(3, 3, 32, 32) for _ in range(6))]
        return [[(kernel, jnp.ones(32), jnp.zeros(32)) for kernel in kernels], dense(draw, 32, 10)]

    def state(self):
        return [(jnp.zeros(32), jnp.ones(32)) for _ in range(7)]

    def __call__(self, weights, state, x, key):
        convolutions, (w, b) = weights
        known, new = iter(zip(convolutions, state, strict=True)), []

        def convolve(x):
            (kernel, scale, offset), (mean, variance) = next(known)
            x = convolved(x, kernel, "SAME")
            if key is not None:
                of_batch = x.mean((0, 1, 2)), x.var((0, 1, 2))
                pairs = zip((mean, variance), of_batch, strict=True)
                new.append(tuple(old + (now - old) * 0.01 for old, now in pairs))
                mean, variance = of_batch
            return (x - mean) * (lax.rsqrt(variance + 1e-3) * scale) + offset

        x = relu(convolve(x))
        for _ in range(3):
            x = relu(x + convolve(relu(convolve(x))))
        return x.mean((1, 2)) @ w + b, new or state, 0.0


class Recurrent(Network):
    """A cell over 50 steps of 32 features, with 64 units."""

    def __init__(self, compute, gates):
        self.compute, self.gates = compute, gates

    def weights(self, draw):
        recurrent = dense(draw, 64, 64 * self.gates)
        recurrent = recurrent[: 1 if self.compute is lstm else 2]  # The LSTM has one bias.
        return [*dense(draw, 32, 64 * self.gates), *recurrent, *dense(draw, 64, 10)]

    def outputs(self, weights, x):
        kernel, bias, *recurrent, w, b = weights
        projected = jnp.swapaxes(x @ kernel + bias, 0, 1)
        return self.compute(projected, jnp.zeros((len(x), 64)), *recurrent) @ w + b


def lstm(projected, zeros, recurrent):
    """Returns the last state; the inputs are multiplied by the kernel already."""

    def step(carry, row):
        h, c = carry
        i, f, g, o = jnp.split(row + h @ recurrent, 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

    return lax.scan(step, (zeros, zeros), projected)[0][0]


def gru(projected, zeros, recurrent, offset):
    def step(h, row):
        z, r, g = jnp.split(row, 3, -1)
        z_h, r_h, g_h = jnp.split(h @ recurrent + offset, 3, -1)
        z = jax.nn.sigmoid(z + z_h)
        g = jnp.tanh(g + jax.nn.sigmoid(r + r_h) * g_h)
        return z * h + (1 - z) * g, None

    return lax.scan(step, zeros, projected)[0]


class Transformer(Network):
    def weights(self, draw):
        def norm():
            return [jnp.ones(128), jnp.zeros(128)]

        def block():
            attention = dense(draw, 128, 384) + dense(draw, 128, 128)
            return [norm(), attention, norm(), dense(draw, 128, 512) + dense(draw, 512, 128)]

        return [[block(), block()], dense(draw, 128, 10)]

    def outputs(self, weights, x):
        blocks, (w, b) = weights
        for first, (w_in, b_in, w_out, b_out), second, (w1, b1, w2, b2) in blocks:
            parts = (normalized(x, *first) @ w_in + b_in).reshape(len(x), 64, 3, 4, 32)
            query, key, value = jnp.moveaxis(parts, 2, 0)
            scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) * 32**-0.5
            mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), value)
            x += mixed.reshape(x.shape) @ w_out + b_out
            hidden = jax.nn.gelu(normalized(x, *second) @ w1 + b1, approximate=False)
            x += hidden @ w2 + b2
        return x.mean(1) @ w + b


class Embedding(Network):
    def weights(self, draw):
        return [draw(50000, 32), *dense(draw, 640, 10)]

    def outputs(self, weights, x):
        table, w, b = weights
        return table[x].reshape(len(x), -1) @ w + b


class Vae(Network):
    def weights(self, draw):
        encoder = dense(draw, 784, 64) + dense(draw, 64, 32) + dense(draw, 64, 32)
        return encoder + dense(draw, 32, 64) + dense(draw, 64, 784)

    def __call__(self, weights, state, x, key):
        w, b, w_mean, b_mean, w_log_var, b_log_var, w_1, b_1, w_2, b_2 = weights
        hidden = relu(x @ w + b)
        z_mean, z_log_var = hidden @ w_mean + b_mean, hidden @ w_log_var + b_log_var
        noise = jax.random.normal(jax.random.key(0) if key is None else key, z_mean.shape)
        z = z_mean + jnp.exp(0.5 * z_log_var) * noise
        divergence = -0.5 * (z_log_var - z_mean**2 - jnp.exp(z_log_var) + 1).mean()
        return jax.nn.sigmoid(relu(z @ w_1 + b_1) @ w_2 + b_2), state, divergence

    def loss(self, outputs, y):
        return ((outputs - y) ** 2).mean()


NETWORKS = {
    "mlp": Perceptron(16, 32),
    "wide": Perceptron(784, 256),
    "cnn": Cnn(),
    "resnet": Resnet(),
    "lstm": Recurrent(lstm, 4),
    "gru": Recurrent(gru, 3),
    "transformer": Transformer(),
    "embedding": Embedding(),
    "vae": Vae(),
}


def adam(weights, m, v, gradients, step, rate=1e-3, beta_1=0.9, beta_2=0.999, epsilon=1e-7):
    """Returns new weights and moments; Kingma, Ba (2015)."""
    alpha = rate * jnp.sqrt(1 - beta_2**step) / (1 - beta_1**step)
    m = jax.tree.map(lambda m, g: m + (g - m) * (1 - beta_1), m, gradients)
    v = jax.tree.map(lambda v, g: v + (g * g - v) * (1 - beta_2), v, gradients)
    update = jax.tree.map(lambda w, m, v: w - alpha * m / (jnp.sqrt(v) + epsilon), weights, m, v)
    return update, m, v


class Trained:
    imported = IMPORTED

    def __init__(self, work, name):
        self.network = NETWORKS[work.name]
        self.batch_size, self.num_rows = work.batch_size, work.num_rows
        self.x, self.y = (jnp.asarray(each) for each in work.data())
        generator = np.random.default_rng(0)

        def draw(*shape):
            fan_in = np.prod(shape[:-1])
            return jnp.asarray(generator.normal(size=shape) / fan_in**0.5, "float32")

        weights = self.network.weights(draw)
        zeros = jax.tree.map(jnp.zeros_like, weights)
        copies = jax.tree.map(jnp.copy, zeros)
        self.trained = [weights, self.network.state(), zeros, copies, jnp.zeros((), "int32")]
        self.steps = jax.jit(self._steps, donate_argnums=0)
        self.compute = jax.jit(self._outputs)
        self.in_batches = jax.jit(self._in_batches)

    as_input = staticmethod(jnp.asarray)

    def call(self, x):
        return self.compute(*self.trained[:2], x).block_until_ready()

    def epoch(self):
        order = np.random.permutation(self.num_rows).reshape(-1, self.batch_size)
        return seconds(functools.partial(self._train, order))

    def _train(self, order):
        self.trained, losses = self.steps(self.trained, self.x, self.y, order)
        losses.block_until_ready()

    def warm_up(self):
        self.epoch()

    def predict(self, x):
        compute = self.compute if len(x) <= 64 else self.in_batches
        return np.asarray(compute(*self.trained[:2], x))

    def _steps(self, trained, x, y, order):
        def step(trained, rows):
            weights, state, m, v, count = trained
            key, count = jax.random.fold_in(jax.random.key(1), count), count + 1

            def loss(weights):
                outputs, new, more = self.network(weights, state, x[rows], key)
                return self.network.loss(outputs, y[rows]) + more, new

            (value, new), gradients = jax.value_and_grad(loss, has_aux=True)(weights)
            weights, m, v = adam(weights, m, v, gradients, count.astype("float32"))
            return [weights, new, m, v, count], value

        return lax.scan(step, trained, order)

    def _outputs(self, weights, state, x):
        return self.network(weights, state, x, None)[0]

    def _in_batches(self, weights, state, x):
        full = len(x) // BATCH_SIZE * BATCH_SIZE
        batches = x[:full].reshape(-1, BATCH_SIZE, *x.shape[1:])
        outputs = lax.map(lambda batch: self._outputs(weights, state, batch), batches)
        outputs = outputs.reshape(full, *outputs.shape[2:])
        return jnp.concatenate([outputs, self._outputs(weights, state, x[full:])])
