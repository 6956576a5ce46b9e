"""Each family beside Keras's: layers, weights, outputs, files."""

import json
import zipfile

import keras
import numpy as np
import pytest

import tfkit
from tests.applications.architectures import LIST, SMALL, line
from tests.applications.pairs import images, label, pair, plain
from tests.applications.table import FAMILIES, IN_FILES

# Keras copies its variables in a way that NumPy 2 warns of, whenever it saves.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


@pytest.mark.parametrize("name", SMALL)
def test_larger_models_have_the_layers_of_keras(name):
    """The others are compared when the list is written: see `architectures.py`."""
    assert line(tfkit, name) in LIST.read_text(encoding="utf-8").splitlines()


# The others have more layers, of the same kinds.
SHORT = ("mobilenet", "mobilenet_v2", "vgg")


def families(names):
    """Returns the parameters, of which those that are not short are wide."""
    return [pytest.param(name, marks=() if name in SHORT else pytest.mark.wide) for name in names]


@pytest.fixture(params=families(FAMILIES), scope="module")
def models(request):
    name, arguments, size = FAMILIES[request.param]
    return pair(name, size, **arguments)


def assert_close(got, expected):
    """To the rounding of float32 in a deep network: 1e-5 of the largest output."""
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def test_layers_and_weights_are_those_of_keras(models):
    ours, theirs = models
    assert [layer.name for layer in ours.layers] == [layer.name for layer in theirs.layers]
    for own, other in zip(ours.layers, theirs.layers, strict=True):
        assert type(own).__name__ == type(other).__name__
        assert plain(own.get_config()) == plain(other.get_config())
    assert ours.count_params() == theirs.count_params()
    names = [[(label(weight), tuple(weight.shape)) for weight in model.weights] for model in models]
    assert names[0] == names[1]


def test_published_weights_give_keras_outputs(models):
    ours, theirs = models
    x = images(theirs)
    expected = np.asarray(theirs(x, training=False))
    assert np.ptp(expected, axis=0).max() > 0.01 * np.abs(expected).max()  # Images differ.
    assert_close(ours(x, training=False), expected)


@pytest.mark.parametrize("models", families(IN_FILES), indirect=True)
def test_a_file_of_keras_is_loaded(models, tmp_path):
    _, theirs = models
    theirs.save(tmp_path / "theirs.keras")
    x = images(theirs)
    loaded = tfkit.models.load_model(tmp_path / "theirs.keras")
    assert_close(loaded(x, training=False), np.asarray(theirs(x, training=False)))


@pytest.mark.parametrize("models", families(IN_FILES), indirect=True)
def test_keras_loads_our_file(models, tmp_path):
    ours, theirs = models
    ours.save(tmp_path / "ours.keras")
    with zipfile.ZipFile(tmp_path / "ours.keras") as archive:
        config = json.loads(archive.read("config.json"))
    assert plain(config["config"]) == plain(json.loads(theirs.to_json())["config"])
    loaded = keras.models.load_model(tmp_path / "ours.keras")
    x = images(theirs)
    assert_close(np.asarray(loaded(x, training=False)), np.asarray(theirs(x, training=False)))
