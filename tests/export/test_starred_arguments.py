"""Exports of a model whose `call` takes any number of inputs."""

from typing import Any

import numpy as np
import tensorflow as tf

import tfkit


class Summed(tfkit.Model):
    def __init__(self) -> None:
        super().__init__()
        self.dense = tfkit.layers.Dense(2)

    def call(self, first: Any, *others: Any, scale: Any = None) -> Any:
        total = self.dense(sum(others, start=first))
        return total if scale is None else scale * total


def test_a_saved_model_has_the_signature_of_its_last_call(tmp_path: Any) -> None:
    model, x = Summed(), np.ones((2, 3), "float32")
    expected = model(x, 2 * x, 3 * x, scale=np.float32(2))
    tf.saved_model.save(model, str(tmp_path / "saved"))
    model.export(tmp_path / "exported", verbose=False)
    for folder in ("saved", "exported"):
        serve = tf.saved_model.load(str(tmp_path / folder)).signatures["serving_default"]
        sizes = {
            name: spec.shape.rank for name, spec in serve.structured_input_signature[1].items()
        }
        assert sorted(sizes.values()) == [0, 2, 2, 2]
        tensors = {name: x if rank else np.float32(2) for name, rank in sizes.items()}
        given = {name: tf.constant(value) for name, value in tensors.items()}
        (result,) = serve(**given).values()
        np.testing.assert_allclose(result, model(x, x, x, scale=np.float32(2)), rtol=1e-5)
    assert expected.shape == (2, 2)
