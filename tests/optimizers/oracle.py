"""Runs the same update in tfkit and in Keras, and compares weights and slots."""

import keras
import numpy as np
import tensorflow as tf

SHAPES = {"dense/kernel": (4, 3), "dense/bias": (3,), "scale": ()}


def start_values(seed=0):
    rng = np.random.default_rng(seed)
    return {path: rng.normal(size=shape).astype("float32") for path, shape in SHAPES.items()}


def gradients(num_steps, seed=1):
    rng = np.random.default_rng(seed)
    return [
        [rng.normal(size=shape).astype("float32") for shape in SHAPES.values()]
        for _ in range(num_steps)
    ]


def make_variables(values=None):
    """Variables of ours, with paths as layers give them."""
    variables = []
    for path, value in (values or start_values()).items():
        variable = tf.Variable(value, name=path.split("/")[-1])
        variable.path = path
        variables.append(variable)
    return variables


def make_keras_variables(values=None):
    variables = []
    for path, value in (values or start_values()).items():
        *scopes, name = path.split("/")
        if scopes:
            with keras.src.backend.name_scope(scopes[0]):
                variables.append(keras.Variable(value, name=name))
        else:
            variables.append(keras.Variable(value, name=name))
    return variables


def run_keras(optimizer, steps, values=None):
    variables = make_keras_variables(values)
    for step in steps:
        optimizer.apply([as_keras_gradient(g) for g in step], variables)
    return variables


def as_keras_gradient(g):
    return g if g is None or isinstance(g, tf.IndexedSlices) else tf.constant(g)


def run(optimizer, steps, mode="eager", values=None):
    """Applies all steps: one by one (`eager`, `direct`), or in one compiled loop (`graph`, `xla`)."""
    variables = make_variables(values)
    if mode in ("eager", "direct"):
        for step in steps:
            optimizer.apply([tf.constant(g) for g in step], variables)
        return variables
    stacked = [tf.constant(np.stack(column)) for column in zip(*steps, strict=True)]

    @tf.function(jit_compile=mode == "xla", autograph=False)
    def loop():
        def body(i):
            optimizer.apply([g[i] for g in stacked], variables)
            return (i + 1,)

        tf.while_loop(lambda i: i < len(steps), body, (tf.constant(0),))

    loop()
    return variables


def assert_same(ours, theirs, rtol=1e-6, atol=1e-6):
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(
            np.asarray(a), np.asarray(b), rtol, atol, err_msg=getattr(a, "path", "")
        )
