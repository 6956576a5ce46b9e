"""Models whose layers were frozen, unfrozen or changed after the last step: their files are loaded."""

import keras
import numpy as np
import pytest

import tfkit
from tfkit.src.files.saving.contents import weight_of

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
X, Y = np.ones((8, 3), "float32"), np.ones((8, 3), "float32")


def fitted(package=tfkit, frozen=False):
    package.utils.set_random_seed(1)
    layers = [package.layers.Dense(3, name="a"), package.layers.Dense(3, name="b")]
    model = package.Sequential([package.Input((3,)), *layers])
    model.layers[0].trainable = not frozen
    model.compile("adam", "mse")
    model.fit(X, Y, epochs=2, verbose=0)
    return model


def freeze(model):
    model.layers[0].trainable = False


def unfreeze(model):
    model.layers[0].trainable = True


def swap(model):
    """Trains the other layer, of the same shapes."""
    unfreeze(model)
    model.layers[1].trainable = False


CHANGES = {
    "freeze": freeze,
    "unfreeze": unfreeze,
    "swap": swap,
    "lora": lambda model: model.layers[0].enable_lora(2),
    "quantize": lambda model: model.layers[0].quantize("int8"),
    "add": lambda model: model.add(tfkit.layers.Dense(3)),
    "pop": lambda model: model.pop(),
}


def slots(model):
    names = {
        id(weight): f"{layer.name}/{weight.label}"
        for layer in model.layers
        for weight in layer.weights
    }
    owned = [v for v in model.optimizer.variables if id(weight_of(v)) in names]
    return {(names[id(v.slot.weight)], v.slot.name): v.numpy() for v in owned}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.filterwarnings("ignore:File .* its optimizer was made before:UserWarning")
def test_h5_files_keep_the_slots_of_all_weights_that_were_trained(tmp_path, change):
    model = fitted(frozen=change in ("unfreeze", "swap"))
    CHANGES[change](model)
    model.save(tmp_path / "m.h5")
    loaded = tfkit.models.load_model(tmp_path / "m.h5")
    assert int(loaded.optimizer.iterations) == 2
    expected = slots(model)
    for key, value in slots(loaded).items():
        np.testing.assert_array_equal(value, expected.pop(key, np.zeros_like(value)))
    assert not expected
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    loaded.fit(X, Y, verbose=0)


def test_a_loaded_model_with_a_layer_that_was_frozen_since_trains_on_as_the_saved_one(tmp_path):
    model = fitted()
    freeze(model)
    model.save(tmp_path / "m.h5")
    loaded = tfkit.models.load_model(tmp_path / "m.h5")
    for each in (model, loaded):
        each.fit(X, Y, epochs=2, verbose=0)
    for ours, theirs in zip(loaded.get_weights(), model.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_weights_that_became_trainable_since_are_named(tmp_path):
    model = fitted(frozen=True)
    unfreeze(model)
    model.save(tmp_path / "m.h5")
    with pytest.warns(UserWarning, match=r"before the weights \['a/kernel', 'a/bias'\] became"):
        tfkit.models.load_model(tmp_path / "m.h5")


def test_models_inside_are_loaded_too(tmp_path):
    inner = fitted()
    freeze(inner)
    inputs = tfkit.Input((3,))
    model = tfkit.Model(inputs, inner(inputs))
    model.save(tmp_path / "m.h5")
    (loaded,) = tfkit.models.load_model(tmp_path / "m.h5").layers[1:]
    assert len(slots(loaded)) == len(slots(inner)) == 8
    assert int(loaded.optimizer.iterations) == 2


@pytest.mark.parametrize("change", CHANGES)
def test_keras_files_leave_out_state_that_belongs_to_other_weights(tmp_path, change):
    """It is found by position there: after `swap` it would be that of the other layer."""
    model = fitted(frozen=change in ("unfreeze", "swap"))
    CHANGES[change](model)
    with pytest.warns(UserWarning, match="The state of the optimizer is left out"):
        model.save(tmp_path / "m.keras")
    loaded = tfkit.models.load_model(tmp_path / "m.keras")
    assert int(loaded.optimizer.iterations) == 0
    loaded.fit(X, Y, verbose=0)
    keras.models.load_model(tmp_path / "m.keras", compile=False)


@pytest.mark.parametrize("change", ["freeze", "unfreeze"])
def test_files_that_keras_wrote_then_are_loaded_without_the_state(tmp_path, change):
    model = fitted(keras, frozen=change == "unfreeze")
    CHANGES[change](model)
    model.save(tmp_path / "m.keras")
    with pytest.warns(UserWarning, match="The optimizer starts from zero"):
        loaded = tfkit.models.load_model(tmp_path / "m.keras")
    assert int(loaded.optimizer.iterations) == 0
    np.testing.assert_allclose(loaded.predict(X), model.predict(X, verbose=0), rtol=1e-6)
    loaded.fit(X, Y, verbose=0)


def test_the_scales_of_8_bits_are_no_change(tmp_path):
    """Updates replace them by their gradients: nothing is warned of."""
    model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(3)])
    model.quantize("float8")
    model.compile("adam", "mse")
    model.fit(X, Y, verbose=0)
    model.save(tmp_path / "m.keras")
    model.save(tmp_path / "m.h5")
    loaded = tfkit.models.load_model(tmp_path / "m.h5")
    assert int(loaded.optimizer.iterations) == 1


@tfkit.saving.register_keras_serializable("frozen_since")
class OwnScale(tfkit.layers.Layer):
    def __init__(self, start):
        super().__init__()
        self.start = start
        self.factor = self.add_weight(shape=(), initializer=tfkit.initializers.Constant(start))

    def call(self, inputs):
        return inputs * self.factor


@tfkit.saving.register_keras_serializable("frozen_since")
class OwnModel(tfkit.Model):
    def __init__(self, start):
        super().__init__()
        self.scale = OwnScale(start)

    def call(self, inputs):
        return self.scale(inputs)


@pytest.mark.parametrize("make", [OwnScale, OwnModel])
def test_a_frozen_part_whose_constructor_takes_no_trainable_stays_frozen(make, tmp_path):
    own = make(2.0)
    assert "trainable" not in own.get_config()
    own.trainable = False
    inputs = tfkit.Input((3,))
    model = tfkit.Model(inputs, tfkit.layers.Dense(1)(own(inputs)))
    model.save(tmp_path / "model.keras")
    loaded = tfkit.models.load_model(tmp_path / "model.keras")
    for each in (loaded, tfkit.models.clone_model(model)):
        assert not each.layers[1].trainable
        assert len(each.trainable_weights) == 2
