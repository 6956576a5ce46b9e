"""Finds sizes of axes in a trace: integers, or unknown sizes that are known to be equal.

A step is traced for any number of rows, so TensorFlow does not know that the two factors of an attention's
products have equally many. Here an unknown size is a name, and equal names mean equal sizes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base.names import words

Size = Any  # An int, or the name of an unknown size.
Shape = tuple[Size, ...]

_SAME_AS_FIRST = words("""
    Abs BiasAdd Cast CheckNumerics Cos Cumsum Elu EluGrad EnsureShape Erf Exp Identity InvGrad
    Log Log1p LogSoftmax Neg OnesLike PreventGradient Reciprocal Relu Relu6 Relu6Grad ReluGrad
    Rsqrt RsqrtGrad Selu SeluGrad Sigmoid SigmoidGrad Sign Sin Snapshot Softmax Softplus
    SoftplusGrad Softsign SoftsignGrad Sqrt SqrtGrad Square StopGradient Tanh TanhGrad ZerosLike
""")
_BROADCASTING = words("""
    Add AddN AddV2 Div DivNoNan Equal FloorDiv FloorMod Greater GreaterEqual Less LessEqual
    LogicalAnd LogicalOr Maximum Minimum Mul MulNoNan NotEqual Pow RealDiv Select SelectV2
    SquaredDifference Sub Xdivy
""")
_REDUCTIONS = frozenset(("All", "Any", "Max", "Mean", "Min", "Prod", "Sum"))


class Sizes:
    """The sizes of the tensors of one graph, found on demand.

    Args:
        value_of: returns a tensor's value if the trace shows it, else `None`.
    """

    def __init__(self, value_of: Callable[[tf.Tensor], np.ndarray | None]) -> None:
        self._value_of = value_of
        self._shapes: dict[Any, Shape] = {}
        self._operations: Iterator[Any] | None = None

    def of(self, tensor: tf.Tensor) -> Shape | None:
        """Returns the size of each axis; `None` if the rank is not known."""
        rank = tensor.shape.rank
        if rank is None or tensor.shape.is_fully_defined():
            return None if rank is None else tuple(tensor.shape)
        key = tensor.ref()
        if self._operations is None:
            self._operations = iter(tensor.graph.get_operations())
        while key not in self._shapes:
            # A graph lists an operation after its inputs. In this order each rule finds the sizes of its
            # inputs. If rules called each other instead, a model of 120 layers would exceed Python's stack.
            operation = next(self._operations, tensor.op)
            for each in operation.outputs:
                if each.shape.rank is not None and not each.shape.is_fully_defined():
                    self._shapes[each.ref()] = self._named(each)
        return self._shapes[key]

    def _named(self, tensor: tf.Tensor) -> Shape:
        # Until a rule says otherwise, each unknown size is different from all others.
        names = tuple((tensor.ref(), axis) for axis in range(tensor.shape.rank))
        self._shapes[tensor.ref()] = names  # For a loop, whose inputs may be listed after it.
        found = self._found(tensor)
        if found is None or len(found) != len(names):
            found = names
        known = zip(found, tensor.shape, strict=True)
        return tuple(name if size is None else size for name, size in known)

    def values_of(self, tensor: tf.Tensor) -> Shape | None:
        """Returns the values of a scalar or vector that is made of sizes; `None` if they are not known."""
        operation = tensor.op
        kind, inputs = operation.type, operation.inputs
        if kind in ("Shape", "ShapeN"):
            return self.of(inputs[tensor.value_index])
        if kind in ("Cast", "Identity"):
            return self.values_of(inputs[0])
        if kind in ("Pack", "ConcatV2"):
            parts = [self.values_of(each) for each in (inputs if kind == "Pack" else inputs[:-1])]
            return None if None in parts else tuple(itertools.chain(*filter(None, parts)))
        value = self._value_of(tensor)
        if value is not None:
            return tuple(value.reshape(-1).tolist()) if value.ndim < 2 else None
        if kind == "DynamicStitch":
            return self._stitched(operation)
        if kind == "GatherV2":
            return self._picked(operation)
        return self._slice(operation) if kind == "StridedSlice" else None

    def _picked(self, operation: Any) -> Shape | None:
        values, indices = self.values_of(operation.inputs[0]), self._value_of(operation.inputs[1])
        if values is None or indices is None or not set(indices.flat) <= set(range(len(values))):
            return None
        return tuple(values[index] for index in indices.flat)

    def _stitched(self, operation: Any) -> Shape | None:
        # The shapes of reductions' gradients are made in this way: sizes, and ones at the reduced axes. The
        # first half of the inputs are indices, the second half the values there; later ones win.
        half = len(operation.inputs) // 2
        sizes: dict[int, Size] = {}
        for at, tensor in zip(operation.inputs[:half], operation.inputs[half:], strict=True):
            indices, values = self._value_of(at), self.values_of(tensor)
            if indices is None or values is None:
                return None
            sizes.update(zip(indices.reshape(-1).tolist(), values, strict=True))
        return tuple(sizes[index] for index in range(len(sizes)))

    def _slice(self, operation: Any) -> Shape | None:
        values = self.values_of(operation.inputs[0])
        # Only slices of a vector of sizes are followed: these have one entry.
        begin, end, step = (self._value_of(each) for each in operation.inputs[1:])
        if values is None or begin is None or end is None or step is None or len(begin) != 1:
            return None
        attr = operation.node_def.attr
        if attr["ellipsis_mask"].i or attr["new_axis_mask"].i:
            return None
        first, last = int(begin[0]), int(end[0])
        if attr["shrink_axis_mask"].i:
            # `shape[i]` is one size; a slice of one entry gives none if the index is outside.
            return values[first:][:1]
        return values[
            None if attr["begin_mask"].i else first : None if attr["end_mask"].i else last : int(
                step[0]
            )
        ]

    def _found(self, tensor: tf.Tensor) -> Shape | None:
        operation = tensor.op
        kind = operation.type
        if kind in _SAME_AS_FIRST:
            return self.of(operation.inputs[0])
        if kind in _BROADCASTING:
            return self._broadcast([self.of(each) for each in operation.inputs])
        if kind in _REDUCTIONS:
            return self._reduced(operation)
        rule = _RULES.get(kind)
        return None if rule is None else rule(self, operation)

    def _broadcast(self, shapes: list[Shape | None]) -> Shape | None:
        known = [shape for shape in shapes if shape is not None]
        if len(known) < len(shapes):
            return None
        # An operation without inputs is not in the list: `known` is never empty.
        rank = max(map(len, known))
        padded = [(1,) * (rank - len(shape)) + shape for shape in known]
        # Shapes are lined up from the last axis, and a size of 1 takes the size of the others.
        sizes = [set(axis) - {1} or {1} for axis in zip(*padded, strict=True)]
        # Two different names may be equal, or one of them 1: nothing is known.
        if any(len(each) > 1 for each in sizes):
            return None
        return tuple(each.pop() for each in sizes)

    def _reduced(self, operation: Any) -> Shape | None:
        shape, axes = self.of(operation.inputs[0]), self._value_of(operation.inputs[1])
        if shape is None or axes is None:
            return None
        dropped = {int(axis) % len(shape) for axis in axes.reshape(-1)}
        if operation.node_def.attr["keep_dims"].b:
            return tuple(1 if axis in dropped else size for axis, size in enumerate(shape))
        return tuple(size for axis, size in enumerate(shape) if axis not in dropped)

    def _reshaped(self, operation: Any) -> Shape | None:
        before, after = self.of(operation.inputs[0]), self.values_of(operation.inputs[1])
        if before is None or after is None or -1 not in after:
            return after
        # If all other sizes occur before as well, the -1 is the size that is left.
        left = list(before)
        for size in after:
            if size in left:
                left.remove(size)
            elif size != -1:
                return None
        # Axes of size 1 may disappear in a reshape, since they do not change the number of
        # elements.
        left = [size for size in left if size != 1]
        return tuple(left[0] if size == -1 else size for size in after) if len(left) == 1 else None

    def _tiled(self, operation: Any) -> Shape | None:
        shape, times = self.of(operation.inputs[0]), self.values_of(operation.inputs[1])
        if shape is None or times is None:
            return None
        sizes = [
            size if repeats == 1 else repeats if size == 1 else None
            for size, repeats in zip(shape, times, strict=True)
        ]
        # The product of two known sizes is in the static shape. Any other one is a new name.
        return tuple((operation, axis) if it is None else it for axis, it in enumerate(sizes))

    def _transposed(self, operation: Any) -> Shape | None:
        shape, order = self.of(operation.inputs[0]), self.values_of(operation.inputs[1])
        return None if shape is None or order is None else tuple(shape[axis] for axis in order)

    def _multiplied(self, operation: Any) -> Shape | None:
        left, right = (self.of(each) for each in operation.inputs)
        attr = operation.node_def.attr
        if left is None or right is None:
            return None
        is_plain = operation.type == "MatMul"
        # `MatMul` and `BatchMatMulV2` have different names for the same attributes.
        rows = left[-1 if attr["transpose_a" if is_plain else "adj_x"].b else -2]
        columns = right[-2 if attr["transpose_b" if is_plain else "adj_y"].b else -1]
        batch = self._broadcast([left[:-2], right[:-2]])
        return None if batch is None else (*batch, rows, columns)

    def _of_equation(self, operation: Any) -> Shape | None:
        equation = operation.node_def.attr["equation"].s.decode()
        sizes: dict[str, Size] = {}
        inputs, _, output = equation.partition("->")
        # An ellipsis has no names for its axes.
        if "." in equation:
            return None
        for names, tensor in zip(inputs.split(","), operation.inputs, strict=True):
            shape = self.of(tensor)
            if shape is None:
                return None
            sizes.update(zip(names, shape, strict=True))
        return tuple(sizes[name] for name in output)

    def _gathered(self, operation: Any) -> Shape | None:
        """Returns the axes of the indices, followed by the axes of a row, which the trace knows."""
        indices = self.of(operation.inputs[1])
        shape = operation.outputs[0].shape
        if indices is None or operation.node_def.attr["batch_dims"].i:
            return None
        row = shape[len(indices) :]
        return (*indices, *row) if row.is_fully_defined() else None


_RULES: dict[str, Callable[[Sizes, Any], Shape | None]] = {
    "BatchMatMulV2": Sizes._multiplied,
    "BroadcastTo": lambda sizes, operation: sizes.values_of(operation.inputs[1]),
    "Einsum": Sizes._of_equation,
    "Fill": lambda sizes, operation: sizes.values_of(operation.inputs[0]),
    "MatMul": Sizes._multiplied,
    "Reshape": Sizes._reshaped,
    "ResourceGather": Sizes._gathered,
    "Tile": Sizes._tiled,
    "Transpose": Sizes._transposed,
}
