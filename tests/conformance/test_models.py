"""All layers of the table in one model: its files and its export give what the model gives."""

import json

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tests.conformance.table import CASES
from tfkit import layers
from tfkit.src.export.verification import run_elsewhere


@pytest.fixture(scope="module")
def whole():
    """A model with a branch for each row, its data, and what it gives for them, by the name of the output."""
    inputs, outputs, data = {}, {}, {}
    for number, case in enumerate(CASES):
        values = case.data()
        flat = tf.nest.flatten(values)
        names = [f"in_{number}_{place}" for place, _ in enumerate(flat)]
        tensors = [
            tfkit.Input(value.shape[1:], dtype=value.dtype.name, name=name)
            for name, value in zip(names, flat, strict=True)
        ]
        result = case.make(layers, name=f"layer_{number}")(
            *tf.nest.pack_sequence_as(values, tensors)
        )
        for place, output in enumerate(tf.nest.flatten(result)):
            outputs[f"out_{number}_{place}"] = output
        inputs.update(zip(names, tensors, strict=True))
        data.update(zip(names, flat, strict=True))
    model = tfkit.Model(inputs, outputs)
    draws = np.random.default_rng(1)
    for weight in model.weights:
        weight.assign(draws.uniform(0.5, 1.5, weight.shape))
    return model, data, call(model, data)


def call(model, data):
    return {name: value.numpy() for name, value in model(data, training=False).items()}


def assert_same(found, expected, tolerance):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        case = CASES[int(name.split("_")[1])]
        np.testing.assert_allclose(
            found[name], value, rtol=tolerance, atol=tolerance, err_msg=str(case)
        )


@pytest.mark.parametrize("ending", ["h5", "keras"])
def test_files(whole, ending, tmp_path):
    model, data, expected = whole
    model.save(tmp_path / f"m.{ending}")
    loaded = tfkit.models.load_model(tmp_path / f"m.{ending}")
    assert json.dumps(loaded.get_config()) == json.dumps(model.get_config())
    assert_same(call(loaded, data), expected, 0)


def test_files_of_weights(whole, tmp_path):
    model, data, expected = whole
    model.save_weights(tmp_path / "m.weights.h5")
    other = type(model).from_config(model.get_config())
    other.load_weights(tmp_path / "m.weights.h5")
    assert_same(call(other, data), expected, 0)


def test_an_export_in_the_c_library(whole, tmp_path):
    model, data, expected = whole
    model.export(tmp_path / "m", verbose=False)
    ((found,),) = run_elsewhere([(tmp_path / "m", [("serve", data)])])
    assert not isinstance(found, str), found
    assert_same(found, expected, 1e-5)
