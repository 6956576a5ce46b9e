"""The targets of the fuzzers: changes of files of each kind, and the ways to read them."""

import contextlib
import functools
import io
import json
import random
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

import tfkit
from fuzzing.mutations import changed_bytes, changed_json
from tfkit import layers, ops
from tfkit.interop import keras as keras_files
from tfkit.saving import LoadError
from tfkit.src.files.saving import hdf5, hdf5_writing, seal
from tfkit.src.outer import cli

X, Y = np.ones((4, 6, 4), "float32"), np.ones((4, 2), "float32")


# --- Changes ----------------------------------------------------------------------------------------------


@functools.cache
def models() -> list[Any]:
    """Returns models with many kinds of configurations in few layers, compiled and trained once."""
    tfkit.utils.set_random_seed(1)
    entry = tfkit.Input((6, 4), name="i")
    inner = tfkit.Sequential([tfkit.Input((4,)), layers.Dense(4, activation="relu")], name="inner")
    x = layers.TimeDistributed(layers.Dense(4, kernel_regularizer="l2"))(entry)
    x = layers.Bidirectional(layers.LSTM(2, return_sequences=True))(x)
    parts = ops.split(x, 2, axis=1)
    y = ops.diff(ops.concatenate(parts, axis=1), n=1, axis=1)
    y = ops.reshape(y, (-1, 20))
    y = inner(inner(layers.Dense(4, name="named")(y)))
    graph = tfkit.Model(entry, layers.Dense(2)(y))
    stack = tfkit.Sequential(
        [
            tfkit.Input((6, 4)),
            layers.Conv1D(2, 2, padding="same"),
            layers.BatchNormalization(),
            layers.GRU(3, unroll=True),
            layers.Dropout(0.5, seed=1),
            layers.Dense(2),
        ]
    )
    found = [graph, stack, _of_texts_and_images()]
    for model, optimizer in zip(found, ("adam", "sgd", "adam"), strict=True):
        model.compile(optimizer, "mse", metrics=["mae"])
        model.fit(_data(model), Y, verbose=0)
    return found


def _of_texts_and_images() -> Any:
    """Returns a model with layers that have vocabularies and statistics, draw, and change sizes."""
    words, image = tfkit.Input((1,), dtype="string", name="w"), tfkit.Input((6, 6, 3), name="p")
    tokens = layers.TextVectorization(
        ngrams=2, output_sequence_length=2, vocabulary=["a", "b", "a b"]
    )(words)
    known = layers.StringLookup(vocabulary=["a", "b"], output_mode="one_hot", num_oov_indices=2)(
        words
    )
    x = layers.Normalization(mean=[1.0, 2.0, 3.0], variance=[1.0, 1.0, 2.0])(image)
    x = layers.RandomRotation(0.1, seed=1)(layers.Rescaling(0.5)(x))
    x = layers.Pipeline([layers.RandomFlip(seed=2), layers.CenterCrop(4, 4)])(x)
    x = layers.Conv2DTranspose(2, 3, strides=2, padding="same")(x)
    x = layers.GlobalAveragePooling2D()(x)
    places = layers.Discretization(bin_boundaries=[0.0, 0.5])(x)
    hashed = layers.Hashing(3, salt=1)(words)
    y = layers.Flatten()(layers.Embedding(6, 2)(ops.cast(tokens, "int32")))
    parts = [y, known, x, *(ops.cast(each, "float32") for each in (places, hashed))]
    return tfkit.Model([words, image], layers.Dense(2)(layers.Concatenate()(parts)))


def _data(model: Any) -> Any:
    """Returns data to train a model on."""
    if len(model.inputs) == 1:
        return X
    return [np.array([["a b"], ["b"], ["c"], [""]], object), np.ones((4, 6, 6, 3), "float32")]


@functools.cache
def _saved(name: str, which: int) -> dict[str, bytes]:
    """Returns the files made by saving the model of this name, by name."""
    with tempfile.TemporaryDirectory() as folder:
        path, model = Path(folder, name), models()[which]
        if name == "model.weights.json":
            model.save_weights(path, max_shard_size=1e-6)
        elif name == "keras.weights.h5":
            keras_files.save_weights(model, path)
        elif name == "state.h5":
            _train(model, path)
        elif name.endswith(".weights.h5"):
            model.save_weights(path)
        else:
            model.save(path)
        return {found.name: found.read_bytes() for found in Path(folder).iterdir()}


def _train(model: Any, path: Path) -> None:
    """Continues the training from the state in a file, which is made if it is missing."""
    model.fit(_data(model), Y, epochs=2, batch_size=2, verbose=0, resume=path, shuffle=True)


def _write(folder: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (folder / name).write_bytes(data)


def _sealed(path: Path, data: bytes) -> Path:
    """Writes bytes of a file, sealed as its maker would: without ranges, so that nothing is left out."""
    path.write_bytes(data)
    with open(path, "r+b", buffering=0) as file:
        seal.write(file, [])
    return path


def _texts(path: Path) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Returns the texts and the arrays in a file of tfkit."""
    with hdf5.Reader(path) as reader:
        names = [name for name in reader.shapes("") if "/" not in name]
        texts = {name: reader.text(name) for name in names}
        groups: dict[str, dict[str, Any]] = {}
        for full in reader.shapes(""):
            group, _, rest = full.partition("/")
            if rest:
                groups.setdefault(group, {})[rest] = reader.value(group, rest)
    return texts, groups


def _own(name: str) -> Callable[[Path, random.Random], Path]:
    """Changes a file of tfkit, its bytes or its texts, and seals it."""

    def make(folder: Path, draws: random.Random) -> Path:
        files = _saved(name, draws.randrange(3))
        path = folder / name
        if draws.random() < 0.5:
            return _sealed(path, changed_bytes(files[name], draws, seal.BLOCK))
        _write(folder, files)
        texts, groups = _texts(path)
        if not texts:
            return _sealed(path, changed_bytes(files[name], draws, seal.BLOCK))
        which = draws.choice(sorted(texts))
        texts[which] = changed_json(texts[which], draws)
        try:
            hdf5_writing.write(path, texts, groups)
        except (TypeError, ValueError):  # JSON or the writer does not accept it.
            return _sealed(path, changed_bytes(files[name], draws, seal.BLOCK))
        return path

    return make


def _archive(folder: Path, draws: random.Random) -> Path:
    """Changes a `.keras` archive: its bytes, its configuration, or the weights in it."""
    data = _saved("model.keras", draws.randrange(3))["model.keras"]
    path, kind = folder / "model.keras", draws.randrange(4)
    if kind == 0:
        # Mostly the directory, which is at the end.
        first = draws.choice((0, len(data) - 300))
        path.write_bytes(changed_bytes(data, draws, first))
        return path
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    weights = "model.weights.h5"
    if kind == 1:
        members[weights] = changed_bytes(members[weights], draws)
    else:
        document = changed_json(json.loads(members["config.json"]), draws)
        members["config.json"] = json.dumps(document).encode("utf-8", "surrogatepass")
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def _keras_weights(folder: Path, draws: random.Random) -> Path:
    """Changes the bytes of a `.weights.h5` of Keras, or of a whole `.h5` of Keras 2."""
    name = "keras.weights.h5"
    if draws.random() < 0.5:
        data = changed_bytes(_saved(name, draws.randrange(3))[name], draws)
    else:
        goldens = sorted(Path("tests/goldens").glob("keras2_*.h5"))
        name = "model.h5"
        data = draws.choice(goldens).read_bytes()
        if draws.random() < 0.5:
            data = changed_bytes(data, draws)
        else:
            (folder / name).write_bytes(data)
            with h5py.File(folder / name, "r+") as file:
                for key in ("model_config", "training_config"):
                    if key in file.attrs:
                        file.attrs[key] = json.dumps(
                            changed_json(json.loads(file.attrs[key]), draws)
                        )
            return folder / name
    (folder / name).write_bytes(data)
    return folder / name


def _index(folder: Path, draws: random.Random) -> Path:
    """Changes an index of several files, or the structure of one of them."""
    files = dict(_saved("model.weights.json", draws.randrange(3)))
    index = json.loads(files["model.weights.json"])
    shard = draws.choice(sorted(name for name in files if name.endswith(".h5")))
    if draws.random() < 0.4:
        path = _sealed(folder / shard, changed_bytes(files[shard], draws, seal.BLOCK))
        files[shard] = path.read_bytes()
        index["shards"][shard] = int.from_bytes(files[shard][12:16], "little")
    else:
        index = changed_json(index, draws)
    if isinstance(index, dict):
        index.pop("crc32", None)
        text = json.dumps(index, sort_keys=True, separators=(",", ":"))
        index["crc32"] = zlib.crc32(text.encode())
    files["model.weights.json"] = json.dumps(index).encode()
    _write(folder, files)
    return folder / "model.weights.json"


# --- Reading ----------------------------------------------------------------------------------------------


class _Ended(Exception):
    """The command line ended with a code other than those for "whole" and "refused"."""


def command(*words: Any) -> None:
    """Runs the command line."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.main([str(word) for word in words])
    text = err.getvalue()
    if len(text) > 5_000 or any(not c.isprintable() for c in text.rstrip("\n")):
        raise _Ended(f"it said {text[:300]!r}")
    if code not in (0, 1):
        raise _Ended(f"{code}: {text[:300]!r}")
    if code:
        raise LoadError(text)


def _readers(path: Path) -> list[Callable[[], Any]]:
    graph, stack, texts = models()
    found: list[Callable[[], Any]] = [
        lambda: command("inspect", path),
        lambda: command("verify", path),
    ]
    if path.suffix != ".json" and "weights" not in path.name and path.name != "state.h5":
        found.append(lambda: tfkit.models.load_model(path))
    if path.name == "state.h5":
        found.append(lambda: _train(graph, path))
        found.append(lambda: _train(stack, path))
        found.append(lambda: _train(texts, path))
    else:
        found.append(lambda: graph.load_weights(path))
        found.append(lambda: stack.load_weights(path, skip_mismatch=True))
        found.append(lambda: texts.load_weights(path))
    return found


Target = Callable[[Path, random.Random], Path]
TARGETS: dict[str, list[Target]] = {
    "h5": [_own("model.h5"), _own("model.h5"), _own("own.weights.h5")],
    "keras": [_archive, _archive, _keras_weights],
    "index": [_index],
    "resume": [_own("state.h5")],
}


def make(target: str, folder: Path, seed: str) -> Path:
    """Makes the file of a case, which is determined by its seed."""
    draws = random.Random(f"{target} {seed}")
    return draws.choice(TARGETS[target])(folder, draws)


def read(path: Path) -> list[str]:
    """Reads a file in all ways; returns the problems, a line for each."""
    wrong = []
    for number, reader in enumerate(_readers(path)):
        try:
            reader()
        except LoadError as error:
            text = str(error)
            if len(text) > 30_000 or any(not (c.isprintable() or c == "\n") for c in text):
                wrong.append(
                    f"reader {number}: a message of {len(text):,} characters: {text[:200]!r}"
                )
        except Exception as error:
            wrong.append(f"reader {number}: {type(error).__name__}: {str(error)[:300]!r}")
    return wrong
