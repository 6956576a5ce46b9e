import itertools

import keras
import numpy as np
import pytest

import tfkit

SERIES, TABLE = np.arange(23), np.arange(46.0).reshape(23, 2)


def elements(library, *args, **options):
    dataset = library.utils.timeseries_dataset_from_array(*args, **options)
    return [
        [np.asarray(part).tolist() for part in (each if isinstance(each, tuple) else (each,))]
        for each in dataset
    ]


@pytest.mark.parametrize("data", [SERIES, TABLE, SERIES.tolist()], ids=["series", "table", "list"])
@pytest.mark.parametrize("targets", [None, SERIES + 100, SERIES[:14]], ids=["none", "all", "few"])
def test_windows_are_those_of_keras(data, targets):
    spans = [{}, {"start_index": 4, "end_index": 19}]
    if targets is not None and len(targets) < len(data):
        spans.pop()  # Keras's dataset fails.
    for stride, rate, batch_size, span in itertools.product((1, 3), (1, 4), (5, None), spans):
        options = {
            "sequence_stride": stride,
            "sampling_rate": rate,
            "batch_size": batch_size,
            **span,
        }
        ours, theirs = (elements(each, data, targets, 3, **options) for each in (tfkit, keras))
        assert ours == theirs, options


@pytest.mark.parametrize("batch_size", [2, None])
def test_shuffled_as_keras_does(batch_size):
    options = {"shuffle": True, "seed": 3, "batch_size": batch_size}
    assert elements(tfkit, SERIES, SERIES, 3, **options) == elements(
        keras, SERIES, SERIES, 3, **options
    )


def test_the_length_of_windows_is_known():
    dataset = tfkit.utils.timeseries_dataset_from_array(TABLE, None, 3)
    assert dataset.element_spec.shape == (None, 3, 2)


@pytest.mark.parametrize(
    "options",
    [
        {"sampling_rate": 0},
        {"sampling_rate": 23},
        {"sequence_stride": 0},
        {"sequence_stride": 30},
        {"start_index": -1},
        {"start_index": 30},
        {"end_index": -1},
        {"end_index": 24},
        {"start_index": 5, "end_index": 3},
    ],
    ids=str,
)
def test_numbers_out_of_range(options):
    name = list(options)[-1]
    for library in (tfkit, keras):
        with pytest.raises(ValueError, match=name):
            library.utils.timeseries_dataset_from_array(SERIES, None, 3, **options)
    with pytest.raises(ValueError, match="sequence_length"):
        tfkit.utils.timeseries_dataset_from_array(SERIES, None, 0)
