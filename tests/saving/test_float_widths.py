"""Floats of another width in a file: cast and said so, and never where a value would be lost."""

import warnings

import h5py
import keras
import numpy as np
import pytest

import tfkit
from tfkit import layers
from tfkit.interop import keras as exchange

WIDTHS = ["float16", "bfloat16", "float32", "float64"]


def dense(dtype, package=tfkit):
    return package.Sequential([package.Input((3,)), package.layers.Dense(2, dtype=dtype)])


def save(model, path):
    exchange.save_weights(model, path) if path.name.startswith("keras") else model.save_weights(
        path
    )


@pytest.mark.parametrize("name", ["tfkit.weights.h5", "keras.weights.h5"])
@pytest.mark.parametrize("stored", WIDTHS)
@pytest.mark.parametrize("wanted", WIDTHS)
def test_every_pair_of_widths(name, stored, wanted, tmp_path):
    source, target, path = dense(stored), dense(wanted), tmp_path / name
    save(source, path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        report = target.load_weights(path)
    assert len(report.loaded) == 2
    assert len(caught) == (stored != wanted)
    if caught:
        assert caught[0].filename == __file__
        assert f"dense/kernel ({stored} -> {wanted})" in str(caught[0].message)
    kernel, expected = target.get_weights()[0], source.get_weights()[0]
    np.testing.assert_array_equal(kernel, expected.astype(kernel.dtype))
    # Where memory is not aligned, a kernel of TensorFlow may end the process.
    values = [weight.read_value()._numpy_internal() for weight in target.weights]
    assert not any(value.ctypes.data % 64 for value in values)


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # Of Keras.
def test_the_numbers_are_those_that_keras_gives(tmp_path):
    source, target = dense("float64", keras), dense("float16", keras)
    source.save_weights(tmp_path / "m.weights.h5")
    target.load_weights(tmp_path / "m.weights.h5")
    ours = dense("float16")
    with pytest.warns(UserWarning, match="2 of its weights in a different float dtype"):
        ours.load_weights(tmp_path / "m.weights.h5")
    np.testing.assert_array_equal(ours.get_weights()[0], target.weights[0].numpy())


@pytest.mark.parametrize("name", ["tfkit.weights.h5", "keras.weights.h5"])
def test_a_value_that_would_become_infinite_is_refused(name, tmp_path):
    source, target, path = dense("float32"), dense("float16"), tmp_path / name
    source.weights[0].assign(np.full((3, 2), 7e4))
    source.weights[1].assign([np.inf, 1.0])  # What is infinite already is not lost.
    save(source, path)
    before = target.get_weights()
    with pytest.raises(tfkit.saving.LoadError, match="6 of its values, such as 70000, are larger"):
        target.load_weights(path)
    np.testing.assert_array_equal(target.get_weights()[0], before[0])
    with pytest.warns(UserWarning, match="dense/bias"):
        report = target.load_weights(path, skip_mismatch=True)
    assert list(report.skipped) == ["dense/kernel"]
    np.testing.assert_array_equal(target.get_weights()[1], [np.inf, 1.0])


@pytest.mark.parametrize("pair", [("int32", "float32"), ("bool", "float32"), ("int32", "int64")])
def test_integers_and_booleans_are_strict(pair, tmp_path):
    def build(dtype):
        layer = layers.Layer()
        layer.w = layer.add_weight(shape=(2,), dtype=dtype, initializer="zeros", name="w")
        model = tfkit.Sequential([layer])
        model.built = layer.built = True
        return model

    for stored, wanted in (pair, pair[::-1]):
        build(stored).save_weights(tmp_path / "m.weights.h5")
        with pytest.raises(tfkit.saving.LoadError, match="different"):
            build(wanted).load_weights(tmp_path / "m.weights.h5")


class Members(tfkit.Model):
    """Two members that only their dtypes tell apart, which Keras's files name by their order."""

    def __init__(self, first, second):
        super().__init__()
        self.parts = {"a": layers.Dense(2, dtype=first), "b": layers.Dense(2, dtype=second)}

    def call(self, inputs):
        return [part(inputs) for part in self.parts.values()]


def test_no_cast_where_the_dtype_alone_says_which_is_which(tmp_path):
    path = tmp_path / "keras.weights.h5"
    saved, swapped = Members("float16", "float32"), Members("float32", "float16")
    for model in (saved, swapped):
        model(np.ones((1, 3), "float32"))
    exchange.save_weights(saved, path)
    Members.load_weights(saved, path)  # The same dtypes: clear.
    before = swapped.get_weights()
    with pytest.raises(tfkit.saving.LoadError, match="could be swapped"):
        swapped.load_weights(path)
    np.testing.assert_array_equal(swapped.get_weights()[0], before[0])


def test_a_damaged_value_is_refused_before_it_is_cast(tmp_path):
    source, target, path = dense("float32"), dense("float16"), tmp_path / "tfkit.weights.h5"
    save(source, path)
    with h5py.File(path) as file:
        offset = file["weights/dense/kernel"].id.get_offset()
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(b"\xff\x00\xff")
    with pytest.raises(tfkit.saving.LoadError):
        target.load_weights(path)
