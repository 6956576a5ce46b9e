"""How the files hang together: what each may import, and that Keras is never among it."""

import ast
import graphlib
import itertools
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FLOORS = {
    0: """absent_names brief budget config copying datasets device_scope dtype_policies dtypes
        execution forks frames function_defs generators guards kernel_errors limits litert masking names nests
        notebooks ops per_thread philox quoting random recomputation registry serialization settings
        shared_programs symbolic tensorflow_alone tensorflow_faults tracebacks tree
        variable_operators variables version watching xla xla_equals""",
    1: "activations constraints initializers losses metrics mixed_precision optimizers regularizers",
    2: "core",
    # `saving`, `export` and `interop` work on any layer. Models stand above: `Model.save` calls them.
    3: "export interop layers saving training",
    4: "models",
    5: "backend callbacks cli preprocessing serving utils wrappers",
    6: "__init__ __main__",
}
FLOOR = {room: floor for floor, rooms in FLOORS.items() for room in rooms.split()}
# Beside what the package depends on.
OPTIONAL = {
    "PIL",
    "aiohttp",
    "google",
    "grpc",
    "ml_dtypes",
    "onnx",
    "sklearn",
    "tensorflow_serving",
    "tf2onnx",
}

# A module that the user names; the packages of an extra, in a table.
NAMED_BY_STRINGS = {"tfkit.cli.convert", "tfkit.serving.packages", "tfkit.wrappers"}
# Folders that run without tfkit: wherever it stands; as a process that starts fast.
COPIED = "tfkit.export.c_api"
READER = "tfkit.serving.bodies"
ALONE = {COPIED: {"numpy", "ml_dtypes"}, READER: {"numpy", "google"}}


def module_of(path):
    """`tfkit/ops/image.py` -> `tfkit.ops.image`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 2 else parts)


FILES = {module_of(path): path for path in sorted((ROOT / "tfkit").rglob("*.py"))}


def room_of(module):
    return module.split(".")[1]


def imports_of(module):
    """The modules that a file imports when it runs, `tfkit.__init__` for the face."""
    tree = ast.parse(FILES[module].read_text(encoding="utf-8"))
    for_checkers = {
        inner
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in set(ast.walk(tree)) - for_checkers:
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            folder = next((folder for folder in ALONE if module.startswith(folder)), None)
            assert not node.level or folder, f"{module} has a relative import"
            base = ".".join(filter(None, (folder, node.module))) if node.level else node.module
            wholes = [f"{base}.{alias.name}" for alias in node.names]
            names = [whole if whole in FILES else base for whole in wholes]
        yield from ("tfkit.__init__" if name == "tfkit" else name for name in names)


@pytest.mark.parametrize("module", FILES)
def test_each_file_imports_from_its_own_floor_or_below(module):
    assert room_of(module) in FLOOR, "give the new room a floor in FLOORS"
    above = [
        name
        for name in imports_of(module)
        if name.startswith("tfkit.") and FLOOR[room_of(name)] > FLOOR[room_of(module)]
    ]
    assert not above, f"{module} stands on floor {FLOOR[room_of(module)]}"


@pytest.mark.parametrize("module", FILES)
def test_imports_stand_at_the_top_and_name_dependencies(module):
    tree = ast.parse(FILES[module].read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
    inner = itertools.chain.from_iterable(
        ast.walk(node) for node in ast.walk(tree) if isinstance(node, functions)
    )
    assert not [node.lineno for node in inner if isinstance(node, (ast.Import, ast.ImportFrom))]
    roots = {name.partition(".")[0] for name in imports_of(module)}
    dependencies = {"tfkit", "tensorflow", "numpy", "h5py", "rich", "absl"}
    assert roots <= dependencies | OPTIONAL | sys.stdlib_module_names


def test_keras_is_reached_in_no_other_way():
    """Not through TensorFlow, which has Keras as `tf.keras`, nor by a name in a string."""
    found = []
    for module, path in FILES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr == "keras":
                found.append(f"{module}:{node.lineno}")
            is_import = getattr(getattr(node, "func", None), "attr", None) == "import_module"
            if is_import and module not in NAMED_BY_STRINGS:
                found.append(f"{module}:{node.lineno}")
            if isinstance(node, ast.Name) and node.id in ("__import__", "import_module"):
                found.append(f"{module}:{node.lineno}")
    assert not found


@pytest.mark.parametrize("folder", ALONE)
def test_the_folders_that_run_alone_need_numpy_and_little_else(folder):
    files = [module for module in FILES if module.startswith(folder)]
    assert len(files) > 5
    found = {name for module in files for name in imports_of(module) if name not in files}
    roots = {name.partition(".")[0] for name in found} - sys.stdlib_module_names
    assert roots == ALONE[folder]


def test_no_file_imports_itself_in_a_circle():
    graph = {
        module: {name for name in imports_of(module) if name in FILES and name != module}
        for module in FILES
    }
    # Raises `CycleError`, which names the files.
    graphlib.TopologicalSorter(graph).prepare()


WITHOUT_KERAS = """
import sys
import tfkit
assert "keras" not in sys.modules, "tfkit, or TensorFlow for it, has imported Keras"
assert "scipy" not in sys.modules, "TensorFlow has imported its older Keras"
import tensorflow as tf
client = "tensorflow.python.profiler.profiler_client"
assert client not in sys.modules, "TensorFlow has imported its profiler"
assert callable(tf.profiler.experimental.start) and client in sys.modules
from tensorflow.python.keras.models import Sequential
assert tf.keras.layers.Dense(1)(tf.zeros((2, 3))).shape == (2, 1)
import keras
assert keras.optimizers.Adam is tf.keras.optimizers.Adam
"""


def test_keras_and_the_profiler_are_imported_when_they_are_used_and_not_before():
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_KERAS], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr[-2000:]
