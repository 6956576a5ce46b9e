"""Runs signatures of SavedModels in a process that has no TensorFlow in Python and no tfkit.

    python -P run_cases.py < JOBS > RESULTS

A job is a line of JSON: `{"model": folder, "library": folder, "cases": [[signature, inputs], ...]}`, with
arrays as `encode` writes them. The line of its result has `{"outputs": array by name}` or
`{"error": text}` for each case, or one error for all where the model does not load.
"""

from __future__ import annotations

import base64
import json
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np


def encode(array: Any) -> dict[str, Any]:
    """Returns an array as JSON; strings are `bytes` or `str` in an array of objects."""
    array = np.asarray(array)
    if array.dtype.kind in "OSU":
        texts = [text.encode() if isinstance(text, str) else bytes(text) for text in array.flat]
        data: Any = [base64.b64encode(text).decode() for text in texts]
        return {"dtype": "string", "shape": array.shape, "data": data}
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"dtype": array.dtype.name, "shape": array.shape, "data": data}


def decode(encoded: dict[str, Any]) -> np.ndarray:
    """Returns the array that `encode` wrote."""
    if encoded["dtype"] == "string":
        array = np.empty(encoded["shape"], object)
        for index, text in enumerate(encoded["data"]):
            array.flat[index] = base64.b64decode(text)
        return array
    # A `bytes` object would make a read-only array.
    data = bytearray(base64.b64decode(encoded["data"]))
    return np.frombuffer(data, np.dtype(encoded["dtype"])).reshape(encoded["shape"])


def _run(loaded: Any, signature: str, inputs: dict[str, Any]) -> dict[str, Any]:
    try:
        outputs = loaded.run(signature, **{name: decode(array) for name, array in inputs.items()})
    except (RuntimeError, ValueError) as error:
        return {"error": str(error)}
    return {"outputs": {name: encode(array) for name, array in outputs.items()}}


def main() -> None:
    """Runs the jobs from standard input."""
    for name in ("tensorflow", "tfkit", "keras"):
        # `None` makes an import fail: nothing of Python's TensorFlow may help the file.
        sys.modules[name] = None  # type: ignore[assignment]
    sys.path.append(str(Path(__file__).parent))
    saved_model = runpy.run_module("c_api.saved_model")["SavedModel"]
    for line in sys.stdin:
        job = json.loads(line)
        try:
            with saved_model(job["model"], library=job["library"]) as model:
                results: Any = [_run(model, *case) for case in job["cases"]]
        except (OSError, RuntimeError, ValueError) as error:
            results = {"error": str(error)}
        print(json.dumps(results), flush=True)


if __name__ == "__main__":
    main()
