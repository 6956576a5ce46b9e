"""Writes a training run as a folder that needs only JAX: its steps as a program, its values, and a script."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import tensorflow as tf
from jax import export

from tfkit.src.base import tree
from tfkit.src.core.tracking import named_state
from tfkit.src.files.saving import contents, safetensors
from tfkit.src.training import random_states
from tfkit.src.training.data import ArrayData, unpack_x_y_sample_weight
from tfkit.src.training.jax import train
from tfkit.src.training.jax.loops import Arrays, run_steps
from tfkit.src.training.jax.parts import TrainingParts, check_convertible
from tfkit.src.training.jax.steps import step_for
from tfkit.src.training.jax.values import Values, as_array
from tfkit.src.training.step import StepTrace, trace_once

if TYPE_CHECKING:
    from tfkit.src.files.model_like import ModelLike
    from tfkit.src.training.trainer import Trainer


def write(model: Trainer, folder: Path, data: ArrayData, platforms: Sequence[str]) -> None:
    """Writes the files of a training run into a folder.

    Args:
        model: a compiled model.
        folder: the folder, which exists.
        data: arrays, of which only the form matters.
        platforms: those for which JAX lowers the program.

    Raises:
        ValueError: for weights that a layer stores itself, and a step for some sizes of batches only.
    """
    trace = StepTrace(step_for(model, "train"), data.structure)
    check_convertible(model, trace)
    parts = TrainingParts(model, trace)
    arrays, places = data.distinct
    first = [as_array(it[: data.batch_size]) for it in arrays]
    parts.prepare(lambda: [first[place] for place in places])
    program = _program(model, parts, places)
    changing = sorted(parts.written)
    _check_stored(model, changing)
    model.reset_metrics()
    values = Values().take(parts.variables)
    forms = [it[:1] for it in first]
    written = {path: values.pop(path) for path in changing}
    try:
        exported = export.export(jax.jit(program), platforms=list(platforms))(
            written, values, *_arguments(forms)
        )
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(
            f"`export_training` writes a program for batches of any size, and JAX cannot make it of model "
            f"'{model.name}': {reason} If a step accepts some sizes only, train with "
            "`compile(engine='jax')`."
        ) from error
    saved = cast("ModelLike", model)
    weights = contents.model_state(saved)
    metrics = {id(variable) for metric in model.metrics for variable in metric.variables}
    names = _names(data)
    form = {
        "data": {
            names[places.index(number)]: {"shape": [None, *it.shape[1:]], "dtype": it.dtype.name}
            for number, it in enumerate(forms)
        },
        "batch_size": data.batch_size,
        # The order of the rows follows from them, as in `fit`.
        "seeds": random_states.words(0)[:4],
        "steps": model._tfkit_programs.trained_steps(model.optimizer),
        "changing": changing,
        "fixed": sorted(values),
        "metrics": [path for path in changing if id(parts.variables[path]) in metrics],
        "weights": list(weights),
    }
    (folder / "program.bin").write_bytes(exported.serialize())
    (folder / "training.json").write_text(json.dumps(form, indent=1) + "\n", encoding="utf-8")
    script = Path(train.__file__).read_text(encoding="utf-8")
    (folder / "train.py").write_text(script, encoding="utf-8")
    stored = {**parts.variables, **weights}
    safetensors.write(folder / "values.safetensors", contents.texts(saved), stored)


def _program(model: Trainer, parts: TrainingParts, places: tuple[int, ...]) -> Any:
    """Returns the function that becomes the program."""
    optimizer, weights = model.optimizer, model.trainable_weights
    at_the_end = None
    if optimizer is not None and weights:

        def finalize() -> tf.Tensor:
            optimizer.finalize_variable_values(weights)
            return tf.constant(0)

        at_the_end = parts.converted(trace_once(finalize, []))

    def program(
        changing: Arrays, fixed: Arrays, data: tuple[Any, Any, Any], first_row: Any, num_steps: Any
    ) -> tuple[Arrays, dict[str, Any], Arrays]:
        """Returns the values after the steps, the logs, and the weights after the last epoch.

        The data is the arrays, the order of their rows, and the integers below the number of rows of a batch.
        """
        arrays, order, within = data

        def batch_at(index: Any) -> list[Any]:
            taken = jnp.take(order, first_row + index * within.shape[0] + within, mode="clip")
            rows = [jnp.take(it, taken, axis=0, mode="clip") for it in arrays]
            return [rows[place] for place in places]

        changing, logs, last = run_steps(parts, changing, fixed, batch_at, num_steps)
        shown = dict(tf.nest.pack_sequence_as(parts.logs, logs)) if parts.logs else {}
        if parts.finish is not None:
            shown |= tf.nest.pack_sequence_as(parts.finish[1], last)
        averaged = dict(changing)
        if at_the_end is not None:
            at_the_end([], averaged)
        averaged = {path: it for path, it in averaged.items() if it is not changing[path]}
        return changing, shown, averaged

    return program


def _arguments(forms: list[np.ndarray]) -> tuple[Any, ...]:
    """Returns the forms of the data and the numbers, for any number of rows and size of batches."""
    rows, size = export.symbolic_shape("rows, size", constraints=["rows >= size"])
    arrays = [jax.ShapeDtypeStruct((rows, *it.shape[1:]), it.dtype) for it in forms]
    order, within = (jax.ShapeDtypeStruct((it,), np.int32) for it in (rows, size))
    number = jax.ShapeDtypeStruct((), np.int32)
    return (arrays, order, within), number, number


def _names(data: ArrayData) -> list[str]:
    """Returns the name of each tensor of a batch: `x`, or `x/left` in a nest."""
    parts = zip(("x", "y", "sample_weight"), unpack_x_y_sample_weight(data.tensors), strict=True)
    return [
        "/".join([name, *map(str, path)])
        for name, part in parts
        if part is not None
        for path, _ in tree.flatten_with_path(part)
    ]


def _check_stored(model: Trainer, changing: list[str]) -> None:
    """Raises an error for weights that the script could not write for `load_weights`.

    Raises:
        ValueError: with their paths.
    """
    stored = contents.plain_state(cast("ModelLike", model))
    lost = [path for path in changing if path in named_state(model) and path not in stored]
    if lost:
        raise ValueError(
            f"The layers that have the weights {lost} store them in their own `save_own_variables()`, which "
            "needs TensorFlow. Remove this method and `load_own_variables()`, or train here, with "
            "`compile(engine='jax')`."
        )
