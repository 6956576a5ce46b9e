"""Loads LoRA into a model without it, and the reverse: the sum of a weight and its LoRA is loaded.

A file has a weight and the two small matrices, so that a training run can continue. A model without LoRA gets
their sum. In a model with LoRA, a weight that comes without matrices is the sum: the product becomes zero.
"""

from __future__ import annotations

import collections
import dataclasses
import sys
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base.memory import aligned
from tfkit.src.base.quoting import shown
from tfkit.src.core import tracking
from tfkit.src.files.model_like import ModelLike
from tfkit.src.files.saving import entries
from tfkit.src.files.saving.errors import LoadError
from tfkit.src.files.saving.matching import Match, Stored, describe
from tfkit.src.layers.lora import Adaptable


@dataclasses.dataclass
class Place:
    """A layer that can have LoRA, and the paths of its weights.

    Args:
        layer: the layer.
        parts: paths of the variables that its main weight consists of, by attribute.
        matrices: paths of the two matrices, whether or not it has them.
    """

    layer: Adaptable
    parts: dict[str, str]
    matrices: tuple[str, str]

    @property
    def main(self) -> str:
        """The path of the main weight."""
        return self.parts[self.layer._tfkit_main]


@dataclasses.dataclass(eq=False)
class Sum:
    """The main weight of a layer without LoRA, for which a file has matrices.

    Args:
        place: the layer.
        stored: stored paths of the parts of the weight, by attribute.
        matrices: stored paths of the matrices.
        alpha: the `lora_alpha` in the file.
    """

    place: Place
    stored: dict[str, str]
    matrices: tuple[str, str]
    alpha: float
    _made: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)

    def value(self, reader: Any, path: str) -> np.ndarray:
        """Returns the value for a part of the weight, by its stored path."""
        if path not in self._made:
            self._made = self.values(reader)
        return self._made.pop(path)

    def values(self, reader: Any) -> dict[str, np.ndarray]:
        """Returns the values for all parts, by their stored paths.

        Raises:
            LoadError: for values that have no sum, such as integers whose scales are missing.
        """
        own = {name: reader.value(entries.WEIGHTS, path) for name, path in self.stored.items()}
        a, b = (reader.value(entries.WEIGHTS, path) for path in self.matrices)
        try:
            made = self.place.layer._tfkit_sum(own, a, b, self.alpha / b.shape[0])
        except (tf.errors.OpError, ValueError) as error:
            raise LoadError(
                f"File {reader.path}: `{shown(self.place.main)}` and its LoRA have no sum. "
                f"{type(error).__name__}: {error}"
            ) from None
        values = own | {name: aligned(np.asarray(value)) for name, value in made.items()}
        return {path: values[name] for name, path in self.stored.items()}

    def misfit(self, stored: Stored) -> str | None:
        """Returns why the matrices do not fit the weight of the model; `None` if they do."""
        (a, kind_a), (b, kind_b) = (stored[path] for path in self.matrices)
        *sizes, last = self.place.layer._tfkit_main_shape()
        rank = b[0] if b else 0
        are_floats = all(tf.as_dtype(kind).is_floating for kind in (kind_a, kind_b))
        if are_floats and rank and a == (*sizes, rank) and b == (rank, last):
            return None
        return (
            f"the file has LoRA of {describe(a, kind_a)} and {describe(b, kind_b)} for it, the model a "
            f"weight of {(*sizes, last)}"
        )


class Adaptation:
    """The weights of a model that are loaded as sums, or in which the product becomes zero.

    Args:
        reader: an open file.
        model: the model.
        variables: its variables by path, as far as they are loaded.
        paths: path in the model -> stored path.

    Raises:
        LoadError: if the file has a `lora_alpha` that is not a finite number.
    """

    def __init__(
        self,
        reader: Any,
        model: ModelLike,
        variables: dict[str, tf.Variable],
        paths: dict[str, str],
    ) -> None:
        places = [
            place
            for place in _places(model, variables)
            if all(part in variables and part in paths for part in place.parts.values())
        ]
        self._emptied = [
            place
            for place in places
            if all(it in variables and it not in paths for it in place.matrices)
        ]
        self._sums = []
        # Layers with LoRA whose matrices the file would scale differently, with what to do.
        self._rescaled: list[tuple[Place, str]] = []
        alphas = _alphas(reader)
        for place in places:
            a, b = (paths.get(it) for it in place.matrices)
            alpha = alphas.get(a.rpartition("/")[0]) if a else None
            if not (a and b) or alpha is None:
                continue
            if not place.layer.lora_enabled:
                stored = {name: paths[part] for name, part in place.parts.items()}
                self._sums.append(Sum(place, stored, (a, b), alpha))
            elif alpha != place.layer.lora_alpha:
                self._rescaled.append((place, _other_alpha(place.layer, alpha)))
        shapes = reader.shapes(entries.WEIGHTS)
        self._misfits = {it.place.main: it.misfit(shapes) for it in self._sums}
        #: The sums by the stored paths of their parts.
        self.sums = {
            path: it
            for it in self._sums
            if self._misfits[it.place.main] is None
            for path in it.stored.values()
        }
        taken = {it for one in self._sums for it in one.place.matrices}
        #: Path in the model -> stored path, without the matrices that are parts of sums.
        self.paths = {path: it for path, it in paths.items() if path not in taken}

    def adjust(self, found: Match) -> None:
        """Adjusts a comparison: either all parts of a weight fit, with its matrices, or none."""
        for one in self._sums:
            parts = one.place.parts.values()
            misfit = next((part for part in parts if part not in found.fits), None)
            reason = f"`{shown(misfit)}` does not fit" if misfit else self._misfits[one.place.main]
            if reason is not None:
                found.different |= {part: reason for part in parts if part in found.fits}
                found.drop(parts)
        for place, reason in self._rescaled:
            paths = [*place.parts.values(), *place.matrices]
            found.different |= {path: reason for path in paths if path in found.fits}
            found.drop(paths)
        for place in self._emptied:
            for matrix in place.matrices:
                del found.missing[matrix]

    def explain(self, found: Match) -> None:
        """Adds the reasons for a report: why matrices are not loaded, or have no value."""
        for one in self._sums:
            if one.place.main not in found.fits:
                reason = f"`{shown(one.place.main)}` does not fit"
                found.unexpected |= dict.fromkeys(one.matrices, reason)
        for place in self._emptied:
            a, b = place.matrices
            loaded = place.main in found.fits
            found.missing[a] = "kept"
            found.missing[b] = "zeros: the weight is the sum" if loaded else "kept"

    def emptied(self, found: Match) -> list[Adaptable]:
        """Returns the layers whose product becomes zero because their weights are loaded as sums."""
        return [place.layer for place in self._emptied if place.main in found.fits]


def _places(model: ModelLike, variables: dict[str, tf.Variable]) -> list[Place]:
    """Returns the built layers that can have LoRA, except those that share the weight.

    Layers that share a weight, but not the matrices, would need different sums.
    """
    layers = tracking.named_layers(model)
    holders = collections.Counter(
        id(weight) for _, layer in layers for weight in tracking.own_weights(layer)
    )
    paths = {id(variable): path for path, variable in variables.items()}
    places = []
    for path, layer in layers:
        if not isinstance(layer, Adaptable) or not layer.built:
            continue
        parts = {name: id(vars(layer)[name]) for name in layer._tfkit_parts_of_main()}
        if all(holders[part] == 1 for part in parts.values()):
            beginning = f"{path}/lora_{layer._tfkit_main}_".lstrip("/")
            own = {name: paths.get(part, "") for name, part in parts.items()}
            places.append(Place(layer, own, (f"{beginning}a", f"{beginning}b")))
    return places


def _other_alpha(layer: Adaptable, alpha: float) -> str:
    return (
        f"the file's `lora_alpha` is {alpha}, the layer's {layer.lora_alpha}: make it with "
        f"`enable_lora(rank, lora_alpha={alpha})`"
    )


def _alphas(reader: Any) -> dict[str, float]:
    """Returns the `lora_alpha` of each layer in a file that has LoRA, by stored path."""
    alphas = reader.text(entries.LORA)
    if alphas is None:
        return {}
    if not isinstance(alphas, dict) or not all(
        type(alpha) in (int, float) and abs(alpha) <= sys.float_info.max
        for alpha in alphas.values()
    ):
        raise LoadError(f"File {reader.path}: `{entries.LORA}` is not a dict of numbers by path.")
    return alphas
