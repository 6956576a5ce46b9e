"""Keeps the newest loadable version of each model in a folder in memory, exchanged without a gap."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import os
from pathlib import Path
from typing import Any

from tfkit.src.export.versions import versions_in
from tfkit.src.outer.serving.bodies.errors import Code, RequestError
from tfkit.src.outer.serving.metrics import Metrics
from tfkit.src.outer.serving.servable import Servable

_log = logging.getLogger("tfkit.serving")
Folders = dict[str, dict[int, Path]]


@dataclasses.dataclass
class _Version:
    """The state of a version; the same states as in TF Serving's `ModelVersionStatus`."""

    state: str
    servable: Servable | None = None
    error: str = ""
    files: Any = None  # of a version that did not load; it is tried again when they change


class Store:
    """The models below a folder, `base/name/number/saved_model.pb`.

    All methods are for the thread of the event loop.

    Args:
        base: the folder.
        num_versions: how many versions of each model are served, the newest that load.
        trusted: whether models may have operations on files, other machines, processes or Python.
        metrics: where loads are counted.
    """

    def __init__(
        self,
        base: Path,
        num_versions: int = 1,
        trusted: bool = False,
        metrics: Metrics | None = None,
    ) -> None:
        self._metrics = metrics or Metrics()
        self._base = base
        self._num_versions = num_versions
        self._trusted = trusted
        self._models: dict[str, dict[int, _Version]] = {}
        self._leaving: set[asyncio.Task[None]] = set()

    def find(self, name: str, version: int | None = None) -> Servable:
        """Returns a version of a model, the newest unless one is named.

        Raises:
            RequestError: if there is none.
        """
        found = self._available(name)
        if version is None and found:
            return found[max(found)]
        if version in found:
            return found[version]
        wanted = f"Latest({name})" if version is None else f"Specific({name}, {version})"
        raise RequestError(Code.NOT_FOUND, f"Servable not found for request: {wanted}")

    def statuses(self, name: str, version: int | None = None) -> list[tuple[int, str, int, str]]:
        """Returns version, state, error code and error message of each version, the newest first.

        Raises:
            RequestError: if there is none.
        """
        versions = self._models.get(name, {})
        wanted = [number for number in sorted(versions, reverse=True) if version in (None, number)]
        if not wanted:
            what = "any versions" if version is None else f"version {version}"
            raise RequestError(Code.NOT_FOUND, f"Could not find {what} of model {name}")
        return [
            (
                number,
                versions[number].state,
                Code.UNKNOWN if versions[number].error else Code.OK,
                versions[number].error,
            )
            for number in wanted
        ]

    def names(self) -> list[str]:
        """Returns names of the models that are ready."""
        return [name for name in sorted(self._models) if self._available(name)]

    def has(self, name: str) -> bool:
        """Whether there is a model of this name, ready or not."""
        return name in self._models

    async def watch(self, seconds: float) -> None:
        """Scans the folder periodically."""
        while True:
            await asyncio.sleep(seconds)
            try:
                await self.refresh()
            except OSError as error:
                _log.warning("Cannot read %s: %s", self._base, error)

    async def refresh(self) -> None:
        """Loads new versions, and then drops those that they replace."""
        folders = await asyncio.to_thread(_scan, self._base)
        for name in sorted({*folders, *self._models}):
            versions = self._models.setdefault(name, {})
            present = folders.get(name, {})
            good: set[int] = set()
            # The newest first: if it does not load, the next older one is tried.
            for number in sorted(present, reverse=True):
                await self._load(name, number, present[number])
                good |= {number} & self._available(name).keys()
                if len(good) == self._num_versions:
                    break
            # If no new version loads, the old one is kept.
            if good or not present:
                for number in self._available(name).keys() - good:
                    self._drop(name, number, versions[number])

    async def close(self) -> None:
        """Drops all versions."""
        for name, versions in self._models.items():
            for number in self._available(name):
                self._drop(name, number, versions[number])
        await asyncio.gather(*self._leaving)

    def _available(self, name: str) -> dict[int, Servable]:
        versions = self._models.get(name, {})
        return {
            number: version.servable
            for number, version in versions.items()
            if version.servable is not None and version.state == "AVAILABLE"
        }

    async def _load(self, name: str, number: int, folder: Path) -> None:
        versions = self._models[name]
        old = versions.get(number)
        files = await asyncio.to_thread(_files, folder)
        # A version that failed is tried again when its files change, as they do while they are
        # copied.
        if old is not None and (old.state != "END" or (old.error and old.files == files)):
            return
        versions[number] = version = _Version("LOADING")
        try:
            version.servable = await asyncio.to_thread(
                Servable, folder, name, number, self._trusted
            )
        except Exception as error:  # Whatever is wrong with a model, the others are served.
            version.state, version.error, version.files = "END", str(error), files
            self._metrics.loads.add(str(folder), "fail")
            _log.error("Model %s, version %d: %s", name, number, error)
        else:
            version.state = "AVAILABLE"
            self._metrics.loads.add(str(folder), "success")
            _log.info("Model %s, version %d: available", name, number)

    def _drop(self, name: str, number: int, version: _Version) -> None:
        """Stops accepting requests for a version, and frees its memory after the last one."""
        version.state = "UNLOADING"
        task = asyncio.create_task(self._unload(name, number, version))
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def _unload(self, name: str, number: int, version: _Version) -> None:
        assert version.servable is not None
        # Requests that have begun are answered by the version with which they began.
        await version.servable.unused()
        await asyncio.to_thread(version.servable.close)
        version.servable, version.state = None, "END"
        _log.info("Model %s, version %d: unloaded", name, number)


def _scan(base: Path) -> Folders:
    """Returns the folders of all versions by model and number."""
    found: Folders = {}
    for model in os.scandir(base):
        if model.is_dir() and not model.name.startswith("."):
            versions = versions_in(Path(model.path))
            versions = {number: path for number, path in versions.items() if path.is_dir()}
            if versions:
                found[model.name] = versions
    return found


def _files(folder: Path) -> list[tuple[str, int, int]]:
    """Returns path, size and time of all files in a folder."""
    paths = [Path(root, name) for root, _, names in os.walk(folder) for name in names]
    stats = [(str(path), path.lstat()) for path in sorted(paths)]
    return [(path, stat.st_size, stat.st_mtime_ns) for path, stat in stats]
