"""Compares converted layers with plain JAX: `python -m tools.benchmarks.in_jax`.

Forward and gradient of four networks, compiled, in turns; the medians and their ratios are printed.
"""

import statistics
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import tfkit
from tfkit import layers

ROUNDS, SECONDS = 9, 0.1


def mlp():
    def block():
        return [layers.Dense(256, activation="gelu"), layers.LayerNormalization()]

    return tfkit.Sequential([*block(), *block(), layers.Dense(10)]), (64, 784)


def plain_mlp(p, x):
    weights = iter(p.values())
    for _ in range(2):
        x = jax.nn.gelu(x @ next(weights) + next(weights), approximate=False)
        x = normalized(x, next(weights), next(weights))
    return x @ next(weights) + next(weights)


def normalized(x, gamma, beta):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-3) * gamma + beta


def cnn():
    def convolution(filters):
        return [layers.Conv2D(filters, 3, activation="relu"), layers.MaxPooling2D()]

    return tfkit.Sequential(
        [*convolution(16), *convolution(32), layers.Flatten(), layers.Dense(10)]
    ), (32, 28, 28, 1)


def plain_cnn(p, x):
    weights = iter(p.values())
    for _ in range(2):
        form = ("NHWC", "HWIO", "NHWC")
        x = lax.conv_general_dilated(x, next(weights), (1, 1), "VALID", dimension_numbers=form)
        x = jax.nn.relu(x + next(weights))
        x = lax.reduce_window(x, -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return x.reshape(x.shape[0], -1) @ next(weights) + next(weights)


def lstm():
    return tfkit.Sequential([layers.LSTM(64), layers.Dense(10)]), (32, 50, 32)


def plain_lstm(p, x):
    kernel, recurrent, bias, weights, offset = p.values()
    projected = jnp.swapaxes(x @ kernel + bias, 0, 1)

    def step(carry, row):
        h, c = carry
        i, f, g, o = jnp.split(row + h @ recurrent, 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), None

    zeros = jnp.zeros((x.shape[0], recurrent.shape[0]))
    (h, _), _ = lax.scan(step, (zeros, zeros), projected)
    return h @ weights + offset


def transformer():
    x = tfkit.Input((32, 64))
    y = layers.LayerNormalization()(x + layers.MultiHeadAttention(4, 16)(x, x))
    z = layers.Dense(64)(layers.Dense(256, activation="gelu")(y))
    return tfkit.Model(x, layers.LayerNormalization()(y + z)), (16, 32, 64)


def plain_transformer(p, x):
    def of(part):
        return [value for path, value in p.items() if part in path]

    q, k, v, o = (of(f"{name}_dense/") for name in ("query", "key", "value", "output"))
    q, k, v = (jnp.einsum("bsf,fhd->bshd", x, w) + b for w, b in (q, k, v))
    scores = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q / 4.0, k))
    mixed = jnp.einsum("bhqk,bkhd->bqhd", scores, v)
    others = [it for path, it in p.items() if "_dense/" not in path]
    shaped = {tuple(it.shape): it for it in others}
    (gamma, beta), (gamma_2, beta_2) = normalizations(p)
    x = normalized(x + jnp.einsum("bqhd,hdf->bqf", mixed, o[0]) + o[1], gamma, beta)
    wide = jax.nn.gelu(x @ shaped[64, 256] + shaped[256,], approximate=False)
    biases = [it for path, it in p.items() if path.endswith("bias") and "_dense/" not in path]
    (narrow,) = [it for it in biases if it.shape == (64,)]
    return normalized(x + wide @ shaped[256, 64] + narrow, gamma_2, beta_2)


def normalizations(p):
    gammas = [it for path, it in p.items() if path.endswith("gamma")]
    betas = [it for path, it in p.items() if path.endswith("beta")]
    return list(zip(gammas, betas, strict=True))


def seconds_of(function, *arguments):
    runs, start = 0, time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        jax.block_until_ready(function(*arguments))
        runs += 1
    return (time.perf_counter() - start) / runs


def compare(name, made, plain):
    model, shape = made()
    x = np.random.default_rng(0).normal(size=shape).astype("float32")
    f, params, state = tfkit.interop.to_jax(model, x)
    order = list(params)  # JAX sorts the keys of dicts.

    def by_order(p, x):
        return plain({path: p[path] for path in order}, x)

    pair = [lambda p, x: f(p, state, x)[0], by_order]
    np.testing.assert_allclose(pair[0](params, x), pair[1](params, x), atol=1e-4)
    for kind in ("forward", "gradient"):
        if kind == "gradient":
            pair = [jax.grad(lambda p, x, g=g: jnp.sum(g(p, x) ** 2)) for g in pair]
        compiled = [jax.jit(it) for it in pair]
        for it in compiled:
            seconds_of(it, params, x)
        turns = [[seconds_of(it, params, x) for it in compiled] for _ in range(ROUNDS)]
        ours, theirs = (statistics.median(turn[n] for turn in turns) * 1e6 for n in (0, 1))
        ratio = statistics.median(a / b for a, b in turns)
        times = f"converted {ours:8.0f} us, plain {theirs:8.0f} us, ratio {ratio:.2f}"
        print(f"{name:12} {kind:9} {times}", flush=True)


if __name__ == "__main__":
    compare("MLP", mlp, plain_mlp)
    compare("CNN", cnn, plain_cnn)
    compare("LSTM", lstm, plain_lstm)
    compare("transformer", transformer, plain_transformer)
