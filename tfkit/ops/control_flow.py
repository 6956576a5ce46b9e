"""How programs flow: branches, loops, scans."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfkit.ops.promotion import as_tensor
from tfkit.ops.shaping import static_or_dynamic_shape
from tfkit.symbolic import any_symbolic, is_keras_tensor, record, symbolic_op, trace

# --- Branches -------------------------------------------------------------------------------------


def cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any]) -> Any:
    """`true_fn()` where the scalar `pred` is true, else `false_fn()`.

    Raises:
        ValueError: when `pred` is symbolic and the branches differ in structure, shape or dtype.
    """
    if any_symbolic((pred,), {}):
        branches = [trace(branch, (), {}) for branch in (true_fn, false_fn)]
        kinds = [tf.nest.map_structure(_kind, branch) for branch in branches]
        if kinds[0] != kinds[1]:
            raise ValueError(
                "`true_fn` and `false_fn` must give outputs of the same structure, shape and dtype. "
                f"Received: {branches[0]} and {branches[1]}"
            )
        return record(cond, _cond, (pred, true_fn, false_fn), {})
    return _cond(pred, true_fn, false_fn)


def _kind(x: Any) -> Any:
    return (tuple(x.shape), x.dtype) if is_keras_tensor(x) else type(x)


def _cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any]) -> Any:
    if isinstance(pred, bool):  # Nothing is left to decide while the program runs.
        return true_fn() if pred else false_fn()
    return tf.cond(tf.cast(pred, tf.bool), true_fn, false_fn)


@symbolic_op
def switch(index: Any, branches: Any, *operands: Any) -> Any:
    """What the branch of that number gives for the operands; an index outside is moved inside."""
    index = tf.clip_by_value(tf.cast(index, tf.int32), 0, len(branches) - 1)
    return tf.switch_case(index, [_bind(branch, operands) for branch in branches])


def _bind(function: Callable[..., Any], operands: Any) -> Callable[[], Any]:
    return lambda: function(*operands)


# --- Loops ----------------------------------------------------------------------------------------


@symbolic_op
def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    maximum_iterations: int | None = None,
) -> Any:
    """`body` applied to the loop variables as long as `cond` of them is true.

    Args:
        cond: gives a bool scalar for the loop variables.
        body: gives the next loop variables.
        loop_vars: a tensor, or a list or tuple of tensors.
        maximum_iterations: where to stop at the latest.

    Example:
        >>> int(while_loop(lambda i: i < 10, lambda i: i + 3, 0))
        12
    """
    nested = isinstance(loop_vars, (tuple, list))
    variables = tuple(loop_vars) if nested else (loop_vars,)

    def step(*values: Any) -> tuple[Any, ...]:
        result = body(*values)
        return tuple(result) if isinstance(result, (tuple, list)) else (result,)

    result = tf.while_loop(cond, step, variables, maximum_iterations=maximum_iterations)
    return result if nested else result[0]


@symbolic_op
def fori_loop(lower: Any, upper: Any, body_fun: Callable[..., Any], init_val: Any) -> Any:
    """`value = body_fun(i, value)` for `i` from `lower` up to, and without, `upper`."""
    return tf.while_loop(
        lambda i, _: i < upper, lambda i, value: (i + 1, body_fun(i, value)), (lower, init_val)
    )[1]


def _specification(x: Any) -> tf.TensorSpec:
    return tf.TensorSpec(x.shape, x.dtype)


@symbolic_op
def map(f: Callable[[Any], Any], xs: Any) -> Any:
    """`f` of each slice of `xs` along the first axis, one after the other, as one tensor."""
    xs = tf.nest.map_structure(tf.convert_to_tensor, xs)
    first = f(tf.nest.map_structure(lambda x: x[0], xs))
    signature = tf.nest.map_structure(_specification, tf.nest.map_structure(as_tensor, first))
    return tf.map_fn(f, xs, fn_output_signature=signature)


@symbolic_op
def vectorized_map(function: Callable[[Any], Any], elements: Any) -> Any:
    """`function` of each slice of `elements` along the first axis, all at once."""
    return tf.vectorized_map(function, elements)


@symbolic_op
def scan(
    f: Callable[[Any, Any], Any],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
) -> tuple[Any, Any]:
    """A value carried through the slices of `xs`, with an output at each: `carry, y = f(carry, x)`.

    Args:
        f: one step.
        init: the first carry.
        xs: what to walk along, by the first axis; `None` to count only.
        length: how many steps; the length of `xs` unless given.
        reverse: whether to walk from the end.
        unroll: how many steps may be in flight at once; `True` for all.

    Returns:
        The last carry, and the outputs stacked along a new first axis.

    Raises:
        TypeError: when `f` is not callable.
        ValueError: when neither `xs` nor `length` is given, or `unroll` is below 1.
    """
    if not callable(f):
        raise TypeError(f"`f` should be a callable. Received: f={f}")
    if not isinstance(unroll, bool) and (not isinstance(unroll, int) or unroll < 1):
        raise ValueError(f"`unroll` must be an integer >= 1 or a bool. Received: unroll={unroll}")
    if xs is None and length is None:
        raise ValueError("Got no `xs` to scan over and `length` not provided.")
    init = tf.nest.map_structure(as_tensor, init)
    xs = None if xs is None else tf.nest.map_structure(as_tensor, xs)
    leaves = [] if xs is None else tf.nest.flatten(xs)
    count = length if length is not None else static_or_dynamic_shape(leaves[0])[0]
    parallel = unroll if not isinstance(unroll, bool) else 10 if unroll else 1

    def slices(i: Any) -> Any:
        return None if xs is None else tf.nest.map_structure(lambda x: x[i], xs)

    # The step traced once without running it: only it knows what its outputs are.
    with tf.__internal__.FuncGraph("scan_outputs").as_default():
        template = f(init, slices(0))[1]
    outputs = [] if template is None else tf.nest.flatten(template)
    arrays = [tf.TensorArray(y.dtype, count, element_shape=y.shape) for y in outputs]

    def step(n: Any, carry: Any, arrays: Any) -> Any:
        i = count - 1 - n if reverse else n
        carry, y = f(carry, slices(i))
        flat = [] if y is None else tf.nest.flatten(y)
        return n + 1, carry, [a.write(i, v) for a, v in zip(arrays, flat, strict=True)]

    _, carry, arrays = tf.while_loop(
        lambda n, *_: n < count, step, (0, init, arrays), parallel_iterations=parallel
    )
    stacked = [a.stack() for a in arrays]
    return carry, None if template is None else tf.nest.pack_sequence_as(template, stacked)


@symbolic_op
def associative_scan(
    f: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0
) -> Any:
    """Running results of an associative function along `axis`, in logarithmically many steps.

    Args:
        f: an associative function of two nests of tensors.
        elems: a tensor or a nest of them, all of one size along `axis`.
        reverse: whether to run from the end.
        axis: the axis to run along.

    Raises:
        TypeError: when `f` is not callable.
        ValueError: when the sizes differ.

    Reference:
        Hillis & Steele, "Data parallel algorithms", 1986.
    """
    if not callable(f):
        raise TypeError(f"`f` should be a callable. Received: f={f}")
    elems = tf.nest.map_structure(as_tensor, elems)
    leaves = tf.nest.flatten(elems)
    sizes = {leaf.shape[axis] for leaf in leaves} - {None}
    if len(sizes) > 1:
        raise ValueError(
            f"All elements must have the same size along axis {axis}. Received: {sizes}"
        )

    def part(start: Any, stop: Any) -> Callable[[Any], Any]:
        def take(x: Any) -> Any:
            return x[(slice(None),) * (axis % x.shape.rank) + (slice(start, stop),)]

        return take

    def step(distance: Any, elems: Any) -> Any:
        near, far = (part(None, -distance), part(distance, None))
        kept = part(None, distance)
        if reverse:
            near, far, kept = far, near, part(-distance, None)
        combined = f(tf.nest.map_structure(near, elems), tf.nest.map_structure(far, elems))
        rest = tf.nest.map_structure(kept, elems)
        pairs = (combined, rest) if reverse else (rest, combined)
        joined = tf.nest.map_structure(lambda *parts: tf.concat(parts, axis), *pairs)
        shaped = [
            tf.ensure_shape(new, old.shape)
            for new, old in zip(tf.nest.flatten(joined), tf.nest.flatten(elems), strict=True)
        ]
        return distance * 2, tf.nest.pack_sequence_as(elems, shaped)

    if sizes:
        distance, (count,) = 1, sizes
        while distance < count:
            distance, elems = step(distance, elems)
        return elems
    count = tf.shape(leaves[0])[axis]
    return tf.while_loop(lambda distance, _: distance < count, step, (1, elems))[1]


def _core_ranks(signature: str) -> list[int]:
    """How many axes each argument has in a signature: `"(m,n),(n)->(m)"` gives `[2, 1]`."""
    plain = signature.replace(" ", "")
    axes = r"\((?:\w+(?:,\w+)*)?\)"
    if not re.fullmatch(f"{axes}(?:,{axes})*->{axes}(?:,{axes})*", plain):
        raise ValueError(
            f"`signature` must be of the form '(m,n),(n)->(m)'. Received: signature={signature!r}"
        )
    return [len(re.findall(r"\w+", core)) for core in re.findall(axes, plain.split("->")[0])]


def vectorize(
    pyfunc: Callable[..., Any], *, excluded: Any = None, signature: str | None = None
) -> Callable[..., Any]:
    """A function of single elements as one of whole tensors, which broadcast.

    Args:
        pyfunc: takes and gives scalars, or tensors of the axes that `signature` names.
        excluded: positions or names of arguments to pass on as they are.
        signature: the last axes that one call takes and gives, such as `"(m,n),(n)->(m)"`.

    Raises:
        ValueError: when `signature` is not of that form, or names another number of arguments.

    Example:
        >>> traces = vectorize(tf.linalg.trace, signature="(n,n)->()")
        >>> traces(tf.ones((5, 3, 3))).shape
        TensorShape([5])
    """
    cores = None if signature is None else _core_ranks(signature)
    excluded = set(excluded or ())

    def vectorized(*args: Any, **kwargs: Any) -> Any:
        places = [i for i in range(len(args)) if i not in excluded]
        tensors = [as_tensor(args[i]) for i in places]
        ranks = [0] * len(tensors) if cores is None else cores
        if len(ranks) != len(tensors):
            raise ValueError(
                f"`signature` names {len(ranks)} arguments. "
                f"Received: signature={signature!r}, {len(tensors)} tensors"
            )
        shape: Any = tf.constant([], tf.int32)
        for tensor, rank in zip(tensors, ranks, strict=True):
            shape = tf.broadcast_dynamic_shape(shape, tf.shape(tensor)[: tensor.shape.rank - rank])
        flat = []
        for tensor, rank in zip(tensors, ranks, strict=True):
            core = tf.shape(tensor)[tensor.shape.rank - rank :]
            whole = tf.broadcast_to(tensor, tf.concat([shape, core], 0))
            flat.append(tf.reshape(whole, tf.concat([[tf.reduce_prod(shape)], core], 0)))

        def element(values: Any) -> Any:
            filled = list(args)
            for i, value in zip(places, values, strict=True):
                filled[i] = value
            return pyfunc(*filled, **kwargs)

        return tf.nest.map_structure(
            lambda y: tf.reshape(y, tf.concat([shape, tf.shape(y)[1:]], 0)),
            tf.vectorized_map(element, tuple(flat)),
        )

    return vectorized
