"""What makes whole families of attacks impossible: S3, S4, S8 to S11, S22, S26, and names that lie."""

import ast
import inspect
import marshal
from pathlib import Path

import numpy as np
import pytest

import tfkit
from tests.attacks.payloads import marshalled, thing
from tests.test_public_face import OBJECTS
from tfkit.src.base.registry import serialization
from tfkit.src.base.registry import tables as registry

# Modules that run, unpack or fetch what others made, and who may use them.
DANGEROUS = {
    "marshal",
    "pickle",
    "dill",
    "cloudpickle",
    "shelve",
    "tarfile",
    "ctypes",
    "subprocess",
}
DANGEROUS |= {"urllib", "http", "requests", "socket", "runpy"}
ALLOWED = {
    ("src/base/names.py", "urllib.parse"),
    # What a user asks for by an address: downloads that are checked, results of epochs that are sent.
    ("src/data/datasets/download.py", "http.client"),
    ("src/data/datasets/download.py", "urllib.error"),
    ("src/data/datasets/download.py", "urllib.parse"),
    ("src/data/datasets/download.py", "urllib.request"),
    ("src/data/datasets/get_file.py", "urllib.parse"),
    ("src/training/callbacks/remote_monitor.py", "http.client"),
    ("src/training/callbacks/remote_monitor.py", "urllib.error"),
    ("src/training/callbacks/remote_monitor.py", "urllib.parse"),
    ("src/training/callbacks/remote_monitor.py", "urllib.request"),
    # Members are copied one by one, below a new folder (tests/datasets/test_get_file.py).
    ("src/data/datasets/archives.py", "tarfile"),
    # Lists of numbers in published arrays: every name in the pickle but those of arrays is refused.
    ("src/data/datasets/npz.py", "pickle"),
    # Graphviz draws a text of ours.
    ("src/data/utils/plotting/dot.py", "subprocess"),
    # TensorFlow's own library, and the program that runs it.
    ("src/export/c_api/__main__.py", "runpy"),
    ("src/export/c_api/library.py", "ctypes"),
    ("src/export/c_api/saved_model.py", "ctypes"),
    ("src/export/c_api/tensors.py", "ctypes"),
    # Children of ours run what is exported, away from this process.
    ("src/export/formats.py", "subprocess"),
    ("src/export/run_cases.py", "runpy"),
    ("src/export/verification.py", "subprocess"),
    # A child of ours parses large requests; what it sends is JSON and arrays.
    ("src/outer/serving/bodies/__main__.py", "runpy"),
    ("src/outer/serving/bodies/wire.py", "socket"),
    ("src/outer/serving/bodies/reader.py", "socket"),
    ("src/training/interrupts.py", "socket"),  # A pair within the process, for signals.
    ("src/outer/serving/offload.py", "socket"),
    ("src/outer/serving/offload.py", "subprocess"),
    (
        "src/base/errors/tracebacks.py",
        "exec()",
    ),  # Of `1 / 0`, at a line of the user's that is to be shown.
    ("src/outer/launch/cluster.py", "socket"),  # To find free ports.
    ("src/outer/launch/processes.py", "subprocess"),  # The user's script.
    ("src/export/formats.py", "eval()"),  # A method of PyTorch's modules.
    ("src/export/convert/jax/nnx.py", "eval()"),  # A method of Flax's modules.
    (
        "src/files/interop/keras_unzipped.py",
        "extractall()",
    ),  # Of the archive that it has just written.
    ("src/files/saving/atomic.py", "ctypes"),  # A system call that Python has no name for.
    ("src/engine/xla.py", "ctypes"),  # The same: it frees memory.
    ("src/borrowed/library_pages.py", "ctypes"),  # The same: it gives pages of libraries back.
    ("src/borrowed/log_lines.py", "ctypes"),  # Whether the library of CUDA's driver can be loaded.
    ("src/engine/unused_gpus.py", "ctypes"),  # It asks the driver for the number of GPUs.
    ("src/training/coordinated.py", "ctypes"),  # A reference that the end of Python does not drop.
}


def uses(path):
    """Modules that a file imports, and names that it calls."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in ("eval", "exec", "extract", "extractall", "unpack_archive"):
                yield f"{name}()"
            if any(
                k.arg == "allow_pickle" and ast.unparse(k.value) != "False" for k in node.keywords
            ):
                yield "allow_pickle"


def test_no_source_runs_or_unpacks_what_others_made():
    """S1, S2, S6, S8 to S11: no bytecode, no pickles, archives or downloads but in known places."""
    root = Path(tfkit.__file__).parent
    found = {
        (path.relative_to(root).as_posix(), name)
        for path in sorted(root.rglob("*.py"))
        for name in uses(path)
        if name.split(".")[0] in DANGEROUS or name.endswith("()") or name == "allow_pickle"
    }
    assert found == ALLOWED


def test_a_configuration_names_no_function_but_mathematics():
    """S3, S4: of all public functions only those in the tables, none of which reads, writes or sets."""
    allowed = {item for table in registry._builtins.values() for item in table.values()}
    functions = {n: f for n, f in OBJECTS.items() if inspect.isroutine(f) and f not in allowed}
    assert {"saving.load_model", "config.set_floatx", "utils.set_random_seed"} <= set(functions)
    for name, item in functions.items():
        module, _, short = name.rpartition(".")
        for config in (
            thing("builtins", "function", short),
            thing(f"tfkit.{module}", "function", short),
            thing("builtins", "function", name),
            thing(f"keras.{module}", short, {}),
        ):
            try:
                found = serialization.deserialize_keras_object(config)
            except (TypeError, ValueError):
                continue
            assert found is not item, name


def test_no_class_in_the_tables_takes_a_path():
    """S7, S18, S26."""
    classes = {c for t in registry._builtins.values() for c in t.values() if inspect.isclass(c)}
    names = {name for cls in classes for name in inspect.signature(cls).parameters}
    assert len(classes) > 150
    assert not [
        name
        for name in names
        if any(part in name for part in ("path", "file", "url", "directory", "proto"))
    ]


# --- Names that lie --------------------


def relu(x):
    return x * 0 + 7.0


def test_a_function_with_the_name_of_a_builtin_does_not_come_back_as_it(tmp_path):
    model = tfkit.Sequential([tfkit.Input((2,)), tfkit.layers.Dense(1, activation=relu)])
    model.save(tmp_path / "m.h5")
    with pytest.raises(tfkit.saving.LoadError, match=r"'relu' of module .*register_keras_serial"):
        tfkit.models.load_model(tmp_path / "m.h5")
    again = tfkit.models.load_model(tmp_path / "m.h5", custom_objects={"relu": relu})
    np.testing.assert_array_equal(again(np.ones((1, 2))), [[7.0]])
    with pytest.raises(ValueError, match="not registered"):
        tfkit.losses.deserialize(tfkit.losses.serialize(relu))


@pytest.mark.parametrize("function", [max, abs, round])
def test_a_function_of_python_does_not_come_back_as_an_operation(function):
    config = serialization.serialize_keras_object(function)
    with pytest.raises(ValueError, match="not registered"):
        serialization.deserialize_keras_object(config)


def test_a_class_with_the_name_of_a_builtin_does_not_come_back_as_it():
    class Dense(tfkit.layers.Layer):
        pass

    config = tfkit.layers.serialize(Dense())
    with pytest.raises(ValueError, match="not registered"):
        tfkit.layers.deserialize(config)
    found = tfkit.layers.deserialize(config, custom_objects={"Dense": Dense})
    assert type(found) is Dense


@tfkit.saving.register_keras_serializable("attacks_rules")
class NotAFunction(tfkit.layers.Layer):
    """A registered class; S19."""


def test_a_registered_class_is_no_function():
    name = "attacks_rules>NotAFunction"
    with pytest.raises(ValueError, match="must name a function"):
        tfkit.layers.Dense(1, activation=name)
    with pytest.raises(ValueError, match="not registered as a function"):
        tfkit.activations.deserialize(thing("builtins", "function", name))


@pytest.mark.parametrize(
    "config",
    [
        {"function": [marshalled(), None, None]},
        {"function": thing("builtins", "__lambda__", {"code": marshalled()})},
        {"function": "relu", "output_shape": [marshalled(), None, None]},
    ],
)
def test_bytecode_is_refused_with_the_line_that_registers(config):
    with pytest.raises(ValueError, match=r"@tfkit\.saving\.register_keras_serializable\(\)"):
        tfkit.layers.deserialize(thing("keras.layers", "Lambda", config))


def test_the_payload_is_bytecode():
    import base64

    assert marshal.loads(base64.b64decode(marshalled())).co_name == "attack"


# --- S22: names that would be paths --------------------

NAMES = ["..", ".", "C:\\x", "a\0b", "~", "%2F", "%", "\n", "\x1b[2J", "a" * 4_000]


def tree(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name)[:20])
def test_a_name_never_becomes_a_path(name, tmp_path):
    class Named(tfkit.Model):
        def __init__(self):
            super().__init__()
            self.parts = {name: tfkit.layers.Dense(2, name=name)}
            self.w = self.add_weight((2,), name=name)

        def call(self, x):
            return self.parts[name](x) + self.w

    inside = tmp_path / "inside"
    inside.mkdir()
    model = Named()
    x = np.ones((1, 3), "float32")
    expected = model(x)
    model.save_weights(inside / "m.weights.h5")
    assert tree(tmp_path) == ["inside", "inside/m.weights.h5"]
    other = Named()
    other(x)
    other.load_weights(inside / "m.weights.h5")
    np.testing.assert_array_equal(other(x), expected)


def test_a_name_without_end_is_refused_when_it_is_saved(tmp_path):
    model = tfkit.Model()
    model.parts = {"é" * 2_001: tfkit.layers.Dense(2)}
    model.parts["é" * 2_001].build((None, 3))
    model.built = True
    with pytest.raises(
        ValueError, match=r"has 4,002 bytes: 'parts/é+'\.\.\. Expected at most 4,000"
    ):
        model.save_weights(tmp_path / "m.weights.h5")
    assert not tree(tmp_path)


@pytest.mark.parametrize("name", ["../../x", "/abs", "a/b"])
def test_names_with_slashes_are_refused(name):
    with pytest.raises(ValueError, match="cannot contain character `/`"):
        tfkit.layers.Dense(1, name=name)
    with pytest.raises(ValueError, match="cannot contain character `/`"):
        tfkit.layers.Layer().add_weight((1,), name=name)


def test_names_of_layers_make_no_folders_elsewhere(tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    model = tfkit.Sequential([tfkit.Input((2,)), tfkit.layers.Dense(1, name="..")], name="..")
    model.compile("sgd", "mse")
    board = tfkit.callbacks.TensorBoard(inside / "logs", histogram_freq=1, write_graph=True)
    model.fit(np.ones((2, 2)), np.ones((2, 1)), verbose=0, callbacks=[board])
    model.export(inside / "export")
    model.save(inside / "m.h5")
    assert [path.name for path in tmp_path.iterdir()] == ["inside"]
    assert sorted(path.name for path in inside.iterdir()) == ["export", "logs", "m.h5"]
    tfkit.models.load_model(inside / "m.h5")
