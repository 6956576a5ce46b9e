"""S28: SavedModels whose graphs read and write files, or call Python, when they are loaded or called."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import tfkit
from tests.attacks.harness import Case

Body = Callable[[tf.Tensor], Any]


def canary() -> str:
    return os.environ["TFKIT_CANARY"]


def _same(x: tf.Tensor) -> tf.Tensor:
    return tf.identity(x)


def _read(x: tf.Tensor) -> tf.Tensor:
    return tf.strings.length(tf.io.read_file(canary())) + x


def _write(x: tf.Tensor) -> tf.Tensor:
    with tf.control_dependencies([tf.io.write_file(canary(), "hit")]):
        return tf.identity(x)


def _match(x: tf.Tensor) -> tf.Tensor:
    return tf.size(tf.io.matching_files(f"{canary()}*")) + x


def _python(x: tf.Tensor) -> tf.Tensor:
    return tf.ensure_shape(tf.py_function(lambda y: y, [x], tf.int32), x.shape)


def _numpy(x: tf.Tensor) -> tf.Tensor:
    return tf.ensure_shape(tf.numpy_function(lambda y: y, [x], tf.int32), x.shape)


def _lines(x: tf.Tensor) -> tf.Tensor:
    return tf.data.TextLineDataset(canary()).reduce(0, lambda count, _: count + 1) + x


def _print(x: tf.Tensor) -> tf.Tensor:
    tf.print("hit", output_stream=f"file://{canary()}")
    return tf.identity(x)


def _restore(x: tf.Tensor) -> tf.Tensor:
    return tf.cast(
        tf.raw_ops.Restore(file_pattern=canary(), tensor_name="a", dt=tf.float32), x.dtype
    )


def _in_a_branch(x: tf.Tensor) -> tf.Tensor:
    return tf.cond(tf.reduce_sum(x) > 0, lambda: _read(x), lambda: x)


def _in_a_loop(x: tf.Tensor) -> tf.Tensor:
    return tf.while_loop(lambda y: tf.reduce_sum(y) < 1, lambda y: (_write(y) + 1,), [x])[0]


BODIES: dict[str, Body] = {
    body.__name__.strip("_"): body
    for body in (_read, _write, _match, _python, _numpy, _lines, _print, _restore)
} | {"in_a_branch": _in_a_branch, "in_a_loop": _in_a_loop}


class AtLoad(tf.saved_model.experimental.TrackableResource):
    """A resource that is made, by a function of the file, when the file is loaded."""

    def _create_resource(self) -> Any:
        tf.io.write_file(canary(), "hit")
        return tf.raw_ops.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64)

    def _initialize(self) -> None:
        tf.io.write_file(canary(), "hit")


def _saved(folder: Path, body: Body, at_load: bool = False) -> Path:
    module = tf.Module()
    module.serve = tf.function(body, [tf.TensorSpec([None], tf.int32)])
    if at_load:
        module.resource = AtLoad()
    tf.saved_model.save(module, str(folder / "m"), signatures={"serve": module.serve})
    Path(canary()).write_text("untouched")  # Saving has made the resource.
    return folder / "m"


def _linked(folder: Path) -> Path:
    path = _saved(folder, _same)
    shutil.move(path / "variables", folder / "elsewhere")
    (path / "variables").symlink_to(folder / "elsewhere")
    return path


def _not_one(folder: Path) -> Path:
    (folder / "m").mkdir()
    (folder / "m" / "saved_model.pb").write_bytes(b"\x0a" + b"\xff" * 9 + b"\x01" + bytes(100))
    return folder / "m"


def _use(path: Path) -> None:
    tfkit.export.load(path)(np.zeros(1, "int32"))


ENTRIES: dict[str, Callable[[Path], Any]] = {"load": _use, "str": lambda path: _use(str(path))}


def warm_up(folder: Path) -> None:
    """Everything that loads lazily, before the guard is on."""
    _use(_saved(folder, _same))


def cases() -> dict[str, Case]:
    """Each graph through each entry point."""
    makes: dict[str, Callable[[Path], Path]] = {
        name: lambda folder, body=body: _saved(folder, body) for name, body in BODIES.items()
    }
    makes["at_load"] = lambda folder: _saved(folder, _same, at_load=True)
    makes |= {"linked": _linked, "not_one": _not_one}
    return {
        f"s28_{name}-{entry}": Case(make, use, "m")
        for name, make in makes.items()
        for entry, use in ENTRIES.items()
    }
