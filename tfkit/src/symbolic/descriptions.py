"""Hashable descriptions of nests without their tensors, and which calls can share one trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import tensorflow as tf

from tfkit.src.base import nests
from tfkit.src.base.context import Lock
from tfkit.src.base.watching import StateWatch
from tfkit.src.engine.autograph import converted_if_needed
from tfkit.src.symbolic.masking import get_mask, set_mask

# Values that a trace may treat as constants; they are compared together with their types.
_PRIMITIVES = (type(None), bool, int, str, bytes)
_ARGUMENTS = nests.Form(tuple, 2)
_NO_KEYWORDS = (nests.Form, nests.Form(dict, ()))


class NotDescribed(Exception):
    """A nest contains something that a trace cannot hold."""


def describe(value: Any, tensors: list[tf.Tensor]) -> Any:
    """Returns a hashable description of a nest, and appends its tensors and their masks to `tensors`."""
    # Only the rank of a tensor: a trace fits many sizes, and `specs_of` adds those that it is made for. A
    # mask comes right after its tensor, here and in `rebuild`.
    if isinstance(value, tf.Tensor):
        tensors.append(value)
        mask = get_mask(value)
        return (
            tf.Tensor,
            value.dtype,
            value.shape.rank,
            mask is not None and describe(mask, tensors),
        )
    if isinstance(value, float):
        return (float, repr(value))  # 0.0 differs from -0.0 here, and NaN is equal to NaN.
    # With its type, as 1 == True, but not for a branch in `call`.
    if isinstance(value, _PRIMITIVES):
        return (type(value), value)
    if nests.is_nested(value):
        form, items = nests.opened(value)
        # A user's class of nests may have its own state, which a description would miss.
        if form.is_described():
            return (nests.Form, form, *[describe(item, tensors) for item in items])
    raise NotDescribed(f"its arguments or results contain a {type(value).__name__}")


def describe_call(args: tuple[Any, ...], kwargs: dict[str, Any], tensors: list[tf.Tensor]) -> Any:
    """Returns `describe((args, kwargs), tensors)`, in less time: each direct call needs it."""
    items = [describe(arg, tensors) for arg in args]
    # The same nest that `describe` would return, since `rebuild` reads both.
    positional = (nests.Form, nests.Form(tuple, len(args)), *items)
    return (
        nests.Form,
        _ARGUMENTS,
        positional,
        describe(kwargs, tensors) if kwargs else _NO_KEYWORDS,
    )


def rebuild(description: Any, tensors: Iterator[tf.Tensor]) -> Any:
    """Returns the nest that was described, with the given tensors in it."""
    kind = description[0]
    if kind is tf.Tensor:
        tensor = next(tensors)
        if description[3]:
            set_mask(tensor, rebuild(description[3], tensors))
        return tensor
    if kind is nests.Form:
        return nests.closed(description[1], [rebuild(item, tensors) for item in description[2:]])
    return float(description[1]) if kind is float else description[1]


def specs_of(description: Any, shapes: list[tf.TensorShape]) -> list[tf.TensorSpec]:
    """Returns specs of the tensors of a description, with the given shapes."""
    return list(map(tf.TensorSpec, shapes, _dtypes(description)))


def _dtypes(description: Any) -> Iterator[tf.DType]:
    """Yields the dtypes of the tensors of a description, in order."""
    kind = description[0]
    if kind is tf.Tensor:
        yield description[1]
        if description[3]:
            yield from _dtypes(description[3])
    elif kind is nests.Form:
        for item in description[2:]:
            yield from _dtypes(item)


def append_logits(results: list[tf.Tensor]) -> list[int]:
    """Appends the logits that results of a trace were made of, and returns the indices of these results."""
    noted = [getattr(result, "_keras_logits", None) for result in results]
    indices = [index for index, logits in enumerate(noted) if isinstance(logits, tf.Tensor)]
    results += [noted[index] for index in indices]
    return indices


def with_logits(values: Sequence[tf.Tensor], indices: list[int]) -> Sequence[tf.Tensor]:
    """Returns the values of such a trace without the logits, which are noted on them as in the trace."""
    count = len(values) - len(indices)
    for index, logits in zip(indices, values[count:], strict=True):
        values[index]._keras_logits = logits
    return values[:count]


class Trace(Protocol):
    """The trace of a call, as far as the choice of one is concerned."""

    watch: StateWatch

    def serves(self, recorded: bool) -> bool:
        """Whether the trace is for calls that a tape follows, or that no tape follows."""

    def accepts(self, shapes: list[tf.TensorShape]) -> bool:
        """Whether the trace accepts tensors of these shapes."""


class Kind:
    """Direct calls that differ only in shapes: one trace for the shapes before it, one for all others.

    Where it makes a difference whether a tape follows a call, there are two more for calls that it does.

    Args:
        make_trace: function that returns a `Trace`, given shapes and whether a tape follows it.
        shapes: the shapes of the first call's tensors.
    """

    def __init__(self, make_trace: Callable[..., Any], shapes: list[tf.TensorShape]) -> None:
        self._make_trace = make_trace
        self._relaxed = shapes
        self._traces: list[Trace] = []
        self._lock = Lock()
        self._sizes = {tuple(tuple(shape)[1:] for shape in shapes)}

    def first_time(self, tensors: list[tf.Tensor]) -> bool:
        """Whether sizes other than the batch size are new: the call then runs eagerly, and is checked."""
        sizes = tuple(tuple(tensor.shape)[1:] for tensor in tensors)
        if sizes in self._sizes:
            return False
        self._sizes.add(sizes)
        # One trace for both sizes, if the first returns, as where two alternate.
        self._relax([tensor.shape for tensor in tensors])
        return True

    def _relax(self, shapes: list[tf.TensorShape]) -> list[tf.TensorShape]:
        relaxed = map(tf.TensorShape.most_specific_compatible_shape, self._relaxed, shapes)
        self._relaxed = found = list(relaxed)
        return found

    def trace_for(self, tensors: list[tf.Tensor], recorded: bool) -> Any:
        """Returns a trace that accepts these tensors, and that a tape can follow if it is `recorded`."""
        shapes = [tensor.shape for tensor in tensors]
        trace = self._known(shapes, recorded)
        if trace is None:
            with self._lock:  # Threads that need the same trace do not make it twice.
                trace = self._known(shapes, recorded) or self._new_trace(shapes, recorded)
        return trace

    def _known(self, shapes: list[tf.TensorShape], recorded: bool) -> Trace | None:
        for trace in self._traces:
            if trace.watch.unchanged() and trace.serves(recorded) and trace.accepts(shapes):
                return trace
        return None

    def _new_trace(self, shapes: list[tf.TensorShape], recorded: bool) -> Trace:
        # At most two traces, one for the shapes before it and one for all others so far: if sizes never
        # repeat, a trace for each of them would cost more than it saves.
        valid = [trace for trace in self._traces if trace.watch.unchanged()]
        others = [trace for trace in valid if not trace.serves(recorded)]
        valid = [trace for trace in valid if trace.serves(recorded)]
        trace: Trace = converted_if_needed(self._make_trace, self._relax(shapes), recorded)
        self._traces = [*others, *valid[:1], trace]
        return trace


class LatestCall:
    """The trace of the latest call, for calls that differ only in the values of their only tensor."""

    def __init__(self) -> None:
        self._known: Any = None

    def note(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], conditions: Any, trace: Any
    ) -> None:
        """Records a call whose arguments are one tensor, and flags by name such as `training`.

        Args:
            args: the arguments, converted to tensors.
            kwargs: the keyword arguments.
            conditions: all else that the choice of a trace depends on.
            trace: the trace that serves it.
        """
        is_one = len(args) == 1 and isinstance(args[0], tf.Tensor) and get_mask(args[0]) is None
        if is_one and all(flag is None or type(flag) is bool for flag in kwargs.values()):
            self._known = type(args[0]), args[0].dtype, args[0].shape, kwargs, conditions, trace

    def trace_for(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], conditions: Callable[[], Any]
    ) -> Any:
        """Returns the trace, if it serves a call with these arguments as they are; `None` otherwise.

        `conditions` is called only if the arguments are alike, as it takes time.
        """
        known = self._known
        if known is None or len(args) != 1:
            return None
        kind, dtype, shape, flags, same, trace = known
        (x,) = args
        # The type comes first: it tells whether the argument is a tensor with values.
        is_alike = type(x) is kind and x.dtype is dtype and x.shape == shape
        has_flags = kwargs.keys() == flags.keys() and all(kwargs[it] is flags[it] for it in flags)
        serves = is_alike and has_flags and get_mask(x) is None and same == conditions()
        return trace if serves else None
