"""Loading takes the memory of what is loaded: no first values, and no second copy."""

import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit.interop import keras as keras_files
from tfkit.src.base import budget

SIZE = 48 << 20


def memory(name):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) << 10
    raise AssertionError(name)


def wide():
    units = SIZE // 4 // 1024
    return tfkit.Sequential([tfkit.Input((1024,)), tfkit.layers.Dense(units, use_bias=False)])


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("name", ["m.h5", "m.keras", "m.weights.h5", "k.weights.h5"])
def test_a_large_weight_is_in_memory_once(name, tmp_path):
    model, path = wide(), tmp_path / name
    if name == "k.weights.h5":
        keras_files.save_weights(model, path)
    else:
        (model.save_weights if "weights" in name else model.save)(path)
    expected = model.get_weights()[0][:2].copy()
    if "weights" not in name:
        del model
    Path("/proc/self/clear_refs").write_text("5")
    before = memory("VmRSS")
    if "weights" in name:
        model.load_weights(path)
    else:
        model = tfkit.models.load_model(path)
    growth = memory("VmHWM") - before
    np.testing.assert_array_equal(model.layers[0].kernel.numpy()[:2], expected)
    assert growth < 1.5 * SIZE, f"{growth / SIZE:.2f} times its size"


@pytest.mark.parametrize("is_stored", [True, False])
def test_a_weight_without_a_stored_value_gets_its_first_one(is_stored):
    deferred = []
    with budget.limited(1 << 30, None, deferred):
        layer = tfkit.layers.Dense(1 << 18, kernel_initializer="ones")
        layer.build((None, 1))
    assert np.all(layer.kernel.numpy() == 0)
    layer.kernel.assign(tf.fill(layer.kernel.shape, 3.0))
    budget.draw_others(deferred, [layer.kernel] if is_stored else [])
    assert np.all(layer.kernel.numpy() == (3 if is_stored else 1))


def test_no_class_of_a_users_sees_a_weight_without_its_first_values():
    class Mine(tfkit.layers.Layer):
        def build(self, input_shape):
            self.w = self.add_weight((1 << 18,), initializer="ones")

    with budget.limited(1 << 30, None, deferred := []):
        layer = Mine()
        layer.build((None, 1))
    assert not deferred
    assert np.all(layer.w.numpy() == 1)
