"""Model files: what is saved comes back, all of it or none."""

import json
import subprocess
import sys
import textwrap

import h5py
import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tests.tolerances import assert_same_sums
from tfkit import layers
from tfkit.src.files.saving import hdf5_writing

X = np.random.default_rng(0).normal(size=(6, 4)).astype("float32")


@tfkit.saving.register_keras_serializable("tests")
class Net(tfkit.Model):
    """Sublayers made in the constructor only: a list, a dict, and one that is used twice."""

    def __init__(self, width=4):
        super().__init__()
        self.blocks = [layers.Dense(width, activation="relu") for _ in range(3)]
        self.heads = {"b": layers.Dense(2), "a": layers.Dense(2)}
        self.shared = layers.Dense(width)
        self.dropout = layers.Dropout(0.5)

    def call(self, x):
        for block in self.blocks:
            x = block(x)
        x = self.dropout(self.shared(self.shared(x)))
        return self.heads["a"](x) - self.heads["b"](x)


@pytest.fixture(scope="module")
def trained():
    tfkit.utils.set_random_seed(0)
    model = Net()
    model.compile("adam", "mse", metrics=["mae"])
    model.fit(X, X[:, :2], verbose=0, epochs=2)
    return model


@tfkit.saving.register_keras_serializable("tests")
class Argued(layers.Identity):
    """A layer with an argument of any type."""

    def __init__(self, value, **options):
        super().__init__(**options)
        self.value = value


@pytest.mark.parametrize("value", [[(1, 2)], {1: (2,)}, [{(1, 2): [3]}]], ids=str)
def test_tuples_and_keys_inside_of_arguments_come_back(value, tmp_path):
    tfkit.Sequential([tfkit.Input((2,)), Argued(value)]).save(tmp_path / "m.h5")
    assert tfkit.saving.load_model(tmp_path / "m.h5").layers[0].value == value


def test_a_subclassed_model_comes_back(trained, tmp_path):
    trained.save(tmp_path / "net.h5")
    loaded = tfkit.saving.load_model(tmp_path / "net.h5")
    np.testing.assert_array_equal(loaded(X), trained(X))
    assert loaded.optimizer.get_config() == trained.optimizer.get_config()
    assert int(loaded.optimizer.iterations) == 2
    results = [
        model.fit(X, X[:, :2], verbose=0, shuffle=False).history["loss"]
        for model in (trained, loaded)
    ]
    assert results[0] == results[1]


def test_a_new_process_with_the_class_imported(tmp_path):
    code = """
        import os
        import numpy as np, tfkit
        from tfkit import layers
        @tfkit.saving.register_keras_serializable()
        class M(tfkit.Model):
            def __init__(self, units):
                super().__init__()
                self.parts = [layers.Dense(units), layers.Dense(units)]
            def call(self, x):
                return self.parts[1](self.parts[0](x))
        x = np.ones((2, 3), "float32")
        if os.fork() == 0:  # Nothing but imports has happened: as good as another start, in less time.
            m = M(5)
            y = m(x)
            m.save("m.h5")
            np.save("y.npy", y)
        else:
            assert os.wait()[1] == 0
            assert np.array_equal(tfkit.models.load_model("m.h5")(x), np.load("y.npy"))
    """
    script = textwrap.dedent(code)
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True, env=_environment())


def _environment():
    import os

    root = os.path.dirname(os.path.dirname(tfkit.__file__))
    return {**os.environ, "PYTHONPATH": root}


def functional():
    a = tfkit.Input((4,), name="a")
    dense = layers.Dense(4, activation="tanh")
    x = tfkit.ops.add(dense(dense(a)), a * 2.0)
    return tfkit.Model(a, {"y": layers.Dense(1, name="y")(x)})


def sequential():
    return tfkit.Sequential(
        [tfkit.Input((4,)), layers.Dense(3), layers.Dropout(0.3), layers.Dense(3)]
    )


@pytest.mark.parametrize("build", [functional, sequential])
def test_graphs_come_back(build, tmp_path):
    model = build()
    model.save(tmp_path / "m.h5")
    loaded = tfkit.models.load_model(tmp_path / "m.h5")
    assert type(loaded) is type(model)
    a, b = model.predict(X, verbose=0), loaded.predict(X, verbose=0)
    tf.nest.map_structure(np.testing.assert_array_equal, a, b)
    again = tfkit.models.model_from_json(model.to_json())
    assert [w.shape for w in again.weights] == [w.shape for w in model.weights]


def test_weights_load_by_name_and_not_by_order(tmp_path):
    class Pair(tfkit.Model):
        def __init__(self, names):
            super().__init__()
            self.parts = {name: layers.Dense(4) for name in names}

        def call(self, x):
            return self.parts["one"](x) + 2.0 * self.parts["two"](x)

    first, second = Pair(["one", "two"]), Pair(["two", "one"])
    expected = first(X)
    second(X)
    first.save_weights(tmp_path / "p.weights.h5")
    second.load_weights(tmp_path / "p.weights.h5")
    np.testing.assert_array_equal(second(X), expected)


def test_a_mismatch_is_one_table_and_changes_nothing(trained, tmp_path):
    trained.save_weights(tmp_path / "n.weights.h5")
    other = Net(5)
    other(X)
    before = other.get_weights()
    with pytest.raises(tfkit.saving.LoadError, match=r"(?s)blocks/0/kernel.*\(4, 4\).*\(4, 5\)"):
        other.load_weights(tmp_path / "n.weights.h5")
    for old, new in zip(before, other.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)


def test_damaged_files_are_refused(trained, tmp_path):
    path = tmp_path / "n.h5"
    trained.save(path)
    whole = path.read_bytes()
    model = Net()
    model(X)
    before = model.get_weights()
    for size in (0, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(tfkit.saving.LoadError, match="damaged"):
            tfkit.saving.load_model(path)
    kernel = trained.blocks[1].kernel.numpy().tobytes()
    place = whole.index(kernel)
    path.write_bytes(whole[:place] + b"\x01" + whole[place + 1 :])
    with pytest.raises(tfkit.saving.LoadError, match="checksum"):
        model.load_weights(path)
    for old, new in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)


def test_an_unregistered_class_is_refused(tmp_path):
    class Unknown(tfkit.Model):
        def call(self, x):
            return x

    model = Unknown()
    model(X)
    model.save(tmp_path / "u.h5")
    with pytest.raises(tfkit.saving.LoadError, match=r"Unknown.*register_keras_serializable"):
        tfkit.saving.load_model(tmp_path / "u.h5")
    loaded = tfkit.saving.load_model(tmp_path / "u.h5", custom_objects={"Unknown": Unknown})
    assert isinstance(loaded, Unknown)


def test_a_failed_save_leaves_the_old_file(trained, tmp_path):
    class Failing(tfkit.Model):
        def call(self, x):
            return x

        def get_config(self):
            raise RuntimeError("no")

    path = tmp_path / "m.h5"
    trained.save(path)
    before = path.read_bytes()
    model = Failing()
    model(X)
    with pytest.raises(RuntimeError):
        model.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileExistsError):
        trained.save(path, overwrite=False)


def test_the_folder_of_a_whole_model_in_h5_is_made_as_in_keras(tmp_path):
    model = tfkit.Sequential([tfkit.Input((2,)), layers.Dense(1)])
    model.save(tmp_path / "a" / "b" / "m.h5")
    assert (tmp_path / "a" / "b" / "m.h5").is_file()
    for save, name in ((model.save, "m.keras"), (model.save_weights, "m.weights.h5")):
        with pytest.raises(FileNotFoundError, match="no folder"):
            save(tmp_path / "c" / name)
        assert not (tmp_path / "c").exists()


def test_no_folder_is_made_for_a_refused_save(tmp_path):
    class Failing(tfkit.Model):
        def call(self, inputs):
            return inputs

        def get_config(self):
            raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        Failing().save(tmp_path / "a" / "m.h5")
    assert list(tmp_path.iterdir()) == []


def test_links_are_refused(trained, tmp_path):
    path = tmp_path / "n.weights.h5"
    trained.save_weights(path)
    with h5py.File(path, "a") as file:
        del file["weights/blocks/0/kernel"]
        file["weights/blocks/0/kernel"] = h5py.ExternalLink("/etc/passwd", "/x")
    with pytest.raises(tfkit.saving.LoadError, match="link"):
        trained.load_weights(path)


def test_exports_keep_names_and_dtypes(tmp_path):
    model = tfkit.Sequential([layers.Embedding(17, 4), layers.Dense(2)])
    ids = np.arange(8, dtype="int32").reshape(2, 4)
    expected = model(ids)
    model.compile("adam", "mse")
    model.fit(ids, np.zeros((2, 4, 2)), verbose=0, epochs=0)
    model.export(tmp_path / "e")
    loaded = tf.saved_model.load(str(tmp_path / "e"))
    signature = loaded.signatures["serving_default"]
    (spec,) = signature.structured_input_signature[1].values()
    assert spec.dtype == tf.int32
    assert spec.shape.as_list() == [None, 4]
    (result,) = signature(tf.constant(ids)).values()
    np.testing.assert_array_equal(result, expected)
    assert len(loaded.variables) == 3


def test_configurations_of_keras_as_json():
    inputs = keras.Input((4,))
    hidden = keras.layers.Dense(3, activation="relu")(inputs)
    theirs = keras.Model(inputs, keras.ops.mean(hidden, axis=1) * 2)
    ours = tfkit.models.model_from_json(theirs.to_json())
    ours.set_weights(theirs.get_weights())
    kernel = np.abs(theirs.get_weights()[0])
    size = 2 * np.mean(np.abs(X) @ kernel, axis=1)
    assert_same_sums(ours(X), theirs(X), terms=4 + 3, size=size)


def test_errors_have_the_types_of_keras(tmp_path):
    class Unknown(layers.Layer):
        def call(self, inputs):
            return inputs

    tfkit.Sequential([tfkit.Input((4,)), Unknown()]).save(tmp_path / "unknown.keras")
    cases = (("missing.keras", ValueError), ("unknown.keras", TypeError))
    for name, error in cases:
        for framework in (tfkit, keras):
            with pytest.raises(error):
                framework.models.load_model(tmp_path / name)
    with pytest.raises(TypeError, match="not registered"):
        layers.deserialize({"class_name": "Unknown", "config": {}})


def test_a_layer_that_copies_the_one_it_is_given(tmp_path):
    inputs = tfkit.Input((5, 4))
    inner = layers.Bidirectional(layers.LSTM(3, return_sequences=True))(inputs)
    model = tfkit.Model(inputs, layers.Bidirectional(layers.RNN(layers.GRUCell(3)))(inner))
    model.save(tmp_path / "model.h5")
    x = np.ones((2, 5, 4), "float32")
    loaded = tfkit.models.load_model(tmp_path / "model.h5")
    np.testing.assert_array_equal(loaded(x), model(x))


def test_arguments_of_save_that_keras_has(tmp_path):
    model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(1)])
    with pytest.warns(UserWarning, match="`save_format` argument is deprecated"):
        model.save(tmp_path / "model.keras", save_format="keras")
    model.save(tmp_path / "model.h5", zipped=True)
    for name in ("model.keras", "model.h5"):
        loaded = tfkit.saving.load_model(tmp_path / name)
        np.testing.assert_array_equal(loaded.get_weights()[0], model.get_weights()[0])


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("model", {"save_format": "tf"}, "`save_format` argument is deprecated"),
        ("model.keras", {"zipped": False}, "becomes a folder, whose path should not end in .keras"),
        ("model.h5", {"format": "h5"}, r"argument\(s\) are not supported: \['format'\]"),
        ("model.keras", {"format": "h5"}, r"argument\(s\) are not supported: \['format'\]"),
        ("model.png", {}, r"Invalid filepath extension for saving: '.png'"),
    ],
)
def test_arguments_of_save_that_are_refused(tmp_path, name, arguments, message):
    model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(1)])
    with pytest.raises(ValueError, match=message):
        model.save(tmp_path / name, **arguments)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("save", ["save", "save_weights"])
def test_paths_that_are_none(tmp_path, save):
    model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(1)])
    with pytest.raises(ValueError, match=r"must be the path of a file.*Received: filepath=None"):
        getattr(model, save)(None)
    (tmp_path / "file").touch()
    name = {"save": "m.h5", "save_weights": "m.weights.h5"}[save]
    with pytest.raises(FileNotFoundError, match=rf"There is no folder .*file to save {name} in"):
        getattr(model, save)(tmp_path / "file" / name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("model.keras", "File not found: there is no model file at"),
        ("model.pkl", "File format not supported: there is no model file at"),
        ("", r"is a folder.*TFSMLayer"),
    ],
)
def test_a_path_without_a_model_file(tmp_path, name, message):
    model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(1)])
    for load in (tfkit.saving.load_model, model.load_weights):
        with pytest.raises(ValueError, match=message):
            load(tmp_path / name)
    with pytest.raises(ValueError, match=r"Invalid keyword arguments: \{'bad': 1\}"):
        model.load_weights(tmp_path / name, bad=1)


def test_a_file_that_describes_something_else_than_a_model_is_refused(tmp_path):
    loss = tfkit.saving.serialize_keras_object(tfkit.losses.MeanSquaredError())
    hdf5_writing.write(tmp_path / "loss.h5", {"config": loss}, {"weights": {"kernel": np.ones(2)}})
    with pytest.raises(
        tfkit.saving.LoadError, match=r"describes .*MeanSquaredError.*, which is not a model"
    ):
        tfkit.models.load_model(tmp_path / "loss.h5")


@pytest.mark.parametrize("entry", [5, None, True, 1e308, "text", []], ids=repr)
def test_something_that_is_no_layer_in_a_text(entry):
    model = tfkit.Sequential([tfkit.Input((2,)), tfkit.layers.Dense(2)])
    config = json.loads(model.to_json())
    config["config"]["layers"][1] = entry
    with pytest.raises(ValueError, match="something that is not a layer"):
        tfkit.models.model_from_json(json.dumps(config))


def test_the_dict_of_custom_objects_has_the_registered_ones():
    """As in Keras, where programs empty it to forget them."""

    @tfkit.saving.register_keras_serializable("forgotten")
    def halved(x):
        return x / 2

    objects = tfkit.saving.get_custom_objects()
    assert objects["forgotten>halved"] is halved
    del objects["forgotten>halved"]
    assert tfkit.saving.get_registered_object("forgotten>halved") is None
