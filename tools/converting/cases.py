"""The cases: ops of `tests/ops/cases.py`, layers of `tests/conformance/table.py`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

import tfkit
from tests.conformance.table import CASES as LAYERS
from tests.ops.cases import CASES as OPS
from tfkit import ops


@dataclasses.dataclass(frozen=True)
class Item:
    """One case.

    Attributes:
        name: its name.
        make: returns a layer, examples, and data for a dtype; `None` where there is none.
        modes: values of `training`.
    """

    name: str
    make: Callable[[str], tuple[Any, Sequence[Any], Sequence[Any]] | None]
    modes: tuple[bool, ...] = (False,)


class Op(tfkit.layers.Layer):
    """An op as a layer, of the arguments that are arrays."""

    def __init__(self, name: str, nest: Any, places: list[int]) -> None:
        super().__init__(autocast=False)
        self.function, self.nest, self.places = getattr(ops, name), [nest], places

    def call(self, *inputs: Any) -> Any:
        flat = tf.nest.flatten(self.nest[0])
        for place, value in zip(self.places, inputs, strict=True):
            flat[place] = value
        args, kwargs = tf.nest.pack_sequence_as(self.nest[0], flat)
        return self.function(*args, **kwargs)


def op_cases() -> list[Item]:
    """Returns a case for each call of the table."""
    counts: dict[str, int] = {}
    items = []
    for name, args, kwargs in OPS:
        counts[name] = counts.get(name, 0) + 1
        items.append(Item(f"{name}-{counts[name]}", _maker(name, args, kwargs)))
    return items


def _maker(name: str, args: Any, kwargs: Any) -> Any:
    def make(dtype: str) -> Any:
        nest = (tuple(args), dict(kwargs))
        flat = tf.nest.flatten(nest)
        places = [n for n, it in enumerate(flat) if isinstance(it, np.ndarray)]
        if not places:
            return None
        arrays = [flat[n] for n in places]
        if dtype != "float32":
            if not any(it.dtype == "float32" for it in arrays):
                return None
            arrays = [cast(it, dtype) for it in arrays]
        return Op(name, nest, places), arrays, arrays

    return make


def cast(array: np.ndarray, dtype: str) -> np.ndarray:
    """Returns floats of 32 bits in a dtype, and other arrays as they are."""
    return tf.cast(array, dtype).numpy() if array.dtype == "float32" else array


def layer_cases() -> list[Item]:
    """Returns a case for each layer of the table; it is called with a batch of a different size."""
    return [Item(f"{case}", _layer_maker(case), (False, True)) for case in LAYERS]


def _layer_maker(case: Any) -> Any:
    def make(dtype: str) -> Any:
        layer = case.make(tfkit.layers, dtype=dtype)
        data = case.data()
        if dtype != "float32":
            if not any(it.dtype == "float32" for it in tf.nest.flatten(data)):
                return None
            data = tf.nest.map_structure(lambda it: cast(it, dtype), data)
        layer(*tf.nest.map_structure(tf.constant, data))
        return layer, data, larger(data)

    return make


def larger(data: Any) -> Any:
    """Returns the rows twice, and the first once more."""
    return tf.nest.map_structure(
        lambda it: np.concatenate([it, it, it[:1]]) if it.ndim else it, data
    )
