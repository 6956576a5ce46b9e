"""Finds the public names of tfkit, and for each object the one name under which it is described."""

from __future__ import annotations

import functools
import importlib
import inspect
import operator
from collections import defaultdict
from pathlib import Path
from types import ModuleType
from typing import Any

import tfkit

ROOT = Path(__file__).resolve().parents[2]
# Modules for older programs, whose names are those of other modules too.
LATE = ("backend", "mixed_precision", "preprocessing")


@functools.cache
def objects() -> dict[str, Any]:
    """Returns each public name, dotted and without `tfkit.`, with its object."""
    names = (ROOT / "tests/public_names.txt").read_text(encoding="utf-8").split()
    modules = {name.rpartition(".")[0] for name in names} - {""}
    for module in modules:
        importlib.import_module(f"tfkit.{module}")
    return {name: operator.attrgetter(name)(tfkit) for name in names}


def _order(name: str) -> tuple[Any, ...]:
    module, _, last = name.rpartition(".")
    is_alias = getattr(objects()[name], "__name__", last) != last
    return is_alias, not module, module.split(".")[0] in LATE, module.count("."), name


@functools.cache
def homes() -> dict[int, str]:
    """Returns for the identity of each object the name under which it is described."""
    names = defaultdict(list)
    for name, value in objects().items():
        names[id(value)].append(name)
    return {identity: min(group, key=_order) for identity, group in names.items()}


def home(value: Any) -> str | None:
    """Returns the name under which an object is described; `None` for an object that is not public."""
    return homes().get(id(value)) if callable(value) else None


def modules() -> dict[str, list[str]]:
    """Returns each public module, `""` for tfkit, with the public names that it has, in order."""
    names: dict[str, list[str]] = defaultdict(list)
    for name in objects():
        module = name.rpartition(".")[0]
        names[module].append(name)
        names[module.rpartition(".")[0]] += []  # `datasets` has modules alone.
    return {module: sorted(names[module], key=str.lower) for module in sorted(names)}


def module_of(name: str) -> ModuleType:
    """Returns a module by its name without `tfkit.`."""
    return operator.attrgetter(name)(tfkit) if name else tfkit


def members(cls: type) -> dict[str, Any]:
    """Returns the methods and properties that a class does not inherit from a public class.

    Those of its private bases are its own for a reader. `__call__` is listed where the class defines it;
    methods of TensorFlow's that are replaced, and have no docstring, are not.
    """
    public = [base for base in cls.__mro__[1:] if home(base)]
    inherited = {base for parent in public for base in parent.__mro__}
    own = [base for base in cls.__mro__ if base not in inherited and _is_ours(base)]
    found: dict[str, Any] = {}
    for base in reversed(own):
        found.update({name: value for name, value in vars(base).items() if _is_member(name, value)})
    return dict(sorted(found.items()))


def _is_ours(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == "tfkit"


def _is_member(name: str, value: Any) -> bool:
    kinds = (staticmethod, classmethod, property, functools.cached_property)
    is_named = not name.startswith("_") or name == "__call__"
    return (
        is_named and (inspect.isfunction(value) or isinstance(value, kinds)) and bool(value.__doc__)
    )


def public_bases(cls: type) -> list[str]:
    """Returns the names of the nearest public bases of a class."""
    public = [base for base in cls.__mro__[1:] if home(base)]
    nearest = [
        base
        for base in public
        if not any(base in other.__mro__ for other in public if other is not base)
    ]
    return [f"tfkit.{home(base)}" for base in nearest]
