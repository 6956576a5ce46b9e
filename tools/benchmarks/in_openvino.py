"""Compares exported models run by OpenVINO and by TensorFlow: `python -m tools.benchmarks.in_openvino`.

One process loads the SavedModel and the model of OpenVINO of each network, and calls them in turns, with one
row and with a batch. The medians and their ratios are printed. By default OpenVINO computes in bfloat16 where
the CPU can; "float32" is with `INFERENCE_PRECISION_HINT`.
"""

import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import openvino
import tensorflow as tf

import tfkit
from tfkit import layers
from tools.benchmarks.networks import NETWORKS, made

ROUNDS, SECONDS = 9, 0.1


def seconds_of(function, x):
    runs, start = 0, time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        function(x)
        runs += 1
    return (time.perf_counter() - start) / runs


def exported(name, folder):
    """Returns the models of a network as functions of an array, by runtime, and the shape of a batch."""
    model, shape = made(name, tfkit, layers)
    model(np.zeros(shape, "float32"))
    model.export(folder / name, verbose=False)
    model.export(folder / f"{name}.xml", format="openvino", verbose=False)
    loaded = tf.saved_model.load(str(folder / name))
    signature = loaded.signatures["serving_default"]
    (argument,) = signature.structured_input_signature[1]

    def of_tensorflow(x):
        return next(iter(signature(**{argument: tf.constant(x)}).values())).numpy()

    def compiled(**options):
        found = openvino.Core().compile_model(str(folder / f"{name}.xml"), "CPU", options)
        return lambda x: found(x)[0]

    of_tensorflow.loaded = loaded
    exact = compiled(INFERENCE_PRECISION_HINT="f32")
    return {"SavedModel": of_tensorflow, "float32": exact, "default": compiled()}, shape


def compare(name, folder):
    functions, shape = exported(name, folder)
    for rows in (1, shape[0]):
        x = np.random.default_rng(0).normal(size=(rows, *shape[1:])).astype("float32")
        expected, exact, _ = (function(x) for function in functions.values())
        np.testing.assert_allclose(exact, expected, atol=1e-4)
        turns = [[seconds_of(it, x) for it in functions.values()] for _ in range(ROUNDS)]
        for place, runtime in enumerate(functions):
            middle = statistics.median(turn[place] for turn in turns) * 1e6
            ratio = statistics.median(turn[0] / turn[place] for turn in turns)
            times = f"{middle:7.0f} us, SavedModel / it {ratio:.2f}"
            print(f"{name:12} {rows:3} rows {runtime:10} {times}", flush=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as path:
        for each in NETWORKS:
            compare(each, Path(path))
