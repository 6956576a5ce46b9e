"""Public modules that are imported when they are first used: `import tfkit` takes no longer for them."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

_NAMES = (
    "applications",
    "datasets",
    "export",
    "interop",
    "preprocessing",
    "visualization",
    "wrappers",
)


def offer_in(root: ModuleType) -> None:
    """Makes the modules attributes of the package, and lists them in `dir`.

    Set here and not written into the package, for type checkers to report unknown names.
    """

    def find(name: str) -> Any:
        if name not in _NAMES:
            message = f"module {root.__name__!r} has no attribute {name!r}"
            raise AttributeError(message, name=name, obj=root)
        return importlib.import_module(f"{root.__name__}.{name}")

    def names() -> list[str]:
        return sorted({*vars(root), *_NAMES})

    root.__getattr__ = find  # type: ignore[method-assign]
    root.__dir__ = names  # type: ignore[method-assign]
