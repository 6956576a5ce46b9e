"""Masks of symbolic tensors are tensors of a functional model: outputs, arguments, parts of formulas."""

from __future__ import annotations

import warnings
from typing import Any

import keras
import numpy as np
import pytest

import tfkit

IDS = np.array([[1, 2, 0, 0], [3, 0, 1, 2]], "int32")
STEPS = np.array([[[0, 0], [1, 2], [0, 0], [3, 4]]], "float32")


def _carried(library: Any) -> tuple[Any, Any]:
    ids = library.Input((4,), dtype="int32")
    embedded = library.layers.Embedding(5, 3, mask_zero=True)(ids)
    return ids, library.layers.Dense(2)(embedded)._keras_mask


def _joined(library: Any) -> tuple[Any, Any]:
    steps = library.Input((4, 2))
    masked = library.layers.Masking()(steps)
    return steps, library.layers.Concatenate(axis=1)([masked, steps])._keras_mask


def _computed_by_embedding(library: Any) -> tuple[Any, Any]:
    ids = library.Input((4,), dtype="int32")
    return ids, library.layers.Embedding(5, 3, mask_zero=True).compute_mask(ids)


def _computed_by_masking(library: Any) -> tuple[Any, Any]:
    steps = library.Input((4, 2))
    return steps, library.layers.Masking().compute_mask(steps)


def _counted(library: Any) -> tuple[Any, Any]:
    ids, mask = _carried(library)
    return ids, library.ops.sum(library.ops.cast(mask, "float32"), axis=1)


def _passed(library: Any) -> tuple[Any, Any]:
    ids, mask = _carried(library)
    ones = library.layers.Reshape((4, 1))(library.ops.cast(ids, "float32"))
    return ids, library.layers.GlobalAveragePooling1D()(ones, mask=mask)


MODELS = {
    _carried: IDS,
    _joined: STEPS,
    _computed_by_embedding: IDS,
    _computed_by_masking: STEPS,
    _counted: IDS,
    _passed: IDS,
}


@pytest.mark.parametrize(("make", "x"), MODELS.items())
def test_masks_are_tensors_as_in_keras(make: Any, x: Any, tmp_path: Any) -> None:
    expected = keras.Model(*make(keras)).predict(x, verbose=0)
    model = tfkit.Model(*make(tfkit))
    np.testing.assert_array_equal(model.predict(x, verbose=0), expected)
    model.save(tmp_path / "model.h5")
    np.testing.assert_array_equal(tfkit.models.load_model(tmp_path / "model.h5")(x), expected)
    np.testing.assert_array_equal(tfkit.models.clone_model(model)(x), expected)


def test_a_keras_file_holds_masks_that_a_layer_computes(tmp_path: Any) -> None:
    tfkit.Model(*_computed_by_embedding(tfkit)).save(tmp_path / "model.keras")
    loaded = tfkit.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(IDS), IDS != 0)
    with pytest.raises(TypeError, match=r"calls `carried_mask` .* save to `\.h5`"):
        tfkit.Model(*_carried(tfkit)).save(tmp_path / "model.keras")


def test_a_model_that_begins_after_the_mask_was_made_says_so() -> None:
    embedded = tfkit.layers.Embedding(5, 3, mask_zero=True)(tfkit.Input((4,), dtype="int32"))
    with pytest.raises(ValueError, match="layer that makes the mask is not part of the model"):
        tfkit.Model(embedded, tfkit.layers.Dense(2)(embedded)._keras_mask)


def test_a_layer_that_loses_masks_says_so_once() -> None:
    ids = tfkit.Input((4,), dtype="int32")
    embedded = tfkit.layers.Embedding(5, 3, mask_zero=True)(ids)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = tfkit.Model(ids, tfkit.layers.Conv1D(2, 3)(embedded))
        model(IDS)
        model.predict(IDS, verbose=0)
    assert len([it for it in said if "does not support masking" in str(it.message)]) == 1


def _kept(library: Any, returns: str, masks: str) -> Any:
    """Returns a layer that returns its input, or a new tensor, and a mask of its own."""

    class Kept(library.layers.Layer):  # type: ignore[name-defined,misc]
        def compute_mask(self, x: Any, mask: Any = None) -> Any:
            return {"none": None, "same": mask, "inverted": library.ops.logical_not(mask)}[masks]

        def call(self, x: Any, mask: Any = None) -> Any:
            return x if returns == "input" else x + 0

    return Kept()


@pytest.mark.parametrize("masks", ["none", "same", "inverted"])
@pytest.mark.parametrize("returns", ["input", "new"])
@pytest.mark.parametrize("form", ["functional", "sequential"])
def test_the_mask_of_a_layer_that_returns_its_input(form: str, returns: str, masks: str) -> None:
    results = []
    for library in (keras, tfkit):
        layers = library.layers
        embedding = layers.Embedding(5, 3, mask_zero=True, embeddings_initializer="ones")
        options = dict.fromkeys(("kernel_initializer", "recurrent_initializer"), "ones")
        lstm = layers.LSTM(2, **options)
        stack = [embedding, _kept(library, returns, masks), lstm]
        inputs = library.Input((4,), dtype="int32")
        outputs = inputs
        for layer in stack:
            outputs = layer(outputs)
        model = library.Model(inputs, outputs)
        if form == "sequential":
            model = library.Sequential(stack)
        results += [np.asarray(model(IDS)), model.predict(IDS, verbose=0)]
    for result in results[1:]:
        np.testing.assert_allclose(result, results[0], rtol=1e-6)
