"""Makes public modules provide the names that `tf.keras` has and Keras 3 lacks."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from tfkit.src.base import later

_HERE = "tfkit.src.outer.legacy."

_BACKEND = ("backend_math", "backend_tensors", "backend_layers", "backend_rnn")
# The files with the further names of a public module; each is imported when a name is first looked for.
_PLACES = {"backend": _BACKEND, "losses": ("losses",), "metrics": ("losses",)}


def offer_in(root: ModuleType) -> None:
    """Makes names of `tf.keras` attributes of public modules, which do not list them.

    Set here and not written into the lists: type checkers and completion show the names of Keras 3.
    """
    for path, files in _PLACES.items():
        _offer(getattr(root, path), f"{root.__name__}.{path}", files)


def _offer(module: ModuleType, public: str, files: tuple[str, ...]) -> None:
    find_listed = vars(module)["__getattr__"]

    def find(name: str) -> Any:
        if name.startswith("_") or name in later.listed(public):
            return find_listed(name)
        found = _find(name, (importlib.import_module(_HERE + file) for file in files))
        if found is None:
            return find_listed(name)
        setattr(module, name, found)
        return found

    module.__getattr__ = find  # type: ignore[method-assign]


def _find(name: str, files: Iterable[ModuleType]) -> Any:
    """Returns what one of the files defines by that name; `None` if none does."""
    for file in files:
        found = vars(file).get(name)
        if name in vars(file).get("NAMES", ()) or getattr(found, "__module__", "").startswith(
            _HERE
        ):
            return found
    return None
