"""Trains a model with JAX: `python train.py --x x.npy --y y.npy --epochs 3`.

`interop.export_training` of tfkit writes this file, `program.bin` (the steps of an epoch),
`values.safetensors` (what a training run begins with) and `training.json` (the form of the data). It needs
Python, JAX and NumPy.

A nest of arrays is an `.npz` file. Rows are shuffled as in `fit`: by a permutation of NumPy's `RandomState`
that follows from the `seeds` in `training.json` and the number of steps so far; `--no-shuffle` keeps their
order. After each epoch the folder of `--output` has `weights.safetensors`, which `model.load_weights` reads,
and `values.safetensors`, with which `--start` continues the training.
"""

import argparse
import json
import math
import re
import zlib
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax import export

HERE = Path(__file__).parent
KINDS = {"F": "float", "BF": "bfloat", "I": "int", "U": "uint", "C": "complex", "BOOL": "bool"}
CODES = {name: code for code, name in KINDS.items()}


def read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Returns the arrays of a safetensors file by path, and its metadata."""
    content, arrays = path.read_bytes(), {}
    begin = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:begin])
    metadata = header.pop("__metadata__")
    for name, entry in header.items():
        kind, bits = re.split(r"(?<=[A-Z])(?![A-Z])", entry["dtype"])
        dtype, place = jax.numpy.dtype(KINDS[kind] + bits), begin + entry["data_offsets"][0]
        flat = np.frombuffer(content, dtype, math.prod(entry["shape"]), place)
        arrays[name.replace(metadata["separator"], "/")] = flat.reshape(entry["shape"])
    return arrays, metadata


def write(path: Path, arrays: dict[str, np.ndarray], metadata: dict[str, str]) -> None:
    """Writes a safetensors file, which replaces an older one when it is whole."""
    header: dict[str, Any] = {}
    content, checksums, end = [], {}, 0
    for name, array in sorted(arrays.items(), key=lambda item: -item[1].dtype.itemsize):
        kind, bits = re.split(r"(?<=[a-z])(?![a-z])", array.dtype.name)
        begin, end = end, end + array.nbytes
        places = {"shape": array.shape, "data_offsets": [begin, end]}
        header[name] = {"dtype": CODES[kind] + bits, **places}
        content.append(np.ascontiguousarray(array).tobytes())
        checksums[name] = f"{zlib.crc32(content[-1]):08x}"
    metadata = {**metadata, "separator": "/", "crc32": json.dumps(checksums)}
    text = json.dumps({"__metadata__": metadata, **header}).encode()
    text += b" " * (-len(text) % 8)
    temporary = path.with_suffix(".new")
    temporary.write_bytes(b"".join([len(text).to_bytes(8, "little"), text, *content]))
    temporary.replace(path)


def load(name: str, form: dict[str, Any], files: dict[str, Path]) -> np.ndarray:
    """Returns an array of the data.

    Raises:
        SystemExit: if its shape, or an integer in it, does not fit.
    """
    part, _, key = name.partition("/")
    given = np.load(files[part])
    array = given[key] if key else given
    cast, shape = array.astype(form["dtype"]), [None, *array.shape[1:]]
    if shape != form["shape"] or (cast.dtype.kind in "iub" and (cast != array).any()):
        raise SystemExit(f"{name}: expected {form}. Received: {array.shape}, {array.dtype}")
    return cast


def main() -> None:
    """Trains.

    Raises:
        SystemExit: for arrays of different lengths.
    """
    form = json.loads((HERE / "training.json").read_text())
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for part in dict.fromkeys(name.partition("/")[0] for name in form["data"]):
        parser.add_argument(f"--{part}", type=Path, required=True, help=".npy, or .npz for a nest")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch-size", type=int, default=form["batch_size"])
    parser.add_argument("--no-shuffle", action="store_true")
    parser.add_argument("--start", type=Path, default=HERE, help="the folder to continue from")
    parser.add_argument("--output", type=Path, default=Path("trained"))
    given = parser.parse_args()

    arrays = [load(name, each, vars(given)) for name, each in form["data"].items()]
    rows = len(arrays[0])
    if any(len(it) != rows for it in arrays):
        raise SystemExit(f"The arrays have {[len(it) for it in arrays]} rows.")
    before, metadata = read(given.start / "values.safetensors")
    # JAX holds 64 bits in 32.
    values = {path: jax.device_put(before[path]) for path in form["changing"] + form["fixed"]}
    initial, _ = read(HERE / "values.safetensors")
    reset = {path: initial[path] for path in form["metrics"]}
    program = export.deserialize(bytearray((HERE / "program.bin").read_bytes()))
    run = jax.jit(program.call, donate_argnums=0)
    arrays, averages = jax.device_put(arrays), {}
    size, steps = min(given.batch_size, rows), int(metadata.get("steps", form["steps"]))
    given.output.mkdir(parents=True, exist_ok=True)
    for epoch in range(given.epochs):
        order = np.arange(rows)
        if not given.no_shuffle:
            seeds = [*form["seeds"], steps % 2**32, steps >> 32]
            order = np.random.RandomState(seeds).permutation(rows)
        values |= reset
        full = rows // size
        for first, count, width in ((0, full, size), (full * size, 1, rows % size)):
            if width:  # The rest of the rows is a smaller batch.
                changing = {path: values[path] for path in form["changing"]}
                fixed = {path: values[path] for path in form["fixed"]}
                data = arrays, order.astype("int32"), np.arange(width, dtype="int32")
                changing, logs, averages = run(
                    changing, fixed, data, np.int32(first), np.int32(count)
                )
                values, steps = values | changing, steps + count
        if epoch + 1 == given.epochs:
            values |= averages  # Moving averages of the optimizer replace the weights at the end.
        shown = [f"{name} {float(it):.6g}" for name, it in logs.items() if it.ndim == 0]
        print(f"epoch {epoch + 1} of {given.epochs}:", *shown, flush=True)
        after = before | {p: np.asarray(it, before[p].dtype) for p, it in values.items()}
        metadata["steps"] = str(steps)
        write(given.output / "values.safetensors", after, metadata)
        write(
            given.output / "weights.safetensors", {p: after[p] for p in form["weights"]}, metadata
        )


if __name__ == "__main__":
    main()
