"""`stand_in_for_keras`: makes libraries that import Keras use tfkit."""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from tfkit.src.base.names import words
from tfkit.src.core.layer import Layer
from tfkit.src.files.interop.stand_in import table

# The version of Keras whose API and numbers tfkit has, for libraries that check it.
_VERSION = "3.15.1"
# The packages that tfkit replaces; longer names first.
_ROOTS = ("keras._tf_keras.keras", "keras._tf_keras", "keras.src", "keras", "tensorflow.keras")
# Folders of Keras's sources whose classes are public elsewhere.
_SOURCES = {"legacy": "", "trainers": "utils"}
_PRIVATE = "keras.src."
# The folders and files in `keras.src`, where Keras is not installed.
_IN_SRC = words("""
    activations applications backend callbacks constraints datasets distillation distribution
    dtype_policies export initializers layers legacy losses metrics models ops optimizers
    quantizers random regularizers saving testing trainers tree utils version visualization
    wrappers
""")


class _StandIn(ModuleType):
    """A module of Keras whose attributes are those of a tfkit module.

    Args:
        name: its name.
        target: the tfkit module.
    """

    def __init__(self, name: str, target: Any) -> None:
        super().__init__(name, target.__doc__)
        self._target = target
        self.__path__: list[str] = []  # It is a package: `_Finder` finds its modules.
        self.__all__ = [each for each in dir(target) if not each.startswith("_")]
        if target.__name__ == "tfkit":
            self.__all__ = sorted({*self.__all__, "version"})
        self.__version__ = _VERSION
        self.__file__ = getattr(target, "__file__", None)

    def version(self) -> str:
        """Returns the version of the Keras whose API it is."""
        return _VERSION

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        inner = f"{self.__name__}.{name}"
        if (module := _target_of(inner)) is not None:
            return _StandIn(inner, module)
        if hasattr(self._target, name):
            return getattr(self._target, name)
        if self.__name__.startswith(_PRIVATE):
            tfkit = sys.modules["tfkit"]
            if (served := table.named(name, tfkit)) is not None:
                return served
            place = self.__name__.removeprefix(_PRIVATE)
            if (served := table.class_behind(place, name, tfkit)) is not None:
                return served
            for other in (tfkit, *([tfkit.ops] if self._target is tfkit.backend else [])):
                if name in dir(other):
                    return getattr(other, name)
            if (module := _found(inner)) is not None:
                return _StandIn(inner, module)
        missing = (
            f"`{self.__name__}` is tfkit in this program (`tfkit.interop.stand_in_for_keras()` was "
            f"called), and `{self._target.__name__}` has no `{name}`."
        )
        is_public = not self.__name__.startswith(_PRIVATE)
        is_layer = is_public and self._target.__name__ == "tfkit.layers" and name[0].isupper()
        if is_layer:
            return _Absent(missing)
        raise AttributeError(missing)


class _Absent:
    """A layer that tfkit lacks: KerasTuner lists many in tables, and makes few of them.

    Args:
        message: the error message of the constructor.
    """

    def __init__(self, message: str) -> None:
        self._message = message

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Absent(self._message)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raises an error.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(self._message)


class _Finder(MetaPathFinder, Loader):
    """Finds the modules of Keras that tfkit has."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns the spec of a Keras module, if tfkit has a corresponding one."""
        if _found(fullname) is None:
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Returns the replacement module."""
        return _StandIn(spec.name, _found(spec.name))

    def exec_module(self, module: ModuleType) -> None:
        """Does nothing."""


def _found(fullname: str) -> Any:
    """Returns the tfkit module for an import: for a file of Keras, the public module with its names.

    `keras.src.layers.convolutional.conv2d` is `tfkit.layers`: so `from ... import Conv2D` finds the layer,
    and the import of a name that is not public fails. What the installed Keras does not have is not found,
    for libraries that try the modules of several versions.
    """
    target = _target_of(fullname)
    if target is not None or not fullname.startswith(_PRIVATE) or not _is_source(fullname):
        return target
    first, *rest = fullname.removeprefix(_PRIVATE).split(".")
    found: Any = sys.modules["tfkit"]
    for step in (*filter(None, [_SOURCES.get(first, first)]), *rest):
        inner = getattr(found, step, None)
        if not isinstance(inner, ModuleType) or not inner.__name__.startswith(found.__name__):
            break
        found = inner
    return found


@functools.cache
def _is_source(fullname: str) -> bool:
    """Returns whether the installed Keras has a file or folder for a module. Nothing is imported.

    Where Keras is not installed, whatever is in one of its folders counts as a file of it.
    """
    spec = PathFinder.find_spec("keras")
    if spec is None or not spec.submodule_search_locations:
        return fullname.split(".")[2] in _IN_SRC
    path = Path(spec.submodule_search_locations[0], *fullname.split(".")[1:])
    return path.is_dir() or path.with_suffix(".py").is_file()


def _target_of(fullname: str) -> Any:
    """Returns the tfkit module that replaces a Keras module; `None` for others."""
    for root in _ROOTS:
        if fullname == root or fullname.startswith(f"{root}."):
            break
    else:
        return None
    place = fullname.removeprefix(root).lstrip(".")
    if place in table.MODULES:
        return table.MODULES[place]
    found: Any = sys.modules["tfkit"]
    for step in filter(None, place.split(".")):
        found = getattr(found, step, None)
    return found if isinstance(found, ModuleType) else None


def stand_in_for_keras() -> None:
    """Makes `import keras` and `tf.keras` return tfkit in this process, for libraries that use Keras models.

    KerasTuner, scikeras and MLflow check whether an object is a `keras.Model`; after this call, a
    model of tfkit is one. It holds until the process ends, and must come before anything imports Keras. What
    tfkit does not have raises an `AttributeError` that explains it.

    Raises:
        RuntimeError: if Keras has been imported already.

    Example:
        ```python
        import tfkit

        tfkit.interop.stand_in_for_keras()
        import keras_tuner  # Its `keras` is tfkit.
        ```
    """
    there = sys.modules.get("keras")
    if isinstance(there, _StandIn):
        return
    if there is not None or "tensorflow.keras" in sys.modules:
        raise RuntimeError(
            "tfkit cannot stand in for Keras any more: Keras has been imported already. Call "
            "`tfkit.interop.stand_in_for_keras()` before any import of Keras, or of a library that uses "
            "it, and import tfkit before TensorFlow."
        )
    for name, row in table.MEMBERS.items():
        setattr(Layer, name, row.what)
    # Before the finder of installed packages, which would find Keras.
    sys.meta_path.insert(0, _Finder())
