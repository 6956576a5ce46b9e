import keras
import numpy as np
import pytest

import tfkit

RAGGED = [[1], [2, 3], [], [4, 5, 6]]
CASES = {
    "defaults": (RAGGED, {}),
    "padded at the end": (RAGGED, {"padding": "post"}),
    "cut at the start": (RAGGED, {"maxlen": 2}),
    "cut at the end": (RAGGED, {"maxlen": 2, "truncating": "post", "padding": "post"}),
    "longer than all": (RAGGED, {"maxlen": 5, "value": 9}),
    "of length 0": (RAGGED, {"maxlen": 0, "truncating": "post", "padding": "post"}),
    "none": ([], {"maxlen": 3}),
    "empty ones": ([[], []], {}),
    "floats": ([[0.5], [1.5, 2.5]], {"dtype": "float32", "value": -1.0}),
    "strings": ([["a"], ["b", "c"]], {"dtype": object, "value": "-"}),
    "vectors": ([[[1, 2]], [[3, 4], [5, 6]]], {}),
    "arrays": ([np.arange(2), np.arange(3)], {"dtype": "int64"}),
}


@pytest.mark.parametrize(("sequences", "options"), CASES.values(), ids=CASES)
def test_gives_what_keras_gives(sequences, options):
    got = tfkit.utils.pad_sequences(sequences, **options)
    expected = keras.utils.pad_sequences(sequences, **options)
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)


REFUSED = {
    "no list": (5, {}, "must be a list of sequences"),
    "item that is no sequence": ([[1], 2], {}, "must hold sequences only. It holds: 2"),
    "side": (RAGGED, {"padding": "left"}, "`padding` must be .* Received: padding='left'"),
    "cut": (RAGGED, {"truncating": "x"}, "`truncating` must be .* Received: truncating='x'"),
    "string for numbers": (RAGGED, {"value": "x"}, "A string cannot pad numbers"),
    "neither sequences nor length": ([], {}, "`sequences` is empty.* Pass `maxlen`"),
    "negative length": (RAGGED, {"maxlen": -1}, "integer from 0 up. Received: maxlen=-1"),
    "two shapes": ([[[1, 2]], [[3]]], {}, "Items of all sequences must have the same shape"),
}


@pytest.mark.parametrize(("sequences", "options", "message"), REFUSED.values(), ids=REFUSED)
def test_refuses_what_keras_refuses(sequences, options, message):
    with pytest.raises(ValueError, match=message):
        tfkit.utils.pad_sequences(sequences, **options)
    with pytest.raises(ValueError):  # noqa: PT011
        keras.utils.pad_sequences(sequences, **options)


@pytest.mark.parametrize("padding", ["pre", "post"])
def test_length_0_cut_at_the_start(padding):
    """Keras's default `truncating` keeps all items, which do not fit."""
    assert tfkit.utils.pad_sequences(RAGGED, 0, padding=padding).shape == (4, 0)


@pytest.mark.parametrize("maxlen", [2.0, True])
def test_a_length_is_an_integer(maxlen):
    with pytest.raises(ValueError, match=f"integer from 0 up. Received: maxlen={maxlen}"):
        tfkit.utils.pad_sequences(RAGGED, maxlen)


def test_stands_under_preprocessing_too():
    assert tfkit.preprocessing.sequence.pad_sequences is tfkit.utils.pad_sequences
