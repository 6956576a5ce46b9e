"""Batches whose sequences are longer from batch to batch, under `jit_compile=True`: Keras's numbers."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit

RANDOM = np.random.RandomState(0)
# The first two differ, so that the length is free in data from Python; the last batch has fewer rows.
BATCHES = [
    (
        RANDOM.randint(1, 9, (rows, length)),
        RANDOM.randint(0, 2, (rows, 1)).astype("float32"),
        RANDOM.rand(rows).astype("float32"),
    )
    for rows, length in [(4, 3), (4, 5), (4, 5), (4, 3), (2, 4)]
]


def dataset(library, parts):
    specs = (
        tf.TensorSpec([None, None], "int32"),
        tf.TensorSpec([None, 1]),
        tf.TensorSpec([None]),
    )
    batches = tf.data.Dataset.from_generator(
        lambda: (batch[:parts] for batch in BATCHES), output_signature=specs[:parts]
    )
    return batches.apply(tf.data.experimental.assert_cardinality(len(BATCHES)))


def padded(library, parts):
    rows = [row.tolist() for batch in BATCHES for row in batch[0]]
    others = [np.concatenate([batch[part] for batch in BATCHES]) for part in (1, 2)]
    data = tf.data.Dataset.from_tensor_slices((tf.ragged.constant(rows), *others))
    return data.map(lambda *row: row[:parts]).padded_batch(4, ([None], [1], [])[:parts])


def py_dataset(library, parts):
    class Batches(library.utils.PyDataset):
        def __len__(self):
            return len(BATCHES)

        def __getitem__(self, index):
            return BATCHES[index][:parts]

    return Batches()


def results(library, source, parts, recurrent, jit_compile, executions, options):
    library.utils.set_random_seed(1)
    layers = library.layers
    body = (
        [layers.LSTM(3)]
        if recurrent
        else [layers.Dense(4, "relu"), layers.GlobalAveragePooling1D()]
    )
    model = library.Sequential(
        [library.Input((None,)), layers.Embedding(9, 4, mask_zero=recurrent)]
    )
    for layer in (*body, layers.Dense(1, activation="sigmoid")):
        model.add(layer)
    model.compile(
        library.optimizers.SGD(0.1),
        "binary_crossentropy",
        weighted_metrics=["mae"],
        jit_compile=jit_compile,
        steps_per_execution=executions,
    )
    data = source(library, parts)
    if options.get("validation_data"):
        options = {"validation_data": source(library, parts)}
    history = model.fit(data, epochs=2, shuffle=False, verbose=0, **options).history
    return [*history.values(), model.evaluate(data, verbose=0), model.predict(data, verbose=0)]


@pytest.mark.parametrize(
    ("source", "parts", "recurrent", "executions", "options"),
    [
        (dataset, 2, False, 3, {}),
        (padded, 3, False, 1, {}),
        (py_dataset, 2, False, 1, {"class_weight": {0: 1.0, 1: 3.0}}),
        (padded, 2, True, 1, {"validation_data": True}),
    ],
    ids=["dataset, executions", "padded, weights", "PyDataset, class weights", "LSTM, validation"],
)
def test_lengths_vary(source, parts, recurrent, executions, options):
    common = (source, parts, recurrent)
    found = results(tfkit, *common, True, executions, options)
    expected = results(keras, *common, False, executions, options)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
