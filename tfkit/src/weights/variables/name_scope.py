"""Names of variables: their paths, and `name_scope`, a common prefix for what is made in a block of code."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.base import context
from tfkit.src.base.names import operation_name


class name_scope:
    """Prefixes names of objects made in its `with` block: operations of a graph, and paths of new variables.

    Files and messages name layers by their attributes, and not by scopes: the path of a weight starts with
    the path of its layer.

    Args:
        name: name of the scope, a string without `/`.
        **kwargs: `caller`: an object; a scope with the same one and the same name as the scope
            directly around it adds nothing. `override_parent`: path that replaces the paths of the scopes
            around; `None` for none. `deduplicate`: whether `caller` counts (default: `True`).

    Raises:
        ValueError: for a name that is not a string, or has a `/`.

    Example:
        >>> with name_scope("outer"), name_scope("inner"):
        ...     variable = tfkit.Variable(1.0, name="scale")
        >>> variable.path
        'outer/inner/scale'
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        if not isinstance(name, str) or "/" in name:
            raise ValueError(
                f"Argument `name` must be a string and cannot contain character `/`. Received: name={name!r}"
            )
        self.name = name
        self.caller = kwargs.pop("caller", None)
        self.deduplicate = kwargs.pop("deduplicate", True)
        self.override_parent = kwargs.pop("override_parent", None)
        if kwargs:
            raise ValueError(
                "Expected the arguments `caller`, `deduplicate` and `override_parent`. "
                f"Received: {sorted(kwargs)}"
            )
        self._entered: list[tuple[Any, Any]] = []

    def __enter__(self) -> name_scope:
        scopes = context.current().name_scopes
        before = scope = None
        same = bool(scopes) and (scopes[-1].caller, scopes[-1].name) == (self.caller, self.name)
        if not (self.deduplicate and self.caller is not None and same):
            before = scopes
            context.put(name_scopes=(*scopes, self))
            scope = tf.name_scope(operation_name(self.name, "scope"))
            scope.__enter__()
        self._entered.append((before, scope))
        return self

    def __exit__(self, *exception: Any) -> None:
        before, scope = self._entered.pop()
        if before is not None:
            scope.__exit__(*exception)
            context.put(name_scopes=before)


def current_path() -> str:
    """Returns the names of the current scopes, from the outermost: `outer/inner`."""
    parts: list[str] = []
    for scope in context.current().name_scopes:
        if scope.override_parent is not None:
            parts = [scope.override_parent.strip("/")]
        parts.append(scope.name)
    return "/".join(filter(None, parts))


def variable_path(variable: tf.Variable) -> str:
    """Returns the path of a layer's weight; the name of any other variable."""
    return getattr(variable, "path", None) or variable.name.removesuffix(":0")
