"""Compares converted layers with plain JAX: `python -m tools.benchmarks.in_jax`.

Forward and gradient of four networks, compiled, in turns; the medians and their ratios are printed. With
`KERAS_BACKEND=jax` and Keras installed, the same networks of Keras are timed too.

`steps` as argument compares an epoch of `fit` under `engine="jax"`, with Adam, with the same in plain JAX and
optax, both from arrays of NumPy: in turns, the fastest of each, divided by the number of steps. `compilation`
compares the time until a first step is done, each in new processes.
"""

import functools
import os
import statistics
import subprocess
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

import tfkit
from tfkit import layers
from tools.benchmarks.networks import made, transformer

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


def plain_blocks(p, x):
    items = list(p.items())
    for first in range(0, len(items), 16):
        x = plain_transformer(dict(items[first : first + 16]), x)
    return x


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


# --- Training ---------------------------------------------------------------------------------------------


def data_of(name, num_steps):
    """Returns a network, and data for some steps."""
    tfkit.utils.set_random_seed(0)
    large = name == "6 blocks"
    found = transformer(tfkit, layers, 6) if large else made(name, tfkit, layers)
    model, (batch, *shape) = found
    draws = np.random.default_rng(0)
    x = draws.normal(size=(num_steps * batch, *shape)).astype("float32")
    model.build((None, *shape))
    outputs = model.compute_output_shape((None, *shape))
    return model, batch, x, draws.normal(size=(len(x), *outputs[1:])).astype("float32")


def values_of(model, x):
    return {path: jnp.array(it) for path, it in tfkit.interop.to_jax(model, x[:1])[1].items()}


def of_tfkit(model, batch, x, y):
    """Returns a function that trains for an epoch."""
    model.compile(tfkit.optimizers.Adam(1e-3), "mse", engine="jax")

    def train():
        history = model.fit(x, y, batch_size=batch, shuffle=False, verbose=0)
        return history.history["loss"][0]

    return train


def of_plain(plain, values, batch, x, y):
    """Returns the same function for plain JAX, from values by path."""
    order, optimizer = list(values), optax.adam(1e-3, eps=1e-7)

    def loss_of(values, x, y):
        return jnp.mean((plain({path: values[path] for path in order}, x) - y) ** 2)

    def step(state, batch):
        values, slots = state
        loss, gradients = jax.value_and_grad(loss_of)(values, *batch)
        updates, slots = optimizer.update(gradients, slots)
        return (optax.apply_updates(values, updates), slots), loss

    @functools.partial(jax.jit, donate_argnums=0)
    def epoch(state, x, y):
        return lax.scan(step, state, (x, y))

    state = values, optimizer.init(values)

    def train():
        nonlocal state
        # As `fit` does, it brings the data to the device.
        batches = [jnp.asarray(it.reshape(-1, batch, *it.shape[1:])) for it in (x, y)]
        state, losses = epoch(state, *batches)
        return float(losses.mean())

    return train


def compare_steps(name, plain, num_steps):
    model, *data = data_of(name, num_steps)
    peers = [of_plain(plain, values_of(model, data[1]), *data), of_tfkit(model, *data)]
    # Adam of optax adds its epsilon elsewhere.
    np.testing.assert_allclose(peers[0](), peers[1](), rtol=1e-2)
    times = [[], []]
    for _ in range(ROUNDS):
        for train, found in zip(peers, times, strict=True):
            start = time.perf_counter(), time.process_time()
            train()
            ends = time.perf_counter(), time.process_time()
            found.append([(b - a) / num_steps * 1e6 for a, b in zip(start, ends, strict=True)])
    for place, what in enumerate(("clock", "CPU")):
        plain_time, own = (min(turn[place] for turn in found) for found in times)
        print(
            f"{name:12} step, {what:5}: plain {plain_time:7.0f} us, tfkit {own:7.0f} us, "
            f"{own / plain_time:.2f}",
            flush=True,
        )


def compile_once(name, peer):
    """Prints the seconds until one step is done, of the CPU and by the clock."""
    model, *data = data_of(name, 1)
    if peer == "plain":  # Without the time in which values and slots are made.
        train = of_plain(PLAIN[name], values_of(model, data[1]), *data)
    begin = time.process_time(), time.perf_counter()
    if peer == "tfkit":
        train = of_tfkit(model, *data)
    train()
    print(time.process_time() - begin[0], time.perf_counter() - begin[1])


def compare_compilation(name):
    found = {"plain": [], "tfkit": []}
    for _ in range(3):
        for peer, times in found.items():
            command = [sys.executable, "-m", "tools.benchmarks.in_jax", "once", name, peer]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            times.append([float(it) for it in done.stdout.split()[-2:]])
    cpu, clock = ({peer: min(t[i] for t in found[peer]) for peer in found} for i in (0, 1))
    print(
        f"{name:12} compilation: CPU plain {cpu['plain']:.2f} s, tfkit {cpu['tfkit']:.2f} s, ratio "
        f"{cpu['tfkit'] / cpu['plain']:.2f}; clock {clock['plain']:.2f} s, {clock['tfkit']:.2f} s",
        flush=True,
    )


PLAIN = {
    "MLP": plain_mlp,
    "CNN": plain_cnn,
    "LSTM": plain_lstm,
    "transformer": plain_transformer,
    "6 blocks": plain_blocks,
}
STEPS = {"MLP": 400, "CNN": 8, "LSTM": 100, "transformer": 100, "6 blocks": 16}


def main():
    kind, *names = sys.argv[1:] or ["calls"]
    if kind == "once":
        compile_once(*names)
        return
    known = [name for name in PLAIN if kind != "calls" or name != "6 blocks"]
    for name in names or known:
        if kind == "steps":
            compare_steps(name, PLAIN[name], STEPS[name])
        elif kind == "compilation":
            compare_compilation(name)
        elif kind == "calls":
            compare(name, PLAIN[name])
        else:
            raise SystemExit("Expected: calls, steps or compilation, and names of networks.")


if __name__ == "__main__":
    main()
