"""Copies and pickles of models, with the settings of `compile` and the state of training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfkit.src.core import copies, tracking
from tfkit.src.training.callbacks.history import History

if TYPE_CHECKING:
    from tfkit.src.training.trainer import Trainer


def state_of(model: Trainer) -> dict[str, Any]:
    """Returns a model as data, as in `core.copies`, with the settings of `compile` and the results of `fit`.

    Raises:
        TypeError: for a model whose configuration cannot be made.
    """
    return {
        "layer": copies.state_of(model),
        "compiled": _compiled(model) if model.compiled else None,
        "history": _results(getattr(model, "history", None)),
    }


def from_state(state: dict[str, Any]) -> Trainer:
    """Returns the model that `state_of` described, which shares nothing with the original."""
    model = copies.from_state(state["layer"])
    if state["compiled"] is not None:
        _compile(model, **state["compiled"])
    if state["history"] is not None:
        history = History()
        history.set_model(model)
        vars(history).update(state["history"])
    return model


def _compiled(model: Trainer) -> dict[str, Any]:
    """Returns the objects passed to `compile`, which are copied together with the model."""
    optimizer = model.optimizer
    paths = {id(weight): path for path, weight in tracking.named_weights(model).items()}
    trained = (
        optimizer._tfkit_untracked.variables if optimizer is not None and optimizer.built else []
    )
    return {
        "arguments": model._tfkit_settings.arguments(),
        "trained": [paths.get(id(weight)) for weight in trained],
        "parts": {name: getattr(model, name) for name in model._tfkit_compiled_parts},
        "steps": model._tfkit_programs.trained_steps(optimizer),
    }


def _compile(
    model: Trainer, arguments: dict[str, Any], trained: Any, parts: dict[str, Any], steps: int
) -> None:
    """Compiles a copy without the user's own `compile`, whose effects were copied with the attributes."""
    model._tfkit_compile(**arguments)
    for name, part in parts.items():
        model._tfkit_set(name, part)
    if model.optimizer is not None and trained and None not in trained:
        weights = tracking.named_weights(model)
        model.optimizer.build([weights[path] for path in trained])
    model._tfkit_programs.steps_run["before"] = steps


def _results(history: Any) -> dict[str, Any] | None:
    if not isinstance(history, History):
        return None
    return {"history": history.history, "epoch": history.epoch, "params": history.params}
