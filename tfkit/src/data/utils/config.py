"""`Config`: settings of a program, as attributes."""

from __future__ import annotations

import json
from collections.abc import Iterator, MutableMapping
from typing import Any


class Config(MutableMapping[str, Any]):
    """Settings by name, as attributes and as items, which can be frozen.

    Args:
        **kwargs: the settings.

    Example:
        >>> config = Config(rate=0.1, size=8)
        >>> config.rate, config["size"]
        (0.1, 8)
        >>> config.freeze()
        >>> config.rate = 0.2
        Traceback (most recent call last):
        ValueError: The config is frozen: `unfreeze()` it before it is changed.
    """

    __slots__ = ("_frozen", "_values")

    def __init__(self, **kwargs: Any) -> None:
        # Past `__setattr__`, which would make a setting of it.
        object.__setattr__(self, "_values", dict(kwargs))
        object.__setattr__(self, "_frozen", False)

    @property
    def frozen(self) -> bool:
        """Whether the settings cannot be changed."""
        return self._frozen

    def freeze(self) -> None:
        """Forbids changes from now on."""
        object.__setattr__(self, "_frozen", True)

    def unfreeze(self) -> None:
        """Allows changes again."""
        object.__setattr__(self, "_frozen", False)

    def as_dict(self) -> dict[str, Any]:
        """Returns the settings as a new dictionary."""
        return dict(self._values)

    def to_json(self) -> str:
        """Returns the settings as JSON."""
        return json.dumps(self._values)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._check()
        self._values[name] = value

    def __delitem__(self, name: str) -> None:
        self._check()
        del self._values[name]

    def __getattr__(self, name: str) -> Any:
        # `copy` and `pickle` look for special methods, which are not settings.
        if name.startswith("__") or name not in self._values:
            raise AttributeError(
                f"The config has no setting {name!r}. It has: {list(self._values)}",
                name=name,
                obj=self,
            )
        return self._values[name]

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __delattr__(self, name: str) -> None:
        self._check()
        self.__getattr__(name)
        del self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __reduce__(self) -> Any:
        return _restored, (self._values, self._frozen)

    def __repr__(self) -> str:
        return f"<Config {self._values}>"

    def _check(self) -> None:
        if self._frozen:
            raise ValueError("The config is frozen: `unfreeze()` it before it is changed.")


def _restored(values: dict[str, Any], frozen: bool) -> Config:
    config = Config(**values)
    if frozen:
        config.freeze()
    return config
