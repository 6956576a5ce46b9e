"""Single batches of sparse matrices and ragged tensors."""

import numpy as np
import pytest
import scipy.sparse
import tensorflow as tf

import tfkit
from tfkit import layers

RNG = np.random.default_rng(0)
X = np.where(RNG.random((8, 6)) < 0.5, 0, RNG.random((8, 6))).astype("float32")
Y = RNG.random((8, 1)).astype("float32")
LABELS = (Y[:, 0] > 0.5).astype("int64")


def made(sparse=False, **options):
    tfkit.utils.set_random_seed(1)
    model = tfkit.Sequential([tfkit.Input((6,), sparse=sparse), layers.Dense(3), layers.Dense(1)])
    model.compile("sgd", "mse", metrics=["mae"], **options)
    return model


def results(model, x):
    weights = np.arange(8.0)
    return [
        model.train_on_batch(x, Y),
        model.test_on_batch(x, Y),
        model.train_on_batch(x, Y, sample_weight=weights),
        model.train_on_batch(x, LABELS[:, None], class_weight={0: 1.0, 1: 3.0}),
        model.predict_on_batch(x),
    ]


@pytest.mark.parametrize("options", [{}, {"run_eagerly": True}])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_sparse_batch_is_trained_as_the_dense_one(sparse, options):
    expected = results(made(), X)
    kinds = [scipy.sparse.csr_matrix, tf.sparse.from_dense, scipy.sparse.csc_matrix]
    for make in kinds if options else kinds[sparse : sparse + 1]:
        for value, other in zip(results(made(sparse, **options), make(X)), expected, strict=True):
            np.testing.assert_allclose(value, other, rtol=1e-5, atol=1e-6)


def test_a_ragged_batch_is_trained():
    class Sums(tfkit.Model):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(1)

        def call(self, inputs):
            return self.dense(tf.reduce_sum(inputs, axis=1)[:, None])

    model = Sums()
    model.compile("sgd", "mse")
    rows = tf.ragged.constant([[1.0, 2.0], [3.0]])
    loss = model.train_on_batch(rows, np.ones((2, 1)))
    assert model.test_on_batch(rows, np.ones((2, 1))) < loss


def test_what_does_not_fit_is_refused():
    model = made()
    with pytest.raises(ValueError, match="same number of samples"):
        model.train_on_batch(scipy.sparse.csr_matrix(X), Y[:3])
    with pytest.raises(ValueError, match="`class_weight` was passed without `y`"):
        model.train_on_batch(scipy.sparse.csr_matrix(X), class_weight={0: 1.0})
