"""The command line: lists signatures, or runs one on an .npz file."""

from __future__ import annotations

import argparse
import os
import sys
import zipfile
from collections.abc import Sequence

import numpy as np

from .dtypes import numpy_dtype
from .saved_model import SavedModel
from .signatures import TensorSpec


def _load_npz(path: str, specs: dict[str, TensorSpec]) -> dict[str, np.ndarray]:
    """Returns the arrays of an .npz file, which stores only the bytes of a bfloat16 array, not its dtype."""
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    for name, array in arrays.items():
        if array.dtype == np.dtype("V2") and name in specs and specs[name].dtype == "bfloat16":
            arrays[name] = array.view(numpy_dtype("bfloat16"))
    return arrays


def _save_npz(path: str, arrays: dict[str, np.ndarray]) -> None:
    """Writes arrays to an .npz file; `np.savez` would confuse an array named `file` with its argument."""
    for name, array in arrays.items():
        if array.dtype == object and any(text.endswith(b"\0") for text in array.flat):
            raise ValueError(
                f"Output {name!r} has a string that ends in a zero byte: .npz drops it."
            )
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            plain = array.astype(bytes) if array.dtype == object else array  # no pickled objects
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, plain, allow_pickle=False)


def _describe(specs: dict[str, TensorSpec]) -> str:
    return ", ".join(f"{name}: {spec.dtype} {spec.shape}" for name, spec in specs.items()) or "none"


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line, which lists signatures or runs one on an .npz file."""
    parser = argparse.ArgumentParser(description="Runs a SavedModel through TensorFlow's C API.")
    parser.add_argument("model_dir", help="folder with saved_model.pb")
    parser.add_argument("--library", help="folder of TensorFlow's C library, or the file itself")
    parser.add_argument("--list", action="store_true", help="print the signatures and stop")
    parser.add_argument("--signature", default="serving_default")
    parser.add_argument("--inputs", help=".npz file with one array for each input")
    parser.add_argument("--outputs", help=".npz file to write")
    options = parser.parse_args(arguments)
    if not options.list and not (options.inputs and options.outputs):
        parser.error("give --inputs and --outputs, or --list")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    try:
        with SavedModel(options.model_dir, library=options.library) as model:
            if options.list:
                for name, signature in model.signatures.items():
                    print(name)
                    print(f"  inputs   {_describe(signature.inputs)}")
                    print(f"  outputs  {_describe(signature.outputs)}")
                return
            specs = model.signatures.get(options.signature)
            inputs = _load_npz(options.inputs, specs.inputs if specs else {})
            _save_npz(options.outputs, model.run(options.signature, **inputs))
    except (OSError, RuntimeError, ValueError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
