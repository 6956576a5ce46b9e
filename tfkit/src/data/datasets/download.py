"""Downloads one file, which appears when it is complete and checked; interrupted downloads are continued."""

from __future__ import annotations

import hashlib
import http.client
import os
import stat
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

from tfkit.src.base.quoting import shown
from tfkit.src.files.saving.atomic import alone, sync
from tfkit.src.training.progress import Progbar, print_message

_CHUNK = 1 << 20  # bytes read at a time
_TIMEOUT = 30.0  # seconds without an answer
_MOST_DIGITS = 18  # of a size in bytes
_SCHEMES = ("http", "https", "ftp", "file")
_HASH_OF_LENGTH = {32: "md5", 64: "sha256"}


def fetch(
    url: str,
    path: Path,
    file_hash: str | None = None,
    algorithm: str = "auto",
    *,
    again: bool = False,
) -> None:
    """Downloads `url` to `path`, with a progress bar.

    If the connection breaks, the received part is kept next to `path`, and the next call requests the rest,
    if the server's file has not changed (RFC 9110, `If-Range`). If several processes fetch the same path,
    one downloads, and the others wait for it.

    Args:
        url: where the file is: `http`, `https`, `ftp` or `file`.
        path: the file to write; its folder is made if necessary.
        file_hash: the expected hash of the file, in hexadecimal; `None` for no check.
        algorithm: of the hash, see `has_hash`.
        again: whether to download a file that already exists. Default: `False`.

    Raises:
        OSError: when the file cannot be fetched or written.
        ValueError: if the download has a different hash; nothing is kept.
    """
    scheme = urllib.parse.urlsplit(url).scheme
    if scheme not in _SCHEMES:
        raise ValueError(
            f"A file is fetched by {', '.join(_SCHEMES)}. Received the address: {url!r}"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    # Shows later whether another process has replaced the file in the meantime.
    before = _stamp(path)
    with alone(path):
        is_new = not again or _stamp(path) != before
        if is_new and path.is_file() and has_hash(path, file_hash, algorithm):
            return  # Another process has downloaded it in the meantime.
        print_message(f"Downloading data from {url}")
        part = path.with_name(f".{path.name}.part")
        tag = part.with_suffix(".part.tag")
        try:
            _receive(url, part, tag)
        except (OSError, http.client.HTTPException) as error:
            if isinstance(error, urllib.error.HTTPError):
                error.close()
            # The server has written a part of it.
            raise OSError(f"{url} cannot be fetched: {shown(str(error))}") from error
        tag.unlink(missing_ok=True)
        if not has_hash(part, file_hash, algorithm):
            received = hash_of(part, algorithm_of(file_hash or "", algorithm))
            part.unlink()
            raise ValueError(
                f"The file at {url} is not the expected one. Expected hash: {file_hash}. "
                f"Received: {received}. Nothing was kept: try again, or correct the hash."
            )
        os.replace(part, path)
        sync(path.parent)


def _receive(url: str, part: Path, tag: Path) -> None:
    """Receives a file, or the rest of it, into `part`; `tag` stores the identifier of this version."""
    request = urllib.request.Request(url)
    if part.is_file() and tag.is_file():
        # The server sends the rest of the same version, or else the whole of a new one.
        request.add_header("Range", f"bytes={part.stat().st_size}-")
        request.add_header("If-Range", tag.read_text("utf-8"))
    try:
        response = urllib.request.urlopen(request, timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code != http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise
        error.close()
        tag.unlink(missing_ok=True)  # Nothing is left to send, or the file became shorter.
        response = urllib.request.urlopen(url, timeout=_TIMEOUT)
    with response:
        goes_on = getattr(response, "status", None) == http.client.PARTIAL_CONTENT
        version = response.headers.get("ETag") or ""
        tag.unlink(missing_ok=True)
        # A weak tag does not identify the bytes.
        if version.startswith('"') and version.isascii() and version.isprintable():
            with open(tag, "x", encoding="utf-8") as file:
                file.write(version)
        with open(part, "ab" if goes_on else "wb", opener=_regular) as file:
            _copy(response, file)
            file.flush()
            os.fsync(file.fileno())


def _regular(path: str, flags: int) -> int:
    """Opens a file of tfkit: neither a link to another folder nor a pipe, which would block forever."""
    handle = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return handle
    os.close(handle)
    raise FileExistsError(f"{path!r} already exists and is not a file: remove it")


def _copy(response: Any, file: Any) -> None:
    """Copies the body of a response, with a progress bar; raises an error if it ends too early."""
    done = file.tell()
    length = response.headers.get("Content-Length")
    known = length and length.isdecimal() and len(length) <= _MOST_DIGITS
    total = done + int(length) if known else None
    bar = Progbar(total, unit_name="byte")
    while chunk := response.read(_CHUNK):
        file.write(chunk)
        done += len(chunk)
        bar.update(min(done, total or done), finalize=False)
    if total is not None and done < total:
        raise OSError(f"{done} of {total} bytes arrived. Try again to download the rest")
    bar.update(done, finalize=True)


def _stamp(path: Path) -> tuple[int, int] | None:
    """Returns values that change when a file is replaced; `None` if it does not exist."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns


def has_hash(path: Path, file_hash: str | None, algorithm: str = "auto") -> bool:
    """Whether a file has a hash; `None` matches any.

    Args:
        path: the file.
        file_hash: in hexadecimal.
        algorithm: `"md5"`, `"sha256"`, or `"auto"` for the one whose hashes are as long as this.
    """
    if file_hash is None:
        return True
    return hash_of(path, algorithm_of(file_hash, algorithm)) == file_hash.lower()


def algorithm_of(file_hash: str, algorithm: str = "auto") -> str:
    """Returns the name of the algorithm that a hash belongs to."""
    if algorithm in ("md5", "sha256"):
        return algorithm
    if algorithm == "auto" and len(file_hash) in _HASH_OF_LENGTH:
        return _HASH_OF_LENGTH[len(file_hash)]
    raise ValueError(
        '`hash_algorithm` must be "md5", "sha256", or "auto" for a hash of 32 or 64 hexadecimal digits. '
        f"Received: hash_algorithm={algorithm!r} and the hash {file_hash!r}"
    )


def hash_of(path: Path, algorithm: str) -> str:
    """Returns the hash of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(
            file, lambda: hashlib.new(algorithm, usedforsecurity=False)
        ).hexdigest()
