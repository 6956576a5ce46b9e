"""Honest large models load within the limits that keep off what a file may not ask for."""

import numpy as np
import pytest

import tfkit
from tfkit import layers

X = np.linspace(-1, 1, 4, dtype="float32")[None]


def thousand_layers():
    entry = x = tfkit.Input((4,))
    for number in range(1_000):
        x = layers.Dense(4)(x) if number % 100 == 0 else layers.Activation("linear")(x)
    return tfkit.Model(entry, x)


def thirty_models_deep():
    model = tfkit.Sequential([tfkit.Input((4,)), layers.Dense(4)])
    for number in range(29):
        if number % 2:
            model = tfkit.Sequential([tfkit.Input((4,)), model, layers.ReLU()])
        else:
            entry = tfkit.Input((4,))
            model = tfkit.Model(entry, entry + model(entry))
    return model


def model_called_fifty_times():
    shared = tfkit.Sequential([layers.Dense(4, activation="tanh"), layers.BatchNormalization()])
    entry = x = tfkit.Input((4,))
    for _ in range(50):
        x = shared(x)
    return tfkit.Model(entry, x)


def three_hundred_branches():
    entry = tfkit.Input((4,))
    branches = [layers.Dense(1)(entry) for _ in range(300)]
    return tfkit.Model(entry, layers.Concatenate()(branches))


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (thousand_layers, "m.h5"),
        (thirty_models_deep, "m.h5"),
        (thirty_models_deep, "m.keras"),
        (model_called_fifty_times, "m.keras"),
        (three_hundred_branches, "m.h5"),
    ],
)
def test_it_is_loaded(make, name, tmp_path):
    model = make()
    model.save(tmp_path / name)
    found = tfkit.saving.load_model(tmp_path / name)
    np.testing.assert_array_equal(found(X), model(X))


@pytest.mark.parametrize("kind", ["layer", "cells"])
def test_many_unrolled_steps(kind, tmp_path):
    if kind == "layer":
        inner = layers.LSTM(2, unroll=True, return_sequences=True, return_state=True)
    else:
        cells = [layers.GRUCell(2), layers.LSTMCell(2)]
        inner = layers.RNN(cells, unroll=True, return_sequences=True)
        inner = layers.Bidirectional(inner, merge_mode=None)
    entry = tfkit.Input((3_000, 1))
    model = tfkit.Model(entry, inner(entry))
    assert model.outputs[0].shape == (None, 3_000, 2)
    model.save(tmp_path / "m.h5")
    found = tfkit.saving.load_model(tmp_path / "m.h5")
    assert [x.shape for x in found.outputs] == [x.shape for x in model.outputs]


def test_a_cell_of_a_user_sees_each_unrolled_step():
    class Noting(layers.SimpleRNNCell):
        def __init__(self, units):
            super().__init__(units)
            self.steps = 0

        def call(self, inputs, states, training=False):
            self.steps += 1
            return super().call(inputs, states, training)

    cell = Noting(2)
    layers.RNN(cell, unroll=True)(tfkit.Input((5, 3)))
    assert cell.steps >= 5
