"""Arguments of a new weight that may be passed by position."""

from __future__ import annotations

from typing import Any

_BY_POSITION = ("shape", "initializer", "dtype")


def by_position(args: tuple[Any, ...], *named: Any) -> tuple[Any, ...]:
    """Returns `shape`, `initializer` and `dtype` of `add_weight` from positional and named arguments.

    Raises:
        TypeError: for more positional arguments.
        ValueError: for an argument that is passed twice, and for a name instead of a shape, as in Keras 2.
    """
    if args and isinstance(args[0], str):
        raise ValueError(
            f"`name` must be passed as a keyword argument. Received: add_weight({args[0]!r}, ...). "
            f"Use: add_weight(shape=..., name={args[0]!r})."
        )
    if len(args) > len(named):
        raise TypeError(
            f"add_weight() takes at most {len(named)} positional arguments: `shape`, `initializer`, `dtype`. "
            f"Received: {len(args)}, of which {args[len(named)]!r} is too many. Pass it by name."
        )
    for name, value, other in zip(_BY_POSITION, args, named, strict=False):
        if other is not None:
            raise ValueError(
                f"`{name}` was passed both positionally and as a keyword argument of add_weight(). Received: "
                f"{value!r} and {name}={other!r}"
            )
    return (*args, *named[len(args) :])
