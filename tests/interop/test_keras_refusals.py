"""Files that only look like Keras's, and what in them is never done."""

import base64
import json
import marshal
import zipfile

import h5py
import keras
import numpy as np
import pytest

import tfkit
from tfkit.saving import LoadError, load_model

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


@pytest.fixture(scope="module")
def members(tmp_path_factory):
    """What is in an archive of Keras."""
    path = tmp_path_factory.mktemp("k") / "m.keras"
    keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, name="d")]).save(path)
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(path, members, **kwargs):
    with zipfile.ZipFile(path, "w", **kwargs) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def changed(members, function):
    config = json.loads(members["config.json"])
    function(config)
    return {**members, "config.json": json.dumps(config)}


def test_the_original_loads(members, tmp_path):
    assert load_model(packed(tmp_path / "any name", members)).layers[0].units == 2


def test_archives_that_keras_does_not_write(members, tmp_path):
    path = packed(tmp_path / "m.keras", members, compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(LoadError, match=r"m\.keras.*is compressed"):
        load_model(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", members["config.json"])
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("config.json", members["config.json"])
    with pytest.raises(LoadError, match="twice"):
        load_model(path)
    with pytest.raises(LoadError, match="belongs to no layer"):
        load_model(packed(path, {**members, "assets/layers/d/vocabulary.txt": "a"}))
    for name in (
        "../../config.json",
        "assets/../x",
        "assets//x",
        "assets/a\\b",
        "assets/",
        "/assets/x",
    ):
        with pytest.raises(LoadError, match="none of the members"):
            load_model(packed(path, {**members, name: "a"}))
    with pytest.raises(LoadError, match=r"without a member 'model\.weights\.h5'"):
        load_model(packed(path, {"config.json": members["config.json"]}))
    data = bytearray(packed(path, members).read_bytes())
    data[6] |= 1
    data[data.index(b"PK\1\2") + 8] |= 1
    path.write_bytes(data)
    with pytest.raises(LoadError, match="encrypted"):
        load_model(path)


def test_damage_is_found_wherever_it_is(members, tmp_path):
    whole = packed(tmp_path / "m.keras", members).read_bytes()
    model = load_model(tmp_path / "m.keras")
    expected = model.get_weights()
    for place in np.random.default_rng(0).integers(0, len(whole), 60):
        damaged = bytearray(whole)
        damaged[place] ^= 0x55
        (tmp_path / "m.keras").write_bytes(damaged)
        try:
            found = load_model(tmp_path / "m.keras").get_weights()
        except LoadError:
            continue
        for a, b in zip(found, expected, strict=True):  # A date, or a flag without a meaning.
            np.testing.assert_array_equal(a, b)
    for size in np.random.default_rng(1).integers(1, len(whole), 20):
        (tmp_path / "m.keras").write_bytes(whole[:size])
        with pytest.raises(LoadError):
            load_model(tmp_path / "m.keras")


def test_marshalled_code_is_refused_with_the_line_that_helps(tmp_path):
    code = base64.b64encode(marshal.dumps((lambda x: 2 * x).__code__)).decode()
    function = {"class_name": "__lambda__", "config": {"code": code}}
    config = {"name": "double", "function": function, "arguments": {}}
    layer = {"module": "keras.layers", "class_name": "Lambda", "config": config}
    model = keras.Sequential([keras.Input((4,)), keras.layers.Identity()])
    model.save(tmp_path / "m.keras")
    with zipfile.ZipFile(tmp_path / "m.keras") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    path = packed(
        tmp_path / "m.keras",
        changed(members, lambda config: config["config"]["layers"].__setitem__(1, layer)),
    )
    with pytest.raises(LoadError, match=r"'double'.*register_keras_serializable\(name='double'\)"):
        load_model(path)
    loaded = load_model(path, custom_objects={"double": lambda x: 2 * x})
    np.testing.assert_array_equal(loaded(np.ones((1, 4), "float32")), 2 * np.ones((1, 4)))


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("class_name", "system", "not registered"),
        ("class_name", "get_file", "not registered"),
        ("config", {"name": "d", "units": 1 << 40}, "would take .* bytes"),
        ("config", {"name": "d", "units": 2, "activation": "Dense"}, "Unknown name"),
        ("config", [], "cannot be made|is none of a Keras model"),
    ],
)
def test_configurations_ask_for_nothing_but_layers(members, tmp_path, key, value, message):
    def change(config):
        layer = config["config"]["layers"][1]
        layer[key] = value
        layer["module"] = "os" if value == "system" else layer["module"]

    with pytest.raises(LoadError, match=message):
        load_model(packed(tmp_path / "m.keras", changed(members, change)))


@pytest.mark.parametrize("document", ["[]", "{", "[" * 100_000, "null", '{"class_name": 3}'])
def test_configurations_that_are_none(members, tmp_path, document):
    with pytest.raises(LoadError):
        load_model(packed(tmp_path / "m.keras", {**members, "config.json": document}))


def test_storage_that_keras_does_not_write(members, tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(b"x" * 64)
    kernel = "layers/dense/vars/0"

    def link(file):
        file[kernel] = h5py.ExternalLink("other.h5", "/x")

    def soft(file):
        file[kernel] = h5py.SoftLink("/layers/dense/vars/1")

    def second(file):
        file[kernel] = file["layers/dense/vars/1"]

    def chunked(file):
        file.create_dataset(kernel, (1 << 20, 1 << 20), "float32", chunks=(1024, 1024))

    def external(file):
        file.create_dataset(kernel, (4, 2), "float32", external=[(str(secret), 0, 32)])

    def text(file):
        file[kernel] = "x"

    for change in (link, soft, second, chunked, external, text):
        (tmp_path / "w.h5").write_bytes(members["model.weights.h5"])
        with h5py.File(tmp_path / "w.h5", "a") as file:
            del file[kernel]
            change(file)
        data = (tmp_path / "w.h5").read_bytes()
        path = packed(tmp_path / "m.keras", {**members, "model.weights.h5": data})
        with pytest.raises(LoadError, match=r"m\.keras"):
            load_model(path)
        model = tfkit.Sequential([tfkit.Input((4,)), tfkit.layers.Dense(2)])
        with pytest.raises(LoadError, match=r"w\.h5"):
            model.load_weights(tmp_path / "w.h5")


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    """What is in an archive of Keras that holds a functional model."""
    path = tmp_path_factory.mktemp("g") / "m.keras"
    inputs = keras.Input((4,), name="x")
    hidden = keras.layers.Dense(2, name="a", kernel_regularizer="l2")(inputs)
    keras.Model(inputs, keras.layers.Dense(2, name="b")(hidden)).save(path)
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _history(config, position, value):
    argument = config["config"]["layers"][2]["inbound_nodes"][0]["args"][0]
    argument["config"]["keras_history"][position] = value


def _output(config, position, value):
    outputs = config["config"]["output_layers"]
    (outputs if isinstance(outputs[0], str) else outputs[0])[position] = value


def _same_name(config):
    config["config"]["layers"][2] |= {"name": "a"}
    config["config"]["layers"][2]["config"]["name"] = "a"


def _other_kind(config):
    zeros = {"module": "keras.initializers", "class_name": "Zeros", "config": {}}
    config["config"]["layers"][1]["config"]["kernel_regularizer"] = zeros


def _layer_as_penalty(config):
    layer = {"module": "keras.layers", "class_name": "Dense", "config": {"units": 1}}
    config["config"]["layers"][1]["config"]["kernel_regularizer"] = layer


@pytest.mark.parametrize(
    ("change", "message"),
    [
        *((lambda c, p=p, v=v: _history(c, p, v), "both from 0") for p in (1, 2) for v in (-1, True, 0.0)),
        *((lambda c, p=p, v=v: _output(c, p, v), "both from 0|expected|No such") for p in (1, 2)
          for v in (-1, False)),
        (_same_name, "two layers 'a'"),
        (_other_kind, r"Expected an object of tfkit\.regularizers.*one of tfkit\.initializers"),
        (_layer_as_penalty, r"Expected an object of tfkit\.regularizers.*one of tfkit\.layers"),
    ],
)  # fmt: skip
def test_graphs_that_keras_does_not_write(change, message, graph, tmp_path):
    with pytest.raises(LoadError, match=message):
        load_model(packed(tmp_path / "m.keras", changed(graph, change)))


KINDS = {
    "initializers": tfkit.initializers.Zeros(),
    "regularizers": tfkit.regularizers.L2(0.1),
    "constraints": tfkit.constraints.NonNeg(),
    "optimizers": tfkit.optimizers.SGD(),
    "losses": tfkit.losses.MeanSquaredError(),
    "metrics": tfkit.metrics.Mean(),
}


@pytest.mark.parametrize("given", KINDS)
@pytest.mark.parametrize("expected", ["initializers", "regularizers", "constraints", "activations"])
def test_an_object_of_another_kind_is_refused(expected, given):
    get = getattr(tfkit, expected).get
    if expected == given:
        assert get(KINDS[given]) is KINDS[given]
        return
    for identifier in (KINDS[given], type(KINDS[given])):
        with pytest.raises(ValueError, match=f"one of tfkit.{given}"):
            get(identifier)


def test_a_layer_and_a_function_are_activations_and_penalties():
    relu = tfkit.layers.ReLU()
    assert tfkit.activations.get(relu) is relu
    assert tfkit.regularizers.get(abs) is abs
