"""Matches the arguments of a functional model's call to its inputs, in order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from tfkit.src.base import nests
from tfkit.src.base.errors import frames
from tfkit.src.symbolic import tensors
from tfkit.src.symbolic.tensors import KerasTensor


def match_form(given: Any, expected: Any, name: str) -> list[Any]:
    """Returns the values for the inputs of a graph, in its order.

    Lists and tuples are interchangeable, and a dict by the names of the inputs may replace a list. Any other
    form is used in its own order, with a warning if there are several inputs. Keys that no input has
    are left out, with a warning if the inputs are a dict or a single one.

    Args:
        given: a nest of values.
        expected: the nest of symbolic inputs.
        name: name of the model, for messages.

    Raises:
        ValueError: for a different number of values than there are inputs; for a dict without one of them;
            for a list instead of a dict whose keys are not in alphabetical order: it is not known
            whether the list has the order in which they were written, or is sorted.
    """
    if isinstance(given, Mapping):
        return _by_key(given, expected, name)
    is_list = nests.is_nested(given)
    if is_list and isinstance(expected, Mapping) and list(expected) != sorted(expected):
        raise ValueError(
            f"The structure of `inputs` doesn't match the expected structure. Model '{name}' expects a dict "
            f"with the keys {list(expected)}, which are not in alphabetical order. Pass a dict: which value "
            f"of a list is meant for which key is not clear. Received: a {type(given).__name__}"
        )
    flat = tf.nest.flatten(given)
    wanted = [tensor.name for tensor in tf.nest.flatten(expected)]
    if len(flat) != len(wanted):
        raise ValueError(
            f"Model '{name}' expects {len(wanted)} input(s): {wanted}. Received: {len(flat)} in a "
            f"{type(given).__name__}: {_described(given)}. Targets are a separate argument: `fit(x, y)`."
        )
    if len(flat) > 1 and not is_alike(given, expected):
        _warn(given, expected, name, "The values are taken in their order")
    return flat


def _by_key(given: Mapping[Any, Any], expected: Any, name: str) -> list[Any]:
    inputs = tf.nest.flatten(expected)
    keys = list(expected) if isinstance(expected, Mapping) else [each.name for each in inputs]
    if missing := [key for key in keys if key not in given]:
        raise ValueError(
            f"Model '{name}' expects values for its inputs {keys}. Received: a dict with the keys "
            f"{list(given)}, without {missing}"
        )
    wanted: dict[Any, Any] = {key: given[key] for key in keys}
    named = isinstance(expected, (Mapping, KerasTensor))
    if named and len(given) > len(wanted):
        left = [key for key in given if key not in wanted]
        _warn(given, expected, name, f"Nothing is done with {left}")
    if not isinstance(expected, Mapping):
        return list(wanted.values())
    # `tf.nest` sorts the keys, as it does in the expected structure.
    return tf.nest.flatten(wanted)


def is_alike(given: Any, expected: Any) -> bool:
    """Whether two nests have the same structure; lists and tuples are interchangeable."""
    if isinstance(expected, KerasTensor) or not nests.is_nested(expected):
        return not nests.is_nested(given)
    if not nests.is_nested(given) or isinstance(given, Mapping) != isinstance(expected, Mapping):
        return False
    if isinstance(expected, Mapping):
        return given.keys() == expected.keys() and all(
            is_alike(given[key], item) for key, item in expected.items()
        )
    ours, theirs = list(nests.children(expected)), list(nests.children(given))
    return len(ours) == len(theirs) and all(map(is_alike, theirs, ours))


def _warn(given: Any, expected: Any, name: str, consequence: str) -> None:
    if tensors.is_described() or tensors.symbolic_leaves(given):
        return  # The model that is being made warns when it is called, as in Keras.
    frames.warn(
        f"The structure of `inputs` doesn't match the expected structure. Model '{name}' expects "
        f"{_described(expected)}. {consequence}. Received: {_described(given)}"
    )


def _described(structure: Any) -> Any:
    """Returns a nest with tensors replaced by names or shapes."""
    if isinstance(structure, KerasTensor):
        return structure.name
    if nests.is_nested(structure):
        return nests.mapped(_described, structure)
    shape = getattr(structure, "shape", None)
    return structure if shape is None else f"shape {tuple(shape)}"


def path_of(tensor: KerasTensor, inputs: Any) -> str:
    """Returns the path of an input in a nest, such as `0.image`; empty for a single input."""
    if inputs is tensor or not nests.is_nested(inputs):
        return ""
    for key, item in nests.items(inputs):
        if any(leaf is tensor for leaf in tf.nest.flatten(item)):
            return f"{key}.{path_of(tensor, item)}".rstrip(".")
    return ""
