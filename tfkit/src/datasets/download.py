"""Fetches one file, checked by its hash, into the cache."""

from __future__ import annotations

import hashlib
import os
import tempfile
import urllib.request
from pathlib import Path

_CHUNK = 1 << 20  # bytes read at a time
_TIMEOUT = 30.0  # seconds without an answer


def cache_folder() -> Path:
    """Where downloaded data sets are kept: `$TFKIT_HOME/datasets`, or `~/.tfkit/datasets`."""
    home = os.environ.get("TFKIT_HOME")
    return (Path(home) if home else Path.home() / ".tfkit") / "datasets"


def fetch(url: str, path: Path, sha256: str) -> None:
    """Downloads `url` to `path`, which appears only when it is whole and its hash is right.

    Args:
        url: where the file is.
        path: the file to write; its folder is made where needed.
        sha256: the expected hash of the file, in hexadecimal.

    Raises:
        OSError: when the file cannot be fetched or written.
        ValueError: when what came has another hash.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    handle, part = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".part", dir=path.parent)
    try:
        with (
            os.fdopen(handle, "wb") as file,
            urllib.request.urlopen(url, timeout=_TIMEOUT) as response,
        ):
            while chunk := response.read(_CHUNK):
                digest.update(chunk)
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        if digest.hexdigest() != sha256:
            raise ValueError(
                f"The file at {url} is not the expected one. Expected SHA-256: {sha256}. "
                f"Received: {digest.hexdigest()}. Nothing was kept: try again."
            )
        os.replace(part, path)
    finally:
        Path(part).unlink(missing_ok=True)
