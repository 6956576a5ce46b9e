"""Saves whole models in one HDF5 file, and loads them: configuration, weights, and settings of `compile`."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from tfkit.src.base import budget
from tfkit.src.base.errors.frames import warn
from tfkit.src.base.names import unescaped
from tfkit.src.base.quoting import quoted
from tfkit.src.base.registry import serialization
from tfkit.src.base.registry import tables as registry
from tfkit.src.core import tracking
from tfkit.src.files.model_like import ModelLike
from tfkit.src.files.saving import contents, entries, hdf5, hdf5_writing, matching, orbax, weights
from tfkit.src.files.saving.atomic import atomic_write
from tfkit.src.files.saving.errors import ConfigurationError, LoadError
from tfkit.src.files.saving.json_nest import from_json, to_json


def save_model(
    model: ModelLike, filepath: Any, overwrite: bool = True, include_optimizer: bool = True
) -> None:
    """Writes a whole model to one file.

    Args:
        model: a model; if it is not built, its configuration and the arguments of `compile` are saved.
        filepath: a name that ends in `.h5` or `.hdf5`; its folder is made if there is none.
        overwrite: whether an existing file is replaced.
        include_optimizer: whether the optimizer's state is saved.

    Raises:
        ValueError: for a model that is not built although layers in it are.
        TypeError: for a model whose configuration cannot be made. The old file is unchanged.
    """
    path = Path(filepath)
    weights.check_replaceable(path, overwrite)
    weights.check_whole(model)
    texts, groups = parts(model, include_optimizer)
    with contextlib.suppress(FileExistsError, NotADirectoryError):
        path.parent.mkdir(parents=True, exist_ok=True)  # As in Keras, for this kind of file alone.
    weights.check_writable(path, overwrite)
    with atomic_write(path) as temporary:
        hdf5_writing.write(temporary, texts, groups)


def parts(
    model: ModelLike, include_optimizer: bool = True, kind: str = "an `.h5` file"
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Returns the contents of a file: JSON documents by name, and groups of variables and arrays by path.

    Args:
        model: a model.
        include_optimizer: whether the optimizer's state is kept.
        kind: the kind of file, for messages.

    Raises:
        ValueError: for a layer with further files.
        TypeError: for a model whose configuration cannot be made.
    """
    _check_no_assets(model, kind)
    with serialization.written_to_file(include_optimizer):
        config = serialization.serialize_model(model)
    compiled = config.pop("compile_config", None)
    config = serialization.numbered_shared_objects(config)
    texts = {entries.CONFIG: to_json(config), **contents.texts(model)}
    groups = {
        entries.WEIGHTS: contents.model_state(model),
        entries.METRICS: contents.metrics_state(model),
    }
    if compiled is not None:
        texts[entries.COMPILE] = to_json(serialization.numbered_shared_objects(compiled))
    if model.compiled and include_optimizer:
        groups[entries.OPTIMIZER] = contents.stored_optimizer(model)
    if include_optimizer and (inner := contents.inner_optimizer_states(model)):
        groups[entries.INNER_OPTIMIZERS] = inner
    return texts, groups


def _check_no_assets(model: ModelLike, kind: str) -> None:
    for path, layer in tracking.named_layers(model):
        for method in ("save_assets", "load_assets"):
            if hasattr(layer, method) and not layer._tfkit_assets_are_variables:
                raise ValueError(
                    f"Layer '{path or layer.name}' (of type {type(layer).__name__}) defines `{method}()`, "
                    f"but {kind} holds arrays and a configuration, and no further files. Store what "
                    "they hold as arrays, in `save_own_variables(store)` and `load_own_variables(store)`, "
                    "or as constructor arguments, in `get_config()`."
                )


def load_model(
    filepath: Any,
    custom_objects: dict[str, Any] | None = None,
    compile: bool = True,
    safe_mode: bool = True,
) -> Any:
    """Reads a whole model; the file may name only tfkit's own, registered and passed classes.

    Args:
        filepath: a file of `model.save()`, or a folder of `callbacks.OrbaxCheckpoint`.
        custom_objects: your own classes and functions that the file may name, by name.
        compile: whether to compile the model like the saved one, with the optimizer's state.
        safe_mode: only True: tfkit never runs code from a file.

    Raises:
        LoadError: for a damaged file, and for a file whose parts do not fit together.
        ValueError: for a class or function that is not registered.
    """
    serialization.check_safe_mode(safe_mode)
    path = Path(filepath)
    opened = orbax.Reader(path) if orbax.is_checkpoint(path) else hdf5.Reader(path)
    with opened as reader, registry.custom_object_scope(custom_objects or {}):
        config = reader.text(entries.CONFIG)
        if config is None:
            raise LoadError(
                f"File {filepath} contains only weights. Create the model in code and call "
                "`model.load_weights(filepath)`."
            )
        try:
            deferred: list[budget.Deferred] = []
            with (
                budget.limited(reader.stored_bytes(entries.WEIGHTS), config, deferred),
                serialization.reads_shared_objects(),
                contextlib.nullcontext() if compile else serialization.without_compile(),
            ):
                model: ModelLike = serialization.deserialize_keras_object(from_json(config))
        except Exception as error:
            # The constructors of layers may raise any error for wrong arguments.
            raise ConfigurationError(
                f"File {filepath}: its configuration does not describe a model. {type(error).__name__}: "
                f"{error}"
            ) from error
        if not hasattr(model, "_tfkit"):
            raise LoadError(f"File {filepath} describes {quoted(model)}, which is not a model.")
        loaded = weights.read_model(reader, model)
        compiled = reader.text(entries.COMPILE)
        if compile and compiled is not None:
            try:
                with budget.limited(reader.stored_bytes(entries.WEIGHTS), compiled):
                    model.compile_from_config(from_json(compiled))
            except Exception as error:
                raise ConfigurationError(
                    f"File {filepath}: the configuration of `compile` cannot be used. To load the model "
                    f"alone, pass `compile=False`. {type(error).__name__}: {error}"
                ) from error
            _add_optimizer(loaded, model)
        if compile:
            stored_bytes = reader.stored_bytes(entries.INNER_OPTIMIZERS)
            _add_inner_optimizers(loaded, model, stored_bytes)
        _add_metrics(loaded, model)
        loaded.assign()
        budget.draw_others(deferred, [variable for variable, _, _ in loaded.values])
    return model


def _add_optimizer(loaded: weights.Loaded, model: ModelLike) -> None:
    stored = list(loaded.reader.shapes(entries.OPTIMIZER))
    optimizer = getattr(model, "optimizer", None)
    if optimizer is not None and stored and stored[0].startswith(contents.OWN_STORE):
        optimizer.build(model.trainable_weights)
        store = {
            unescaped(path.removeprefix(contents.OWN_STORE)): loaded.reader.value(
                entries.OPTIMIZER, path
            )
            for path in stored
        }
        loaded.stores.append((entries.OPTIMIZER, optimizer, store))
    elif optimizer is not None and stored:
        new = contents.build_as_stored(optimizer, model, stored)
        _warn_of_new(loaded, new)
        variables = contents.optimizer_state(model)
        unused = contents.slots_of_overwritten(model)
        beginnings = [*map(contents.slots_of, new)]
        _add_slots(loaded, entries.OPTIMIZER, variables, stored, beginnings, unused)


def _add_inner_optimizers(loaded: weights.Loaded, model: ModelLike, stored_bytes: int) -> None:
    """Adds the states of the optimizers of models inside, and of those in attributes, that have been used."""
    stored = list(loaded.reader.shapes(entries.INNER_OPTIMIZERS))
    beginnings: list[str] = []
    used: list[str] = []
    unused: list[str] = []
    # Models may contain each other, each with an optimizer that has variables for all weights below: a small
    # file could describe very many.
    with budget.limited(stored_bytes, None):
        for path, (optimizer, owner) in contents.inner_optimizers(model).items():
            own = [it[len(path) + 1 :] for it in stored if it.startswith(f"{path}/")]
            if own and not optimizer.built:
                new = contents.build_as_stored(optimizer, owner, own)
                _warn_of_new(loaded, [f"{path}/{weight}" for weight in new])
                beginnings += [f"{path}/{contents.slots_of(weight)}" for weight in new]
            used += [f"{path}/"] if own else []
            unused += [f"{path}/{it}" for it in contents.slots_of_overwritten(owner) if own]
    states = contents.inner_optimizer_states(model)
    variables = {path: it for path, it in states.items() if path.startswith(tuple(used))}
    stored = [it for it in stored if it.startswith(tuple(used))]
    _add_slots(loaded, entries.INNER_OPTIMIZERS, variables, stored, beginnings, unused)


def _warn_of_new(loaded: weights.Loaded, new: list[str]) -> None:
    if new:
        warn(
            f"File {loaded.reader.path}: its optimizer was made before the weights {quoted(new)} became "
            "trainable. Their slots start from zero; `compile` makes a new optimizer for all weights."
        )


def _add_slots(
    loaded: weights.Loaded,
    group: str,
    variables: dict[str, Any],
    stored: list[str],
    new: list[str],
    unused: list[str],
) -> None:
    """Adds the variables of optimizers, except those whose paths begin with one of `new`.

    What the file has besides, under paths that begin with one of `unused`, is left out.
    """
    needed = [it for it in stored if it in variables or not it.startswith(tuple(unused))]
    variables = {path: it for path, it in variables.items() if not path.startswith(tuple(new))}
    found = loaded.match(group, variables, {path: path for path in needed})
    matching.check(found, loaded.reader.path, entries.OPTIMIZER)
    loaded.add(group, variables, found)


def _add_metrics(loaded: weights.Loaded, model: ModelLike) -> None:
    """Adds the metrics' state as far as it matches; metrics are reset often anyway."""
    stored = loaded.reader.shapes(entries.METRICS)
    variables = contents.metrics_state(model)
    found = loaded.match(entries.METRICS, variables, {path: path for path in stored})
    left = {**found.missing, **found.different, **found.unexpected}
    if left:
        warn(
            f"File {loaded.reader.path}: the state of these metrics is not loaded, because their variables "
            f"differ from the model's: {', '.join(left)}. They are reset."
        )
    loaded.add(entries.METRICS, variables, found)
