"""The public names, and that they are Keras's: same places, same objects behind them, same arguments.

After a change that is meant, write the list again: `python tests/test_public_face.py`.
"""

import ast
import difflib
import importlib
import inspect
import types
from pathlib import Path

import keras
import pytest

import tfkit

LIST = Path(__file__).with_name("public_names.txt")


def names_of(module):
    """What a module gives: `from x import y as y`, and its own functions, classes and constants."""
    names = set()
    nodes = ast.parse(Path(module.__file__).read_text(encoding="utf-8")).body
    # What is imported when it is used is listed for type checkers.
    late = [it for node in nodes if isinstance(node, ast.If) for it in node.body]
    for node in (*nodes, *late):
        if isinstance(node, ast.ImportFrom):
            names.update(alias.name for alias in node.names if alias.asname == alias.name)
            if node.names[0].name == "*":
                names.update(names_of(importlib.import_module(node.module)))
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names.update(target.id for target in targets if isinstance(target, ast.Name))
    return sorted(name for name in names if not name.startswith("_") or name == "__version__")


def public_objects(module=tfkit, prefix=""):
    """Every public name, dotted, with what it stands for."""
    found = {}
    for name in names_of(module):
        value = getattr(module, name)
        if isinstance(value, types.ModuleType):
            found.update(public_objects(value, f"{prefix}{name}."))
        else:
            found[prefix + name] = value
    return found


def in_keras(name):
    value = keras
    for part in name.split("."):
        value = getattr(value, part, None)
    return value


OBJECTS = public_objects()
COMMON = {name: (value, in_keras(name)) for name, value in OBJECTS.items()}
COMMON = {name: pair for name, pair in COMMON.items() if pair[1] is not None}

# Public names that Keras does not have.
ADDITIONS = {
    "saving.DamagedFileError",
    "Functional",
    "SeedGenerator",
    "callbacks.SparseCallback",
    "config.compile_after",
    "config.disable_program_cache",
    "config.enable_program_cache",
    "config.functions_run_eagerly",
    "config.is_program_cache_enabled",
    "config.run_functions_eagerly",
    "config.set_compile_after",
    "export.VerificationError",
    "export.classify",
    "export.endpoint",
    "export.load",
    "export.regress",
    "export.to_serving",
    "interop.export_training",
    "interop.from_jax",
    "interop.keras.is_keras_file",
    "interop.keras.load_model",
    "interop.keras.load_weights",
    "interop.keras.open_file",
    "interop.keras.save_model",
    "interop.keras.save_weights",
    "interop.stand_in_for_keras",
    "interop.to_jax",
    "interop.to_torch",
    "losses.LossFunctionWrapper",
    # Of `tf.keras`.
    *(f"preprocessing.text.{name}" for name in ("Tokenizer", "hashing_trick", "one_hot")),
    *(f"preprocessing.sequence.{name}" for name in ("make_sampling_table", "skipgrams")),
    "preprocessing.sequence.TimeseriesGenerator",
    *(
        f"preprocessing.image.{name}"
        for name in ("DirectoryIterator", "ImageDataGenerator", "Iterator", "NumpyArrayIterator")
    ),
    *(
        f"preprocessing.image.{name}"
        for name in ("apply_affine_transform", "apply_brightness_shift", "apply_channel_shift")
    ),
    *(
        f"preprocessing.image.random_{name}"
        for name in ("brightness", "channel_shift", "rotation", "shear", "shift", "zoom")
    ),
    "preprocessing.text.text_to_word_sequence",
    "preprocessing.text.tokenizer_from_json",
    "models.Functional",
    "saving.LoadError",
    "saving.LoadReport",
    "saving.model_from_json",
}
# Parameters of Keras that are left out: they would do nothing here.
LEFT_OUT = {
    "models.save_model": {"zipped"},
    "saving.save_model": {"zipped"},
    "saving.save_weights": {"max_shard_size"},
    "tree.assert_same_structure": {"check_types"},
}
# Parameters of ours, behind those of Keras and by keyword only.
ADDED = {
    f"{module}.deserialize_keras_object": {"kind", "module_objects", "printable_module_name"}
    for module in ("saving", "utils")
} | {
    # Keras takes these by keyword, or in the methods of a model alone.
    "saving.load_weights": {"by_name", "rename", "objects_to_skip"},
    "saving.save_weights": {"max_shard_size", "objects_to_skip"},
}
ADDED["layers.TFSMLayer"] = {"trusted"}
# What JAX does for a model in a program of TensorFlow, where Keras has another backend.
ADDED["distribution.DataParallel"] = ADDED["distribution.ModelParallel"] = {"shard_optimizer_state"}
ADDED["distribution.initialize"] = {"engine"}
for _size in "123":  # Keras's configurations hold them, too.
    for _name in ("Conv", "Convolution"):
        ADDED[f"layers.{_name}{_size}D"] = {"lora_rank", "lora_alpha"}


def test_the_public_names_are_those_of_the_list():
    listed = LIST.read_text(encoding="utf-8").splitlines()
    difference = difflib.unified_diff(listed, sorted(OBJECTS), "public_names.txt", "tfkit", n=0)
    assert listed == sorted(OBJECTS), "\n".join(difference)


def test_names_that_keras_lacks_are_meant():
    assert OBJECTS.keys() - COMMON.keys() == ADDITIONS


@pytest.mark.parametrize("name", sorted({name.rpartition(".")[0] for name in COMMON} - {""}))
def test_modules_are_modules_in_keras_too(name):
    assert isinstance(in_keras(name), types.ModuleType)


@pytest.mark.parametrize("name", sorted({name.rpartition(".")[0] for name in COMMON} - {""}))
def test_modules_can_be_imported_by_their_names(name):
    """`from tfkit.callbacks import EarlyStopping` asks for more than `tfkit.callbacks` does."""
    module = tfkit
    for part in name.split("."):
        module = getattr(module, part)
    assert importlib.import_module(f"tfkit.{name}") is module


def test_names_of_one_object_in_keras_are_names_of_one_object():
    groups = {}
    for ours, theirs in COMMON.values():
        if callable(theirs):
            groups.setdefault(id(theirs), set()).add(id(ours))
    assert all(len(group) == 1 for group in groups.values())


def test_classes_are_classes_in_keras_too():
    differ = {
        n
        for n, (ours, theirs) in COMMON.items()
        if inspect.isclass(ours) != inspect.isclass(theirs)
    }
    scopes = {"CustomObjectScope", "custom_object_scope"}  # They only ever stand after `with`.
    assert {name.rpartition(".")[2] for name in differ} == scopes


def default_of(parameter):
    """A default that can be compared: numbers, texts and tuples by value, the rest by type."""
    value = parameter.default
    if value is inspect.Parameter.empty:
        return "(required)"
    if isinstance(value, tuple) and len(set(value)) == 1 and len(value) > 1:
        return value[0]  # (2, 2) and 2 mean the same sizes.
    return value if isinstance(value, (bool, int, float, str, tuple, type(None))) else type(value)


def parameters_of(function):
    starred = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return {p.name: default_of(p) for p in parameters if p.kind not in starred}


@pytest.mark.parametrize("module", sorted({name.rpartition(".")[0] for name in COMMON}))
def test_arguments_are_those_of_keras(module):
    """Same names, same order, same defaults."""
    wrong = []
    for name, (ours, theirs) in COMMON.items():
        if name.rpartition(".")[0] != module or not callable(ours):
            continue
        expected = parameters_of(theirs)
        for left_out in LEFT_OUT.get(name, ()):
            del expected[left_out]
        got = parameters_of(ours)
        for added in ADDED.get(name, ()):
            del got[added]
        # Where Keras wraps a constructor, its signature shows nothing.
        if expected and list(got.items()) != list(expected.items()):
            wrong.append(f"{name}\n  ours   {got}\n  keras  {expected}")
    assert not wrong, "\n".join(wrong)


if __name__ == "__main__":
    LIST.write_text("".join(f"{name}\n" for name in sorted(OBJECTS)), encoding="utf-8")
