"""S1, S2, S4 to S7, S12 to S18, S25: files that say that they are Keras's, of all three kinds."""

import functools
import io
import json
import struct
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import keras
import numpy as np

import tfkit
from tests.attacks.harness import Case
from tests.attacks.payloads import PAYLOADS, pickled, thing

CONFIG, METADATA, WEIGHTS = "config.json", "metadata.json", "model.weights.h5"


@functools.cache
def originals() -> dict[str, bytes]:
    """What Keras itself writes, by name of the file."""
    model = keras.Sequential([keras.Input((3,), name="i"), keras.layers.Dense(2, name="d")])
    model.compile("adam", "mse")
    model.fit(np.ones((4, 3)), np.ones((4, 2)), verbose=0)
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in ("x.keras", "x.h5"):
            model.save(Path(folder, name))
            found[name] = Path(folder, name).read_bytes()
        model.save_weights(Path(folder, "x.weights.h5"))
        found["x.weights.h5"] = Path(folder, "x.weights.h5").read_bytes()
    return found


@functools.cache
def model() -> Any:
    """What the files are loaded into."""
    return tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(2, name="d")])


def load_weights(path: Path, **options: Any) -> None:
    """Loads into the model, whose weights must not change when that fails."""
    before = [variable.numpy() for variable in model().variables]
    try:
        model().load_weights(path, **options)
    except Exception:
        for variable, value in zip(model().variables, before, strict=True):
            assert np.array_equal(variable, value), "a weight has changed"
        raise


# --- Files --------------------


def members() -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(originals()["x.keras"])) as archive:
        return {name: archive.read(name) for name in (METADATA, CONFIG, WEIGHTS)}


def pack(path: Path, contents: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    return path


Change = Callable[[h5py.File, Path, str], None]


def _changed(data: bytes, folder: Path, change: Change) -> bytes:
    """HDF5 bytes with a change, which is told where the kernel stands."""
    path = folder / "changing"
    path.write_bytes(data)
    with h5py.File(path, "r+") as file:
        found: list[str] = []
        file.visititems(lambda name, item: found.append(name) if _is_kernel(item) else None)
        change(file, folder, next(name for name in found if not name.startswith("optimizer")))
    changed = path.read_bytes()
    path.unlink()
    return changed


def _is_kernel(item: Any) -> bool:
    return isinstance(item, h5py.Dataset) and item.shape == (3, 2)


def archive_with(change: Change) -> Callable[[Path], Path]:
    def prepare(folder: Path) -> Path:
        contents = members()
        contents[WEIGHTS] = _changed(contents[WEIGHTS], folder, change)
        return pack(folder / "x.keras", contents)

    return prepare


def file_with(name: str, change: Change) -> Callable[[Path], Path]:
    def prepare(folder: Path) -> Path:
        (folder / name).write_bytes(_changed(originals()[name], folder, change))
        return folder / name

    return prepare


# --- Configurations: S1, S2, S4, S6, S7, S18, S25 --------------------


def _replaced(config: dict[str, Any], payload: Any) -> dict[str, Any]:
    """The configuration of a Sequential model with the payload in place of its Dense."""
    config["config"]["layers"][1] = payload
    return config


def _in_field(config: dict[str, Any], payload: Any) -> dict[str, Any]:
    config["config"]["layers"][1]["config"]["activation"] = payload
    return config


def _after_setter(config: dict[str, Any], payload: Any) -> dict[str, Any]:
    setter = thing("keras.config", "enable_unsafe_deserialization", {})
    config["config"]["layers"] = [setter, payload]
    return config


def _as_model(config: dict[str, Any], payload: Any) -> Any:
    return payload


PLACES = {"layer": _replaced, "field": _in_field, "setter": _after_setter, "model": _as_model}


def _archive_config(payload: str, place: Any) -> Callable[[Path], Path]:
    def prepare(folder: Path) -> Path:
        contents = members()
        config = place(json.loads(contents[CONFIG]), PAYLOADS[payload]())
        return pack(folder / "x.keras", contents | {CONFIG: json.dumps(config).encode()})

    return prepare


def _compiled(payload: str) -> Callable[[Path], Path]:
    def prepare(folder: Path) -> Path:
        contents = members()
        config = json.loads(contents[CONFIG])
        config["compile_config"]["loss"] = PAYLOADS[payload]()
        return pack(folder / "x.keras", contents | {CONFIG: json.dumps(config).encode()})

    return prepare


def _legacy_config(payload: str, place: Any, name: str) -> Callable[[Path], Path]:
    def change(file: h5py.File, folder: Path, kernel: str) -> None:
        config = place(json.loads(file.attrs[name]), PAYLOADS[payload]())
        file.attrs[name] = json.dumps(config)

    return file_with("x.h5", change)


def _loss(config: dict[str, Any], payload: Any) -> dict[str, Any]:
    return config | {"loss": payload}


# --- HDF5: S6, S12 to S16 --------------------

CHANGES: dict[str, Change] = {}


def change(function: Change) -> Change:
    CHANGES[function.__name__] = function
    return function


def _victim(folder: Path) -> str:
    with h5py.File(folder / "victim.h5", "w") as other:
        other["x"] = np.zeros((3, 2), "float32")
        other.create_group("g")
    return str(folder / "victim.h5")


def _secret(folder: Path) -> str:
    (folder / "secret").write_bytes(b"root:x:0:0:root:/root:/bin")
    return str(folder / "secret")


def _link(up: int, external: bool) -> Change:
    """Replaces what lies so many groups above the kernel."""

    def made(file: h5py.File, folder: Path, kernel: str) -> None:
        place = "/".join(kernel.split("/")[: len(kernel.split("/")) - up])
        del file[place]
        target = "/g" if up else "/x"
        file[place] = h5py.ExternalLink(_victim(folder), target) if external else h5py.SoftLink("/")

    return made


for _up in (0, 1, 2):
    CHANGES[f"s15_external_{_up}"] = _link(_up, True)
    CHANGES[f"s15_soft_{_up}"] = _link(_up, False)


@change
def s14_external_storage(file, folder, kernel):
    del file[kernel]
    file.create_dataset(kernel, (3, 2), "float32", external=[(_secret(folder), 0, 24)])


@change
def s16_virtual(file, folder, kernel):
    layout = h5py.VirtualLayout((3, 2), "float32")
    layout[:] = h5py.VirtualSource(_victim(folder), "x", (3, 2))
    del file[kernel]
    file.create_virtual_dataset(kernel, layout)


@change
def s12_never_written(file, folder, kernel):
    del file[kernel]
    file.create_dataset(kernel, (2**20, 2**20), "float32")


@change
def s12_compressed(file, folder, kernel):
    del file[kernel]
    shape, chunks = (2**20, 2**20), (2**10, 2**10)
    file.create_dataset(kernel, shape, "float32", chunks=chunks, compression="gzip")


@change
def s13_many_just_below(file, folder, kernel):
    for index in range(200):
        file.create_dataset(f"{kernel}_{index}", (2**20, 1000), "float32")


@change
def s13_many_names(file, folder, kernel):
    for index in range(10_000):
        file[f"{kernel}_{index}"] = file[kernel]


@change
def s13_circle(file, folder, kernel):
    file[f"{kernel}_group"] = file["/"]


@change
def s6_text(file, folder, kernel):
    del file[kernel]
    file.create_dataset(kernel, data=pickled(), dtype=h5py.string_dtype())


@change
def s6_opaque(file, folder, kernel):
    del file[kernel]
    file.create_dataset(kernel, data=np.void(pickled().encode()))


@change
def s12_another_shape(file, folder, kernel):
    del file[kernel]
    file[kernel] = np.zeros((3, 4), "float32")


# --- Archives: S17 --------------------


def _zip(make: Callable[[dict[str, bytes], Path], Path]) -> Callable[[Path], Path]:
    return lambda folder: make(members(), folder / "x.keras")


def _bomb(contents: dict[str, bytes], path: Path) -> Path:
    """A member of zeros, deflated, whose directory says that it has 8 GiB."""
    pack(path, contents | {WEIGHTS: bytes(1 << 24)}, zipfile.ZIP_DEFLATED)
    return _patched(
        path, WEIGHTS, lambda header: header[:24] + struct.pack("<I", 0xFFFFFFF0) + header[28:]
    )


def _declares_more(contents: dict[str, bytes], path: Path) -> Path:
    pack(path, contents)
    more = struct.pack("<II", 0xF0000000, 0xF0000000)
    return _patched(path, WEIGHTS, lambda header: header[:20] + more + header[28:])


def _encrypted(contents: dict[str, bytes], path: Path) -> Path:
    pack(path, contents)
    return _patched(path, CONFIG, lambda header: header[:8] + struct.pack("<H", 1) + header[10:])


def _patched(path: Path, name: str, change: Callable[[bytes], bytes]) -> Path:
    """Changes the entry of a member in the directory of an archive."""
    data = path.read_bytes()
    start = data.rindex(b"PK\1\2", 0, data.rindex(name.encode()))
    path.write_bytes(data[:start] + change(data[start : start + 46]) + data[start + 46 :])
    return path


def _twice(contents: dict[str, bytes], path: Path) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pack(path, contents)
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr(CONFIG, json.dumps(PAYLOADS["s2_class_os.system"]()))
    return path


def _overlapping(contents: dict[str, bytes], path: Path) -> Path:
    """Two names for the bytes of one member."""
    pack(path, contents)
    with zipfile.ZipFile(path) as archive:
        first = archive.getinfo(METADATA).header_offset
    place = struct.pack("<I", first)
    return _patched(path, CONFIG, lambda header: header[:42] + place + header[46:])


def _more(name: str) -> Callable[[dict[str, bytes], Path], Path]:
    return lambda contents, path: pack(path, contents | {name: b"x" * 100})


ARCHIVES = {
    "s17_bomb": _bomb,
    "s17_declares_more": _declares_more,
    "s17_encrypted": _encrypted,
    "s17_twice": _twice,
    "s17_overlapping": _overlapping,
    "s17_deflated": lambda contents, path: pack(path, contents, zipfile.ZIP_DEFLATED),
    "s17_no_weights": lambda contents, path: pack(path, {CONFIG: contents[CONFIG]}),
    "s17_no_config": lambda contents, path: pack(path, {WEIGHTS: contents[WEIGHTS]}),
    "s17_up": _more("../../x"),
    "s17_absolute": _more("/tmp/x"),
    "s17_asset": _more("assets/vocabulary.txt"),
    "s17_deep_config": lambda contents, path: pack(
        path, contents | {CONFIG: b"[" * 100_000 + b"]" * 100_000}
    ),
    "s17_digits": lambda contents, path: pack(path, contents | {CONFIG: b"1" * 10_000_000}),
}


# --- Cases --------------------

NAMES = [name for name in PAYLOADS if not name.startswith(("s27", "s3_function"))]


def warm_up(folder: Path) -> None:
    """Everything that loads lazily, before the guard is on. The files of Keras themselves are fine."""
    before = [variable.numpy() for variable in model().variables]
    for name, data in originals().items():
        (folder / name).write_bytes(data)
        model().load_weights(folder / name)
        if not name.endswith("weights.h5"):
            tfkit.saving.load_model(folder / name)
    for variable, value in zip(model().variables, before, strict=True):
        variable.assign(value)


def cases() -> dict[str, Case]:
    """Each attack through each entry point that reads what it is about."""
    load = tfkit.saving.load_model
    found = {}
    for name in NAMES:
        for place, put in PLACES.items():
            found[f"{name}-keras.{place}"] = Case(_archive_config(name, put), load, "x.keras")
            prepare = _legacy_config(name, put, "model_config")
            found[f"{name}-legacy.{place}"] = Case(prepare, load, "x.h5")
    for name in [name for name in NAMES if name.startswith(("s1_", "s2_", "s25"))]:
        found[f"{name}-keras.loss"] = Case(_compiled(name), load, "x.keras")
        prepare = _legacy_config(name, _loss, "training_config")
        found[f"{name}-legacy.loss"] = Case(prepare, load, "x.h5")
    for name, make in ARCHIVES.items():
        found[f"{name}-load_model"] = Case(_zip(make), load, "x.keras")
        found[f"{name}-load_weights"] = Case(
            _zip(make), load_weights, "x.keras", harmless="config" in name or "digits" in name
        )
    for name, made in CHANGES.items():
        for entry, use in {"load_model": load, "load_weights": load_weights}.items():
            found[f"{name}-keras.{entry}"] = Case(archive_with(made), use, "x.keras")
            found[f"{name}-legacy.{entry}"] = Case(file_with("x.h5", made), use, "x.h5")
        prepare = file_with("x.weights.h5", made)
        found[f"{name}-weights.load_weights"] = Case(prepare, load_weights, "x.weights.h5")
    return found
