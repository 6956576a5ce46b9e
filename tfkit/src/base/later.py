"""Public names that are imported when they are first used: a program loads only what it uses.

A module lists its names as imports under `if TYPE_CHECKING:`. Type checkers, editors and readers see
them there; Python skips them. `offer` makes them attributes of the module: it reads the list in the module's
source, once, and imports a name when it is first asked for. From then on it is a plain attribute.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import os
import random
import sys
import threading
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

from tfkit.src.base.names import CLASSES


class Place(NamedTuple):
    """The place where a listed name is defined: a module and the name in it, or only the module."""

    module: str
    name: str


_preparations: list[Callable[[Place, Any], None]] = []
_preparing = threading.RLock()
# The threads that are loading. Its lock is held during a fork, and never while a module is imported.
_loading: list[int] = []
_loading_changes = threading.Condition()
_LONGEST_WAIT = 60.0  # seconds of a fork: an import that waits for the thread that forks never ends


def offer(module_name: str) -> None:
    """Makes the names that a module lists its attributes, and gives it `__all__` and `dir`.

    Set here and not written into the module, for type checkers to report unknown names.
    """
    module = sys.modules[module_name]

    def find(name: str) -> Any:
        if name == "__all__":
            return sorted(listed(module_name))
        if name not in listed(module_name):
            advice = _advice(module_name, name)
            message = f"module {module_name!r} has no attribute {name!r}{advice}"
            try:
                raise AttributeError(message, name=name, obj=module)
            except AttributeError as error:
                error.__traceback__ = None  # Only the user's line is shown.
                raise
        found = load(listed(module_name)[name])
        # From now on Python finds it without `__getattr__`.
        setattr(module, name, found)
        return found

    def names() -> list[str]:
        hidden = {"TYPE_CHECKING", "__getattr__", "__dir__"}
        return sorted({*vars(module), *listed(module_name)} - hidden)

    module.__getattr__ = find  # type: ignore[method-assign]
    module.__dir__ = names  # type: ignore[method-assign]


def _advice(module_name: str, name: str) -> str:
    """Returns the end of the message about a name: the name that is meant, or the module that has it."""
    if advice := CLASSES.get(name):
        return f". {advice}"
    package, _, module = module_name.partition(".")
    if module or name.startswith("__"):
        return ""
    public = [place.module for place in listed(package).values() if not place.name]
    for each in public:
        if each in sys.modules and each.count(".") == 1 and name in listed(each):
            return f". It is `{each}.{name}`."
    return ""


@functools.cache
def listed(module_name: str) -> dict[str, Place]:
    """Returns the names that a module lists under `if TYPE_CHECKING:`, and second names of them."""
    places: dict[str, Place] = {}
    # From the source: at run time, the names under `if TYPE_CHECKING:` do not exist.
    for block in ast.parse(_source(sys.modules[module_name])).body:
        if not (isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"):
            continue
        for line in block.body:
            if isinstance(line, ast.ImportFrom):
                for each in line.names:
                    if each.name == "*":  # All that another public module lists.
                        places.update(listed(importlib.import_module(str(line.module)).__name__))
                    else:
                        places[each.asname or each.name] = _place(module_name, line, each.name)
            elif isinstance(line, ast.Assign):
                places[ast.unparse(line.targets[0])] = places[ast.unparse(line.value)]
    return places


def load(place: Place) -> Any:
    """Returns the object at a place, and imports its module if it has not been imported."""
    with _before_forks():
        module = _imported(place.module)
        found = getattr(module, place.name) if place.name else module
        with _preparing:
            for prepare in _preparations:
                prepare(place, found)
    return found


@contextlib.contextmanager
def _before_forks() -> Iterator[None]:
    """Context manager that delays forks of other threads until it ends.

    The forked process lacks this thread, but has the locks that it holds: code that imports the same module
    there would wait forever.
    """
    thread = threading.get_ident()
    with _loading_changes:
        _loading.append(thread)
    try:
        yield
    finally:
        with _loading_changes:
            _loading.remove(thread)
            _loading_changes.notify_all()


def _wait_for_other_threads() -> None:
    _loading_changes.acquire()
    thread = threading.get_ident()
    _loading_changes.wait_for(lambda: {*_loading} <= {thread}, _LONGEST_WAIT)


os.register_at_fork(
    before=_wait_for_other_threads,
    after_in_parent=_loading_changes.release,
    after_in_child=_loading_changes.release,
)


def _imported(module_name: str) -> ModuleType:
    """Imports a module, and leaves Python's random numbers as they were.

    `rich` draws one while it is imported. Between a program's seed and its weights, that would change the
    weights of its first model.
    """
    if module_name in sys.modules:  # Another thread may be importing it: this waits for it.
        return importlib.import_module(module_name)
    # Some libraries draw random numbers when they are imported, which would change a program that
    # has set a seed.
    state = random.getstate()
    try:
        return importlib.import_module(module_name)
    finally:
        random.setstate(state)


def when_loaded(prepare: Callable[[Place, Any], None]) -> None:
    """Calls a function with each object that is loaded from now on, before anyone else gets it."""
    _preparations.append(prepare)


def _place(module_name: str, line: ast.ImportFrom, name: str) -> Place:
    # What a package imports from itself is one of its modules.
    if line.module == module_name:
        return Place(f"{module_name}.{name}", "")
    return Place(str(line.module), name)


def _source(module: ModuleType) -> str:
    spec = module.__spec__
    get_source = getattr(spec and spec.loader, "get_source", None)
    source = get_source(module.__name__) if get_source else None
    if source is None:
        raise ImportError(
            f"The source of {module.__name__}, in which tfkit reads its public names, is missing. Install "
            "tfkit with its .py files, in a folder or a zip archive.",
            name=module.__name__,
        )
    return str(source)
