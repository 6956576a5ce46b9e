"""Weights of Keras in several files, and models of Keras in folders."""

import json
import os
import shutil

import keras as oracle
import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit.saving import LoadError

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


def model_of(keras, **options):
    dense = keras.layers.Dense
    return keras.Sequential([keras.Input((20,)), dense(30, **options), dense(40, name="out")])


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keras")
    model = model_of(oracle)
    model.compile("adam", "mse")
    model.train_on_batch(np.ones((2, 20)), np.ones((2, 40)))
    model.save(str(folder / "model"), zipped=False)
    model.save_weights(str(folder / "a.weights.json"), max_shard_size=5e-6)
    return folder, model


@pytest.fixture
def folder(written, tmp_path):
    shutil.copytree(written[0], tmp_path / "copy")
    return tmp_path / "copy"


def assert_equal(ours, theirs):
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


def test_weights_in_several_files_are_read(written, folder):
    assert len(list(folder.glob("a_*.weights.h5"))) > 1
    model = model_of(tfkit)
    report = model.load_weights(folder / "a.weights.json")
    assert_equal(model.get_weights(), written[1].get_weights())
    assert len(report.loaded) == 4
    assert tfkit.interop.keras.is_keras_file(folder / "a.weights.json")
    model.save_weights(folder / "own.weights.json", max_shard_size=5e-6)
    assert not tfkit.interop.keras.is_keras_file(folder / "own.weights.json")
    model.load_weights(folder / "own.weights.json")


def changed(folder, change):
    path = folder / "a.weights.json"
    index = json.loads(path.read_text())
    change(index["weight_map"])
    path.write_text(json.dumps(index))
    return path


@pytest.mark.parametrize(
    "name",
    ["../a_00000.weights.h5", "/etc/passwd", "b_00000.weights.h5", "a_00000.weights.h5/x", 3],
)
def test_an_index_names_no_other_files(folder, name):
    path = changed(folder, lambda weights: weights.update(more=[name]))
    model = model_of(tfkit)
    before = model.get_weights()
    with pytest.raises(LoadError, match="does not belong to it"):
        model.load_weights(path)
    assert_equal(model.get_weights(), before)


def test_missing_and_doubled_files_are_refused(folder):
    shutil.copy(folder / "a_00000.weights.h5", folder / "a_00009.weights.h5")
    path = changed(folder, lambda weights: weights.update(more=["a_00009.weights.h5"]))
    with pytest.raises(LoadError, match="is in a second file as well"):
        model_of(tfkit).load_weights(path)
    (folder / "a_00009.weights.h5").unlink()
    with pytest.raises(FileNotFoundError, match="a_00009"):
        model_of(tfkit).load_weights(path)
    path.write_text('{"weight_map": [1]}')
    with pytest.raises(LoadError, match="no `weight_map`"):
        model_of(tfkit).load_weights(path)


def test_a_model_in_a_folder_is_read_with_its_optimizer(written, folder):
    loaded = tfkit.models.load_model(folder / "model")
    assert_equal(loaded.get_weights(), written[1].get_weights())
    assert int(loaded.optimizer.iterations) == 1
    fresh = model_of(tfkit)
    fresh.load_weights(folder / "model")
    assert_equal(fresh.get_weights(), written[1].get_weights())


def test_assets_in_a_folder_are_read(tmp_path):
    layer = oracle.layers.StringLookup(vocabulary=["a", "b"])
    model = oracle.Sequential([oracle.Input((1,), dtype="string"), layer])
    model.save(str(tmp_path / "model"), zipped=False)
    loaded = tfkit.models.load_model(tmp_path / "model")
    assert loaded.layers[0].get_vocabulary() == ["[UNK]", "a", "b"]


def test_a_model_is_written_as_a_folder(tmp_path):
    layer = tfkit.layers.StringLookup(vocabulary=["a", "b"])
    model = tfkit.Sequential([tfkit.Input((1,), dtype="string"), layer, tfkit.layers.Dense(2)])
    model.compile("adam", "mse")
    model.optimizer.build(model.trainable_weights)
    path = tmp_path / "model"
    model.save(path, zipped=False)
    x = tf.constant([["a"], ["c"]])
    for loaded in (tfkit.models.load_model(path), oracle.models.load_model(str(path))):
        np.testing.assert_array_equal(loaded(x), model(x))
        assert type(loaded.optimizer).__name__ == "Adam"
    model.layers[-1].bias.assign([1.0, 2.0])
    model.save(path, zipped=False, include_optimizer=False)  # Over the old one.
    loaded = tfkit.models.load_model(path)
    np.testing.assert_array_equal(loaded(x), model(x))
    assert loaded.compiled
    assert os.listdir(tmp_path) == ["model"]


def test_a_folder_of_something_else_is_never_replaced(tmp_path):
    model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(1)])
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.png").write_bytes(b"a cat")
    (tmp_path / "notes").write_text("a note")
    for name in ("photos", "notes"):
        with pytest.raises(FileExistsError, match="contains something other than a model"):
            model.save(tmp_path / name, zipped=False)
    model.save(tmp_path / "model", zipped=False)
    with pytest.raises(FileExistsError, match="Pass `overwrite=True`"):
        model.save(tmp_path / "model", overwrite=False, zipped=False)
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        model.save(tmp_path / "nowhere" / "model", zipped=False)


def test_a_failed_save_leaves_the_old_folder(tmp_path):
    model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(1)])
    model.save(tmp_path / "model", zipped=False)

    class Failing(tfkit.layers.Dense):
        def save_own_variables(self, store):
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        tfkit.Sequential([tfkit.Input((3,)), Failing(1)]).save(tmp_path / "model", zipped=False)
    loaded = tfkit.models.load_model(tmp_path / "model")
    assert_equal(loaded.get_weights(), model.get_weights())
    assert os.listdir(tmp_path) == ["model"]


def test_links_out_of_a_folder_are_refused(folder, tmp_path):
    config = folder / "model" / "config.json"
    config.rename(tmp_path / "elsewhere.json")
    config.symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(LoadError, match="is not a file in the folder of the model"):
        tfkit.models.load_model(folder / "model")


def test_folders_without_a_model_say_so(tmp_path):
    with pytest.raises(FileNotFoundError, match="is a folder"):
        tfkit.models.load_model(tmp_path)
