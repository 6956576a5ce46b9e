"""`get_file`: downloads a file, and keeps, checks and unpacks it."""

from __future__ import annotations

import functools
import os
import urllib.parse
from collections.abc import Sequence
from pathlib import Path

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.data.datasets.archives import unpack
from tfkit.src.data.datasets.download import algorithm_of, fetch, has_hash
from tfkit.src.data.datasets.folders import data_folders, home, keras_home
from tfkit.src.files.saving.atomic import alone
from tfkit.src.training.progress import print_message


@shortened
def get_file(
    fname: str | os.PathLike[str] | None = None,
    origin: str | None = None,
    untar: bool = False,
    md5_hash: str | None = None,
    file_hash: str | None = None,
    cache_subdir: str = "datasets",
    hash_algorithm: str = "auto",
    extract: bool = False,
    archive_format: str | Sequence[str] | None = "auto",
    cache_dir: str | os.PathLike[str] | None = None,
    force_download: bool = False,
) -> str:
    """Returns the path of a file, which is downloaded the first time.

    The file is kept at `cache_dir/cache_subdir/fname`. Without `cache_dir` it is searched for in tfkit's
    cache (`$TFKIT_HOME`, or `~/.tfkit`), in the folders of the environment variable `TFKIT_DATA` and in
    Keras's cache (`$KERAS_HOME`, or `~/.keras`), and downloaded into tfkit's. An
    interrupted download continues where it stopped, if the file on the server has not changed.

    Args:
        fname: name of the file, without folders. Default: the last part of `origin`.
        origin: address of the file: `http`, `https`, `ftp` or `file`.
        untar: whether to unpack a tar file; `extract=True` with `archive_format="tar"` is the same. Default:
            `False`.
        md5_hash: older form of `file_hash`, of MD5. Default: no check.
        file_hash: expected hash, in hexadecimal. A file with a different hash is fetched again. Default:
            no check.
        cache_subdir: folder inside the cache; an absolute path is used unchanged. Default: `"datasets"`.
        hash_algorithm: `"md5"`, `"sha256"`, or `"auto"` for the one with hashes of this length.
            Default: `"auto"`.
        extract: whether to unpack the file, a tar file (plain, gzip, bzip2, xz) or a zip file. Nothing
            outside the new folder is written; links become copies. Default: `False`.
        archive_format: `"tar"`, `"zip"`, a list of these, `"auto"` for both, or `None` for neither.
            Default: `"auto"`.
        cache_dir: root of the cache. Default: see above.
        force_download: whether to download, and unpack, an existing file again. Default: `False`.

    Returns:
        The path of the file or, unpacked, of the folder: `fname` up to its first dot, followed by
        `_extracted`; for a name without a dot, or of `origin`, the name itself (the archive then ends in
        `_archive`).

    Raises:
        ValueError: for a missing or unsupported `origin`, a name with folders in it, a download with
            a different hash, and an archive that cannot be unpacked or would write elsewhere.
        OSError: when the file cannot be fetched or written.

    Example:
        >>> folder = tempfile.mkdtemp()
        >>> Path(folder, "a.txt").write_text("some text")
        9
        >>> path = get_file(origin=f"file://{folder}/a.txt", cache_dir=folder)  # doctest: +ELLIPSIS
        Downloading data from file://...
        >>> Path(path).read_text()
        'some text'
    """
    if origin is None:
        raise ValueError("`origin` must be the address of a file. Received: origin=None")
    if md5_hash is not None and file_hash is None:
        file_hash, hash_algorithm = md5_hash, "md5"
    if file_hash is not None:
        # Raises an error for other algorithms before anything is downloaded.
        algorithm_of(file_hash, hash_algorithm)
    name = _name(fname, str(origin))
    folders = _folders(cache_dir, cache_subdir)
    located = functools.partial(
        _located,
        folders=folders,
        origin=str(origin),
        file_hash=file_hash,
        algorithm=hash_algorithm,
        again=force_download,
    )
    if not (extract or untar):
        return os.fspath(located(name))

    # As in Keras, `data.tar.gz` is unpacked into `data_extracted`; a name without
    # an ending, or one that the address gives, is the name of the folder itself.
    stem, dot, _ = name.partition(".") if fname is not None else (name, "", "")
    unpacked, archive = (f"{stem}_extracted", name) if dot else (name, f"{name}_archive")
    with alone(folders[0] / unpacked):
        for folder in folders:
            if (folder / unpacked).is_dir() and not force_download:
                return os.fspath(folder / unpacked)
        formats = "tar" if untar and not extract else archive_format
        unpack(located(archive), folders[0] / unpacked, formats)
    return os.fspath(folders[0] / unpacked)


def _name(fname: str | os.PathLike[str] | None, origin: str) -> str:
    """Returns the name under which a file is kept, after checking it."""
    if fname is None:
        name = os.path.basename(urllib.parse.unquote(urllib.parse.urlsplit(origin).path))
        if name in ("", ".", ".."):
            raise ValueError(
                f"`origin` does not end in the name of a file: pass `fname`. Received: origin={origin!r}"
            )
        return name
    name = os.fspath(fname)
    if os.path.basename(name) != name or name in ("", ".", ".."):
        raise ValueError(
            "`fname` must be a name without folders; `cache_dir` and `cache_subdir` say where the file "
            f"is kept. Received: fname={name!r}"
        )
    return name


def _folders(cache_dir: str | os.PathLike[str] | None, cache_subdir: str) -> list[Path]:
    """Returns the folders in which a file may be; a new one is kept in the first."""
    if cache_dir is not None:
        folders = [Path(cache_dir).expanduser() / cache_subdir]
    else:
        folders = [home() / cache_subdir, *data_folders(), keras_home() / cache_subdir]
    folders[0].mkdir(parents=True, exist_ok=True)
    return folders


def _located(
    name: str,
    *,
    folders: list[Path],
    origin: str,
    file_hash: str | None,
    algorithm: str,
    again: bool,
) -> Path:
    """Returns the path of a file, downloaded into the first folder if it is in none of them."""
    for path in () if again else (folder / name for folder in folders):
        if path.is_file():
            if has_hash(path, file_hash, algorithm):
                return path
            print_message(f"{path} does not have the hash {file_hash}: it is downloaded again.")
    fetch(origin, folders[0] / name, file_hash, algorithm, again=again)
    return folders[0] / name
