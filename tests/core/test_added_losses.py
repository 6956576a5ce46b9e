"""Losses that layers add are summed, whatever their shape, as in Keras."""

from typing import Any

import keras
import numpy as np
import pytest

import tfkit

pytestmark = pytest.mark.usefixtures("eager_keras")

X = np.arange(8, dtype="float32").reshape(4, 2)


def _history(library: Any, added: Any) -> list[float]:
    class Adds(library.layers.Layer):  # type: ignore[name-defined, misc]
        def call(self, x: Any) -> Any:
            self.add_loss(added(library.ops, x))
            return x

    model = library.Sequential(
        [library.Input((2,)), library.layers.Dense(2, kernel_initializer="ones"), Adds()]
    )
    model.compile("sgd", "mse")
    return model.fit(X, X, epochs=2, batch_size=4, verbose=0).history["loss"]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "added",
    [
        lambda ops, x: ops.mean(x),
        lambda ops, x: 0.01 * x,
        lambda ops, x: [0.1 * ops.sum(x, axis=1), ops.ones((2, 1))],
    ],
)
def test_losses_of_any_shape_are_summed(added: Any) -> None:
    np.testing.assert_allclose(_history(tfkit, added), _history(keras, added), rtol=1e-5)
