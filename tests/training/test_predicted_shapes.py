"""`predict` joins the outputs of batches only where they fit together."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit


class UpToTheLongest(tfkit.layers.Layer):
    """Cuts rows off after the greatest number in them."""

    def call(self, inputs):
        return inputs[:, : tf.cast(tf.reduce_max(inputs), "int32")]


def predictions(call, **options):
    """The predictions of Keras and of tfkit, for 6 rows of which the first is greater."""
    rows = np.ones((6, 3), "float32")
    rows[0] = 3.0
    found = []
    for library in (keras, tfkit):
        layer = type("Varying", (library.layers.Layer,), {"call": lambda _, x: call(x)})
        model = library.Sequential([library.Input((3,)), layer()])
        found.append(model.predict(rows, verbose=0, **options))
    return found


@pytest.mark.parametrize("batch_size", [1, 2, 4])
def test_outputs_of_different_widths_are_ragged_as_in_keras(batch_size):
    theirs, ours = predictions(
        lambda x: x[:, : tf.cast(tf.reduce_max(x), "int32")], batch_size=batch_size
    )
    assert isinstance(ours, tf.RaggedTensor)
    assert ours.to_list() == theirs.to_list()


@pytest.mark.parametrize("limit", [0, 2])
@pytest.mark.parametrize("batch_size", [1, 2, 4])
def test_outputs_with_different_numbers_of_rows_are_joined(limit, batch_size):
    theirs, ours = predictions(lambda x: tf.boolean_mask(x, x[:, 0] > limit), batch_size=batch_size)
    np.testing.assert_array_equal(ours, theirs)


def test_outputs_of_different_widths_are_streamed():
    model = tfkit.Sequential([tfkit.Input((3,)), UpToTheLongest()])
    rows = np.ones((6, 3), "float32")
    assert model.predict(rows, batch_size=2, verbose=0).shape == (6, 1)
    rows[0] = 3.0
    outputs = list(model.predict(rows, batch_size=2, stream=True))
    assert [output.shape for output in outputs] == [(2, 3), (2, 1), (2, 1)]


def test_there_must_be_a_batch():
    model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(1)])
    empty = tf.data.Dataset.from_tensor_slices(np.ones((0, 3), "float32")).batch(2)
    with pytest.raises(ValueError, match="no batches"):
        model.predict(empty, verbose=0)
