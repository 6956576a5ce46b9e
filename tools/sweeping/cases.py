"""The rows of the tests' tables as functions of tensors whose first axis has any size."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

import tfkit
from sweeping.formulas import FORMULAS
from tests.conformance.table import CASES as LAYERS
from tests.ops.cases import CASES as OPS
from tests.ops.test_against_keras import identifier
from tfkit import layers, ops

# Passed unchanged, with the size that they have in the table: the first axis is not a batch.
WHOLE = {"where", "unique", "nonzero", "svd"}
# Results that are not functions of the values alone: bits of the dtype; vectors except for signs and order.
LEFT_OUT = {"view", "eig", "eigh"}
# Vectors that may have either sign, which XLA chooses differently than the kernels.
UP_TO_SIGN = {"svd"}
# Repeated rows make matrices whose singular values have no gradient.
NO_GRADIENT = {"norm"}


def is_float(value: Any) -> bool:
    """Whether an argument of the table is converted to the dtype under test."""
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


@dataclasses.dataclass
class Row:
    """One row of a table.

    Attributes:
        name: op or layer.
        label: the printed name.
        arrays: the arrays that it takes, floats among them in float32.
        batched: for each of them, whether its first axis may have any size.
        call: from tensors (of one dtype) to a nest of tensors.
        formula: the same in NumPy, if there is one.
        weights: initial weights of a layer.
        make: makes the layer in a dtype.
    """

    name: str
    label: str
    arrays: list[Any]
    batched: list[bool]
    call: Callable[..., Any] | None = None
    formula: Callable[..., Any] | None = None
    make: Callable[[str], Any] | None = None

    @property
    def has_floats(self) -> bool:
        """Whether there is something to convert."""
        return any(map(is_float, self.arrays)) or self.make is not None

    def inputs(self, dtype: str, rows: int | None) -> list[np.ndarray]:
        """Returns the arrays with this many rows (`None`: the table's), and floats rounded to a dtype."""
        found = []
        for array, batched in zip(self.arrays, self.batched, strict=True):
            if batched and rows is not None:
                array = array[np.arange(rows) % len(array)]
            if is_float(array):
                with np.errstate(invalid="ignore"):
                    array = np.array(tf.cast(tf.cast(array, dtype), "float64"))
            found.append(array)
        return found


def _op_row(case: Any) -> Row:
    name, args, kwargs = case
    given = {**dict(enumerate(args)), **kwargs}
    slots = [(place, arg) for place, arg in given.items() if isinstance(arg, np.ndarray)]
    nested = name not in WHOLE and not slots and args and isinstance(args[0], (list, tuple))
    if nested and all(isinstance(part, np.ndarray) for part in args[0]):
        arrays, kind = list(args[0]), type(args[0])

        def call(*tensors: Any) -> Any:
            return getattr(ops, name)(kind(tensors), *args[1:], **kwargs)

        return Row(name, identifier(case), arrays, [False] * len(arrays), call)

    def run(function: Callable[..., Any], tensors: Any) -> Any:
        places = [place for place, _ in slots]
        filled = {**given, **dict(zip(places, tensors, strict=True))}
        return function(
            *(filled[place] for place in range(len(args))), **{key: filled[key] for key in kwargs}
        )

    formula = FORMULAS.get(name)
    arrays = [arg for _, arg in slots]
    return Row(
        name,
        identifier(case),
        arrays,
        _batched(name, arrays),
        lambda *tensors: _without_sign(name, run(getattr(ops, name), tensors)),
        formula and (lambda *tensors: run(formula, tensors)),
    )


def _without_sign(name: str, outputs: Any) -> Any:
    return tf.nest.map_structure(tf.abs, outputs) if name in UP_TO_SIGN else outputs


def _batched(name: str, arrays: list[Any]) -> list[bool]:
    """Returns for each array whether its first axis is the batch of the first array."""
    if name in WHOLE or not arrays or arrays[0].ndim < 2:
        return [False] * len(arrays)
    alone = name in FORMULAS and not (name in ("matmul", "inner") and arrays[-1].ndim > 2)
    alone = alone or name in ("conv_transpose", "cdist", "outer")
    size = len(arrays[0])
    return [
        index == 0 or (not alone and array.ndim > 1 and len(array) == size)
        for index, array in enumerate(arrays)
    ]


def _layer_row(case: Any, number: int) -> Row:
    inputs = case.data()
    arrays = tf.nest.flatten(inputs)

    def make(dtype: str) -> Any:
        tfkit.utils.set_random_seed(1)
        layer = case.make(layers, dtype=dtype)
        layer(*tf.nest.map_structure(_rounded(dtype), inputs))
        draws = np.random.default_rng(1)
        layer.set_weights([draws.uniform(0.5, 1.5, weight.shape) for weight in layer.weights])
        return lambda *tensors: layer._tfkit_call_in_phases(
            tuple(tf.nest.pack_sequence_as(inputs, tensors)), {}
        ), layer

    label = f"{case}-{number}"
    return Row(case.layer, label, arrays, [True] * len(arrays), make=make)


def _rounded(dtype: str) -> Callable[[Any], tf.Tensor]:
    return lambda array: tf.cast(array, dtype) if is_float(array) else tf.constant(array)


def rows(only: set[str] | None = None) -> list[Row]:
    """Returns all rows, or those of some ops and layers."""
    found = [_op_row(case) for case in OPS if case[0] not in LEFT_OUT]
    found += [_layer_row(case, number) for number, case in enumerate(LAYERS)]
    found = [row for row in found if only is None or row.name in only]
    for number, row in enumerate(found):
        row.label = f"{row.label} #{number}"
    return found
