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
    "two shapes": ([[[1, 2]], [[3]]], {}, "Items of all sequences must have one shape"),
}


@pytest.mark.parametrize(("sequences", "options", "message"), REFUSED.values(), ids=REFUSED)
def test_refuses_what_keras_refuses(sequences, options, message):
    with pytest.raises(ValueError, match=message):
        tfkit.utils.pad_sequences(sequences, **options)
    with pytest.raises(ValueError):  # noqa: PT011
        keras.utils.pad_sequences(sequences, **options)


def test_stands_under_preprocessing_too():
    assert tfkit.preprocessing.sequence.pad_sequences is tfkit.utils.pad_sequences
