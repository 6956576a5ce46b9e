"""Objects that a model holds twice are one object again when a file is loaded."""

import zipfile
from typing import Any

import h5py
import numpy as np
import pytest

import tfkit

X = np.arange(6, dtype="float32").reshape(3, 2)


class _Twice(tfkit.layers.Layer):
    def __init__(self, first: Any, second: Any, **options: Any) -> None:
        super().__init__(**options)
        self.first, self.second = first, second

    def call(self, inputs: Any) -> Any:
        return self.first(self.second(inputs))


@tfkit.saving.register_keras_serializable("shared_objects")
class Recorded(_Twice):
    def __init__(self, first: Any, second: Any, **options: Any) -> None:
        super().__init__(first, second, **options)


@tfkit.saving.register_keras_serializable("shared_objects")
class Described(_Twice):
    def get_config(self) -> dict[str, Any]:
        write = tfkit.saving.serialize_keras_object
        return {**super().get_config(), "first": write(self.first), "second": write(self.second)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        read = tfkit.saving.deserialize_keras_object
        return cls(**{**config, "first": read(config["first"]), "second": read(config["second"])})


@pytest.mark.parametrize("kind", [Recorded, Described])
@pytest.mark.parametrize("ending", ["h5", "keras"])
@pytest.mark.parametrize("is_shared", [True, False])
def test_a_layer_that_is_passed_twice(
    kind: Any, ending: str, is_shared: bool, tmp_path: Any
) -> None:
    dense = tfkit.layers.Dense(2)
    model = tfkit.Sequential(
        [tfkit.Input((2,)), kind(dense, dense if is_shared else tfkit.layers.Dense(2))]
    )
    path = tmp_path / f"model.{ending}"
    model.save(path)
    loaded = tfkit.models.load_model(path)
    np.testing.assert_array_equal(loaded(X), model(X))
    assert (loaded.layers[0].first is loaded.layers[0].second) == is_shared
    assert len(loaded.weights) == (2 if is_shared else 4)


@pytest.mark.parametrize("ending", ["h5", "keras"])
@pytest.mark.parametrize(("is_shared", "times"), [(True, 2), (False, 0)])
def test_a_file_numbers_what_is_shared(
    is_shared: bool, times: int, ending: str, tmp_path: Any
) -> None:
    first, second = tfkit.layers.Dense(2), tfkit.layers.Dense(2)
    twice = Recorded(first, first if is_shared else second)
    path = tmp_path / f"model.{ending}"
    tfkit.Sequential([tfkit.Input((2,)), twice]).save(path)
    text = _config(path)
    assert text.count(b'"shared_object_id": 1') == times
    assert (b"shared_object_id" in text) == is_shared


def test_a_keras_file_of_the_same_model_has_the_same_text(tmp_path: Any) -> None:
    texts, models = set(), []
    for i in range(2):
        rate = tfkit.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5)
        layers = [tfkit.Input((2,), name="x"), tfkit.layers.Dense(2, name="dense")]
        models.append(tfkit.Sequential(layers, name="model"))
        models[i].compile(tfkit.optimizers.Adam(rate, name="adam"), tfkit.losses.Huber())
        models[i].save(tmp_path / f"{i}.keras")
        texts.add(_config(tmp_path / f"{i}.keras"))
    assert len(texts) == 1


def _config(path: Any) -> bytes:
    if path.suffix == ".keras":
        with zipfile.ZipFile(path) as archive:
            return archive.read("config.json")
    with h5py.File(path) as file:
        return file["config"][()].tobytes()


def test_a_model_with_an_argument_that_no_file_can_hold_is_refused_when_it_is_saved(
    tmp_path: Any,
) -> None:
    class Holds(tfkit.Model):
        def __init__(self, held: Any) -> None:
            super().__init__()
            self.dense = tfkit.layers.Dense(2)

        def call(self, inputs: Any) -> Any:
            return self.dense(inputs)

    model = Holds(object())
    model(X)
    with pytest.raises(NotImplementedError, match="`held` cannot be saved"):
        model.save(tmp_path / "model.keras")
    assert not list(tmp_path.iterdir())
