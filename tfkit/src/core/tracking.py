"""Finds the layers, weights, metrics and seeds in a layer's attributes, each once.

Members are found by walking the attributes on each request, as `base/members.py` does. A member is identified
by its attribute path, `blocks/0/dense/kernel`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from tfkit.src.base import members
from tfkit.src.base.calls import current_frame
from tfkit.src.base.names import escaped, free
from tfkit.src.base.protocols import Tracked

if TYPE_CHECKING:
    from tfkit.src.core.layer import Layer
    from tfkit.src.metrics.base import Metric

_clock = itertools.count(1)


def tick() -> int:
    """Returns a number larger than all earlier ones, to order objects and attributes by time."""
    return next(_clock)


def members_of(layer: Tracked) -> list[tuple[str, Any]]:
    """Returns the layer's direct members with their paths, in the order in which they were attached.

    What was appended to a list counts as attached when it was made, or, if it existed when the members were
    last listed, directly after the item before it. Each member that is set as an attribute lists them.
    """
    state, found = layer._tfkit, []
    for name, value in vars(layer).copy().items():  # Another thread may be building it.
        if type(value) not in members.PLAIN and name not in members.BOOKKEEPING:
            when = state.attached.get(name, 0)
            latest = since = max(when, state.listed)
            for path, member in walk(name, value):
                latest = made if (made := _made(member)) > since else latest
                first = state.first_listed.get(id(member), latest if "/" in path else when)
                found.append((first, path, member))
    found.sort(key=lambda entry: entry[0])
    unique: dict[int, tuple[int, str, Any]] = {}
    for entry in found:
        unique.setdefault(id(entry[2]), entry)
    state.listed, state.first_listed = tick(), {key: it[0] for key, it in unique.items()}
    return [(path, member) for _, path, member in unique.values()]


def walk(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yields the members in one attribute, except for the members of an optimizer."""
    for where, found in members.walk(path, value, _is_member, _made):
        if not isinstance(found, members.Owner):
            yield where, found


def _is_member(value: Any) -> bool:
    kinds = (tf.Variable, members.MetricBase, members.SeedBase, members.Owner)
    # Functions that wrap a layer, such as `tf.function(layer)`, have copies of its attributes.
    return isinstance(value, kinds) or (hasattr(value, "_tfkit") and value._tfkit.layer is value)


def _made(member: Any) -> int:
    return int(getattr(getattr(member, "_tfkit", member), "made", 0))


def step_to(layer: Layer, caller: Layer) -> str:
    """Returns the path of a layer within its caller; its name if no attribute of the caller holds it."""
    frame = current_frame()
    while frame is not None and frame.layer is not caller:
        frame = frame.parent
    if frame is None:
        return next((path for path, it in caller._tfkit_members() if it is layer), layer.name)
    # During a call of `caller` its members are looked up once, because each new weight needs its path.
    member, path = frame.steps.get(id(layer), (None, ""))
    if member is not layer:
        frame.steps = {id(member): (member, path) for path, member in caller._tfkit_members()}
        _, path = frame.steps.get(id(layer), (layer, layer.name))
    return path


# --- The members of a whole tree of layers ------------------------------------------------------------


def sublayers(layer: Tracked) -> list[Layer]:
    """Returns the layers directly below `layer`, each once."""
    return [member for _, member in named_sublayers(layer)]


def named_sublayers(layer: Tracked) -> list[tuple[str, Layer]]:
    """Returns the layers directly below `layer` with the paths that name them."""
    return [(path, member) for path, member in layer._tfkit_members() if hasattr(member, "_tfkit")]


def all_layers(layer: Tracked) -> list[Layer]:
    """Returns `layer` and all layers below it, parents before children, each once."""
    return [below for _, below in named_layers(layer)]


def named_layers(layer: Tracked) -> list[tuple[str, Layer]]:
    """Returns `layer`, with an empty path, and all layers below it, each once, with their attribute paths."""
    found: dict[int, tuple[str, Layer]] = {}
    pending = [("", layer._tfkit.layer)]
    while pending:
        path, current = pending.pop()
        if id(current) not in found:
            found[id(current)] = (path, current)
            below = named_sublayers(current)
            pending += [(f"{path}/{name}".lstrip("/"), member) for name, member in reversed(below)]
    return list(found.values())


def own_weights(layer: Tracked, inside: Any = None) -> list[tf.Variable]:
    """Returns the layer's own weights: trainable ones first, each kind in order of creation or attachment.

    Args:
        layer: the layer.
        inside: its members, if they are known.
    """
    own = {id(weight): (weight.made, weight) for weight in layer._tfkit.weights}
    for _, it in layer._tfkit_members() if inside is None else inside:
        # In an attribute: made when that was set, or a list got it.
        if isinstance(it, tf.Variable):
            own.setdefault(id(it), (layer._tfkit.first_listed.get(id(it), 0), it))
    return [it for _, it in sorted(own.values(), key=lambda w: (not made_trainable(w[1]), w[0]))]


def made_trainable(weight: tf.Variable) -> bool:
    """Whether a weight was made trainable, even if its layer is frozen."""
    return bool(getattr(weight, "made_trainable", weight.trainable))


def named_weights(layer: Tracked) -> dict[str, tf.Variable]:
    """Returns all weights at and below `layer` by attribute path, in the order of `layer.weights`."""
    return {path: weight for path, weight, _ in _named(layer, seeds=False)}


def named_state(layer: Tracked) -> dict[str, tf.Variable]:
    """Returns all weights and seed states at and below `layer` by attribute path."""
    state: dict[str, tf.Variable] = {}
    for path, variable, _ in _named(layer, seeds=True):
        if path in state:
            raise ValueError(
                f"Two weights of '{layer.name}' have the path '{path}', which identifies them in files. Keys "
                "of a dict that look the same, such as 1 and '1', make the same path: change one."
            )
        state[path] = variable
    return state


def variables_of(layer: Tracked, seeds: bool) -> list[tuple[tf.Variable, bool]]:
    """Returns weights (and seed states) at and below `layer`, each with whether training changes it."""
    return [(variable, trained) for _, variable, trained in _named(layer, seeds)]


def _named(layer: Tracked, seeds: bool) -> list[tuple[str, tf.Variable, bool]]:
    """Returns the path, the variable, and whether training changes it, for variables at and below `layer`."""
    found: dict[int, tuple[str, tf.Variable, bool]] = {}
    visited: set[int] = set()
    pending, frozen = [(layer, "", True)], not layer.trainable
    while pending:
        layer, prefix, trainable = pending.pop()
        if id(layer) in visited:
            continue
        visited.add(id(layer))
        # A layer that was thawed inside a frozen one is trained with the model around both.
        trainable = layer.trainable and (trainable or layer._tfkit.thawed) and not frozen
        inside = layer._tfkit_members()
        paths = {id(member): path for path, member in inside}
        # The first step of each path is taken too: a weight `blocks` cannot exist next to the layer
        # `blocks/0`.
        taken = {step for path, _ in inside for step in (path, path.partition("/")[0])}
        for weight in own_weights(layer, inside):
            path = paths.get(id(weight)) or free(escaped(getattr(weight, "label", "weight")), taken)
            taken.add(path)
            trained = trainable and getattr(weight, "trained", weight.trainable)
            found.setdefault(id(weight), (prefix + path, weight, trained))
        for path, member in inside if seeds else ():
            if isinstance(member, members.SeedBase):
                found.setdefault(id(member.state), (f"{prefix}{path}/state", member.state, False))
        below = [(path, member) for path, member in inside if hasattr(member, "_tfkit")]
        pending += [(member, f"{prefix}{path}/", trainable) for path, member in reversed(below)]
    return list(found.values())


def named_metrics(layer: Tracked) -> list[tuple[str, Metric]]:
    """Returns the metrics at and below `layer`, each once, with their attribute paths."""
    found: dict[int, tuple[str, Any]] = {}
    for path, below in named_layers(layer):
        for name, member in below._tfkit_members():
            if isinstance(member, members.MetricBase):
                found.setdefault(id(member), (f"{path}/{name}".lstrip("/"), member))
    return list(found.values())
