"""Imports TensorFlow without modules that it loads but few programs use.

TensorFlow loads Keras when it is imported, only so that SavedModels of Keras find its classes: 1,500 modules,
100 MB and a third of the time that the import takes. Its profiler, an older Keras, LiteRT and the names of
TensorFlow 1 are another 500 modules, 50 MB and an eighth of the time. Where tfkit is the first to import
TensorFlow, they are loaded when a program first uses them: `tf.keras`, `import keras`, `tf.compat.v1`,
`tf.lite` and `tf.profiler` work as usual.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import linecache
import os
import re
import sys
import threading
from collections.abc import Iterator
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from tfkit.src.borrowed.library_pages import give_back_library_pages
from tfkit.src.borrowed.log_lines import without_log_lines
from tfkit.src.borrowed.xla_flags import keep_nan

_LATER = re.compile(
    r"tensorflow\._api\.v2\.(compat\.v[12]|lite|(__internal__\.)?feature_column|profiler\.experimental)"
)
_DECAYS = """
    exponential_decay inverse_time_decay natural_exp_decay polynomial_decay cosine_decay
    cosine_decay_restarts linear_cosine_decay noisy_linear_cosine_decay piecewise_constant
"""
# Modules that take names from an older Keras: where from, and what they are called there.
_TAKEN: dict[str, tuple[str, dict[str, str]]] = {
    "tensorflow._api.v2.nn": (
        "tensorflow.python.keras.layers.rnn_cell_wrapper_v2",
        {f"RNNCell{kind}Wrapper": f"{kind}Wrapper" for kind in ("Device", "Dropout", "Residual")},
    ),
    "tensorflow.python.training.training": (
        "tensorflow.python.training.learning_rate_decay",
        {name: name for name in _DECAYS.split()},
    ),
}
_lock = threading.RLock()


class _LaterModule(ModuleType):
    """A module that is loaded when an attribute is read that it does not have yet.

    `inspect` and `tf.saved_model.save` read the `__file__` of all modules: `importlib.util.LazyLoader` would
    load the module then.
    """

    def __getattr__(self, name: str) -> Any:
        with _lock:
            loader = self.__dict__.pop("__later__", None)
            if loader is not None:
                with without_log_lines():
                    loader.exec_module(self)
                self.__class__ = ModuleType  # type: ignore[assignment]
        return ModuleType.__getattribute__(self, name)

    def __dir__(self) -> list[str]:
        self.__getattr__("__doc__")
        return sorted(self.__dict__)


class _LaterLoader(Loader):
    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _LaterModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__later__"] = self._loader


class _LaterFinder(MetaPathFinder):
    """Finds modules that are loaded when one of their attributes is first read."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path) if _LATER.fullmatch(fullname) else None
        if spec is not None and spec.loader is not None:
            spec.loader = _LaterLoader(spec.loader)
        return spec


@contextlib.contextmanager
def _loaded_later() -> Iterator[None]:
    finder = _LaterFinder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


@contextlib.contextmanager
def _without_older_keras() -> Iterator[None]:
    """Context manager that leaves `_TAKEN` out of modules imported in it, which find it when it is used."""
    origins = {origin: names for origin, names in _TAKEN.values() if origin not in sys.modules}
    for origin, names in origins.items():
        sys.modules[origin] = ModuleType(origin)
        vars(sys.modules[origin]).update(dict.fromkeys(names.values()))
    try:
        yield
    finally:
        for origin in origins:
            del sys.modules[origin]
    for module, (origin, names) in _TAKEN.items():
        if origin in origins and module in sys.modules:
            _find_later(sys.modules[module], origin, names)


def _find_later(module: ModuleType, origin: str, names: dict[str, str]) -> None:
    """Replaces names in a module by a search in the module that they come from."""

    def find(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
        with without_log_lines():
            found = getattr(importlib.import_module(origin), names[name])
        setattr(module, name, found)
        return found

    for name in names:
        vars(module).pop(name, None)
    module.__getattr__ = find  # type: ignore[method-assign]


def _give_names_of_tensorflow_1() -> None:
    """Puts the names of TensorFlow 1 that tfkit uses in their module, which is not loaded for them.

    Loading it takes a quarter of a second.
    """
    module = sys.modules.get("tensorflow._api.v2.compat.v1")
    if type(module) is _LaterModule:
        vars(module).update(
            get_default_graph=ops.get_default_graph,
            placeholder=array_ops.placeholder,
            sparse_placeholder=array_ops.sparse_placeholder,
            SummaryMetadata=summary_pb2.SummaryMetadata,
        )


@contextlib.contextmanager
def _withheld(module: str) -> Iterator[None]:
    """Context manager that makes the import of a module fail, unless it has been imported."""
    modules: dict[str, Any] = sys.modules
    if module in modules:
        yield
        return
    modules[module] = None
    try:
        yield
    finally:
        del modules[module]


@contextlib.contextmanager
def _without_collections() -> Iterator[None]:
    """Context manager that keeps the garbage collector from traversing TensorFlow's 250,000 live objects.

    Passes during the import took 0.4 s. Each full pass afterwards took 0.2 s, and most first epochs had one.
    The collector skips frozen objects (`gc.unfreeze()` undoes it). Python makes more passes when it exits:
    1.1 s if TensorFlow has loaded Keras, and 0.1 s with all of it frozen.
    """
    was_enabled, is_new = gc.isenabled(), "tensorflow" not in sys.modules
    gc.disable()
    try:
        yield
    finally:
        if not is_new:
            gc.collect()  # The garbage of what ran before would be kept with the rest.
        gc.freeze()
        if was_enabled:
            gc.enable()


def _forget_sources() -> None:
    """Drops the lines of installed packages' files that `linecache` holds.

    TensorFlow reads the source of its functions while it is imported: 3 MB of text; without it, a process
    needs 8 MB less. Lines are read again when something needs them. Lines of other files stay, because
    some are in no file, such as the lines of a notebook's cells.
    """
    packages = os.path.join(os.path.dirname(os.path.dirname(tensorflow.__file__)), "")
    for file in [file for file in linecache.cache if file.startswith(packages)]:
        del linecache.cache[file]


with (
    _withheld("keras.src.optimizers"),
    _loaded_later(),
    _without_older_keras(),
    _without_collections(),
    without_log_lines(),
):
    import tensorflow as tensorflow
    from tensorflow.core.framework import summary_pb2
    from tensorflow.python.framework import ops
    from tensorflow.python.ops import array_ops

    _give_names_of_tensorflow_1()
    # An empty package of this name, which is imported with the first module in it, would take the place of
    # the public one.
    _public_lite = tensorflow.lite
    importlib.import_module("tensorflow.lite")
    tensorflow.lite = _public_lite

    _forget_sources()
    give_back_library_pages(os.path.dirname(tensorflow.__file__))
keep_nan(tensorflow.__version__)
