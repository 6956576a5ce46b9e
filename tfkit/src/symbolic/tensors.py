"""Symbolic tensors: the shape and dtype of a value that does not exist yet, and its origin.

A function marked `@symbolic_op` computes results from values. If a `KerasTensor` is among its
arguments it computes nothing: the call is recorded in a `Node`, and the result is a `KerasTensor`
as well. The nodes between inputs and outputs are a functional model.

Shapes and dtypes of results are not written down anywhere: the function runs once on placeholders in
a scratch graph, and TensorFlow's own shape inference gives the result.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

import tensorflow as tf

from tfkit.src.base import budget, nests
from tfkit.src.base.errors import tracebacks
from tfkit.src.base.errors.kernel_errors import add_arguments
from tfkit.src.base.names import auto_name, explain_missing
from tfkit.src.base.nests import plain_sizes
from tfkit.src.base.quoting import printable
from tfkit.src.base.registry.dtypes import standardize_dtype
from tfkit.src.borrowed import private
from tfkit.src.symbolic import masking

Function = TypeVar("Function", bound=Callable[..., Any])
_SCRATCH = "symbolic"  # The name of graphs that are made only for shapes.
_COMPLETE = "complete_scratch"  # The name of one with all operations.
_CONTROL_FLOW = (
    private.CondBranchFuncGraph,
    private.WhileBodyFuncGraph,
    private.WhileCondFuncGraph,
)
_GRADIENTS = re.compile(r"(.*/)?gradients(_\d+)?/")


def _immutable(name: str, text: str) -> Any:
    """Returns a read-only property, with its docstring: it is set once, when its object is made."""

    def refuse(self: Any, value: Any) -> None:
        raise AttributeError(
            f"The `{name}` attribute of KerasTensor is immutable. Make a new tensor, by "
            f"`ops.reshape`, `ops.cast` or `KerasTensor(...)`. Received: {name}={value!r}"
        )

    return property(lambda self: getattr(self, f"_{name}"), refuse, doc=text)


class History(NamedTuple):
    """The origin of a symbolic tensor.

    Attributes:
        operation: the layer or function that was called.
        node_index: the index of the call among the calls of the operation.
        tensor_index: the index of the tensor among the outputs of the call.
    """

    operation: Any
    node_index: int
    tensor_index: int


@explain_missing
class KerasTensor:
    """A placeholder for a tensor in the description of a functional model.

    Args:
        shape: tuple of sizes, `None` if a size is not known.
        dtype: name of the dtype. Default: `"float32"`.
        sparse: whether it represents a `tf.SparseTensor`. Default: `False`.
        ragged: whether it represents a `tf.RaggedTensor`. Default: `False`.
        record_history: accepted as in Keras, and without effect: the origin of the tensor is always recorded.
            Default: `True`.
        name: name of the tensor.
        **kwargs: `ragged_rank`, the number of ragged axes, and `row_splits_dtype`, the dtype of their
            bounds, of a ragged tensor; kept as attributes, `None` if they are not given.

    Example:
        >>> KerasTensor((None, 3))
        <KerasTensor shape=(None, 3), dtype=float32, sparse=False, ragged=False, name=keras_tensor>
        >>> tfkit.layers.Dense(2)(KerasTensor((None, 3))).shape
        (None, 2)
    """

    def __init__(
        self,
        shape: Any,
        dtype: Any = "float32",
        sparse: bool = False,
        ragged: bool = False,
        record_history: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        self.ragged_rank = kwargs.pop("ragged_rank", None)
        self.row_splits_dtype = kwargs.pop("row_splits_dtype", None)
        if kwargs:
            raise TypeError(f"Unexpected keyword arguments of KerasTensor: {sorted(kwargs)}")
        del record_history  # Part of Keras's signature; the node is set when a call is recorded.
        if sparse and ragged:
            raise ValueError("A KerasTensor cannot have `sparse=True` and `ragged=True` at once.")
        shape = (shape,) if isinstance(shape, int) else shape
        self._shape = None if shape is None else plain_sizes(shape)
        self._dtype = standardize_dtype(dtype)
        self._sparse = bool(sparse)
        self._ragged = bool(ragged)
        self._name = name
        self.node: Node | None = None

    shape = _immutable(
        "shape", "The sizes of the axes, a tuple; `None` for a size that is not known."
    )
    dtype = _immutable("dtype", "The name of the dtype.")
    sparse = _immutable("sparse", "Whether it represents a `tf.SparseTensor`.")
    ragged = _immutable("ragged", "Whether it represents a `tf.RaggedTensor`.")

    @property
    def name(self) -> str:
        """The name; without a given one, a number makes it different from that of all others."""
        # When it is first read: most symbolic tensors are never asked.
        self._name = self._name or auto_name("keras_tensor")
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        self._name = name

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def _keras_history(self) -> History:
        """The call that computes the tensor; programs for Keras ask whether there is one, and read it."""
        if self.node is None:
            raise AttributeError(f"{self!r} is not the result of a call.")
        operation, outputs = self.node.operation, self.node.output_tensors
        # A function has a new node for each call, and does not keep them.
        calls = getattr(operation, "_inbound_nodes", [self.node])
        # By identity: `==` of symbolic tensors is recorded as an operation.
        index = next(index for index, node in enumerate(calls) if node is self.node)
        return History(operation, index, [id(each) for each in outputs].index(id(self)))

    def __repr__(self) -> str:
        return (
            f"<KerasTensor shape={self.shape}, dtype={self.dtype}, sparse={self.sparse}, "
            f"ragged={self.ragged}, name={printable(self.name)}>"
        )

    @tracebacks.shortened
    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(
            f"{self!r} has no values yet and cannot be iterated over. "
            "Use `ops.unstack(x, axis=0)`, or put the loop into a Layer's `call()`."
        )

    @tracebacks.shortened
    def __bool__(self) -> bool:
        raise TypeError(
            f"{self!r} has no values yet and cannot be used as a boolean, as in an `if` or a `while`. "
            "Use `ops.where` or `ops.cond`, or put the branch into a Layer's `call()`."
        )

    @tracebacks.shortened
    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise ValueError(
            f"{self!r} doesn't have any actual numerical value yet and cannot become a NumPy array. "
            "Use functions of `tfkit.ops` or of TensorFlow on it, or put the code into a Layer's `call()`."
        )

    @tracebacks.shortened
    def __float__(self) -> float:
        raise ValueError(f"{self!r} has no values yet and cannot become a Python number.")

    @tracebacks.shortened
    def __int__(self) -> int:
        raise ValueError(f"{self!r} has no values yet and cannot become a Python number.")

    @tracebacks.shortened
    def __len__(self) -> int:
        raise TypeError(f"{self!r} has no length. Use `x.shape[0]`.")

    # `==` is an op on symbolic tensors, and a class that defines it would lose its hash.
    __hash__ = object.__hash__


# Nodes and tensors refer to each other, and a functional model keeps only its inputs and outputs:
# it finds all calls between them by following these references backwards.
class Node:
    """One recorded call: `operation(*args, **kwargs)` returned `outputs`.

    Args:
        operation: the layer or the function that was called.
        args: its positional arguments, symbolic tensors among them.
        kwargs: its keyword arguments.
        outputs: the nest of `KerasTensor`s that it returned; each gets this node as its origin. A tensor that
            already has an origin, such as an input that is returned unchanged, is replaced by a new one.
    """

    def __init__(
        self, operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any], outputs: Any
    ) -> None:
        self.operation = operation
        self.args = args
        self.kwargs = kwargs
        # By identity, for the same reason as in `_keras_history`.
        given = {id(tensor) for tensor in self.input_tensors}
        self.outputs = tf.nest.map_structure(lambda leaf: _own(leaf, given), outputs)
        for output in self.output_tensors:
            # A tensor is the result of exactly one call; `_own` has copied every output for which
            # this would not hold.
            output.node = self
            mask = masking.get_mask(output)
            if isinstance(mask, KerasTensor) and mask.node is None:
                # A later layer may use the mask as an argument: then the model must compute it, by this call.
                Node(masking.carried_mask, (output,), {}, mask)

    @property
    def input_tensors(self) -> list[KerasTensor]:
        """The symbolic tensors among the arguments, in order."""
        return symbolic_leaves((self.args, self.kwargs))

    @property
    def inputs(self) -> Any:
        """The symbolic inputs: the first argument if it is the only one, else a list."""
        if len(self.args) == 1 and len(symbolic_leaves(self.kwargs)) == 0:
            return self.args[0]
        return self.input_tensors

    @property
    def output_tensors(self) -> list[KerasTensor]:
        """The symbolic tensors among the outputs, in order."""
        return symbolic_leaves(self.outputs)


def _own(leaf: Any, given: set[int]) -> Any:
    """Returns `leaf` as an output of a call: a copy if it is an input, or the output of an earlier call."""
    # A layer may return its input unchanged. Without a copy the graph of the model would not
    # contain the call, or the tensor would seem to be computed from itself.
    if not isinstance(leaf, KerasTensor) or (leaf.node is None and id(leaf) not in given):
        return leaf
    copy = KerasTensor(
        leaf.shape,
        leaf.dtype,
        leaf.sparse,
        leaf.ragged,
        ragged_rank=leaf.ragged_rank,
        row_splits_dtype=leaf.row_splits_dtype,
    )
    masking.set_mask(copy, masking.get_mask(leaf))
    return copy


def is_keras_tensor(x: Any) -> bool:
    """Returns whether an object is a symbolic tensor, such as `Input` returns.

    Args:
        x: any object.

    Returns:
        A Python bool.

    Example:
        >>> is_keras_tensor(tfkit.Input((3,))), is_keras_tensor(tf.constant(1.0))
        (True, False)
    """
    return isinstance(x, KerasTensor)


def symbolic_leaves(structure: Any) -> list[KerasTensor]:
    """Returns the symbolic tensors in a nest, in order."""
    return [leaf for leaf in tf.nest.flatten(structure) if isinstance(leaf, KerasTensor)]


def any_symbolic(args: Any, kwargs: dict[str, Any]) -> bool:
    """Whether there is a symbolic tensor among the arguments of a call, at any depth."""
    return any(map(_holds_symbolic, args)) or any(map(_holds_symbolic, kwargs.values()))


def _holds_symbolic(value: Any) -> bool:
    if isinstance(value, (tf.Tensor, KerasTensor)) or not nests.is_nested(value):
        return isinstance(value, KerasTensor)
    return any(map(_holds_symbolic, nests.children(value)))


def trace(function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """Returns what `function(*args, **kwargs)` would return, as symbolic tensors.

    Runs `function` once in a scratch graph, with a placeholder for each symbolic tensor. If it calls
    `tf.gradients`, which needs operations, runs it once more with all of them.
    """
    graph = _scratch_graph(_SCRATCH)
    try:
        results = _traced(function, args, kwargs, graph)
    except (AttributeError, TypeError, ValueError):
        if not _has_gradients(graph):
            raise
    else:
        if not _has_gradients(graph):
            return results
    return _traced(function, args, kwargs, _scratch_graph(_COMPLETE))


def _scratch_graph(name: str) -> private.FuncGraph:
    # While a file is loaded, the graph counts operations: a small file could describe a huge model.
    return _CountedGraph(name) if budget.is_limited() else private.FuncGraph(name)


def _traced(
    function: Callable[..., Any], args: Any, kwargs: dict[str, Any], graph: private.FuncGraph
) -> Any:
    with graph.as_default():
        # TensorFlow infers sizes that no formula of tfkit's states; nothing of the graph is ever run.
        # Placeholders have no values, so that a branch on a value fails here, as it would in any
        # trace.
        args, kwargs = tf.nest.map_structure(placeholder, (args, kwargs))
        results = function(*args, **kwargs)
        return tf.nest.map_structure(specification, results)


def _has_gradients(graph: private.FuncGraph) -> bool:
    """Whether `tf.gradients` has been called in a graph: it has a scope of that name."""
    return any(_GRADIENTS.match(operation.name) for operation in graph.get_operations())


def is_described() -> bool:
    """Whether this runs in the scratch graph of `trace`, where only shapes are computed."""
    return _is_within((_SCRATCH, _COMPLETE))


def _is_within(names: tuple[str, ...]) -> bool:
    if tf.executing_eagerly():
        return False
    graph = tf.compat.v1.get_default_graph()
    # A branch or a loop is traced in a graph of its own. So is a `tf.function`, which keeps its trace for
    # later calls, and therefore needs all operations.
    while isinstance(graph, _CONTROL_FLOW):
        graph = graph.outer_graph
    return getattr(graph, "name", None) in names


def only_shapes_count() -> bool:
    """Whether a layer may return placeholders instead of its operations.

    So it is in the scratch graph of `trace`, unless a tape of the user's `call` records: its gradients
    follow from the operations.
    """
    return _is_within((_SCRATCH,)) and not private.could_possibly_record()


def described(shape: Any, dtype: Any) -> tf.Tensor:
    """Returns a placeholder in the scratch graph of `trace`, instead of operations with such a result.

    This describes layers of several operations, which are common in models, in a tenth of the time.
    """
    return tf.compat.v1.placeholder(dtype, shape)


class _CountedGraph(private.ObservedGraph):
    """A scratch graph for the contents of a file; the size of the file limits its size."""

    def before_operation(self, attributes: dict[str, Any]) -> None:
        """Counts the operation and its outputs."""
        budget.take_operations()
        # The numbers of outputs of `Unpack` and `Split`: one operation may have millions.
        for name in ("num", "num_split"):
            if name in attributes:
                budget.check_outputs(attributes[name].i)


def placeholder(leaf: Any) -> Any:
    """Returns the placeholder of a symbolic tensor in the scratch graph; anything else unchanged."""
    if not isinstance(leaf, KerasTensor):
        return leaf
    if leaf.sparse:
        value = tf.compat.v1.sparse_placeholder(leaf.dtype, leaf.shape)
    elif leaf.ragged:
        value = _ragged_placeholder(leaf)
    else:
        value = tf.compat.v1.placeholder(leaf.dtype, leaf.shape)
    mask = masking.get_mask(leaf)
    if mask is not None:
        masking.set_mask(value, placeholder(mask))
    return value


def _ragged_placeholder(leaf: KerasTensor) -> tf.RaggedTensor:
    """Returns a placeholder with a ragged axis for each unknown size, except for the batch size."""
    # From the innermost axis outwards, because a ragged tensor is made from its values. There is one more
    # bound than there are rows.
    ragged_rank = leaf.ragged_rank or sum(size is None for size in leaf.shape[1:]) or 1
    splits_dtype = tf.as_dtype(leaf.row_splits_dtype or tf.int64)
    sizes = leaf.shape[1 + ragged_rank :]
    value = tf.compat.v1.placeholder(leaf.dtype, (None, *sizes))  # (values, *sizes within a row)
    rows = None if leaf.shape[0] is None else leaf.shape[0] + 1
    # `validate=False`: placeholders have no values that could be checked.
    for axis in reversed(range(ragged_rank)):
        splits = tf.compat.v1.placeholder(splits_dtype, (None if axis else rows,))
        value = tf.RaggedTensor.from_row_splits(value, splits, validate=False)
    return value


def specification(leaf: Any) -> Any:
    """Returns the symbolic tensor of a tensor's shape and dtype; anything else unchanged."""
    if not tf.is_tensor(leaf):
        return leaf
    shape = None if leaf.shape.rank is None else tuple(leaf.shape)
    result = KerasTensor(
        shape,
        leaf.dtype,
        sparse=isinstance(leaf, tf.SparseTensor),
        ragged=isinstance(leaf, tf.RaggedTensor),
    )
    if result.ragged:
        result.ragged_rank, result.row_splits_dtype = leaf.ragged_rank, leaf.row_splits.dtype.name
    mask = masking.get_mask(leaf)
    if mask is not None:
        masking.set_mask(result, specification(mask))
    return result


def record(operation: Any, function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """Records a call of `operation` and returns its symbolic results; `function` is traced."""
    return Node(operation, tuple(args), dict(kwargs), trace(function, args, kwargs)).outputs


def symbolic_op(function: Function) -> Function:
    """Returns a function of tensors that accepts symbolic tensors as well."""
    return checked_symbolic_op(lambda *args, **kwargs: None)(function)


def checked_symbolic_op(check: Callable[..., None]) -> Callable[[Function], Function]:
    """Returns a decorator like `symbolic_op`.

    Args:
        check: a function that is called with the arguments if a symbolic tensor is among them, and may refuse
            them.
    """

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def op(*args: Any, **kwargs: Any) -> Any:
            try:
                if any_symbolic(args, kwargs):
                    check(*args, **kwargs)
                    return record(op, function, args, kwargs)
                return function(*args, **kwargs)
            except BaseException as error:
                add_arguments(error, function, args, kwargs)
                tracebacks.shorten(error)
                raise

        return op  # type: ignore[return-value]

    return decorate


class _TensorFlowFunctions(private.GlobalOpDispatcher):
    """Makes plain `tf.*` functions accept symbolic tensors too."""

    def handle(self, op: Any, args: Any, kwargs: Any) -> Any:
        try:
            if any_symbolic(args, kwargs):
                return record(op, op, args, kwargs)
        except BaseException as error:
            tracebacks.shorten(error)
            raise
        # TensorFlow then asks the next dispatcher, or raises its own error.
        return self.NOT_SUPPORTED


_TensorFlowFunctions().register()


# Python's operators by public ops of the same meaning: `"__add__": add`. Variables use them for operands that
# TensorFlow's operators refuse.
OPERATORS: dict[str, Callable[..., Any]] = {}


def define_operators(operators: dict[str, Callable[..., Any]]) -> None:
    """Fills `OPERATORS`, and defines the operators of `KerasTensor`.

    The ops are on a higher floor than this file, and register themselves when they are imported.
    """
    OPERATORS.update(operators)
    for name, operator in operators.items():
        # `==` compares identity, as in Keras: symbolic tensors are keys and members of lists.
        if name != "__eq__":
            setattr(KerasTensor, name, operator)
