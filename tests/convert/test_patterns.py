"""What several operations are together is recognized, and what only looks like it is not."""

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tests.convert.functions import Function
from tfkit import layers
from tfkit.src.export.convert.patterns import PATTERNS, fused
from tfkit.src.export.convert.tracing import trace

X = np.ones((2, 4, 6), "float32")


def types(layer, x=X):
    graph = fused(trace(layer, (x,), {}).by_training[True].graph, PATTERNS)
    return {node.type for node in graph.main.nodes} & PATTERNS.keys()


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (lambda: layers.Dense(3), {"MatMul+Reshape+BiasAdd"}),
        (lambda: layers.Conv1D(3, 2), set()),
        (lambda: layers.LayerNormalization(), {"ScaledNormalization"}),
        (lambda: layers.LayerNormalization(axis=[1, 2]), {"Normalization"}),
        (lambda: layers.LayerNormalization(center=False), {"Normalization"}),
        (lambda: layers.Activation("gelu"), {"Gelu"}),
        (lambda: Function(lambda x: tfkit.activations.gelu(x, approximate=True)), {"Gelu"}),
    ],
    ids=["dense", "conv1d", "last axis", "two axes", "no bias", "gelu", "tanh"],
)
def test_layers_have_nodes_for_what_they_are(layer, expected):
    assert types(layer()) == expected


def test_matrices_and_images():
    assert types(layers.Dense(3), X[0]) == {"MatMul+BiasAdd"}
    assert types(layers.Conv2D(3, 2), X[..., None]) == {"Conv2D+BiasAdd"}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, True),
        ({"return_sequences": True, "return_state": True, "go_backwards": True}, True),
        ({"dropout": 0.5, "unit_forget_bias": False}, True),
        ({"recurrent_dropout": 0.5}, False),
        ({"activation": "relu"}, False),
        ({"recurrent_activation": "hard_sigmoid"}, False),
        ({"dtype": "float64"}, False),
        ({"use_bias": False}, False),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, dict) else "",
)
@pytest.mark.parametrize("steps", [4, None])
def test_the_loop_of_an_lstm_is_one_node(steps, options, expected):
    example = tf.TensorSpec((None, steps, 6), options.get("dtype", "float32"))
    assert ("LSTM" in types(layers.LSTM(3, **options), example)) == expected


def test_other_loops_over_time_stay():
    assert "LSTM" not in types(layers.GRU(3)) | types(layers.SimpleRNN(3))
    assert "LSTM" not in types(layers.RNN(layers.LSTMCell(3)))
    masked = tfkit.Sequential([layers.Masking(), layers.LSTM(3)])
    assert "LSTM" not in types(masked)


def almost_gelu(x):
    return (0.5 * x) * tf.math.erfc(-x * 0.6)


def almost_normal(x):
    mean = tf.reduce_mean(x, -1, keepdims=True)
    variance = tf.reduce_mean(tf.math.squared_difference(x, mean), 1, keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-3)


def used_twice(x):
    product = tf.matmul(x[0], tf.ones((6, 6)))
    return tf.nn.bias_add(product, tf.ones(6)), product


@pytest.mark.parametrize("function", [almost_gelu, almost_normal, used_twice])
def test_what_looks_like_it_stays(function):
    assert types(Function(function)) == set()


def test_only_what_was_asked_for_and_nothing_that_is_needed_is_lost():
    def function(x):
        y = tfkit.activations.gelu(x)
        return y, 0.5 * x

    graph = trace(Function(function), (X,), {}).by_training[False].graph
    assert fused(graph, ()) is graph
    kept = fused(graph, {"Gelu"}).main
    assert {"Gelu", "Mul"} <= {node.type for node in kept.nodes}
    assert "Erfc" not in {node.type for node in kept.nodes}
