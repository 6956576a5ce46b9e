"""`to_serving`: writes a verified new version into the folder that TF Serving watches.

At any moment, TF Serving treats every folder whose name is a number as a version. So a version is
written and run under a temporary name, and gets its number in one step; a version that is removed loses
its number before its first file is deleted.
"""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path
from typing import Any

import tensorflow as tf

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.core.layer import Layer
from tfkit.src.export.archive import DEFAULT, ExportArchive
from tfkit.src.export.endpoints import PREDICT
from tfkit.src.export.json_dtypes import warn_of_others
from tfkit.src.export.provenance import write_provenance
from tfkit.src.export.samples import made_up, samples_by_endpoint
from tfkit.src.export.saved_model import archive_of
from tfkit.src.export.verification import Case, expected, unchanged, verify
from tfkit.src.export.versions import LARGEST, versions_in
from tfkit.src.export.warmup import read_warmup, write_warmup
from tfkit.src.files.saving.atomic import sync, sync_tree, temporary_folder

_TAKEN = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)


@shortened
def to_serving(
    model: Layer | ExportArchive,
    base_dir: Any,
    name: str | None = None,
    version: int | None = None,
    *,
    endpoints: dict[str, Any] | None = None,
    warmup: Any = None,
    keep: int | None = None,
    input_signature: Any = None,
    jit_compile: bool = False,
    freeze: bool = False,
) -> Path:
    """Publishes a model as `base_dir/name/version`, in the form that TF Serving reads.

    The new version is loaded in a fresh process through TensorFlow's C library, as TF Serving will do, and
    all its endpoints are compared with the model, before the folder gets its number.

    Args:
        model: a functional model, any layer or model that was called or fitted, or an `ExportArchive`.
        base_dir: folder of all served models; made where it is missing.
        name: name of the served model; the name of the model unless given.
        version: its number, the next one unless given.
        endpoints: functions by name, each alone or with its `input_signature` as a pair, and what
            `classify` and `regress` return; in addition to the model's call and its methods marked with
            `endpoint`.
        warmup: sample of the model's argument: it becomes TF Serving's warm-up requests, and is
            what the check compares with; or a dict of samples by endpoint. Without one the check makes
            inputs up, and there are no warm-up requests.
        keep: the number of newest versions to keep; all of them unless given.
        input_signature: specs of the model's call to use instead of those of earlier calls.
        jit_compile: whether the runtime compiles the model's call with XLA. Default: `False`.
        freeze: whether constants replace the variables, see `ExportArchive.add_endpoint`.
            Default: `False`.

    Returns:
        The folder of the version.

    Raises:
        VerificationError: if the new version does not load or computes other outputs than the model. There
            is no new version then.
        FileExistsError: for a `version` that already exists.
        ValueError: if inputs are not known, and for made-up inputs that the model does not take.

    Example:
        ```python
        tfkit.export.to_serving(model, "/models", name="digits", warmup=x[:8], keep=3)
        ```
    """
    folder = _model_folder(base_dir, name or getattr(model, "name", None))
    _check_numbers(folder, version, keep)
    if isinstance(model, ExportArchive):
        archive = model
    else:
        archive = archive_of(model, input_signature, jit_compile, freeze)
    for endpoint_name, function in (endpoints or {}).items():
        archive.add_endpoint(
            endpoint_name, *(function if isinstance(function, tuple) else (function,))
        )
    cases, requests = _cases(archive, warmup)

    folder.mkdir(parents=True, exist_ok=True)
    # In the folder of the model, so that publishing is a renaming within one file system. TF
    # Serving looks for numbers, and ignores other names.
    with temporary_folder(folder) as temporary:
        written = temporary / "model"
        archive.write_into(written)
        if requests:
            write_warmup(written, folder.name, requests)
            cases += read_warmup(written)
        predicted = {name: inputs for name, method, inputs in requests if method == PREDICT}
        write_provenance(written, predicted)
        verify(written, {**archive.endpoints, DEFAULT: archive.default}, cases, archive.state)
        # Before the name appears: TF Serving loads a version as soon as it sees it.
        sync_tree(written)
        published = _publish(written, folder, version)
    if keep is not None:
        _prune(folder, keep, published)
    warn_of_others(archive.endpoints)
    return published


def _model_folder(base_dir: Any, name: str | None) -> Path:
    if not name or name.startswith(".") or "/" in name or ":" in name:
        raise ValueError(
            "Expected `name`: the name of the served model, without slash or colon and no dot in front. "
            f"Received: name={name!r}"
        )
    return Path(os.path.abspath(base_dir), name)


def _check_numbers(folder: Path, version: int | None, keep: int | None) -> None:
    for what, number in (("version", version), ("keep", keep)):
        is_number = isinstance(number, int) and not isinstance(number, bool)
        if number is not None and not (is_number and 1 <= number <= LARGEST):
            raise ValueError(
                f"Expected `{what}`: an integer from 1 to {LARGEST}, the largest that TF Serving can read. "
                f"Received: {what}={number!r}"
            )
    if version is not None and version in versions_in(folder):
        raise FileExistsError(f"Version {version} already exists: {folder / str(version)}")


def _cases(
    archive: ExportArchive, warmup: Any
) -> tuple[list[Case], list[tuple[str, str, dict[str, Any]]]]:
    """Returns the cases of the check, and the warm-up requests: signature, method name and inputs of each."""
    samples = {} if warmup is None else samples_by_endpoint(archive.endpoints, warmup)
    cases = []
    for name, endpoint in archive.endpoints.items():
        inputs = samples.get(name)
        if inputs is None:
            inputs = made_up(endpoint)
            try:
                with unchanged(archive.state):
                    expected(endpoint, inputs)
            except (tf.errors.OpError, ValueError) as error:
                raise ValueError(
                    f"Cannot check endpoint '{name}' with made-up inputs: {error}. Pass a sample, as "
                    f"`warmup={{{name!r}: ...}}`."
                ) from None
        cases.append((name, inputs))
    cases.append((DEFAULT, dict(cases)[archive.default.name]))
    methods = {name: endpoint.method_name for name, endpoint in archive.endpoints.items()}
    requests = [(name, methods[name], inputs) for name, inputs in samples.items()]
    return cases, requests


# --- Folders ------------------------------------------------------------------------------------------


def _next(folder: Path) -> int:
    newest = max(versions_in(folder), default=0)
    if newest == LARGEST:
        raise ValueError(
            f"There is no version after {LARGEST}, which is in {folder}. Remove it, or pass `version`."
        )
    return newest + 1


def _publish(written: Path, folder: Path, version: int | None) -> Path:
    """Moves a finished folder to its version number; a given number that is in use is refused."""
    while True:
        target = folder / str(version or _next(folder))
        try:
            os.rename(written, target)  # Fails if there is a folder that is not empty.
        except OSError as error:
            if error.errno not in _TAKEN:
                raise
            if version is not None:
                raise FileExistsError(f"Version {version} already exists: {target}") from None
            continue
        sync(folder)
        return target


def _prune(folder: Path, keep: int, published: Path) -> None:
    """Removes all but the newest versions, never the one that was just published.

    What has the name of a version and holds no model was not written here, and is kept.
    """
    found = versions_in(folder).items()
    versions = {number: path for number, path in found if (path / "saved_model.pb").is_file()}
    for number in sorted(versions)[:-keep]:
        if versions[number] != published:
            with temporary_folder(folder) as temporary, contextlib.suppress(FileNotFoundError):
                # Renamed, and then removed: TF Serving must not see half of a version.
                os.rename(versions[number], temporary / "model")
