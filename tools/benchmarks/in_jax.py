"""Compares converted layers with plain JAX: `python -m tools.benchmarks.in_jax`.

Forward and gradient of four networks, compiled, in turns; the medians and their ratios are printed. With
`KERAS_BACKEND=jax` and Keras installed, the same networks of Keras are timed too.
"""

import os
import statistics
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import tfkit
from tfkit import layers
from tools.benchmarks.networks import made

ROUNDS, SECONDS = 9, 0.1


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


def plain_cnn(p, x):
    weights = iter(p.values())
    for _ in range(2):
        form = ("NHWC", "HWIO", "NHWC")
        x = lax.conv_general_dilated(x, next(weights), (1, 1), "VALID", dimension_numbers=form)
        x = jax.nn.relu(x + next(weights))
        x = lax.reduce_window(x, -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return x.reshape(x.shape[0], -1) @ next(weights) + next(weights)


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


def of_keras(name, x):
    """Returns the same network of Keras on JAX as a function, and its values."""
    import keras

    model = made(name, keras, keras.layers)[0]
    model(x)
    trained = [it.value for it in model.trainable_variables]
    others = [it.value for it in model.non_trainable_variables]
    return lambda p, x: model.stateless_call(p, others, x)[0], trained


def compare(name, plain):
    model, shape = made(name, tfkit, layers)
    x = np.random.default_rng(0).normal(size=shape).astype("float32")
    f, params, state = tfkit.interop.to_jax(model, x)
    order = list(params)  # JAX sorts the keys of dicts.

    def by_order(p, x):
        return plain({path: p[path] for path in order}, x)

    peers = {"converted": (lambda p, x: f(p, state, x)[0], params), "plain": (by_order, params)}
    results = [function(values, x) for function, values in peers.values()]
    np.testing.assert_allclose(*results, atol=1e-4)
    if os.environ.get("KERAS_BACKEND") == "jax":
        peers["Keras"] = of_keras(name, x)
    for kind in ("forward", "gradient"):
        runs = []
        for function, values in peers.values():
            if kind == "gradient":
                function = jax.grad(lambda p, x, g=function: jnp.sum(g(p, x) ** 2))
            runs.append((jax.jit(function), values, x))
        for run in runs:
            seconds_of(*run)
        turns = [[seconds_of(*run) for run in runs] for _ in range(ROUNDS)]
        for place, peer in enumerate(peers):
            middle = statistics.median(turn[place] for turn in turns) * 1e6
            ratio = statistics.median(turn[0] / turn[place] for turn in turns)
            times = f"{middle:8.0f} us, converted / it {ratio:.2f}"
            print(f"{name:12} {kind:9} {peer:10} {times}", flush=True)


if __name__ == "__main__":
    compare("MLP", plain_mlp)
    compare("CNN", plain_cnn)
    compare("LSTM", plain_lstm)
    compare("transformer", plain_transformer)
