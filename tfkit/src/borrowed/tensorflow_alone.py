"""Imports TensorFlow without modules that it loads but few programs use.

TensorFlow loads Keras when it is imported, only so that SavedModels of Keras find its classes: 1,500 modules,
100 MB and a third of the time that the import takes. Its profiler and the models of an older Keras are
another 30 MB. Where tfkit is the first to import TensorFlow, they are loaded when a program first uses them:
`tf.keras`, `import keras` and `tf.profiler` work as usual.
"""

from __future__ import annotations

import contextlib
import gc
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
    r"tensorflow\.(_api\.v2\.(compat\.v2\.)*profiler\.experimental|python\.keras\.models)"
)
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
    _without_collections(),
    without_log_lines(),
):
    import tensorflow as tensorflow

    _forget_sources()
    give_back_library_pages(os.path.dirname(tensorflow.__file__))
keep_nan(tensorflow.__version__)
