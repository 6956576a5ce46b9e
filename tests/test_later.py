"""Public names are imported when they are first used, and nobody notices but by the memory."""

import ast
import importlib.util
import inspect
import pickle
import py_compile
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import tfkit
from tfkit.src.base import later
from tfkit.src.base.registry import tables

FACES = [
    f"tfkit.{path}"
    for path in ("layers", "losses", "metrics", "ops", "ops.image", "optimizers", "initializers")
] + ["tfkit.optimizers.schedules", "tfkit.activations", "tfkit.random", "tfkit.quantizers"]


def run(program, *options):
    command = [sys.executable, *options, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


# In alphabetical order of the packages; each stands for one that the program below has no use for.
UNUSED = (
    "data.applications export.convert.jax_layer data.datasets.timeseries "
    "training.distillation.losses export.endpoints export.formats files.interop.formats "
    "files.interop.keras layers.attention layers.convolution layers.image.affine "
    "layers.preprocessing.string_lookup layers.recurrent.lstm outer.legacy.losses "
    "losses.segmentation metrics.auc ops.image_warping ops.linalg optimizers.muon "
    "files.saving.contents files.saving.hdf5 training.callbacks.tensorboard data.utils.feature_space "
    "data.utils.plotting"
)
PROGRAM = """
import sys
import numpy as np
import tfkit as keras

model = keras.Sequential([keras.layers.Dense(4, activation="relu"), keras.layers.Dense(3)])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
model.fit(np.ones((8, 2), "float32"), np.zeros(8), verbose=0)
print(*(name for name in sys.modules if name.startswith("tfkit.src.")))
"""


def test_a_program_loads_only_what_it_uses():
    loaded = run(PROGRAM).split()
    assert "tfkit.src.layers.dense" in loaded
    assert not {f"tfkit.src.{name}" for name in UNUSED.split()} & {*loaded}
    assert len(loaded) < 330  # All that it loads; the package has more than 600 modules.


# Packages that take long to import, and that this program has no use for.
HEAVY = {
    *(
        "IPython",
        "PIL",
        "jax",
        "keras",
        "matplotlib",
        "onnx",
        "openvino",
        "orbax",
        "pandas",
    ),
    *(
        "scipy",
        "sklearn",
        "tensorboard",
        "torch",
        "tensorflow.python.keras",
        "tensorflow.lite.python.lite",
    ),
    "tensorflow.python.feature_column",
}


def test_a_short_program_imports_no_heavy_package(tmp_path):
    """Nor do building, saving, loading and predicting, which follow here."""
    more = """
model.predict(np.ones((8, 2), "float32"), verbose=0)
model.summary(print_fn=lambda text: None)
model.save("model.keras")
keras.models.load_model("model.keras").evaluate(np.ones((8, 2), "float32"), np.zeros(8), verbose=0)
print(*sys.modules)
"""
    loaded = {*run(f"import os; os.chdir({str(tmp_path)!r})\n{PROGRAM}{more}").split()}
    assert "tensorflow" in loaded
    assert not HEAVY & loaded


def test_no_name_of_tensorflow_1_loads_its_module():
    """It takes a quarter of a second, for a name that a layer uses once."""
    files = Path(tfkit.__file__).parent.rglob("*.py")
    names = {
        name for file in files for name in re.findall(r"tf\.compat\.v1\.(\w+)", file.read_text())
    }
    assert len(names) > 3
    run(f"""
import sys
import tfkit
module = sys.modules["tensorflow._api.v2.compat.v1"]
assert not {names!r} - {{*vars(module)}}, {names!r} - {{*vars(module)}}
""")


def test_a_first_use_changes_no_random_number():
    """A package that draws while it is imported would change the first model of a seed."""
    run("""
import random
import numpy as np
import tfkit as keras

def draws():
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3), keras.layers.Dropout(0.5)])
    model.compile("adam", "mse")
    model.fit(np.ones((8, 2)), np.ones((8, 3)))
    model.summary(print_fn=lambda text: None)
    return repr([random.random(), np.random.rand(), model.get_weights()])

first, second = draws(), draws()
assert first == second, (first, second)
""")


# What these do when they are imported is about what they define.
# `sitecustomize` acts at the start of Python, for programs that know nothing of tfkit.
ABOUT_THEMSELVES = {
    "outer.as_keras.first_on_path.sitecustomize",
    "training.models.function",
}


def acts(module):
    """Whether importing a module does more than to define names: it calls, or sets in another module."""
    for line in ast.parse(module.read_text()).body:
        calls = isinstance(line, ast.Expr) and isinstance(line.value, ast.Call)
        sets = isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Attribute)
        if sets or (calls and "later.offer(" not in ast.unparse(line)):
            return True
    return False


def test_what_acts_when_it_is_imported_is_imported_first():
    """It is in time only then: to notice a fork, to keep AutoGraph off."""
    folder = Path(tfkit.__file__).parent / "src"
    found = {
        ".".join(module.relative_to(folder).with_suffix("").parts)
        for module in folder.rglob("*.py")
        if acts(module)
    }
    assert {"base.errors.forks", "engine.autograph", "ops.operators"} < found
    loaded = run("import sys, tfkit; print(*sys.modules)").split()
    assert {name for name in found if f"tfkit.src.{name}" not in loaded} == ABOUT_THEMSELVES


TRACED = """
import tensorflow as tf
import tfkit as keras
from tensorflow.python.autograph.impl import api

@tf.function
def traced(x):
    return keras.ops.softmax(keras.losses.huber(x, x))

traced(tf.ones((2, 3)))
print(*(code.co_name for code in api._TRANSPILER._cache._cache))
"""


def test_autograph_passes_over_functions_that_are_used_first_in_a_trace(tmp_path):
    """Their conversion takes seconds."""
    (tmp_path / "program.py").write_text(TRACED)  # AutoGraph reads the source.
    assert run(f"import sys; sys.path.append({str(tmp_path)!r}); import program") == "traced\n"


@pytest.mark.parametrize("name", UNUSED.split())
def test_the_unused_modules_exist(name):
    assert importlib.util.find_spec(f"tfkit.src.{name}")


def test_a_first_use_in_a_graph_leaves_nothing_in_it():
    """A constant that a module makes would be one of the graph in which it is imported."""
    run("""
import importlib, pkgutil
import tfkit, tensorflow as tf
graph = tf.Graph()
with graph.as_default():
    for module in pkgutil.walk_packages(tfkit.__path__, "tfkit."):
        if not any(part in module.name for part in (
            "__main__", ".apps", "c_api", "wrappers", "onnx", "pytorch")):
            try:
                importlib.import_module(module.name)
            except ModuleNotFoundError as error:
                assert not error.name.startswith("tfkit"), error
assert not graph.get_operations(), graph.get_operations()
""")


def test_a_star_gives_all_names():
    assert run("""
import tfkit
from tfkit.layers import *
print(Dense is tfkit.layers.Dense, AvgPool2D is AveragePooling2D, "_later" in globals())
""").split() == ["True", "True", "False"]


def test_dir_shows_names_before_they_are_used():
    shown = run("import tfkit; print(*dir(tfkit.layers), *dir(tfkit), *dir(tfkit.losses))").split()
    assert {"LSTM", "MaxPool2D", "__name__", "applications", "Sequential", "Huber"} <= {*shown}
    assert "TYPE_CHECKING" not in shown


def test_a_name_is_a_plain_attribute_after_its_first_use():
    assert tfkit.layers.Dense is vars(tfkit.layers)["Dense"]


def test_members_are_found_and_pickled():
    members = dict(inspect.getmembers(tfkit.layers, inspect.isclass))
    assert members["Dense"] is tfkit.layers.Dense
    functions = dict(inspect.getmembers(tfkit.activations, inspect.isfunction))
    assert {"relu", "get"} <= {*functions}
    assert not any(name.startswith("_") for name in functions)
    assert pickle.loads(pickle.dumps(tfkit.layers.LSTM)) is tfkit.layers.LSTM


def test_an_unknown_name_is_refused_as_by_any_module():
    with pytest.raises(AttributeError, match=r"module 'tfkit\.layers' has no attribute 'Dens'"):
        tfkit.layers.Dens  # noqa: B018
    with pytest.raises(ImportError, match=r"cannot import name 'Dens' from 'tfkit\.layers'"):
        exec("from tfkit.layers import Dens")
    assert not hasattr(tfkit.layers, "__wrapped__")


@pytest.mark.parametrize("face", FACES)
def test_a_capital_shows_a_class(face):
    """So the tables of configurations know what a name stands for, before it is imported."""
    for name, place in later.listed(face).items():
        item = later.load(place)
        if place.name not in ("", "Input"):
            assert inspect.isclass(item) == place.name[0].isupper(), name
            assert inspect.isclass(item) or inspect.isfunction(item), name


@pytest.mark.parametrize("face", FACES)
def test_a_listed_object_is_known_by_its_place(face):
    for name, place in later.listed(face).items():
        if place.name and name not in ("get", "serialize", "deserialize", "TFSMLayer", "InputSpec"):
            item = later.load(place)
            known = face == "tfkit.layers" and not inspect.isclass(item)
            assert known or tables.is_builtin(item), name


def test_an_impostor_is_not_known():
    impostor = type("Dense", (), {"__module__": tfkit.layers.Dense.__module__})
    assert tables.is_builtin(tfkit.layers.Dense)
    assert not tables.is_builtin(impostor)


def test_a_name_of_a_file_that_is_in_no_table_imports_nothing():
    run("""
import sys
import tfkit
from tfkit.src.base.registry import tables
loaded = set(sys.modules)
for module, name in (("tfkit.layers", "os"), ("tfkit.src.outer", "cli"), ("antigravity", "fly"),
                     ("tfkit.layers", "image.affine.RandomZoom"),
                     ("tfkit.src.layers.image.affine", "RandomZoom")):
    for kind in (None, "layers"):
        try:
            tables.find(name, None, kind, {"class_name": name, "module": module})
        except tables.NotRegisteredError:
            assert name != "RandomZoom"
        else:
            assert name == "RandomZoom"  # A listed name is taken from its own place.
    if name != "RandomZoom":
        assert set(sys.modules) == loaded, set(sys.modules) - loaded
""")


def test_threads_that_use_a_name_first_get_the_same():
    assert run("""
import threading
import tfkit
barrier, found = threading.Barrier(8), []
def use():
    barrier.wait()
    found.append((tfkit.layers.LSTM, tfkit.metrics.AUC, tfkit.losses.Dice, tfkit.ops.fft, tfkit.models))
threads = [threading.Thread(target=use) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
constructor = tfkit.layers.LSTM.__init__
print(len(found), len(set(found)), hasattr(constructor.__wrapped__.__wrapped__, "__wrapped__"))
""").split() == ["8", "1", "False"]


def test_a_fork_waits_for_names_that_another_thread_loads():
    """The lock of a module whose thread is missing in the child would never be released there."""
    assert run("""
import importlib.machinery, os, signal, sys, threading
import tfkit
from tfkit.src.base import later

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "slow":
            return importlib.machinery.ModuleSpec(name, self)
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        begun.set()
        threading.Event().wait(0.3)
        module.value = 7

begun = threading.Event()
sys.meta_path.append(Slow())
place = later.Place("slow", "value")
thread = threading.Thread(target=later.load, args=[place])
thread.start()
begun.wait()
child = os.fork()
if child == 0:
    signal.alarm(20)  # The child would wait forever.
    os._exit(later.load(place))
thread.join()
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), later.load(place))
""").split() == ["7", "7"]


LISTED = """
from typing import TYPE_CHECKING
from tfkit.src.base import later
if TYPE_CHECKING:
    from {package}.broken import Thing as Thing
    from {package}.fine import value as value
    other = value
later.offer(__name__)
"""


@pytest.fixture
def package(tmp_path, monkeypatch, request):
    """Returns a function that makes a package with a list, in a folder or a zip archive."""

    def make(name, zipped=False, compiled=False):
        folder = tmp_path / "files"
        (folder / name).mkdir(parents=True)
        files = {
            "__init__": LISTED.format(package=name),
            "broken": "raise AttributeError('a fault of its own')",
            "fine": "value = 7",
        }
        for file, text in files.items():
            (folder / name / f"{file}.py").write_text(text)
        if compiled:
            for file in (folder / name).glob("*.py"):
                py_compile.compile(str(file), str(file.with_suffix(".pyc")))
                file.unlink()
        place = folder
        if zipped:
            place = tmp_path / "archive.zip"
            with zipfile.ZipFile(place, "w") as archive:
                for file in (folder / name).iterdir():
                    archive.write(file, f"{name}/{file.name}")
        monkeypatch.syspath_prepend(str(place))
        request.addfinalizer(
            lambda: [sys.modules.pop(n) for n in [*sys.modules] if n.startswith(name)]
        )
        return __import__(name)

    return make


@pytest.mark.parametrize("zipped", [False, True])
def test_lists_are_read_from_folders_and_archives(package, zipped):
    module = package(f"listed_{zipped}", zipped)
    assert (module.value, module.other, module.__all__) == (7, 7, ["Thing", "other", "value"])


def test_errors_of_a_module_are_shown_as_they_are(package):
    with pytest.raises(AttributeError, match="a fault of its own"):
        package("listed_broken").Thing  # noqa: B018


def test_a_missing_source_is_named(package):
    with pytest.raises(
        ImportError, match=r"source of listed_compiled.* is missing.* with its \.py files"
    ):
        package("listed_compiled", compiled=True).value  # noqa: B018
