"""Finds what the `call` methods of users read besides their arguments: globals, closures, containers, time.

A trace would do only once what such a method does with Python's objects. Direct calls are compiled while the
values that it reads stay the same, and not at all if it uses random numbers, the clock, files or `print`.
"""

from __future__ import annotations

import builtins
import dis
import functools
import inspect
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base import execution
from tfkit.src.base.members import PLAIN
from tfkit.src.base.watching import latest_change

# Modules whose functions and objects have an effect each time, or other results each time.
_EFFECTS = frozenset(
    ["_io", "_random", "datetime", "io", "logging", "os", "posix", "random"]
    + ["secrets", "subprocess", "sys", "tempfile", "time", "uuid"]
)
_FUNCTIONS = (print, open, input, next, tf.executing_eagerly)
# Attributes of tfkit's layers that hold functions of users.
_FUNCTIONS_OF_LAYERS = ("function", "activation")
_CONTAINERS = (list, tuple, dict, set, frozenset, deque)
_KNOWN = (type, ModuleType, FunctionType, tf.Module, tf.Variable, tf.Tensor)
_LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF")
# Larger containers and arrays are compared by identity alone, in calls that must be short.
_MOST_ITEMS, _MOST_BYTES, _DEPTH = 64, 4096, 3


class Snapshot:
    """The values at one moment, compared by contents for plain values and small containers."""

    def __init__(self, values: Iterable[Any]) -> None:
        self._kept: list[Any] = []  # The objects: of a deleted one, another one could get the id.
        self._form: list[Any] = []
        for value in values:
            self._add(value, _DEPTH)

    def _add(self, value: Any, depth: int) -> None:
        form, kind = self._form, type(value)
        if kind in PLAIN:
            form += (kind, value)
            return
        self._kept.append(value)
        form.append(id(value))
        if not depth or _is_known(value):
            return
        if isinstance(value, np.ndarray):
            form.append(value.tobytes() if value.nbytes <= _MOST_BYTES else value.shape)
        elif isinstance(value, _CONTAINERS):
            form.append(len(value))
            if len(value) <= _MOST_ITEMS:
                if isinstance(value, dict):
                    form += value
                    value = value.values()
                # A copy: another thread may be changing it.
                for item in list(value):
                    self._add(item, depth - 1)
        else:
            for item in list(getattr(value, "__dict__", {}).values()):
                self._add(item, depth - 1)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Snapshot) and self._form == other._form

    __hash__ = None  # type: ignore[assignment]


@functools.lru_cache(maxsize=1024)
def _is_known_type(kind: Any) -> bool:
    return issubclass(kind, _KNOWN)


def _is_known(value: Any) -> bool:
    """Whether an object is followed otherwise, or has no values of the user."""
    kind: Any = type(value)
    return _is_known_type(kind)


class Surroundings:
    """The values that the `call` methods of layers read now.

    Args:
        find_layers: returns the layers; it is called again once an attribute of one of them was set.
    """

    def __init__(self, find_layers: Callable[[], Iterable[Any]]) -> None:
        self._find_layers = find_layers
        self._checked = -1
        self._reads: _Reads | None = None

    def now(self) -> tuple[bool, Snapshot | None]:
        """Returns whether a call has effects, and the present values; `None` if nothing is read."""
        change, reads = latest_change(), self._reads
        # The objects are replaced as a whole: other threads may be using the old ones.
        if reads is None or (self._checked != change and not reads.are_of_the_present()):
            reads = self._reads = _Reads([*self._find_layers()])
        self._checked = change
        if not reads.scopes:
            return reads.has_effects, None
        return reads.has_effects, Snapshot([_value(scope, name) for scope, name in reads.scopes])


class _Reads:
    """The names that the `call` methods of layers read, found in their bytecode.

    Bytecode, and not the source, which functions made in notebooks or by `exec` may lack. Functions that a
    method calls are followed within the package of the user: those of libraries have caches of their own.
    """

    def __init__(self, layers: list[Any]) -> None:
        self.has_effects = False
        self.scopes: list[tuple[Any, str]] = []
        self._seen: set[tuple[int, int]] = set()
        self._versions = [(layer._tfkit, layer._tfkit.version) for layer in layers]
        for layer in layers:
            # Those of all base classes: `super().call(x)` may call them.
            functions = [vars(base)["call"] for base in type(layer).__mro__ if "call" in vars(base)]
            for function in (
                *functions,
                *(getattr(layer, it, None) for it in _FUNCTIONS_OF_LAYERS),
            ):
                self._visit(inspect.unwrap(function) if callable(function) else None, layer)

    def are_of_the_present(self) -> bool:
        """Whether no attribute of the layers was set since."""
        return all(state.version == version for state, version in self._versions)

    def _visit(self, function: Any, owner: Any) -> None:
        """Adds what a function reads; `owner` is its first argument where it is a method of a layer."""
        # Static and class methods, and methods that are bound.
        function = getattr(function, "__func__", function)
        if not isinstance(function, FunctionType) or _package(function) == "tfkit":
            return
        key = id(function.__code__), id(owner)
        if key in self._seen:
            return
        self._seen.add(key)
        code = function.__code__
        cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        for root, steps in _chains(code, code.co_varnames[:1]):
            if root in code.co_varnames[:1]:
                self._read_member(steps, owner, function)
            elif root in cells:
                self._read(cells[root], "cell_contents", steps, owner, function)
            elif root in function.__globals__:
                self._read(function.__globals__, root, steps, owner, function)
            else:
                self.has_effects |= getattr(builtins, root, None) in _FUNCTIONS

    def _read_member(self, steps: tuple[str, ...], owner: Any, function: FunctionType) -> None:
        name = steps[0] if steps else ""
        defined = inspect.getattr_static(type(owner), name, None)
        # What is set there is not noted, unlike an attribute.
        self.has_effects |= name == "__dict__"
        if isinstance(defined, property):
            self._visit(defined.fget, owner)
        elif isinstance(defined, (FunctionType, staticmethod, classmethod)):
            self._visit(defined, owner)
        elif name in vars(owner):
            self._read(vars(owner), name, steps[1:], owner, function)
        elif defined is not None:  # An attribute of the class, such as a list.
            self._read(type(owner), name, steps[1:], owner, function)

    def _read(
        self, scope: Any, name: str, steps: tuple[str, ...], owner: Any, function: FunctionType
    ) -> None:
        value = _value(scope, name)
        # Plain attributes of layers need no look: setting one makes traces stale (`base/watching.py`).
        if not _is_known(value) and not (scope is vars(owner) and type(value) in PLAIN):
            self.scopes.append((scope, name))
        # `np.random.rand` has the effects of the module `np.random`; attributes of objects may be anything.
        for step in steps:
            self.has_effects |= _has_effects(value)
            if not isinstance(value, ModuleType):
                break
            value = getattr(value, step, None)
        self.has_effects |= _has_effects(value)
        if isinstance(value, FunctionType) and _package(value) == _package(function):
            self._visit(value, owner)


def _value(scope: Any, name: str) -> Any:
    """Returns a value of a namespace, a class or a cell; `None` if it has none."""
    try:
        return scope.get(name) if isinstance(scope, dict) else getattr(scope, name, None)
    except ValueError:  # An empty cell.
        return None


def _package(function: FunctionType) -> str:
    return (function.__module__ or "").partition(".")[0]


def _has_effects(value: Any) -> bool:
    """Whether an object is of a module of effects, or draws random numbers, or is an iterator."""
    owner = getattr(value, "__self__", None)
    names = [getattr(value, "__module__", None), type(value).__module__]
    names += [value.__name__] if isinstance(value, ModuleType) else [type(owner).__module__]
    found = [name for name in names if isinstance(name, str)]
    if any(name in _EFFECTS or name.startswith("numpy.random") for name in found):
        return True
    is_plain = type(value) in PLAIN or _is_known(value)
    return value in _FUNCTIONS if callable(value) else not is_plain and isinstance(value, Iterator)


@functools.lru_cache(maxsize=4096)
def _chains(code: CodeType, own: tuple[str, ...]) -> list[tuple[str, tuple[str, ...]]]:
    """Returns what `_each_chain` yields, each once."""
    return list(dict.fromkeys(_each_chain(code, own)))


def _each_chain(code: CodeType, own: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yields the names that a function reads, each with the attributes read of it: `np`, `random`."""
    root, steps = "", []
    for instruction in dis.get_instructions(code):
        name = instruction.argval
        if instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and root:
            steps.append(name)
            continue
        if root:
            yield root, tuple(steps)
        root, steps = "", []
        if instruction.opname.startswith("LOAD_FAST"):
            # From Python 3.13 on, one instruction may load two; attributes are of the second one.
            name = name[-1] if isinstance(name, tuple) else name
            root = name if name in own else ""
        elif instruction.opname in _LOADS:
            root = name
    # Comprehensions, lambdas and functions inside, to which `self` is a cell.
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _each_chain(constant, own if own and own[0] in constant.co_freevars else ())


# Layers, which need nothing else of this, ask by it.
execution.surroundings_of = Surroundings
