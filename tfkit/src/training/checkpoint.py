"""Saves the whole state of a training run, and restores it so that the training continues.

The state is every variable of the model, its optimizers and its metrics; vocabularies and bins; the epoch,
the step, and the position in the data; the states of the callbacks; and of the random generators.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import tensorflow as tf

from tfkit.src.core import tracking
from tfkit.src.files import saving  # What `saving` lists is imported late.
from tfkit.src.files.saving.errors import LoadError
from tfkit.src.metrics.named_variables import named_variables
from tfkit.src.training import random_states
from tfkit.src.weights import random  # What `saving` lists is imported late.

if TYPE_CHECKING:
    from tfkit.src.training.trainer import Trainer


class Training(Protocol):
    """The parts of a `fit` whose state is saved."""

    model: Trainer
    callbacks: Any
    epoch: int

    def build(self) -> None:
        """Makes all variables that training needs."""

    def description(self) -> dict[str, Any]:
        """Returns a description of the training runs that can continue from a saved state."""

    def get_state(self) -> dict[str, Any]:
        """Returns the progress of the training."""

    def set_state(self, state: dict[str, Any]) -> None:
        """Restores the progress of a saved training."""


def save(path: Path, training: Training) -> None:
    """Writes the state of a training run, completely or not at all."""
    callbacks = _callbacks(training)
    document = {
        "description": training.description(),
        "training": training.get_state(),
        "callbacks": {name: callback.get_state() for name, callback in callbacks.items()},
        "random": random_states.get(),
        "seeds": random.get_global_seeds(),
        "stores": {
            path: layer._tfkit_stored() for path, layer in _beside_variables(training.model)
        },
    }
    saving.checkpoint_file.write(path, document, _variables(training.model))


class SavedTraining:
    """A saved state that was read and checked, but not restored yet.

    Args:
        path: the file.
        training: the training to continue; its variables are made, but no values are set yet.

    Raises:
        LoadError: for a damaged file, and for the file of a different training.
    """

    def __init__(self, path: Path, training: Training) -> None:
        self._path = path
        self._training = training
        self._document, values = saving.checkpoint_file.read(path)
        with self._errors():
            self.epoch: int = self._document["training"]["epoch"]
            self.is_inside_epoch: bool = self._document["training"]["steps"]["done"] > 0
            self._check_description()
        # After the description is checked, so that a file of a different training makes no variables.
        training.build()
        self._values = saving.checkpoint_file.match(path, _variables(training.model), values)

    def _check_description(self) -> None:
        found = {**self._document["description"], "callbacks": sorted(self._document["callbacks"])}
        expected = {**self._training.description(), "callbacks": sorted(_callbacks(self._training))}
        lines = [
            f"  {name}: the file has {found.get(name)}, this training {expected.get(name)}"
            for name in expected
            if found.get(name) != expected.get(name)
        ]
        if lines:
            raise LoadError(
                f"File {self._path} was saved by a different training; nothing was loaded:\n"
                + "\n".join(lines)
                + "\nPass the same ones, or remove the file to start again."
            )

    def restore(self) -> None:
        """Restores the state of the training: all of it, or nothing."""
        training, document = self._training, self._document
        with self._errors(), contextlib.ExitStack() as undo:
            # Before each part is restored, the function that undoes it is stored. If one fails, they run in
            # reverse order; `pop_all` forgets them. Variables come last: assigning checked values does not
            # fail.
            undo.callback(random_states.set, random_states.get())
            undo.callback(random.set_global_seeds, random.get_global_seeds())
            random.set_global_seeds(document["seeds"])
            random_states.set(document["random"])
            for name, callback in _callbacks(training).items():
                undo.callback(callback.set_state, callback.get_state())
                callback.set_state(document["callbacks"][name])
            stores = document.get("stores", {})
            for path, layer in _beside_variables(training.model):
                undo.callback(layer._tfkit_restorer())
                layer.load_own_variables(stores.get(path, {}))
            training.set_state(document["training"])
            undo.pop_all()
        for variable, value in self._values:
            variable.assign(value)

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        """Context manager that raises errors in the contents of a file as errors of that file."""
        try:
            yield
        except LoadError:
            raise
        except Exception as error:
            raise LoadError(
                f"File {self._path} is not as tfkit writes it, or a callback refuses what it saved; nothing "
                f"was loaded. {type(error).__name__}: {error}"
            ) from error


def _callbacks(training: Training) -> dict[str, Any]:
    """Returns the callbacks that have a state, by class and index within the class."""
    found: dict[str, Any] = {}
    for callback in training.callbacks.callbacks:
        # Callbacks written for Keras may have none.
        if getattr(callback, "get_state", dict)():
            name = type(callback).__name__
            number = sum(other.rpartition("/")[0] == name for other in found)
            found[f"{name}/{number}"] = callback
    return found


def _beside_variables(model: Trainer) -> list[tuple[str, Any]]:
    """Returns, by path, the layers for which files store more than variables, such as vocabularies."""
    return [
        (path, layer) for path, layer in tracking.named_layers(model) if layer._tfkit_set_by_files
    ]


def _variables(model: Trainer) -> dict[str, tf.Variable]:
    """Returns all variables that training changes, by path."""
    found: dict[str, tf.Variable] = {}

    def add(steps: tuple[str, ...], variables: dict[str, tf.Variable]) -> None:
        prefix = "/".join(filter(None, steps))
        found.update({f"{prefix}/{name}": variable for name, variable in variables.items()})

    add(("model",), tracking.named_state(model))
    seen: set[int] = set()
    for path, layer in tracking.named_layers(model):
        states = tf.nest.flatten(getattr(layer, "_tfkit_states", None) or ())
        add(("states", path), {str(index): state for index, state in enumerate(states)})
        held = dict(saving.contents.held_optimizers(layer))
        if layer._tfkit_settings is not None:
            held["optimizer"] = layer._tfkit_settings.optimizer
        for name, optimizer in held.items():
            if optimizer is not None and id(optimizer) not in seen:
                seen.add(id(optimizer))
                add(("optimizers", path, name), saving.contents.named_slots(optimizer, model))
    for index, metric in enumerate(model.metrics):
        add(("metrics", str(index)), named_variables(metric))
    return found
