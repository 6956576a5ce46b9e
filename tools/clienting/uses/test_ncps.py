"""Programs that use ncps: recurrent cells of few, sparsely connected neurons."""

import keras
import numpy as np
import pytest
from ncps.keras import LTC, CfC, CfCCell, LTCCell, MixedMemoryRNN
from ncps.wirings import AutoNCP, FullyConnected, Random

X = np.random.default_rng(0).normal(size=(16, 6, 3)).astype("float32")
Y = X.sum(axis=(1, 2), keepdims=True)[:, 0]
LAYERS = {
    "cfc": lambda **options: CfC(5, **options),
    "cfc-pure": lambda **options: CfC(5, mode="pure", **options),
    "cfc-no-gate": lambda **options: CfC(5, mode="no_gate", **options),
    "cfc-backbone": lambda **options: CfC(5, backbone_units=7, backbone_layers=2, **options),
    "cfc-wired": lambda **options: CfC(AutoNCP(9, 2, seed=1), **options),
    "cfc-memory": lambda **options: CfC(5, mixed_memory=True, **options),
    "ltc": lambda **options: LTC(AutoNCP(9, 2, seed=1), **options),
    "ltc-full": lambda **options: LTC(FullyConnected(4, 1), **options),
    "ltc-random": lambda **options: LTC(Random(6, 2, sparsity_level=0.5), **options),
    "ltc-memory": lambda **options: LTC(FullyConnected(4), mixed_memory=True, **options),
}


@pytest.fixture(autouse=True)
def seeded():
    keras.utils.set_random_seed(3)
    np.random.seed(3)


@pytest.mark.parametrize("name", LAYERS)
def test_training(name, record_property):
    model = keras.Sequential([keras.Input((6, 3)), LAYERS[name](), keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(0.01), "mse")
    losses = model.fit(X, Y, epochs=3, batch_size=8, shuffle=False, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    record_property("losses", losses)
    record_property("shapes", [list(each.shape) for each in model.weights])
    record_property("output", np.asarray(model(X[:2])).tolist())


@pytest.mark.parametrize("name", LAYERS)
def test_sequences_and_states(name, record_property):
    layer = LAYERS[name](return_sequences=True, return_state=True)
    outputs, *states = layer(X)
    assert outputs.shape[:2] == (16, 6)
    record_property("mean", float(keras.ops.mean(outputs)))
    record_property("states", [float(keras.ops.mean(each)) for each in keras.tree.flatten(states)])


@pytest.mark.parametrize("name", ["cfc", "cfc-wired", "ltc"])
def test_files(name, tmp_path):
    model = keras.Sequential([keras.Input((6, 3)), LAYERS[name](), keras.layers.Dense(1)])
    model.save(tmp_path / "model.keras")
    objects = {"CfC": CfC, "LTC": LTC, "CfCCell": CfCCell, "LTCCell": LTCCell}
    loaded = keras.models.load_model(tmp_path / "model.keras", custom_objects=objects)
    np.testing.assert_allclose(loaded.predict(X, verbose=0), model.predict(X, verbose=0), rtol=1e-5)


@pytest.mark.parametrize("options", [{"go_backwards": True}, {"unroll": True}, {"stateful": True}])
def test_options_of_the_base_class(options, record_property):
    layer = CfC(4, return_sequences=True, **options)
    for _ in range(2):
        outputs = layer(X)
    record_property("mean", float(keras.ops.mean(outputs)))


def test_cells_in_layers_of_keras(record_property):
    layer = keras.layers.RNN([CfCCell(4), CfCCell(2)])
    record_property("stacked", np.asarray(layer(X)[:2]).tolist())
    both = keras.layers.Bidirectional(CfC(3))
    record_property("both", np.asarray(both(X)[:2]).tolist())
    mixed = keras.layers.RNN(MixedMemoryRNN(CfCCell(4)))
    assert mixed.cell.flat_size == 4


def test_the_activation_is_known_by_its_name():
    x = np.linspace(-2, 2, 5).astype("float32")
    cell = CfCCell(3, activation="lecun_tanh")
    np.testing.assert_allclose(cell._activation(x), 1.7159 * np.tanh(0.666 * x), 1e-5)
