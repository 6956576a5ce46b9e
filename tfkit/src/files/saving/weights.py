"""Saves weights to files and loads them: all or none."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base.errors.frames import warn
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.names import unescaped
from tfkit.src.core import hidden, tracking
from tfkit.src.core.layer import Layer
from tfkit.src.engine.arrays import tensor_in
from tfkit.src.files.model_like import ModelLike
from tfkit.src.files.saving import (
    contents,
    entries,
    float_widths,
    hdf5_writing,
    lora,
    matching,
    safetensors,
    shards,
    shards_writing,
)
from tfkit.src.files.saving.atomic import atomic_write
from tfkit.src.files.saving.errors import LoadError
from tfkit.src.files.saving.matching import LoadReport, Match, Rename
from tfkit.src.files.saving.own_loading import OwnLoading
from tfkit.src.files.saving.readers import Reader, open_file
from tfkit.src.layers.lora import Adaptable

_SUFFIX = ".weights.h5"
_THREADS = 4

# --- Saving -----------------------------------------------------------------------------------------------


@shortened
def save_weights(
    model: ModelLike,
    filepath: Any,
    overwrite: bool = True,
    max_shard_size: float | None = None,
    *,
    objects_to_skip: Iterable[Any] | None = None,
) -> None:
    """Writes the weights and seed states of a model, by attribute path.

    Args:
        model: a built model.
        filepath: a name that ends in `.weights.h5`; with `max_shard_size`, in `.weights.json`; or in
            `.safetensors`, for PyTorch, JAX and others, where the steps of a path are separated by dots.
        overwrite: whether existing files are replaced. Default: `True`.
        max_shard_size: GB (2**30 bytes) that a file may have; the weights then go into as many as are
            needed, and `filepath` is their index.
        objects_to_skip: layers, with everything inside them, and single weights that the file leaves out.

    Raises:
        ValueError: for a model that has no weights yet, a name with a different extension, and a weight that
            is larger than `max_shard_size`.
        FileExistsError: if there is a file and `overwrite` is False.
        OSError: if the disk is full; then the old file is unchanged.

    Example:
        >>> import os, tempfile
        >>> model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(2)])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_weights(model, f"{folder}/model.weights.h5")
        ...     os.listdir(folder)
        ['model.weights.h5']
    """
    check_path(filepath, ValueError)
    path = Path(filepath)
    if max_shard_size is not None and not path.name.endswith(shards.SUFFIX):
        raise ValueError(
            f"The filename must end in `{shards.SUFFIX}` when `max_shard_size` is specified. "
            f"Received: filepath={filepath}"
        )
    if max_shard_size is None and not path.name.endswith((_SUFFIX, safetensors.SUFFIX)):
        raise ValueError(
            f"The filename must end in `{_SUFFIX}`, or in `{safetensors.SUFFIX}` for other libraries. "
            f"Received: filepath={filepath}"
        )
    check_writable(path, overwrite)
    check_built(model, "saving")
    warn_of_unlisted(model)
    weights = contents.model_state(model, contents.Skipped(model, objects_to_skip))
    texts = contents.texts(model)
    if max_shard_size is not None:
        shards_writing.write(path, texts, weights, max_shard_size)
        return
    with atomic_write(path) as temporary:
        if path.name.endswith(safetensors.SUFFIX):
            safetensors.write(temporary, texts, weights)
        else:
            hdf5_writing.write(temporary, texts, {entries.WEIGHTS: weights})


def check_replaceable(path: Path, overwrite: bool) -> None:
    """Raises an error for a file that must not be replaced."""
    if path.exists() and not overwrite:
        raise FileExistsError(f"File {path} exists. Pass `overwrite=True` to replace it.")


def check_path(filepath: Any, kind: type[Exception] = TypeError) -> None:
    """Raises an error of the kind that Keras raises, for a value that is not a path."""
    if not isinstance(filepath, (str, os.PathLike)):
        raise kind(
            "`filepath` must be the path of a file, a string or a `pathlib.Path`. "
            f"Received: filepath={filepath!r} (of type {type(filepath).__name__})"
        )


def check_writable(path: Path, overwrite: bool) -> None:
    """Raises an error for a missing folder, or a file that must not be replaced."""
    check_replaceable(path, overwrite)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent} to save {path.name} in.")


def check_built(model: ModelLike, doing: str) -> None:
    """Raises an error for a model that is not built, even if layers in it are."""
    if not model.built:
        found = (
            f"Model '{model.name}' has {len(model.weights)} weights in its layers, and was never called "
            "itself. If they are all, set `self.built = True` at the end of its `__init__()`. Else call it"
            if model.weights
            else f"Model '{model.name}' has no weights yet. Call it"
        )
        raise ValueError(
            f"You are {doing} a model that has not yet been built. {found} on some data, or build it, first."
        )


def check_whole(model: ModelLike) -> None:
    """Raises an error for an unbuilt model with built layers: loading would not make their weights.

    Layers of an unbuilt Sequential model are built one by one, with the shapes in its configuration.
    """
    warn_of_unlisted(model)
    if model.built:
        return
    layers = [layer for layer in getattr(model, "_tfkit_stack", ()) if layer.get_build_config()]
    alone = {id(weight) for layer in layers for weight in layer.weights}
    if any(id(weight) not in alone for weight in model.weights):
        raise ValueError(
            f"Model '{model.name}' is not built, but layers in it have weights, which a model that is made "
            "from its configuration would not have. Call it on some data, or build it, before saving."
        )


# --- Loading ----------------------------------------------------------------------------------------------


def load_weights(
    model: ModelLike,
    filepath: Any,
    skip_mismatch: bool = False,
    by_name: bool = False,
    rename: Rename | None = None,
    *,
    objects_to_skip: Iterable[Any] | None = None,
) -> LoadReport:
    """Reads weights by attribute path; everything is checked before the first is assigned.

    Args:
        model: a built model.
        filepath: a file of `save_weights` or `save`; or a `.safetensors` file of any library, in which dots
            between the steps of a name count as slashes.
        skip_mismatch: whether weights that do not fit are not changed.
        by_name: whether weights are found by the names that users have given to layers, instead of by path:
            a weight keeps its path below the layer of the same name. Layers with other names are not
            changed.
        rename: for values with a different path in the file: a dict from beginnings of paths in the file to
            beginnings of paths in the model, or a function of a path. Without it, a property of your class
            that returns a layer of the model is an old name of that layer.
        objects_to_skip: layers, with everything inside them, and single weights that are not changed.

    Returns:
        The result for each weight, and for each value in the file.

    Raises:
        LoadError: a `ValueError`, with a table of values that are missing, unexpected, or of a different
            shape or dtype; and for a damaged file. Then no weight has changed.

    Example:
        ```python
        model.load_weights("old.weights.h5", rename={"body": "encoder/blocks/0"})
        ```
    """
    check_built(model, "loading weights into")
    if by_name and rename:
        raise ValueError(
            "`by_name=True` and `rename` cannot both be used: each says what goes where."
        )
    with open_file(Path(filepath)) as reader:
        skipped = contents.Skipped(model, objects_to_skip)
        loaded = read_model(reader, model, skip_mismatch, by_name, rename, skipped)
        return loaded.assign(skip_mismatch)


@dataclasses.dataclass
class Loaded:
    """Checked contents of an open file, to be read and assigned.

    Args:
        reader: the file.
        report: the result for each variable.
        values: variables with the groups and paths of their values.
        stores: layers that read their variables themselves, with the beginnings of their paths.
        casts: variables whose stored values are floats of a different width, with both dtypes.
        sums: weights whose values are sums with LoRA, by the stored paths of their parts.
        emptied: layers whose LoRA becomes zero, because the file has the sums.
    """

    reader: Reader
    report: LoadReport
    values: list[tuple[tf.Variable, str, str]] = dataclasses.field(default_factory=list)
    stores: list[tuple[str, Layer, dict[str, np.ndarray]]] = dataclasses.field(default_factory=list)
    casts: dict[str, str] = dataclasses.field(default_factory=dict)
    sums: dict[str, lora.Sum] = dataclasses.field(default_factory=dict)
    emptied: list[Adaptable] = dataclasses.field(default_factory=list)

    def value(self, group: str, place: str) -> np.ndarray:
        """Returns the value for the variable at a stored path."""
        one = self._sum(group, place)
        return self.reader.value(group, place) if one is None else one.value(self.reader, place)

    def _sum(self, group: str, place: str) -> lora.Sum | None:
        return self.sums.get(place) if group == entries.WEIGHTS else None

    def match(self, group: str, variables: dict[str, tf.Variable], places: dict[str, str]) -> Match:
        """Compares variables with the values of a group; `places` are their stored paths."""

        def read(place: str) -> np.ndarray:
            return self.value(group, place)

        return matching.match(variables, self.reader.shapes(group), places, read)

    def add(self, group: str, variables: dict[str, tf.Variable], found: Match) -> None:
        """Adds the matching variables to those to be assigned, after comparing their checksums."""
        places = dict.fromkeys(self._sum(group, place) or place for place in found.fits.values())
        plain = [it for it in places if isinstance(it, str)]
        with ThreadPoolExecutor(_THREADS) as pool:  # Reading and checksums release Python's lock.
            list(pool.map(lambda place: self.reader.check(group, place), plain))
        for it in places:
            if isinstance(it, lora.Sum):  # One at a time, since each needs memory for its values.
                it.values(self.reader)
        self.values += [(variables[path], group, place) for path, place in found.fits.items()]
        self.casts |= found.casts

    def assign(self, skip_mismatch: bool = False) -> LoadReport:
        """Assigns everything, beginning with what can still fail; after an error, no weight has changed.

        Values are read one at a time, so that there is never a second copy of all of them in memory.
        """
        own = OwnLoading(self.reader.path, skip_mismatch)
        for prefix, layer, store in self.stores:
            reason = own.load_variables(layer, _layer_path(prefix, layer), store)
            if reason is not None:
                self.report.skip_below(prefix, reason)
        for variable, group, path in self.values:
            assign(variable, self.value(group, path))
        for layer in self.emptied:
            layer._tfkit_empty_lora()
        float_widths.warn(self.reader.path, self.casts)
        return self.report


def _names(reader: Reader) -> dict[str, str]:
    """Returns the names of the layers in a file, by path."""
    names = reader.text(entries.NAMES)
    if names is not None and not (
        isinstance(names, dict) and all(isinstance(name, str) for name in names.values())
    ):
        raise LoadError(f"File {reader.path}: `{entries.NAMES}` is not a dict of names by path.")
    return names or {}


def _layer_path(prefix: str, layer: Layer) -> str:
    return prefix.removesuffix("vars/").rstrip("/") or layer.name


def assign(variable: tf.Variable, value: np.ndarray) -> None:
    """Assigns a value of a file, whose floats may be of a different width."""
    if float_widths.is_other_width(value.dtype.name, variable.dtype.name):
        # A cast value is not in memory that a tensor can share.
        variable.assign(float_widths.cast(value, variable.dtype.name))
    else:
        variable.assign(_tensor_of(value))


def _tensor_of(value: np.ndarray) -> Any:
    """Returns a value of a file as a tensor in the same memory, if TensorFlow can share it."""
    if value.dtype == tf.bfloat16.as_numpy_dtype:
        return tf.bitcast(tensor_in(value.view(np.uint16)), tf.bfloat16)
    return tensor_in(value) if value.dtype.kind in "fiu" and value.size else value


def read_model(
    reader: Reader,
    model: ModelLike,
    skip_mismatch: bool = False,
    by_name: bool = False,
    rename: Rename | None = None,
    skipped: contents.Skipped | None = None,
) -> Loaded:
    """Returns a file's checked values for a model; arguments as in `load_weights`."""
    skipped = skipped or contents.Skipped(model, None)
    stored = reader.shapes(entries.WEIGHTS)
    everything = contents.plain_state(model)
    places = {path: path for path in stored}
    if by_name:
        places = matching.by_layer_name(
            stored, _names(reader), contents.layer_names(model), reader.path
        )
    elif rename := rename or contents.moved_by_properties(model, stored.keys() - everything.keys()):
        places = matching.renamed(stored, rename, reader.path)
    variables, own = contents.plain_state(model, skipped), contents.own_stores(model, skipped)
    left = dict.fromkeys(path for path in everything if path not in variables)
    left |= dict.fromkeys(path for path in places if skipped.is_below(path))
    asked = {path: place for path, place in places.items() if path not in left}
    beginnings = tuple(prefix for prefix, _ in own)
    plain = {path: place for path, place in asked.items() if not path.startswith(beginnings)}
    loaded = Loaded(reader, LoadReport(str(reader.path)))
    adaptation = lora.Adaptation(reader, model, variables, plain)
    loaded.sums = adaptation.sums
    found = loaded.match(entries.WEIGHTS, variables, adaptation.paths)
    adaptation.adjust(found)
    if not skip_mismatch:
        matching.check(found, reader.path, entries.WEIGHTS, partly=by_name)
    adaptation.explain(found)
    loaded.emptied = adaptation.emptied(found)
    report = loaded.report = found.report(reader.path)
    placed = set(places.values())
    reason = "in `objects_to_skip`"
    report.skipped |= {path: reason for path in left if path in everything}
    report.unused |= {places[path]: reason for path in left if path in places}
    report.unused |= {path: "below no layer of that name" for path in stored if path not in placed}
    loaded.add(entries.WEIGHTS, variables, found)
    for prefix, layer in own:
        paths = {path: place for path, place in asked.items() if path.startswith(prefix)}
        if not paths and (by_name or skip_mismatch):
            report.skipped[prefix.rstrip("/")] = "missing in the file"
            continue
        store = {
            unescaped(path.removeprefix(prefix)): reader.value(entries.WEIGHTS, place)
            for path, place in paths.items()
        }
        loaded.stores.append((prefix, layer, store))
        report.loaded += paths
    return loaded


def warn_of_unlisted(model: ModelLike) -> None:
    """Warns if a model calls frozen layers that no attribute holds, so that its files lack their weights."""
    layers = tracking.all_layers(model)
    members = {id(layer) for layer in layers}
    unlisted = {each for layer in layers for each in layer._tfkit.unlisted}
    titles = sorted(each.title for each in unlisted if id(each.layer) not in members)
    if titles:
        warn(
            f"Model '{model.name}' calls the frozen layer {', '.join(titles)}, which no attribute "
            f"holds: its weights are not in the file. {hidden.HOLD}; or make sure that the program that "
            "loads the file "
            "has it."
        )
