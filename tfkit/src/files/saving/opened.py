"""The base of the readers of files: they close at the end of a `with`, and refuse what is unsafe."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, NoReturn, Self

from tfkit.src.base.quoting import shown
from tfkit.src.files.saving.errors import LoadError


class Opened:
    """A file that is open for reading."""

    path: Path
    _raw: Any
    _kind: ClassVar[str] = "File"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file."""
        self._raw.close()

    def _refuse(self, name: str, why: str) -> NoReturn:
        raise LoadError(f"{self._kind} {self.path}: `{shown(name)}` {why}. It is refused.")

    def _refuse_sum(self, name: str, found: int, stored: str) -> NoReturn:
        raise LoadError(
            f"File {self.path}: `{shown(name)}` is damaged: its checksum is {found:08x}, the stored one "
            f"{stored}. Load another copy of the file."
        )
