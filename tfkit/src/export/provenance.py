"""Writes the origin of a SavedModel: versions, hashes of its files, and its signatures.

One file of JSON in the folder `assets.extra`, which TensorFlow and TF Serving copy and never read.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base.version import PROVENANCE, __version__
from tfkit.src.export.json_dtypes import JSON_DTYPES

_LARGEST_EXAMPLE = 64 * 2**10  # letters


def write_provenance(
    folder: Path, samples: Mapping[str, Mapping[str, np.ndarray]] | None = None
) -> None:
    """Writes the file, after all others of a SavedModel.

    It holds the versions of tfkit and TensorFlow, a SHA-256 for each file, and requests to try the model.
    The hashes find damage and mix-ups, not deliberate changes: whoever can change a file can change its hash.

    Args:
        folder: the SavedModel.
        samples: inputs by name, for signatures that answer predict requests. The first row of each becomes a
            complete request: `{"signature_name": ..., "inputs": ...}`. Dtypes that JSON has no values
            for, and rows of more than 64 KiB, are left out.
    """
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    content = {
        "tfkit": __version__,
        "tensorflow": tf.__version__,
        "sha256": {path.relative_to(folder).as_posix(): _sha256(path) for path in files},
        "examples": _examples(samples or {}),
    }
    file = folder / PROVENANCE
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _examples(samples: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, Any]:
    found = {}
    for signature, inputs in samples.items():
        arrays = {name: np.asarray(value) for name, value in inputs.items()}
        # One row is enough for an example of a request.
        rows = {name: array[:1] if array.ndim else array for name, array in arrays.items()}
        names = {"string" if a.dtype.kind in "OSU" else a.dtype.name for a in rows.values()}
        if names <= JSON_DTYPES:
            plain = {name: _plain(array) for name, array in rows.items()}
            request = {"signature_name": signature, "inputs": plain}
            if len(json.dumps(request)) <= _LARGEST_EXAMPLE:
                found[signature] = request
    return found


def _plain(array: np.ndarray) -> Any:
    if array.dtype.kind in "OSU":
        values = np.empty(array.shape, object)
        values.reshape(-1)[:] = [_text(value) for value in array.flat]
        return values.tolist()
    if array.dtype == np.float32:
        array = array.astype(str).astype(np.float64)  # the shortest digits: 0.1
    return array.tolist()


def _text(value: str | bytes) -> Any:
    try:
        return value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        # TF Serving's form for bytes that are not text.
        return {"b64": base64.b64encode(value).decode() if isinstance(value, bytes) else ""}
