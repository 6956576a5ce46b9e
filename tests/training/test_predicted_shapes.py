"""`predict` joins the outputs of batches only where they fit together."""

import numpy as np
import pytest
import tensorflow as tf

import tfkit


class UpToTheLongest(tfkit.layers.Layer):
    """Cuts rows off after the greatest number in them."""

    def call(self, inputs):
        return inputs[:, : tf.cast(tf.reduce_max(inputs), "int32")]


def test_outputs_of_another_width_are_not_repeated():
    model = tfkit.Sequential([tfkit.Input((3,)), UpToTheLongest()])
    rows = np.ones((6, 3), "float32")
    assert model.predict(rows, batch_size=2, verbose=0).shape == (6, 1)
    rows[0] = 3.0
    with pytest.raises(ValueError, match="must have one shape"):
        model.predict(rows, batch_size=2, verbose=0)
    outputs = list(model.predict(rows, batch_size=2, stream=True))
    assert [output.shape for output in outputs] == [(2, 3), (2, 1), (2, 1)]


def test_there_must_be_a_batch():
    model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(1)])
    empty = tf.data.Dataset.from_tensor_slices(np.ones((0, 3), "float32")).batch(2)
    with pytest.raises(ValueError, match="no batches"):
        model.predict(empty, verbose=0)
