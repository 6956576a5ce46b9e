"""Names of Keras that tfkit does not have."""

import keras
import pytest

import tfkit
from tfkit.src.errors.absent_names import ABSENT

MODULES = [
    "", "activations", "callbacks", "config", "constraints", "datasets", "dtype_policies", "export",
    "initializers", "layers", "losses", "metrics", "mixed_precision", "models", "ops", "ops.image",
    "ops.linalg", "ops.nn", "ops.numpy", "optimizers", "optimizers.schedules", "preprocessing",
    "preprocessing.image", "preprocessing.sequence", "random", "regularizers", "saving", "tree", "utils",
]  # fmt: skip


def module_of(root, path):
    for part in filter(None, path.split(".")):
        root = getattr(root, part)
    return root


@pytest.mark.parametrize("path", MODULES)
def test_each_name_of_keras_is_there_or_says_that_it_is_not(path):
    module, oracle = module_of(tfkit, path), module_of(keras, path)
    for name in dir(oracle):
        if name.startswith("_") or name == "src" or hasattr(module, name):
            continue
        with pytest.raises(AttributeError, match=rf"does not have Keras's `.*{name}`\."):
            getattr(module, name)


def test_the_table_names_public_names_of_keras():
    for path, table in ABSENT.items():
        for name in " ".join(table).split():
            assert hasattr(module_of(keras, path), name), (path, name)


def test_an_import_says_what_to_use():
    with pytest.raises(ImportError, match=r"`layers\.FlaxLayer`. tfkit runs on TensorFlow alone"):
        from tfkit.layers import FlaxLayer  # noqa: F401
    with pytest.raises(
        ImportError, match=r"Keras's `applications`. Load a model that Keras has saved"
    ):
        from tfkit import applications  # noqa: F401
    with pytest.raises(ImportError, match="cannot import name 'Dence'"):
        from tfkit.layers import Dence  # noqa: F401
    with pytest.raises(AttributeError, match=r"module 'tfkit\.layers' has no attribute 'Dence'"):
        tfkit.layers.Dence  # noqa: B018


def test_what_the_advices_name_is_there():
    for table in ABSENT.values():
        for advice in table.values():
            for part in advice.split("`"):
                words = part.split("(")[0]
                if words.startswith(("ops.", "layers.", "callbacks.")):
                    assert hasattr(
                        module_of(tfkit, words.rpartition(".")[0]), words.rpartition(".")[2]
                    )
