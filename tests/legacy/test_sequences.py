"""Windows of series and pairs of words, beside Keras's."""

import json
import random

import numpy as np
import pytest
from keras._tf_keras.keras.preprocessing import sequence as oracle

import tfkit
from tfkit.preprocessing import sequence

SERIES = np.arange(40.0).reshape(20, 2)


@pytest.mark.parametrize(
    "options",
    [
        {"length": 4},
        {"length": 5, "sampling_rate": 2, "stride": 3, "batch_size": 2},
        {"length": 3, "start_index": 2, "end_index": 12, "reverse": True, "batch_size": 4},
        {"length": 3, "shuffle": True, "batch_size": 6},
    ],
    ids=str,
)
def test_batches_of_windows_are_those_of_keras(options):
    ours = sequence.TimeseriesGenerator(SERIES, SERIES[:, 0], **options)
    theirs = oracle.TimeseriesGenerator(SERIES, SERIES[:, 0], **options)
    assert len(ours) == len(theirs)
    config = json.loads(ours.to_json())["config"]
    assert {"length": ours.length, "data": json.dumps(SERIES.tolist())}.items() <= config.items()
    for index in range(len(ours)):
        batches = []
        for windows in (ours, theirs):
            np.random.seed(index)
            batches.append(windows[index])
        for got, expected in zip(*batches, strict=True):
            np.testing.assert_array_equal(got, expected)


def test_a_model_is_trained_on_windows():
    windows = sequence.TimeseriesGenerator(SERIES, SERIES[:, 0], length=4, batch_size=8)
    model = tfkit.Sequential([tfkit.Input((4, 2)), tfkit.layers.Flatten(), tfkit.layers.Dense(1)])
    model.compile("sgd", "mse")
    assert len(model.fit(windows, epochs=2, verbose=0).history["loss"]) == 2
    assert model.predict(windows, verbose=0).shape == (16, 1)


@pytest.mark.parametrize(
    "options",
    [
        {"seed": 1},
        {"window_size": 2, "negative_samples": 2.5, "seed": 3},
        {"shuffle": False, "categorical": True},
        {"negative_samples": 0, "sampling_table": [1, 0.9, 0.5, 0.3, 0.2, 0.1], "seed": 0},
    ],
    ids=str,
)
def test_pairs_of_words_are_those_of_keras(options):
    results = []
    for library in (sequence, oracle):
        random.seed(5)
        results.append(library.skipgrams([1, 4, 0, 2, 5, 3, 1], 6, **options))
    assert tuple(results[0]) == tuple(results[1])


def test_the_table_of_probabilities_is_that_of_keras():
    for arguments in ((50,), (1000, 1e-2)):
        ours, theirs = (library.make_sampling_table(*arguments) for library in (sequence, oracle))
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_errors_tell_what_was_expected():
    with pytest.raises(ValueError, match="20 and 3 steps"):
        sequence.TimeseriesGenerator(SERIES, [1, 2, 3], 2)
    with pytest.raises(ValueError, match="a window of length=30"):
        sequence.TimeseriesGenerator(SERIES, SERIES, 30)
    with pytest.raises(TypeError, match="`data` cannot be written as JSON"):
        sequence.TimeseriesGenerator([object()] * 3, [1, 2, 3], 1).get_config()
    with pytest.raises(AttributeError, match="ReLU"):
        _ = tfkit.layers.ThresholdedReLU
