"""`name_scope`: a common beginning for the names of what is made in a block of code."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

import tensorflow as tf

from tfkit.src.base.names import operation_name

# Of each thread and task: those that it is in, the innermost last.
_scopes: ContextVar[tuple[name_scope, ...]] = ContextVar("name scopes", default=())


class name_scope:
    """Names what is made in its `with` block: operations of a graph, and the paths of new variables.

    Layers are called by where their attributes stand, in files and in messages, and not by scopes: the path
    of a weight is that of its layer.

    Args:
        name: name of the scope, a string without `/`.
        **kwargs: `caller`: an object; a scope with the same one and the same name as the scope that it
            stands in directly adds nothing. `override_parent`: path that stands in the place of those of the
            scopes around; `None` for none. `deduplicate`: whether `caller` counts (default: `True`).

    Raises:
        ValueError: for a name that is no string, or has a `/`.

    Example:
        >>> with name_scope("outer"), name_scope("inner"):
        ...     variable = tfkit.Variable(1.0, name="scale")
        >>> variable.path
        'outer/inner/scale'
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        if not isinstance(name, str) or "/" in name:
            raise ValueError(
                "Argument `name` must be a string and cannot contain character `/`. "
                f"Received: name={name!r}"
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
        scopes = _scopes.get()
        token = scope = None
        same = bool(scopes) and (scopes[-1].caller, scopes[-1].name) == (self.caller, self.name)
        if not (self.deduplicate and self.caller is not None and same):
            token = _scopes.set((*scopes, self))
            scope = tf.name_scope(operation_name(self.name, "scope"))
            scope.__enter__()
        self._entered.append((token, scope))
        return self

    def __exit__(self, *exception: Any) -> None:
        token, scope = self._entered.pop()
        if token is not None:
            scope.__exit__(*exception)
            _scopes.reset(token)


def current_path() -> str:
    """The names of the scopes that this is in, from the outermost: `outer/inner`."""
    parts: list[str] = []
    for scope in _scopes.get():
        if scope.override_parent is not None:
            parts = [scope.override_parent.strip("/")]
        parts.append(scope.name)
    return "/".join(filter(None, parts))
