"""Exchange with Keras: reads and writes its files without importing it."""

from __future__ import annotations

import contextlib
import datetime
import functools
import json
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tfkit.src.base import budget
from tfkit.src.base.errors.frames import warn
from tfkit.src.base.nests import brief
from tfkit.src.base.quoting import quoted, shown
from tfkit.src.base.registry import serialization
from tfkit.src.base.registry import tables as registry
from tfkit.src.base.version import __version__
from tfkit.src.core import tracking
from tfkit.src.core.layer import Layer
from tfkit.src.files.interop import (
    keras_assets,
    keras_config,
    keras_contents,
    keras_hdf5_writing,
    keras_layout,
    keras_legacy,
    keras_legacy_config,
    keras_matching,
)
from tfkit.src.files.interop.keras_archive import CONFIG, METADATA, WEIGHTS
from tfkit.src.files.interop.keras_contents import HELD, INNER, OPTIMIZER, SEEDS
from tfkit.src.files.interop.keras_files import ArchiveReader, open_file
from tfkit.src.files.interop.keras_hdf5 import KerasReader
from tfkit.src.files.interop.keras_matching import Checked, Matcher
from tfkit.src.files.model_like import ModelLike
from tfkit.src.files.saving import contents, hdf5_writing, json_nest, weights
from tfkit.src.files.saving.atomic import atomic_write
from tfkit.src.files.saving.errors import ConfigurationError, LoadError
from tfkit.src.files.saving.matching import LoadReport, Rename
from tfkit.src.optimizers.base import Optimizer

# The version of Keras whose format is written.
_FORMAT_OF = "3.15.1"
_APART = (f"{OPTIMIZER}/", "tfkit/")


# --- Reading ------------------------------------------------------------------------------------------


def load_model(
    filepath: Any,
    custom_objects: dict[str, Any] | None = None,
    compile: bool = True,
    safe_mode: bool = True,
    *,
    rename: Mapping[str, str] | None = None,
) -> Any:
    """Reads a whole model that Keras has saved: `.keras` of Keras 3, or `.h5` of Keras 2 and 3.

    Args:
        filepath: the file; or the folder that `save(..., zipped=False)` of Keras wrote.
        custom_objects: your own classes and functions that the file may name, by name.
        compile: whether to compile the model like the saved one, with the optimizer's state. Default: `True`.
        safe_mode: must be `True`: tfkit never runs code from a file. Default: `True`.
        rename: paths in the model by path in the file, for layers and weights that have moved.

    Raises:
        LoadError: for a damaged file, names that are not registered, and weights that do not fit.

    Example:
        >>> import tempfile
        >>> model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(2)])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_model(model, f"{folder}/model.keras")
        ...     load_model(f"{folder}/model.keras").output_shape
        (None, 2)
    """
    serialization.check_safe_mode(safe_mode)
    path = Path(filepath)
    with (
        registry.custom_object_scope(custom_objects or {}),
        serialization.reads_shared_objects(),
        open_file(path) as reader,
    ):
        document, compiled = reader.documents()
        if document is None:
            raise LoadError(
                f"File {path} is an HDF5 file, but not of tfkit's format, and does not contain a Keras "
                "model. If it contains only weights, create the model in code and call "
                "`model.load_weights(filepath)`."
            )
        if not isinstance(reader, ArchiveReader):
            document = _legacy_model(reader, document)
        # Used later, after the weights exist that the optimizer's slots belong to.
        document = {key: value for key, value in document.items() if key != "compile_config"}
        config = _translated(path, keras_config.from_keras, document)
        deferred: list[budget.Deferred] = []
        # In HDF5 Keras keeps what models inside were compiled with, and does not use it.
        inside = compile and isinstance(reader, ArchiveReader)
        with contextlib.nullcontext() if inside else serialization.without_compile():
            model = _made(reader, config, deferred)
        # Before members are searched for: a class may hold the optimizers that its `compile` gets.
        if compile and compiled:
            _compile(reader, model, compiled)
        # The configuration has made the model's members in the order of the saved one: order is no
        # guess here.
        checked = _matched(reader, model, rename, same_order=True)
        if compile and compiled:
            checked.add(_optimizer_state(reader, model))
        checked.add(_held_optimizer_states(reader, model, checked.places))
        if inside:
            checked.add(_inner_optimizer_states(reader, checked.places))
        checked.assign(tracking.named_state(model))
        # Initial values that the file replaces need not be drawn; the others are, now that all is
        # read.
        budget.draw_others(deferred, [variable for variable, _ in checked.values])
    return model


def load_weights(
    model: ModelLike,
    filepath: Any,
    skip_mismatch: bool = False,
    by_name: bool = False,
    rename: Rename | None = None,
    *,
    same_order: bool = False,
    objects_to_skip: Iterable[Any] | None = None,
) -> LoadReport:
    """Reads weights that Keras has saved; everything is checked before the first is assigned.

    Keras names the members of dicts, and some of a subclassed model's layers, by their order alone.
    Where two of them have the same shapes, nothing in the file distinguishes them.

    Args:
        model: a built model.
        filepath: `.weights.h5`, `.weights.json` with the files that it names, `.keras`, or a whole `.h5`,
            of Keras.
        skip_mismatch: whether weights that do not fit are not changed. Default: `False`.
        by_name: must be `False`: Keras's files do not have names for all layers. Default: `False`.
        rename: paths in the model by path in the file, of layers or single weights.
        same_order: whether the class of `model` makes its members in the order in which the saved one
            did. Default: `False`.
        objects_to_skip: layers, with everything inside them, and single weights that are not changed.

    Returns:
        The result for each weight, and for each value in the file.

    Raises:
        LoadError: with a table of the values that do not fit, or could be swapped. No weight has changed
            then.

    Example:
        >>> import tempfile
        >>> model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(2)])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_weights(model, f"{folder}/model.weights.h5")
        ...     report = load_weights(model, f"{folder}/model.weights.h5")
        >>> len(report.loaded)
        2
    """
    if by_name:
        raise ValueError(
            f"File {shown(str(filepath))} is a Keras file, in which not all layers have names: "
            "`by_name=True` cannot be used. Pass `rename={path in the file: path in the model}`."
        )
    if callable(rename):
        raise ValueError(
            f"File {shown(str(filepath))} is a Keras file: `rename` must be a dict, {{path in the file: path "
            f"in the model}}. Received: rename={rename!r}"
        )
    weights.check_built(model, "loading weights into")
    with open_file(Path(filepath)) as reader:
        skipped = contents.Skipped(model, objects_to_skip)
        checked = _matched(reader, model, rename, same_order, skip_mismatch, skipped)
        return checked.assign(tracking.named_state(model), skip_mismatch)


def _translated(path: Path, function: Any, document: dict[str, Any]) -> Any:
    """Returns a configuration in tfkit's form."""
    try:
        return function(document)
    except LoadError as error:
        raise LoadError(f"File {path}: {error}") from None
    except (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise LoadError(
            f"File {path}: its configuration does not describe a Keras model "
            f"({type(error).__name__}: {error})."
        ) from error


def _legacy_model(reader: KerasReader, document: dict[str, Any]) -> dict[str, Any]:
    old = keras_legacy.is_old(reader)
    function = functools.partial(keras_legacy_config.model_from_keras, old=old)
    return dict(_translated(reader.path, function, document))


def _made(reader: KerasReader, config: Any, deferred: list[budget.Deferred]) -> Any:
    """Returns the model of a configuration, with no more bytes of weights than the file has."""
    try:
        stored = sum(stored.num_bytes for stored in reader.datasets.values())
        with budget.limited(stored, config, deferred):
            model = serialization.deserialize_keras_object(config)
    except Exception as error:  # A user's class may raise any error.
        raise ConfigurationError(
            f"File {reader.path}: the model cannot be made: {error}"
        ) from error
    if not isinstance(model, Layer):
        raise LoadError(f"File {reader.path} describes {quoted(model)}, which is not a model.")
    return model


def _matched(
    reader: KerasReader,
    model: ModelLike,
    rename: Mapping[str, str] | None,
    same_order: bool,
    skip_mismatch: bool = False,
    skipped: contents.Skipped | None = None,
) -> Checked:
    """Returns the weights and seed states in a file, checked and not yet assigned."""
    options: Any = {"skip_mismatch": skip_mismatch, "skipped": skipped}
    if keras_legacy.is_legacy(reader):
        plan = keras_legacy.plan(reader, model, rename, same_order)
        group = keras_legacy.group_of(reader)
        return keras_matching.check(reader, plan, group, **options)
    matcher = Matcher(reader, model._tfkit.layer, rename, same_order)
    places = matcher.places()
    plan = matcher.plan(places)
    apart = _APART + keras_contents.optimizers_inside(places, plan.variables)
    apart += keras_contents.optimizers_of_others(reader, plan)
    checked = keras_matching.check(reader, plan, "", apart, **options)
    checked.places = places
    matcher.check_casts(checked.casts)
    if reader.below(SEEDS):
        seeds = keras_matching.Plan(keras_contents.seeds(places))
        checked.add(keras_matching.check(reader, seeds, SEEDS, **options))
    if isinstance(reader, ArchiveReader):
        wanted = [place for place in places if not skipped or place[1] not in skipped]
        partly = skip_mismatch or len(wanted) < len(places)
        checked.assets = _assets(reader, wanted, partly)
    return checked


def _assets(
    reader: ArchiveReader, places: list[tuple[str, Layer]], partly: bool
) -> list[tuple[Layer, Callable[[], None]]]:
    """Returns the layers that have assets in the archive, each with a function that loads them."""
    found = keras_assets.by_place(reader.archive, places, partly)
    # The folder contains their files until the archive is closed.
    from_files = any(keras_assets.needs_files(layer) for layer, _ in found.values())
    folder = reader.folder() if from_files else ""
    return [
        (layer, keras_assets.loader(reader.archive, layer, names, path, folder))
        for path, (layer, names) in found.items()
    ]


def _compile(reader: KerasReader, model: ModelLike, config: dict[str, Any]) -> None:
    if keras_legacy.is_legacy(reader):
        legacy = functools.partial(
            keras_legacy_config.compile_from_keras, outputs=model.output_names
        )
        config = _translated(reader.path, legacy, config)
    config = _translated(reader.path, keras_config.compile_from_keras, config)
    optimizer = config["optimizer"]
    if reader.below(f"{OPTIMIZER}/{INNER}") and "inner_optimizer" not in optimizer["config"]:
        # Keras wraps it for float16, but does not store this.
        config["optimizer"] = {
            "module": "keras.optimizers",
            "class_name": "LossScaleOptimizer",
            "config": {INNER: optimizer, "name": "loss_scale_optimizer"},
        }
    try:
        stored = sum(stored.num_bytes for stored in reader.datasets.values())
        with budget.limited(stored, config):
            model.compile_from_config(config)
    except Exception as error:
        raise ConfigurationError(
            f"File {reader.path}: the configuration of `compile` cannot be used. To load the model "
            f"alone, pass `compile=False`. {type(error).__name__}: {error}"
        ) from error


def _inner_optimizer_states(reader: KerasReader, places: list[tuple[str, Layer]]) -> Checked:
    """Returns the variables of the optimizers of inner models."""
    found = Checked(reader)
    groups = keras_contents.compiled_inside(places)
    paths = {path for group, _ in groups for path in reader.below(group)}
    # Models may contain each other, each with an optimizer that has variables for all weights below.
    with budget.limited(sum(reader.datasets[path].num_bytes for path in paths), None):
        for group, inner in groups:
            found.add(_optimizer_state(reader, inner, group))
    return found


def _held_optimizer_states(
    reader: KerasReader, model: ModelLike, places: list[tuple[str, Layer]]
) -> Checked:
    """Returns the variables of the optimizers in attributes, as far as they have as many as in the file."""
    found = Checked(reader)
    plan = keras_matching.plan(places)
    weights = [plan.variables[path] for path in sorted(plan.variables)]
    for group, optimizer in keras_layout.held_optimizers(places).items():
        if optimizer is getattr(model, "optimizer", None):
            if not reader.below(OPTIMIZER):
                found.add(_optimizer_state(reader, model, group))
            continue
        if not optimizer.built and f"{HELD}/{group}" in reader.datasets:
            _build_held(reader, optimizer, f"{HELD}/{group}", weights)
        if reader.below(group) and optimizer._tfkit_stores_itself():
            found.add(Checked(reader, stores=[(f"{group}/vars", optimizer)]))
            continue
        variables = keras_contents.optimizer_variables(optimizer, group)
        stored = reader.below(group)
        if stored.keys() == variables.keys():
            found.add(keras_matching.check(reader, keras_matching.Plan(variables), group))
        elif stored:
            warn(
                f"File {reader.path}: the state of the optimizer at {group!r} is not loaded, because it has "
                f"{len(stored)} variables, and the model's {len(variables)}. Call its `build(weights)` in "
                "the constructor of the model, or in `build()`."
            )
    return found


def _build_held(reader: KerasReader, optimizer: Optimizer, path: str, weights: list[Any]) -> None:
    """Builds an optimizer for the weights at the indices that a file of tfkit has."""
    indices = [int(index) for index in np.ravel(reader.read(path))]
    if not set(indices) <= set(range(len(weights))) or len(set(indices)) < len(indices):
        raise LoadError(
            f"File {reader.path}: dataset {path!r} must contain different indices of {len(weights)} weights. "
            f"Received: {brief(indices)}"
        )
    # A small file could describe many slots.
    with budget.limited(sum(stored.num_bytes for stored in reader.datasets.values()), None):
        optimizer.build([weights[index] for index in indices])


def _optimizer_state(reader: KerasReader, model: ModelLike, group: str = OPTIMIZER) -> Checked:
    """Returns the optimizer's variables; none if it was not used before it was saved.

    Keras stores them by position. If layers were frozen or unfrozen after the last step, they no longer fit,
    and the optimizer starts from zero, as in Keras.
    """
    legacy = keras_legacy.is_legacy(reader)
    group = keras_legacy.OPTIMIZER if legacy else group
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None or not reader.below(group):
        return Checked(reader)
    if not legacy and optimizer._tfkit_stores_itself():
        if len(reader.below(group)) != len(optimizer.variables):
            optimizer.build(model.trainable_weights)
        return Checked(reader, stores=[(f"{group}/vars", optimizer)])
    if len(reader.below(group)) > len(optimizer.variables):  # The saved optimizer was in use.
        optimizer.build(model.trainable_weights)
    try:
        if legacy:
            variables = keras_legacy.optimizer_variables(reader, optimizer)
            apart = keras_legacy.unused(reader, optimizer)
        else:
            variables, apart = keras_contents.optimizer_variables(optimizer, group), ()
        return keras_matching.check(reader, keras_matching.Plan(variables), group, apart)
    except LoadError:
        warn(
            f"File {reader.path}: the state of its optimizer belongs to other weights than those that are "
            "trained, as where layers were frozen, unfrozen or changed after the last step. The optimizer "
            "starts from zero."
        )
        return Checked(reader)


# --- Writing ------------------------------------------------------------------------------------------


def save_model(
    model: ModelLike, filepath: Any, overwrite: bool = True, include_optimizer: bool = True
) -> None:
    """Writes a `.keras` archive, which Keras 3 and tfkit load.

    Args:
        model: a model; if it is not built, the configuration and the arguments of `compile` are kept.
        filepath: a name that ends in `.keras`.
        overwrite: whether an existing file is replaced. Default: `True`.
        include_optimizer: whether the optimizer's state is written; the arguments of `compile` always
            are, as in Keras. Default: `True`.

    Raises:
        ValueError: for a different extension, and for a model that is not built although layers in it are.
        TypeError: for a model whose configuration cannot be made, or has no form in Keras.

    Example:
        >>> import os, tempfile
        >>> model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(2)])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_model(model, f"{folder}/model.keras")
        ...     os.listdir(folder)
        ['model.keras']
    """
    path = Path(filepath)
    _check_writable(path, ".keras", overwrite)
    weights.check_whole(model)
    with serialization.written_to_file(compiles=True):
        config = keras_config.to_keras(serialization.serialize_model(model))
    # Numbers, not addresses in memory: a model that is saved twice has the same configuration.
    config = serialization.numbered_shared_objects(config)
    metadata = {
        "keras_version": _FORMAT_OF,
        "tfkit_version": __version__,
        "date_saved": datetime.datetime.now().strftime("%Y-%m-%d@%H:%M:%S"),
    }
    optimizer = model.optimizer if model.compiled and include_optimizer else None
    groups, values = keras_contents.contents(model, optimizer, include_optimizer)
    texts = {METADATA: json.dumps(metadata), CONFIG: json.dumps(config)}
    if excess := json_nest.too_large(texts[CONFIG]):
        raise ValueError(
            f"The configuration of the model has {excess} again. Keep large arrays in weights."
        )
    with atomic_write(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        for name, text in texts.items():
            archive.writestr(name, text)
        keras_assets.write(archive, keras_layout.places(model._tfkit.layer))
        with (
            # HDF5 needs a file that it can seek in, and a member of a zip archive is written in
            # order. In the same folder, because `/tmp` may be small.
            tempfile.TemporaryFile(dir=path.parent) as held,
            hdf5_writing.Target(held.fileno(), "w+", closefd=False) as file,
        ):
            keras_hdf5_writing.write(file, groups, values)
            file.check()
            file.seek(0)
            # The size is not known before, and may exceed 4 GB.
            with archive.open(WEIGHTS, "w", force_zip64=True) as member:
                shutil.copyfileobj(file, member, 1 << 20)


def save_weights(model: ModelLike, filepath: Any, overwrite: bool = True) -> None:
    """Writes weights like Keras 3, for `model.load_weights()` in Keras and tfkit.

    `model.save_weights()` writes tfkit's own format, which has checksums and names all members.

    Args:
        model: a built model.
        filepath: a name that ends in `.weights.h5`.
        overwrite: whether an existing file is replaced. Default: `True`.

    Raises:
        ValueError: for a different extension, and for a model that is not built.

    Example:
        >>> import os, tempfile
        >>> model = tfkit.Sequential([tfkit.Input((3,)), tfkit.layers.Dense(2)])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_weights(model, f"{folder}/model.weights.h5")
        ...     os.listdir(folder)
        ['model.weights.h5']
    """
    weights.check_path(filepath, ValueError)
    path = Path(filepath)
    _check_writable(path, ".weights.h5", overwrite)
    weights.check_built(model, "saving")
    groups, values = keras_contents.contents(model, None)
    with atomic_write(path) as temporary, hdf5_writing.Target(temporary, "w+") as target:
        keras_hdf5_writing.write(target, groups, values)
        target.check()


def _check_writable(path: Path, suffix: str, overwrite: bool) -> None:
    if not path.name.endswith(suffix):
        raise ValueError(f"The filename must end in `{suffix}`. Received: filepath={path}")
    weights.check_writable(path, overwrite)
