"""Tables of the classes and functions that a configuration may name.

A configuration is data. It can name only the entries of three tables: tfkit's own public
objects, those that the program registered with `register_keras_serializable`, and those passed as
`custom_objects`. No module is ever imported whose name comes from a file: a name is looked up in the tables,
and an entry of tfkit's own names the module.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from tfkit.src.base import context, later
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.later import Place
from tfkit.src.base.names import to_snake_case, words
from tfkit.src.base.quoting import quoted
from tfkit.src.base.registry.constructors import with_checked_values


class _Table(Mapping[str, Any]):
    """tfkit's own objects of a public module by name. Only these names are ever imported."""

    def __init__(self) -> None:
        self.items_or_places: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        found = self.items_or_places[name]
        return later.load(found) if isinstance(found, Place) else found

    def __contains__(self, name: object) -> bool:
        return name in self.items_or_places

    def __iter__(self) -> Iterator[str]:
        return iter(self.items_or_places)

    def __len__(self) -> int:
        return len(self.items_or_places)


_builtins: dict[str, _Table] = {}
_builtin_kinds: dict[Any, str] = {}
_listed_kinds: dict[Place, str] = {}
_equals: dict[Any, Any] = {}
_registered: dict[str, Any] = {}
_registered_names: dict[Any, str] = {}


# --- Tables -----------------------------------------------------------------------------------------


def register_builtins(
    kind: str, objects: Iterable[Any], aliases: dict[str, Any] | None = None
) -> None:
    """Enters tfkit's own objects under their names.

    Errors of the constructors of classes among them show only the user's lines.

    Args:
        kind: the public module, without its root: `"layers"`, `"optimizers.schedules"`.
        objects: classes and functions; each is found by its name and by that name in snake case.
        aliases: further names, such as `{"mse": mean_squared_error}`.
    """
    for item in objects:
        _enter(kind, item.__name__, item)
        _builtin_kinds.setdefault(item, kind)
        _shorten_errors(item)
    _builtins.setdefault(kind, _Table()).items_or_places.update(aliases or {})


def register_listed(
    kind: str, places: Iterable[Place], aliases: dict[str, Place] | None = None
) -> None:
    """Enters tfkit's own objects that a public module lists, which are imported when they are first named.

    The arguments are the same as for `register_builtins`, with the objects' places.
    """
    for place in places:
        _enter(kind, place.name, place)
        _listed_kinds.setdefault(place, kind)
    _builtins.setdefault(kind, _Table()).items_or_places.update(aliases or {})


def _enter(kind: str, name: str, item_or_place: Any) -> None:
    table = _builtins.setdefault(kind, _Table()).items_or_places
    table.setdefault(to_snake_case(name), item_or_place)
    table[name] = item_or_place


def _prepare(place: Place, item: Any) -> None:
    if place in _listed_kinds:
        _shorten_errors(item, _listed_kinds[place] in _CHECKED)


later.when_loaded(_prepare)

# The others check their arguments themselves.
_CHECKED = words("losses metrics constraints initializers optimizers.schedules")


def _shorten_errors(item: Any, are_values_checked: bool = False) -> None:
    if (
        inspect.isclass(item)
        and "__init__" in vars(item)
        and not hasattr(item.__init__, "__wrapped__")
    ):
        wrap = with_checked_values if are_values_checked else shortened
        item.__init__ = wrap(item.__init__)  # type: ignore[method-assign]


def register_equals(own_forms: dict[Any, Any]) -> None:
    """Enters functions and classes of TensorFlow; configurations name tfkit's own that compute the same."""
    _equals.update(own_forms)


def own_form(item: Any) -> Any:
    """Returns tfkit's function or class that computes the same as one of TensorFlow; any other unchanged."""
    return _equals.get(item, item)


def is_builtin(item: Any) -> bool:
    """Returns whether `item` is a public class or function of tfkit."""
    return kind_of(item) is not None


def kind_of(item: Any) -> str | None:
    """Returns the public module of a class or function of tfkit; `None` for others."""
    if not (inspect.isclass(item) or inspect.isfunction(item)):
        return None
    # What a list names has been defined at its place, under its own name.
    place = Place(item.__module__, item.__qualname__)
    kind = _listed_kinds.get(place)
    if kind is not None and getattr(sys.modules.get(place.module), place.name, None) is item:
        return kind
    return _builtin_kinds.get(item)


def builtins_of(kind: str) -> Mapping[str, Any]:
    """Returns tfkit's own objects of a public module, by name."""
    return _builtins.get(kind, {})


def register_keras_serializable(
    package: str = "Custom", name: str | None = None
) -> Callable[[Any], Any]:
    """Returns a decorator that registers a class or function under a name that files can use.

    Args:
        package: name of the family of your objects; the entry is `package>name`.
            Default: `"Custom"`.
        name: name in the file; `None` for the name of the class or function.

    Returns:
        A decorator that returns the class or function unchanged.

    Raises:
        ValueError: for a class without `get_config`.

    Example:
        >>> @register_keras_serializable("my_project")
        ... def doubled(x):
        ...     return 2 * x
        >>> get_registered_name(doubled)
        'my_project>doubled'
    """

    def register(item: Any) -> Any:
        if inspect.isclass(item) and not hasattr(item, "get_config"):
            raise ValueError(
                "Cannot register a class that does not have a get_config() method. Define one that gives "
                f"the constructor's arguments of {item.__name__} as a dict."
            )
        registered_name = f"{package}>{name or item.__name__}"
        _registered[registered_name] = item
        _registered_names[item] = registered_name
        return item

    return register


def is_registered(item: Any) -> bool:
    """Returns whether the program has registered `item`."""
    return item in _registered_names


def get_registered_name(obj: Any) -> str:
    """Returns the name under which a class or function is registered.

    Args:
        obj: a class or function.

    Returns:
        `"package>name"`, or the plain name of what is not registered.

    Example:
        >>> get_registered_name(tfkit.layers.Dense)
        'Dense'
    """
    return _registered_names.get(obj, obj.__name__)


def get_registered_object(
    name: str,
    custom_objects: dict[str, Any] | None = None,
    module_objects: Mapping[str, Any] | None = None,
) -> Any:
    """Returns the class or function that is registered under a name.

    Args:
        name: `"package>name"`, or a key of one of the dicts.
        custom_objects: objects by name, which are searched after the objects of `custom_object_scope`
            and `get_custom_objects`.
        module_objects: objects by name that are searched last.

    Returns:
        The class or function, or `None`.

    Example:
        >>> get_registered_object("twice", custom_objects={"twice": len}) is len
        True
        >>> get_registered_object("unknown")
    """
    tables = (
        context.current().custom_objects,
        _registered,
        custom_objects or {},
        module_objects or {},
    )
    for table in tables:
        if name in table:
            return table[name]
    return None


def named_object(
    name: str,
    custom_objects: dict[str, Any] | None,
    module_objects: Mapping[str, Any] | None,
    printable_module_name: str,
) -> Any:
    """Returns what `get_registered_object` finds.

    Raises:
        ValueError: for a name that is not known.
    """
    found = get_registered_object(name, custom_objects, module_objects)
    if found is None:
        given = sorted({**(custom_objects or {}), **(module_objects or {})})
        raise ValueError(
            f"Unknown {printable_module_name}: {quoted(name)}. Expected one of {quoted(given)}, or a "
            "registered name."
        )
    return found


def get_custom_objects() -> dict[str, Any]:
    """Returns the dict of registered and other custom objects of the process, which configurations may name.

    Additions of a `custom_object_scope` are not in it, and take precedence.

    Returns:
        A dict from names to classes and functions. Additions remain until they are removed.

    Example:
        >>> get_custom_objects()["my_length"] = len
        >>> get_registered_object("my_length") is len
        True
        >>> _ = get_custom_objects().pop("my_length")
    """
    return _registered


@contextlib.contextmanager
def custom_object_scope(custom_objects: dict[str, Any] | None) -> Iterator[None]:
    """Context manager in which configurations may name more objects.

    It applies in the thread, or the `asyncio` task, in which it is entered.

    Args:
        custom_objects: classes and functions by name; `None` for none.

    Example:
        >>> with custom_object_scope({"twice": len}):
        ...     print(get_registered_object("twice") is len)
        True
    """
    if not isinstance(custom_objects or {}, Mapping):
        raise TypeError(
            "`custom_objects` must be a dict from names to classes and functions, such as "
            f"{{'MyLayer': MyLayer}}. Received: {custom_objects!r}"
        )
    with context.within(
        custom_objects={**context.current().custom_objects, **(custom_objects or {})}
    ):
        yield


# --- Finding the objects of a configuration ----------------------------------------------------------

# A function's configuration does not name its module, and `ops` has functions of the same names that compute
# something else; so these come first, in the order in which Keras searches them.
_FUNCTION_KINDS = (
    "activations",
    "constraints",
    "initializers",
    "losses",
    "metrics.functions",
    "regularizers",
)


class NotRegisteredError(TypeError, ValueError):
    """A configuration names a class or function that is in no table. A `TypeError` in Keras."""


def find(name: Any, registered_name: Any, kind: str | None, config: dict[str, Any]) -> Any:
    """Returns the class or function that a configuration names, from the tables only.

    Args:
        name: the name of the class or function.
        registered_name: looked for before the name, where there is one.
        kind: a public module; if given, tfkit's own objects are searched only there.
        config: the configuration, which contains the module, and whether it is a function.

    Raises:
        NotRegisteredError: for a name that is in no table.
    """
    module = config.get("module") or ""
    is_function = config["class_name"] == "function"
    if isinstance(name, str):
        names = [each for each in (registered_name, name) if isinstance(each, str)]
        kinds = _kinds_of(str(module), kind, is_function)
        found = [get_registered_object(each) for each in names]
        own = (table[name] for table in map(builtins_of, kinds) if name in table)
        for item in itertools.chain(
            found, own, [_registered_function(name) if is_function else None]
        ):
            if item is not None and not (is_function and inspect.isclass(item)):
                if is_builtin(item) and item not in found:
                    _check_registered_name(name, config)
                return item
    raise NotRegisteredError(
        f"A configuration names {quoted(name)}"
        + (f" of module {quoted(module)}" if module else "")
        + f", which is not registered{f' as {quoted(registered_name)}' if registered_name else ''}"
        + (" as a function. " if is_function else ". ")
        + "If you trust it, decorate the class or function with "
        "`@tfkit.saving.register_keras_serializable()` before loading, or pass "
        f"`custom_objects={{{quoted(str(name))}: ...}}`."
    )


def _check_registered_name(name: str, config: dict[str, Any]) -> None:
    """Raises an error for a built-in object if the file's program had registered its own under the name."""
    registered_name = config.get("registered_name")
    if registered_name not in (None, "", name, config["class_name"]):
        raise NotRegisteredError(
            f"A configuration names {quoted(name)}, registered as {quoted(registered_name)}, which this "
            f"program has not registered; tfkit's own {quoted(name)} is a different object. Register yours "
            "with `@tfkit.saving.register_keras_serializable()` before loading, or pass "
            f"`custom_objects={{{quoted(name)}: ...}}`."
        )


def _registered_function(name: str) -> Any:
    """Returns the only registered function of this name, for files of Keras 3.6, which name no package."""
    found = [
        item
        for registered, item in _registered.items()
        if registered.partition(">")[2] == name and not inspect.isclass(item)
    ]
    return found[0] if len(found) == 1 else None


def _kinds_of(module: str, kind: str | None, is_function: bool) -> list[str]:
    """Returns the public modules to search for a name: `kind`, else the one of `module`, else all of them."""
    root, _, place = module.partition(".")
    if root not in ("", "builtins", "keras", "tfkit"):
        return []
    if kind == "layers":  # A model is a layer, too.
        return [kind, "models"]
    if kind is not None:
        return [kind, f"{kind}.functions"] if is_function else [kind]
    kinds = [place] if place in _builtins and place else list(_builtins)
    if not is_function:
        return kinds
    return [*(kinds if len(kinds) == 1 else ()), *_FUNCTION_KINDS, *kinds]
