"""The order of the weights of several layers in one group of an `.h5` file of Keras.

Keras writes the trained ones first, then the others. Which these are depends on what was frozen when the file
was written, and frozen layers change places with layers of the same shapes.
"""

from __future__ import annotations

import re
from typing import Any

from tfkit.src.base.quoting import quoted
from tfkit.src.core import tracking
from tfkit.src.core.layer import Layer
from tfkit.src.files.interop import keras_layout
from tfkit.src.files.interop.keras_hdf5 import KerasReader
from tfkit.src.files.saving.errors import LoadError


def in_order(
    reader: KerasReader, group: str, names: list[str], layer: Layer, same_order: bool
) -> list[Any]:
    """Returns the weights of a layer, and of the layers in it, in the order of their names in a file.

    Args:
        reader: the file.
        group: path of the group.
        names: names of the weights in the file.
        layer: the layer.
        same_order: whether the layers were made in the order in which the saved ones were.

    Raises:
        LoadError: if names and order do not say the same, and the shapes fit both.
    """
    # The order if the same layers are frozen as in the file.
    weights = [*layer.trainable_weights, *layer.non_trainable_weights]
    if not len(names) == len(weights) > len(tracking.own_weights(layer)):
        return weights
    owners = {
        id(weight): below
        for _, below in reversed(tracking.named_layers(layer))
        for weight in tracking.own_weights(below)
    }
    by_name, numbered = _by_name(names, weights, owners)
    if by_name is None:
        return weights
    pairs = zip(by_name, weights, strict=True)
    moved = {id(owners[id(weight)]) for weight, other in pairs if weight is not other}
    shapes = [reader.datasets[f"{group}/{name}"].shape for name in names]
    fits = shapes == [tuple(weight.shape) for weight in weights]
    if fits and not same_order and moved & numbered:
        raise LoadError(
            f"File {reader.path}: the weights of layer {layer.name!r} may be in the order of its layers, or "
            "those that were frozen when it was saved may come last; they have the same shapes, so that they "
            f"could be swapped; nothing was loaded. The file has: {quoted(names)}. Freeze the layers that "
            "were frozen then (`trainable = False`) before you load the weights, give the layers names "
            "(`name=...`), load the whole model (`load_model`), or pass `same_order=True` to "
            "`tfkit.interop.keras.load_weights` if the layers are made in the order of the saved ones."
        )
    return by_name


def _by_name(
    names: list[str], weights: list[Any], owners: dict[int, Layer]
) -> tuple[list[Any] | None, set[int]]:
    """Returns weights in the order of names, and the ids of layers that only a number distinguishes."""
    # `inner/dense_1/kernel:0` is `kernel` of `dense_1`.
    parts = [name.partition(":")[0].rpartition("/") for name in names]
    stored = {prefix.rpartition("/")[2]: prefix for prefix, _, _ in parts}
    layers = {id(owner): owner for owner in owners.values()}
    paired: dict[str, Layer] = {}
    kinds: dict[str, list[Layer]] = {}
    for owner in sorted(layers.values(), key=lambda owner: owner._tfkit.made):
        if owner._tfkit_auto_named:
            kinds.setdefault(keras_layout.base_name(owner), []).append(owner)
        elif owner.name in stored:
            paired[stored.pop(owner.name)] = owner
    for kind, members in kinds.items():
        numbers = {name: re.fullmatch(rf"{re.escape(kind)}(?:_(\d+))?", name) for name in stored}
        found = sorted((int(match[1] or 0), name) for name, match in numbers.items() if match)
        paired |= {stored.pop(name): it for (_, name), it in zip(found, members, strict=False)}
    ordered = {(id(owners[id(weight)]), getattr(weight, "label", "")): weight for weight in weights}
    keys = [(id(paired.get(prefix)), label) for prefix, _, label in parts]
    fit = len(set(keys)) == len(ordered) == len(weights) and set(keys) == set(ordered)
    numbered = {id(it) for members in kinds.values() if len(members) > 1 for it in members}
    return [ordered[key] for key in keys] if fit else None, numbered
