"""`KerasFileEditor` on files of Keras and of tfkit, beside Keras's."""

import h5py
import keras as oracle
import numpy as np
import pytest

import tfkit

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
EDITORS = [tfkit.saving.KerasFileEditor, oracle.saving.KerasFileEditor]


def model_of(keras, *units):
    inputs = x = keras.Input((2,))
    for count in units:
        x = keras.layers.Dense(count)(x)
    return keras.Model(inputs, x)


@pytest.fixture
def keras_file(tmp_path):
    """A `.keras` file of a trained model of Keras's, with the state of its optimizer."""
    model = model_of(oracle, 3, 3)
    model.compile("adam", "mse")
    model.train_on_batch(np.ones((2, 2)), np.ones((2, 3)))
    path = tmp_path / "keras.weights.h5"
    model.save_weights(path)
    return path, model


@pytest.mark.parametrize("editor_class", EDITORS)
def test_a_file_is_made_to_fit_a_larger_model(editor_class, keras_file, tmp_path):
    keras = tfkit if editor_class is EDITORS[0] else oracle
    path, source = keras_file
    editor = editor_class(path)
    if "optimizer" in editor.weights_dict:
        editor.delete_object("optimizer")
    target = model_of(keras, 3, 3, 3)

    def errors():
        return editor.compare(target)["error_count"]

    assert errors() == 1
    editor.add_object("layers/dense_3", weights={"0": np.ones((3, 3))})
    assert errors() == 2
    editor.rename_object("layers/dense_3", "dense_2")
    assert errors() == 1
    editor.add_weights("dense_2", {"1": np.zeros(7)})
    assert errors() == 1
    editor.delete_weight("dense_2", "1")
    assert errors() == 1
    editor.add_weights("dense_2", {"1": np.zeros(3)})
    assert editor.compare(target)["status"] == "success"
    editor.resave_weights(tmp_path / "new.weights.h5")
    target.load_weights(tmp_path / "new.weights.h5")
    expected = [*source.get_weights(), np.ones((3, 3)), np.zeros(3)]
    for ours, theirs in zip(target.get_weights(), expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    # What one has written the other reads.
    other = next(each for each in EDITORS if each is not editor_class)(tmp_path / "new.weights.h5")
    assert (
        other.compare(model_of(tfkit if keras is oracle else oracle, 3, 3, 3))["error_count"] == 0
    )


def test_the_weights_are_those_that_keras_finds(tmp_path):
    model = model_of(oracle, 3)
    model.compile("adam", "mse")
    model.train_on_batch(tf_ones(2, 2), tf_ones(2, 3))
    model.save_weights(tmp_path / "a.weights.h5")
    ours, theirs = (editor(tmp_path / "a.weights.h5").weights_dict for editor in EDITORS)

    def flat(tree, path=""):
        for name, item in sorted(tree.items()):
            yield from (
                flat(item, f"{path}/{name}") if isinstance(item, dict) else [(path, name, item)]
            )

    assert [it[:2] for it in flat(ours)] == [it[:2] for it in flat(theirs)]
    for (*_, value), (*_, expected) in zip(flat(ours), flat(theirs), strict=True):
        np.testing.assert_array_equal(value, expected)


def tf_ones(*shape):
    return np.ones(shape, "float32")


def test_an_archive_is_opened_with_the_state_of_its_optimizer(tmp_path):
    model = model_of(tfkit, 3)
    model.compile("adam", "mse")
    model.train_on_batch(tf_ones(2, 2), tf_ones(2, 3))
    model.save(tmp_path / "model.keras")
    editor = tfkit.saving.KerasFileEditor(tmp_path / "model.keras")
    assert editor.metadata["keras_version"] == oracle.__version__
    assert editor.compare(model)["status"] == "success"
    plain = model_of(tfkit, 3)
    assert editor.compare(plain) == {"status": "error", "error_count": 1, "match_count": 2}
    editor.save(tmp_path / "model.weights.h5")
    plain.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_array_equal(plain.get_weights()[0], model.get_weights()[0])


def test_a_file_of_tfkit_keeps_its_form_and_the_names_of_its_layers(tmp_path, capsys):
    path = tmp_path / "own.weights.h5"
    model = tfkit.Sequential(
        [tfkit.Input((2,)), tfkit.layers.Dense(3, name="first"), tfkit.layers.BatchNormalization()]
    )
    model.save_weights(path)
    editor = tfkit.saving.KerasFileEditor(path)
    assert editor.compare(model) == {"status": "success", "error_count": 0, "match_count": 6}
    capsys.readouterr()
    editor.summary()
    assert "    kernel: shape=(2, 3), dtype=float32" in capsys.readouterr().out
    editor.rename_object("first", "second")
    assert editor.compare(model)["error_count"] == 2
    editor.save(path)
    again = tfkit.saving.KerasFileEditor(path)
    assert again._names == {"second": "first"}
    again.rename_object("second", "first")
    again.save(path)
    before = model.get_weights()
    model.set_weights([np.zeros_like(value) for value in before])
    model.load_weights(path)
    for ours, expected in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(ours, expected)


def test_seed_states_and_bfloat16_are_kept(tmp_path):
    model = tfkit.Sequential(
        [tfkit.Input((2,)), tfkit.layers.Dropout(0.5), tfkit.layers.Dense(3, dtype="bfloat16")]
    )
    for save, name in (
        (model.save_weights, "own.weights.h5"),
        (lambda path: tfkit.interop.keras.save_weights(model, path), "keras.weights.h5"),
    ):
        save(tmp_path / name)
        tfkit.saving.KerasFileEditor(tmp_path / name).save(tmp_path / f"new_{name}")
        report = model.load_weights(tmp_path / f"new_{name}")
        assert len(report.loaded) == 3


@pytest.mark.parametrize(
    ("method", "arguments", "message"),
    [
        ("rename_object", ("nothing", "x"), "Object 'nothing' is not in the file"),
        ("rename_object", ("dense", "layers/x"), "not a full path"),
        ("rename_object", ("dense", "dense_1"), "Name 'dense_1' is taken"),
        ("delete_object", ("dens",), "Did you mean"),
        ("delete_weight", ("dense", "7"), r"has no weight '7'. Its weights: \['0', '1'\]"),
        ("delete_weight", ("layers", "dense"), "has no weight 'dense'"),
        ("add_object", ("layers/a/b", {"0": np.ones(2)}), "Path 'layers/a' is not in the file"),
        ("add_object", ("layers/dense", {"0": np.ones(2)}), "is in the file already"),
        ("add_object", ("layers/c", np.ones(2)), "Argument `weights` should be a dict"),
        ("add_weights", ("dense", {"0": ["text"]}), "Weight '0' cannot be written"),
        ("add_weights", ("dense", {"a/b": [1.0]}), "Weight 'a/b' cannot be written"),
        ("add_weights", ("layers", {"dense": [1.0]}), "are objects inside of 'layers'"),
        ("save", ("a.h5",), r"expected a `\.weights\.h5` extension"),
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(keras_file, method, arguments, message):
    editor = tfkit.saving.KerasFileEditor(keras_file[0])
    before = str(editor.weights_dict)
    with pytest.raises(ValueError, match=message):
        getattr(editor, method)(*arguments)
    assert str(editor.weights_dict) == before


def test_names_that_occur_twice_need_a_path(keras_file):
    editor = tfkit.saving.KerasFileEditor(keras_file[0])
    editor.add_object("blocks", {})
    editor.add_object("blocks/dense", {"0": np.ones(2)})
    with pytest.raises(ValueError, match=r"occurs more than once.*'blocks/dense'"):
        editor.delete_object("dense")
    editor.delete_object("blocks/dense")
    editor.delete_object("dense")


def test_links_and_other_files_are_refused(tmp_path):
    path = tmp_path / "links.weights.h5"
    with h5py.File(path, "w") as file:
        file.create_group("real")
        file["layers"] = h5py.SoftLink("/real")
    with pytest.raises(ValueError, match="is a link"):
        tfkit.saving.KerasFileEditor(path)
    with pytest.raises(ValueError, match=r"`\.keras` or `\.weights\.h5` extension"):
        tfkit.saving.KerasFileEditor(tmp_path / "a.h5")
    with pytest.raises(FileNotFoundError):
        tfkit.saving.KerasFileEditor(tmp_path / "none.keras")
