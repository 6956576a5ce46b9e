"""Control flow: branches, loops, scans."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfkit.src.borrowed.private import FuncGraph
from tfkit.src.ops.checks import require_functions
from tfkit.src.ops.promotion import as_tensor
from tfkit.src.ops.shaping import static_or_dynamic_shape
from tfkit.src.symbolic.tensors import any_symbolic, is_keras_tensor, record, symbolic_op, trace

_MOST_UNROLLED = 100  # Steps of a loop that a graph may contain one after the other.

# --- Branches -------------------------------------------------------------------------------------


def cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any]) -> Any:
    """Returns `true_fn()` where a condition is true, else `false_fn()`.

    Args:
        pred: a Python bool, which decides at once, or a scalar tensor, which decides when the
            program runs; numbers are true where they are not 0.
        true_fn: a function without arguments.
        false_fn: a function without arguments. For a tensor `pred` in a traced function both must
            return the same structure and dtypes.

    Returns:
        The result of the chosen function.

    Raises:
        TypeError: when a branch is not a function.
        ValueError: when `pred` is symbolic and the branches differ in structure, shape or dtype.

    Example:
        >>> x = tf.constant(-3.0)
        >>> float(ops.cond(x > 0, lambda: x, lambda: -x))
        3.0
    """
    require_functions(true_fn=true_fn, false_fn=false_fn)
    if any_symbolic((pred,), {}):
        # Both are traced, since either may run; the record needs one shape.
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
    if isinstance(pred, bool):  # Nothing has to be decided at run time.
        return true_fn() if pred else false_fn()
    return tf.cond(tf.cast(pred, tf.bool), true_fn, false_fn)


@symbolic_op
def switch(index: Any, branches: Any, *operands: Any) -> Any:
    """Returns the result of one of several functions for the operands.

    Args:
        index: number of the function, an integer scalar; one outside of the range is moved to its
            nearest end.
        branches: a list of functions of the operands, with results of the same structure and
            dtypes.
        *operands: arguments of the function.

    Returns:
        The result of the chosen function.

    Example:
        >>> branches = [lambda x: x + 1, lambda x: x * 10]
        >>> ops.switch(1, branches, 5), ops.switch(7, branches, 5)
        (50, 50)
    """
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
    """Returns loop variables to which `body` has been applied as long as `cond` of them is true.

    Args:
        cond: a function of the loop variables that returns a bool scalar.
        body: a function of the loop variables that returns the next ones, of the same shapes and
            dtypes.
        loop_vars: a tensor, or a list or tuple of tensors.
        maximum_iterations: largest number of steps; `None` for no limit.

    Returns:
        The last loop variables, in the structure of `loop_vars`.

    Example:
        >>> int(ops.while_loop(lambda i: i < 10, lambda i: i + 3, 0))
        12
        >>> i, total = ops.while_loop(lambda i, t: i < 4, lambda i, t: (i + 1, t + i), (0, 0))
        >>> int(total)
        6
    """
    require_functions(cond=cond, body=body)
    nested = isinstance(loop_vars, (tuple, list))
    variables = tuple(loop_vars) if nested else (loop_vars,)

    def step(*values: Any) -> tuple[Any, ...]:
        result = body(*values)
        return tuple(result) if isinstance(result, (tuple, list)) else (result,)

    result = tf.while_loop(cond, step, variables, maximum_iterations=maximum_iterations)
    return result if nested else result[0]


@symbolic_op
def fori_loop(lower: Any, upper: Any, body_fun: Callable[..., Any], init_val: Any) -> Any:
    """Returns a value after `value = body_fun(i, value)` for `i` from `lower` to `upper - 1`.

    The index is a Python integer in eager code, and a tensor in a traced function. A function that accepts
    only an integer, such as `lambda i, x: x + i` of floats, is traced step by step, for up to 100 steps.

    Args:
        lower: first index, an integer scalar.
        upper: index at which to stop, without a step for it.
        body_fun: a function of an index and a value that returns the next value, of the same
            shapes and dtypes.
        init_val: first value, a tensor or a nest of tensors.

    Returns:
        The last value; `init_val` where `upper <= lower`.

    Example:
        >>> int(ops.fori_loop(0, 4, lambda i, total: total + i, 10))
        16
    """
    require_functions(body_fun=body_fun)
    try:
        return tf.while_loop(
            lambda i, _: i < upper, lambda i, value: (i + 1, body_fun(i, value)), (lower, init_val)
        )[1]
    except TypeError:
        # Eagerly the index is a Python number, which adds to floats; in a graph it is an int32 tensor.
        if tf.executing_eagerly() or not _is_short(lower, upper):
            raise
    value = tf.nest.map_structure(as_tensor, init_val)
    for i in range(lower, upper):
        value = body_fun(i, value)
    return value


def _is_short(lower: Any, upper: Any) -> bool:
    """Whether a loop is known to have few steps."""
    return isinstance(lower, int) and isinstance(upper, int) and upper - lower <= _MOST_UNROLLED


def _specification(x: Any) -> tf.TensorSpec:
    return tf.TensorSpec(x.shape, x.dtype)


@symbolic_op
def map(f: Callable[[Any], Any], xs: Any) -> Any:
    """Returns the results of a function for the slices of tensors along their first axis, stacked.

    The slices are processed one after the other; `vectorized_map` processes them all at once.

    Args:
        f: a function of one slice, or of a nest of slices; an additional call finds the shapes
            of its result.
        xs: a tensor, or a nest of tensors with equal first sizes, of at least one slice.

    Returns:
        A tensor, or a nest of them as `f` returns it, with a new first axis.

    Example:
        >>> ops.map(lambda x: x * x, tf.constant([1, 2, 3])).numpy().tolist()
        [1, 4, 9]
        >>> xs = {"a": tf.constant([1, 2]), "b": tf.constant([10, 20])}
        >>> ops.map(lambda x: x["a"] + x["b"], xs).numpy().tolist()
        [11, 22]
    """
    require_functions(f=f)
    xs = tf.nest.map_structure(tf.convert_to_tensor, xs)
    # `map_fn` must know the outputs' dtypes and structure before it runs.
    first = f(tf.nest.map_structure(lambda x: x[0], xs))
    signature = tf.nest.map_structure(_specification, tf.nest.map_structure(as_tensor, first))
    return tf.map_fn(f, xs, fn_output_signature=signature)


@symbolic_op
def vectorized_map(function: Callable[[Any], Any], elements: Any) -> Any:
    """Returns the results of a function for the slices of tensors along their first axis, stacked.

    All slices are computed at once, by operations on whole tensors that TensorFlow finds for the operations
    in `function`.

    Args:
        function: a function of one slice, or of a nest of slices.
        elements: a tensor, or a nest of tensors with equal first sizes.

    Returns:
        A tensor, or a nest of them as `function` returns it, with a new first axis.

    Example:
        >>> ops.vectorized_map(lambda x: x * x, tf.constant([1, 2, 3])).numpy().tolist()
        [1, 4, 9]
    """
    require_functions(function=function)
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
    """Returns a value carried through slices, and an output at each: `carry, y = f(carry, x)`.

    Args:
        f: one step, a function of the carry and a slice that returns the next carry and an output
            (`None` for none).
        init: first carry, a tensor or a nest of tensors. Its shapes and dtypes do not change.
        xs: a tensor, or a nest of tensors, to iterate over along the first axis; `None` to call `f`
            with `None`.
        length: number of steps; `None` for the length of `xs`.
        reverse: whether to iterate from the end. Outputs are at the positions of their slices.
            Default: `False`.
        unroll: number of steps that may be in flight at once; `True` for 10, `False` for 1.
            Default: `1`.

    Returns:
        A pair of the last carry and the outputs, stacked along a new first axis.

    Raises:
        TypeError: when `f` is not callable.
        ValueError: when neither `xs` nor `length` is given, or `unroll` is below 1.

    Example:
        >>> total, totals = ops.scan(lambda c, x: (c + x, c + x), 0, tf.constant([1, 2, 3]))
        >>> int(total), totals.numpy().tolist()
        (6, [1, 3, 6])
    """
    require_functions(f=f)
    if not isinstance(unroll, bool) and (not isinstance(unroll, int) or unroll < 1):
        raise ValueError(f"`unroll` must be an integer >= 1 or a bool. Received: unroll={unroll}")
    if xs is None and length is None:
        raise ValueError("Got no `xs` to scan over and `length` not provided.")
    init = tf.nest.map_structure(as_tensor, init)
    xs = None if xs is None else tf.nest.map_structure(as_tensor, xs)
    leaves = [] if xs is None else tf.nest.flatten(xs)
    count = length if length is not None else static_or_dynamic_shape(leaves[0])[0]
    # TensorFlow unrolls nothing: the nearest thing is the number of iterations that run at once.
    parallel = unroll if not isinstance(unroll, bool) else 10 if unroll else 1

    def slices(i: Any) -> Any:
        return None if xs is None else tf.nest.map_structure(lambda x: x[i], xs)

    # Traces the step once without running it, because only the step defines its outputs.
    with FuncGraph("scan_outputs").as_default():
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
    """Returns running results of an associative function, in logarithmically many steps.

    Element `i` of the result is `f(...f(f(x[0], x[1]), x[2])..., x[i])`.

    Args:
        f: an associative function of two tensors, or nests of tensors; it must work element by
            element along `axis`.
        elems: a tensor, or a nest of tensors of one size along `axis`.
        reverse: whether to run from the end. Default: `False`.
        axis: axis to run along. Default: `0`.

    Returns:
        A tensor, or a nest, of the shapes and dtypes of `elems`.

    Raises:
        TypeError: when `f` is not callable.
        ValueError: when the sizes along `axis` differ.

    Reference:
        Hillis & Steele, "Data parallel algorithms", 1986.

    Example:
        >>> ops.associative_scan(ops.add, tf.constant([1, 2, 3])).numpy().tolist()
        [1, 3, 6]
        >>> ops.associative_scan(ops.maximum, tf.constant([3, 1, 4]), reverse=True).numpy().tolist()
        [4, 4, 4]
    """
    require_functions(f=f)
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

    # Hillis and Steele (1986): after each step an element has combined twice as many before it.
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
    """Returns the number of axes of each argument in a signature: `"(m,n),(n)->(m)"` gives `[2, 1]`."""
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
    """Returns a function of whole tensors, which broadcast, made from a function of single elements.

    Args:
        pyfunc: a function made of TensorFlow operations that accepts and returns scalars, or
            tensors with the axes that `signature` names.
        excluded: positions or names of arguments that are passed on unchanged; `None` for none.
        signature: last axes of the arguments and results of one call, such as `"(m,n),(n)->(m)"`;
            `None` for scalars.

    Returns:
        A function of the same arguments.

    Raises:
        ValueError: when `signature` does not have that form, or has a different number of arguments.

    Example:
        >>> ops.vectorize(lambda a, b: a + b)([[1], [2]], [10, 20]).numpy().tolist()
        [[11, 21], [12, 22]]
        >>> traces = ops.vectorize(tf.linalg.trace, signature="(n,n)->()")
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
            # (elements, *core)
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
