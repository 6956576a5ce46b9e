"""Warns about frozen layers that a model calls, but whose weights are not in its files."""

from __future__ import annotations

from tfkit.src.base.errors.frames import warn
from tfkit.src.core import hidden, tracking
from tfkit.src.files.model_like import ModelLike


def warn_of_unlisted(model: ModelLike) -> None:
    """Warns if a model calls frozen layers that no attribute holds, so that its files lack their weights."""
    layers = tracking.all_layers(model)
    members = {id(layer) for layer in layers}
    unlisted = {each for layer in layers for each in layer._tfkit.unlisted}
    titles = sorted(each.title for each in unlisted if id(each.layer) not in members)
    if titles:
        warn(
            f"Model '{model.name}' calls the frozen layer {', '.join(titles)}, which no attribute holds: its "
            f"weights are not in the file. {hidden.HOLD}; or make sure that the program that loads the file "
            "has it."
        )
