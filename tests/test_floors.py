"""How the files hang together: what each may import, and that Keras is never among it."""

import ast
import graphlib
import itertools
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAP = ROOT / "tfkit" / "src" / "README.md"
# The rooms of `tfkit/src` by name, each with its packages in their order.
ROOMS = {
    room: re.findall(r"`([\w/]+)(?:\.py)?`|(own files)", packages)
    for room, packages in re.findall(
        r"^\| `(\w+)` \|[^|]*\|([^|]*)\|$", MAP.read_text(encoding="utf-8"), re.MULTILINE
    )
}


def levels(room, packages):
    """A room and its packages from the ground up; the room itself is first, or where "own files" is."""
    names = [room if own else name.rstrip("/") for name, own in packages]
    return names if room in names else [room, *names]


# An import goes down.
FLOORS = [level for room, packages in ROOMS.items() for level in levels(room, packages)]
FACES = "public"  # The modules beside `src`: lists of public names.
# Beside what the package depends on.
OPTIONAL = {
    "PIL",
    "aiohttp",
    "flax",
    "google",
    "jax",
    "grpc",
    "ml_dtypes",
    "onnx",
    "sklearn",
    "torch",
    "tensorflow_serving",
    "tf2onnx",
}

# A module that the user names; modules that are loaded late; the optional packages.
NAMED_BY_STRINGS = {
    "tfkit.src.outer.as_keras.hook",
    "tfkit.src.outer.cli.models",
    "tfkit.src.base.later",
    "tfkit.src.borrowed.tensorflow_alone",
    "tfkit.src.base.packages",
    "tfkit.src.outer.legacy.names",
}
# Folders that run without tfkit: wherever it stands; as a process that starts fast.
COPIED = "tfkit.src.export.c_api"
READER = "tfkit.src.outer.serving.bodies"
ALONE = {COPIED: {"numpy", "ml_dtypes"}, READER: {"numpy", "google"}}

# The outer ring works with public objects, with helpers of `base`, and with these modules:
RING = {
    "tfkit.src.export.convert": {  # Reads the operations of traced calls, and the state that they use.
        "tfkit.src.borrowed.private",
        "tfkit.src.core.tracking",
        "tfkit.src.engine.derivatives",
        "tfkit.src.engine.function_defs",
    },
    "tfkit.src.outer.cli": {  # Shows what is in a file without making its model.
        "tfkit.src.export.formats",
        "tfkit.src.files.interop.keras_files",
        "tfkit.src.files.saving.entries",
        "tfkit.src.files.saving.errors",
        "tfkit.src.files.saving.hdf5",
        "tfkit.src.files.saving.json_nest",
        "tfkit.src.files.saving.readers",
        "tfkit.src.files.saving.safetensors",
    },
    "tfkit.src.outer.launch": set(),
    "tfkit.src.outer.legacy": {  # Older names for what is there.
        "tfkit.src.data.datasets.folder_files",
        "tfkit.src.layers.recurrent.loops",
        "tfkit.src.losses.binary",
        "tfkit.src.losses.categorical",
        "tfkit.src.ops.convolution",
        "tfkit.src.ops.losses",
        "tfkit.src.ops.pooling",
        "tfkit.src.ops.transposed_convolution",
        "tfkit.src.training.progress",
    },
    "tfkit.src.outer.serving": {  # Serves the folders that the exporter writes, without tfkit's layers.
        "tfkit.src.borrowed.private",
        "tfkit.src.export.c_api",
        "tfkit.src.export.examples",
        "tfkit.src.export.scan",
        "tfkit.src.export.versions",
        "tfkit.src.export.warmup",
    },
}


ENGINE = "tfkit.src.engine."
FORMULAS = tuple(f"tfkit.src.{room}." for room in ("layers", "losses", "ops", "optimizers"))
# What these rooms may import from the engine, and why a formula needs it.
ENGINE_IN_FORMULAS = {
    "autograph": "a `Lambda` layer converts the user's function",
    "collected_rows": "replicas exchange gradients of embeddings",
    "derivatives": "gradients that are written out",
    "machine": "gradients that are faster without oneDNN; kernels without a gradient, for predictions",
    "known_rows": "workarounds for batches without rows are needed where there may be none",
    "litert": "LiteRT has no arrays in loops",
    "apart": "oneDNN turns NaN into 0",
    "replicas": "values of the whole batch",
    "shared_programs": "an operation that XLA cannot compile has a second form",
    "sizes": "shapes of tensors and integers",
    "tensorflow_faults": "kernels that are wrong",
    "variable_values": "XLA needs sizes that do not vary",
    "xla": "loops that XLA compiles apart; the device of a convolution; updates as one program",
}


def module_of(path):
    """`tfkit/ops/image.py` -> `tfkit.ops.image`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 2 else parts)


FILES = {module_of(path): path for path in sorted((ROOT / "tfkit").rglob("*.py"))}


def room_of(module):
    """The room, or the package in it, that a module belongs to."""
    if not module.startswith("tfkit.src."):
        return FACES
    name = module.removeprefix("tfkit.src.").replace(".", "/")
    return max((it for it in FLOORS if f"{name}/".startswith(f"{it}/")), key=len, default=name)


def imports_of(module, with_types=False):
    """The modules that a file imports when it runs, `tfkit.__init__` for the face."""
    tree = ast.parse(FILES[module].read_text(encoding="utf-8"))
    for_checkers = {
        inner
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and not with_types
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


def test_the_map_names_each_room_once():
    assert sorted(FLOORS) == sorted({room_of(module) for module in FILES} - {"tfkit.src"})
    assert sorted(ROOMS) == sorted(
        it.name for it in MAP.parent.iterdir() if (it / "__init__.py").exists()
    )
    assert len(ROOMS) <= 16


def test_the_map_names_files_that_exist():
    """A path counts from `src`, or from the folder that was named before it; a face from the repository."""
    folder, missing = MAP.parent, []
    for line in MAP.read_text(encoding="utf-8").splitlines():
        for name in re.findall(r"`([\w/.]+\.(?:py|md)|[\w/]+/)`", line):
            places = [MAP.parent / name, folder / name, ROOT / name]
            found = [place for place in places if place.exists()]
            if not found:
                missing.append(name)
            elif "/" in name:
                folder = found[0] if name.endswith("/") else found[0].parent
    assert not missing


def test_each_file_imports_from_its_own_room_or_from_below():
    """So no rooms import each other in a circle."""
    above = []
    for module in FILES:
        own = FLOORS.index(room_of(module))
        if module == "tfkit.__init__" or module.endswith(".__main__"):
            own = len(FLOORS)
        above += [
            f"{module} of the room {room_of(module)} imports {name}"
            for name in imports_of(module)
            if name.startswith("tfkit.") and FLOORS.index(room_of(name)) > own
        ]
    assert not above


def origins_of(module):
    """The modules inside of tfkit that a file imports names from, each with the name."""
    for node in ast.walk(ast.parse(FILES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tfkit.src."):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield (whole, "") if whole in FILES else (node.module, alias.name)


def test_the_outer_ring_uses_public_objects_and_what_is_listed():
    public = {pair for module in FILES if room_of(module) == FACES for pair in origins_of(module)}
    for part, listed in RING.items():
        used = {
            origin
            for module in FILES
            if module.startswith(part)
            for origin, name in origins_of(module)
            if (origin, name) not in public
            and not origin.startswith(("tfkit.src.base.", "tfkit.src.outer.", part))
        }
        assert used == listed, part


def test_formulas_know_nothing_of_the_engines_tuning():
    """A new name in this table needs a reason of this kind, not that something is faster with it."""
    found = {
        name.removeprefix(ENGINE)
        for module in FILES
        if module.startswith(FORMULAS)
        for name in imports_of(module, with_types=True)
        if name.startswith(ENGINE)
    }
    assert found == set(ENGINE_IN_FORMULAS)


def test_types_are_imported_from_the_own_room_or_from_below():
    """So a reader who follows the types does not walk in a circle either."""
    rooms = list(ROOMS)
    above = [
        f"{module} imports {name}"
        for module in FILES
        if module.startswith("tfkit.src.")
        for name in imports_of(module, with_types=True)
        if name.startswith("tfkit.src.")
        and rooms.index(name.split(".")[2]) > rooms.index(module.split(".")[2])
    ]
    assert not above


def more_than_a_list(module):
    """What a public module has beside imported names, modules, and second names for what it lists."""
    tree = ast.parse(FILES[module].read_text(encoding="utf-8"))
    if not ast.get_docstring(tree):
        yield f"{module} has no docstring"
    for node in tree.body[1:]:
        nodes = [node]
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            nodes = node.body
        for inner in nodes:
            is_import = isinstance(inner, ast.ImportFrom)
            is_alias = isinstance(inner, ast.Assign) and isinstance(
                inner.value, (ast.Name, ast.List)
            )
            offers = ast.unparse(inner) == "_later.offer(__name__)"
            if not (is_import or is_alias or offers or module.endswith(".__main__")):
                yield f"{module}: {ast.unparse(inner)}"


def test_a_public_module_is_a_list():
    faces = [module for module in FILES if room_of(module) == FACES and module != "tfkit.src"]
    assert not [found for module in faces for found in more_than_a_list(module)]


def test_imports_stand_at_the_top_and_name_dependencies():
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
    dependencies = {"tfkit", "tensorflow", "numpy", "h5py", "rich", "absl"}
    admitted = dependencies | OPTIONAL | sys.stdlib_module_names
    found = []
    for module, path in FILES.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        inner = itertools.chain.from_iterable(
            ast.walk(node) for node in ast.walk(tree) if isinstance(node, functions)
        )
        imports = (node for node in inner if isinstance(node, (ast.Import, ast.ImportFrom)))
        found += [f"{module}:{node.lineno} imports inside a function" for node in imports]
        roots = {name.partition(".")[0] for name in imports_of(module)}
        found += [f"{module} imports {root}" for root in sorted(roots - admitted)]
    assert not found


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
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "packages.imported":
                name = node.args[0].value if isinstance(node.args[0], ast.Constant) else ""
                if "keras" in name.split("."):
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


def test_a_layer_needs_fewer_than_60_files():
    """The catalog, the engine and the ops fill what `core` only names: they know layers, not layers them."""
    needed, waiting = set(), ["tfkit.src.core.layer"]
    while waiting:
        module = waiting.pop()
        if module not in needed:
            needed.add(module)
            waiting += [it for it in imports_of(module) if it in FILES]
    assert not [it for it in needed if it.split(".")[2:3] in (["ops"], ["metrics"], ["losses"])]
    assert len(needed - {"tfkit.__init__"}) < 60


def test_keras_and_the_profiler_are_imported_when_they_are_used_and_not_before():
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_KERAS], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr[-2000:]
