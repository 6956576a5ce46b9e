"""Losses of several outputs at once: losses passed to `compile` for a nest inside the outputs.

If there is one loss where the outputs have a nest, it receives the whole nest, of targets and of predictions.
A list where the outputs have a dict or a tuple, or a tuple where they have a list, contains several losses
for the same nest: `[whole, (first, second)]` for a tuple of two outputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tfkit.src.base import nests


class Assignment(NamedTuple):
    """One loss, the outputs that it is for, and its weight.

    Attributes:
        path: keys that lead to the outputs.
        outputs: the indices of the outputs, in order.
        structure: a nest of the indices of the outputs, or the index of one output.
        loss: a name, function or `Loss`.
        weight: its weight in the sum, or `None`.
    """

    path: tuple[Any, ...]
    outputs: list[int]
    structure: Any
    loss: Any
    weight: Any


def has_groups(loss: Any, structure: Any) -> bool:
    """Whether a nest of losses has one for several outputs; a single loss is for each output."""
    return nests.is_nested(loss) and any(
        len(found.outputs) > 1 for found in _assigned(loss, None, structure, (), strict=False)
    )


def assigned(loss: Any, weights: Any, structure: Any) -> list[Assignment]:
    """Returns each loss of a nest with the outputs that it is for.

    Args:
        loss: the nest of losses.
        weights: a nest of numbers in the form of `loss`; or one number or `None` for a whole nest.
        structure: a nest of indices, in the form of the outputs.

    Raises:
        KeyError: for a key that the outputs do not have.
        ValueError: for a list of a wrong length.
    """
    return list(_assigned(loss, weights, structure, (), strict=True))


def _assigned(
    loss: Any, weights: Any, structure: Any, path: tuple[Any, ...], strict: bool
) -> Iterator[Assignment]:
    outputs = list(_leaves(structure))
    if loss is None:
        return
    if not nests.is_nested(loss):
        yield Assignment(path, outputs, structure, loss, weights)
        return
    entries = nests.items(loss)
    is_nest = nests.is_nested(structure)
    is_list = isinstance(loss, (list, tuple))
    plain = is_list and not any(nests.is_nested(item) for _, item in entries)
    for index, (key, item) in enumerate(entries):
        weight = _weight(weights, key, len(entries), strict)
        # As many losses as outputs: one for each, in their order.
        if plain and is_nest and len(entries) == len(outputs):
            number = outputs[index]
            yield from _assigned(
                item, weight, number, (*path, *_path_to(structure, number)), strict
            )
        # A list where the outputs have another kind of nest: several losses for all of it.
        elif is_list and not isinstance(structure, type(loss)):
            yield from _assigned(item, weight, structure, path, strict)
        else:
            children = dict(nests.items(structure)) if is_nest else {}
            if key in children:
                yield from _assigned(item, weight, children[key], (*path, key), strict)
            elif strict and item is not None:
                raise KeyError(
                    f"The path {(*path, key)} of `loss` can't be found in the model's outputs. Expected keys "
                    f"from: {list(children)}"
                )


def _weight(weights: Any, key: Any, count: int, strict: bool) -> Any:
    """Returns the weights of one item of a nest of losses."""
    if isinstance(weights, Mapping):
        return weights.get(key)
    if isinstance(weights, (list, tuple)):
        if hasattr(weights, "_fields") and isinstance(key, str):
            return getattr(weights, key)
        if strict and len(weights) != count:
            raise ValueError(
                f"`loss_weights` must match the number of losses. Expected {count} weights. "
                f"Received: {weights}"
            )
        return weights[key] if isinstance(key, int) and key < len(weights) else None
    return weights


def _leaves(structure: Any) -> Iterator[int]:
    if not nests.is_nested(structure):
        yield structure
        return
    entries = nests.items(structure)
    if isinstance(structure, Mapping):
        entries = sorted(entries, key=lambda entry: entry[0])  # In the order of `tf.nest`.
    for _, item in entries:
        yield from _leaves(item)


def _path_to(structure: Any, number: int) -> tuple[Any, ...]:
    """Returns the keys that lead to one output in a nest of indices."""
    if not nests.is_nested(structure):
        return ()
    for key, item in nests.items(structure):
        if number in _leaves(item):
            return (key, *_path_to(item, number))
    raise KeyError(number)
