"""Linear algebra: norms, factorisations, solving."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfkit.ops.arguments import as_axes, require_rank, require_square
from tfkit.ops.promotion import as_tensor, to_dtype, to_float
from tfkit.ops.shaping import moveaxis
from tfkit.symbolic import any_symbolic, record, symbolic_op
from tfkit.tensorflow_faults import widened


@symbolic_op
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> tf.Tensor:
    """The norm of vectors along one axis, or of matrices in two.

    Args:
        x: a tensor.
        ord: for vectors a number, `inf`, `-inf` or 0; for matrices `"fro"`, `"nuc"`, 1, -1, 2, -2,
            `inf` or `-inf`. The Euclidean (Frobenius) norm unless given.
        axis: one axis or two; all unless given.
        keepdims: whether folded axes stay, with size 1.

    Raises:
        ValueError: for an axis that `x` has not, and for an `ord` that does not apply.
    """
    x = to_float(x)
    ndim = x.shape.rank
    axes = range(ndim) if axis is None else as_axes(axis)
    if not all(hasattr(a, "__index__") and -ndim <= a < ndim for a in axes):
        raise ValueError(
            "All `axis` values must be in the range [-ndim, ndim). "
            f"Received inputs with ndim={ndim}, while axis={axis}"
        )
    axes = [a % ndim for a in axes]
    if ord is None or (ord == 2 and len(axes) == 1) or (ord == "fro" and len(axes) == 2):
        squares = tf.square(tf.abs(x)) if x.dtype.is_complex else tf.square(x)
        return tf.sqrt(tf.reduce_sum(squares, axes, keepdims))
    if len(axes) == 1 and not isinstance(ord, str):
        return _vector_norm(x, ord, axes[0], keepdims)
    if len(axes) == 2:
        return _matrix_norm(x, ord, axes, keepdims)
    raise ValueError(
        f"This `ord` does not apply to {len(axes)} axes. Received: ord={ord!r}, axis={axis}"
    )


def _vector_norm(x: Any, ord: Any, axis: int, keepdims: bool) -> tf.Tensor:
    size = tf.abs(x)
    if ord == float("inf"):
        return tf.reduce_max(size, axis, keepdims)
    if ord == float("-inf"):
        return tf.reduce_min(size, axis, keepdims)
    if ord == 0:
        return tf.reduce_sum(tf.cast(x != 0, size.dtype), axis, keepdims)
    ord = to_dtype(ord, size.dtype)
    return tf.pow(tf.reduce_sum(tf.pow(size, ord), axis, keepdims), 1.0 / ord)


def _matrix_norm(x: Any, ord: Any, axes: list[int], keepdims: bool) -> tf.Tensor:
    x = moveaxis(x, axes, (-2, -1))
    if ord in ("nuc", 2, -2):
        values = tf.cast(_singular_values(x), x.dtype)
        fold = {"nuc": tf.reduce_sum, 2: tf.reduce_max, -2: tf.reduce_min}[ord]
        result = fold(values, -1)
    elif ord in (1, -1, float("inf"), float("-inf")):
        sums = tf.reduce_sum(tf.abs(x), -2 if abs(ord) == 1 else -1)
        result = tf.reduce_max(sums, -1) if ord > 0 else tf.reduce_min(sums, -1)
    else:
        raise ValueError(f"Invalid `ord` argument for matrix norm. Received: ord={ord!r}")
    for axis in sorted(axes) if keepdims else ():
        result = tf.expand_dims(result, axis)
    return result


# --- Factorisations -------------------------------------------------------------------------------


@symbolic_op
def cholesky(x: Any, upper: bool = False) -> tf.Tensor:
    """The triangular `L` with `L L^T = x` for a positive definite `x`; `L^T` where `upper`.

    Raises:
        ValueError: when `x` is not square, and, eagerly, when it is not positive definite; in a
            program the latter is TensorFlow's `InvalidArgumentError`.
    """
    x = as_tensor(x)
    require_square("x", x)
    try:
        factor = tf.debugging.check_numerics(tf.linalg.cholesky(x), "Cholesky")
    except tf.errors.InvalidArgumentError as error:
        raise ValueError(
            "`cholesky` needs positive definite matrices of floats, and `x` is not. "
            f"Received: x.shape={x.shape}, x.dtype={x.dtype.name}"
        ) from error
    return tf.linalg.adjoint(factor) if upper else factor


@symbolic_op
def cholesky_inverse(x: Any, upper: bool = False) -> tf.Tensor:
    """The inverse of the matrix whose Cholesky factor is `x` (an upper one where `upper`).

    Raises:
        ValueError: when `x` is not square.
    """
    x = as_tensor(x)
    require_square("x", x)
    inverse = tf.linalg.triangular_solve(x, tf.eye(tf.shape(x)[-1], dtype=x.dtype), lower=not upper)
    return tf.matmul(inverse, inverse, transpose_a=not upper, transpose_b=upper)


@symbolic_op
def qr(x: Any, mode: str = "reduced") -> tuple[tf.Tensor, tf.Tensor]:
    """`x` as an orthogonal matrix times an upper triangular one.

    Args:
        x: matrices.
        mode: `"reduced"` or `"complete"` (the orthogonal matrix is square).

    Raises:
        ValueError: for another mode, and for fewer than 2 axes.
    """
    if mode not in ("reduced", "complete"):
        raise ValueError(f"`mode` must be 'reduced' or 'complete'. Received: mode={mode!r}")
    x = as_tensor(x)
    require_rank("x", x, 2)
    q, r = tf.linalg.qr(x, full_matrices=mode == "complete")
    return q, r


@symbolic_op
def svd(x: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """The singular value decomposition: `u`, `s`, `v^H`, or the values `s` alone.

    Args:
        x: matrices.
        full_matrices: whether `u` and `v` are square.
        compute_uv: whether to give more than the singular values.

    Raises:
        ValueError: for fewer than 2 axes.
    """
    x = as_tensor(x)
    require_rank("x", x, 2)
    if not compute_uv:
        return tf.cast(_singular_values(x), x.dtype)
    s, u, v = (tf.cast(each, x.dtype) for each in tf.linalg.svd(widened(x), full_matrices))
    return u, s, tf.linalg.adjoint(v)


def _singular_values(x: tf.Tensor) -> tf.Tensor:
    """They are in float32 for matrices of 16-bit floats."""
    return tf.linalg.svd(widened(x), compute_uv=False)


@symbolic_op
def eig(x: Any) -> tuple[tf.Tensor, tf.Tensor]:
    """Eigenvalues and eigenvectors, both complex.

    Raises:
        ValueError: when `x` is not square.
    """
    x = as_tensor(x)
    require_square("x", x)
    values, vectors = tf.linalg.eig(x)
    return values, vectors


@symbolic_op
def eigh(x: Any) -> tuple[tf.Tensor, tf.Tensor]:
    """Eigenvalues, ascending, and eigenvectors of symmetric (Hermitian) matrices.

    Raises:
        ValueError: when `x` is not square.
    """
    x = as_tensor(x)
    require_square("x", x)
    values, vectors = tf.linalg.eigh(x)
    return values, vectors


@symbolic_op
def lu_factor(x: Any) -> tuple[tf.Tensor, tf.Tensor]:
    """`L` and `U` in one matrix, and for each row of `x` its place in the product `L U`.

    Raises:
        ValueError: when `x` is not square.
    """
    x = as_tensor(x)
    require_square("x", x)
    lu, order = tf.linalg.lu(x)
    return lu, tf.math.invert_permutation(order)


# --- Solving --------------------------------------------------------------------------------------


def _solve(function: Callable[[Any, Any], Any], a: Any, b: Any) -> tf.Tensor:
    a, b = as_tensor(a), as_tensor(b)
    require_rank("a", a, 2)
    require_rank("b", b, 1)
    vector = b.shape.rank == a.shape.rank - 1
    if not b.shape[-1 if vector else -2 :][:1].is_compatible_with(a.shape[-2:-1]):
        raise ValueError(
            f"`b` must have as many rows as `a`. Received: a.shape={a.shape}, b.shape={b.shape}"
        )
    if vector:
        return tf.squeeze(function(a, b[..., None]), -1)
    return function(a, b)


@symbolic_op
def solve(a: Any, b: Any) -> tf.Tensor:
    """The `x` with `a x = b`; `b` is a matrix or a vector.

    Raises:
        ValueError: when `a` is not square, or `b` has another number of rows.
    """
    a = as_tensor(a)
    require_square("a", a)
    return _solve(tf.linalg.solve, a, b)


@symbolic_op
def solve_triangular(a: Any, b: Any, lower: bool = False) -> tf.Tensor:
    """The `x` with `a x = b` for an upper (or `lower`) triangular `a`.

    Raises:
        ValueError: when `a` is not square, or `b` has another number of rows.
    """
    a = as_tensor(a)
    require_square("a", a)
    return _solve(lambda a, b: tf.linalg.triangular_solve(a, b, lower=lower), a, b)


@symbolic_op
def lstsq(a: Any, b: Any, rcond: float | None = None) -> tf.Tensor:
    """The `x` that makes the squares of `a x - b` least; the shortest such one.

    Args:
        a: a matrix.
        b: a matrix or a vector.
        rcond: singular values below this share of the largest count as 0; the precision of the
            dtype times the larger size of `a` unless given.

    Raises:
        ValueError: when `a` is no matrix, or `b` has not as many rows.
    """
    a, b = as_tensor(a), as_tensor(b)
    if a.shape.rank != 2 or b.shape.rank not in (1, 2) or a.shape[0] != b.shape[0]:
        raise ValueError(
            "`a` must be a matrix, and `b` a matrix or vector with as many rows. "
            f"Received: a.shape={a.shape}, b.shape={b.shape}"
        )
    if rcond is None:
        rcond = _precision(a.dtype) * max(a.shape)
    return _solve(lambda a, b: tf.matmul(_pseudo_inverse(a, rcond), b), a, b)


def _precision(dtype: Any) -> float:
    if dtype == tf.bfloat16:
        return 2.0**-7
    return float(tf.experimental.numpy.finfo(dtype.as_numpy_dtype).eps)


@symbolic_op
def inv(x: Any) -> tf.Tensor:
    """The inverse of square matrices.

    Raises:
        ValueError: when `x` is not square.
    """
    x = as_tensor(x)
    require_square("x", x)
    return tf.linalg.inv(x)


@symbolic_op
def pinv(x: Any, rcond: float | None = None) -> tf.Tensor:
    """The pseudo-inverse of matrices; singular values below `rcond` of the largest count as 0."""
    return _pseudo_inverse(as_tensor(x), rcond)


def _pseudo_inverse(x: tf.Tensor, rcond: Any) -> tf.Tensor:
    wide = widened(x)
    if rcond is None and wide is not x:
        rcond = 10.0 * _rounding(x)  # As TensorFlow has it, for the dtype that came.
    return tf.cast(tf.linalg.pinv(wide, rcond), x.dtype)


def _rounding(x: tf.Tensor) -> tf.Tensor:
    """How large the error of a singular value may be, as a part of the largest one."""
    return tf.cast(tf.reduce_max(tf.shape(x)[-2:]), tf.float32) * _precision(x.dtype)


@symbolic_op
def det(x: Any) -> tf.Tensor:
    """The determinant of square matrices.

    Raises:
        ValueError: when `x` is not square.
    """
    x = as_tensor(x)
    require_square("x", x)
    return tf.linalg.det(x)


@symbolic_op
def slogdet(x: Any) -> tuple[tf.Tensor, tf.Tensor]:
    """The sign of the determinant, and the logarithm of its absolute value.

    Raises:
        ValueError: when `x` is not square.
    """
    x = as_tensor(x)
    require_square("x", x)
    return tuple(tf.linalg.slogdet(x))


@symbolic_op
def logdet(x: Any) -> tf.Tensor:
    """The logarithm of the determinant of positive definite matrices.

    Raises:
        ValueError: when `x` is not square.
    """
    x = as_tensor(x)
    require_square("x", x)
    return tf.linalg.logdet(x)


@symbolic_op
def matrix_rank(x: Any, tol: float | None = None) -> tf.Tensor:
    """How many singular values are above `tol`, as int32."""
    x = as_tensor(x)
    wide = widened(x)
    if tol is None and wide is not x:
        tol = tf.reduce_max(_singular_values(x), -1) * _rounding(x)
    return tf.linalg.matrix_rank(wide, tol)


@symbolic_op
def cdist(x: Any, y: Any) -> tf.Tensor:
    """The Euclidean distance of each row of `x` from each row of `y`.

    Raises:
        ValueError: for fewer than 2 axes or rows of different lengths.
    """
    x, y = as_tensor(x), as_tensor(y)
    if x.shape.rank < 2 or y.shape.rank < 2 or x.shape[-1] != y.shape[-1]:
        raise ValueError(
            "`x` and `y` must have at least 2 axes and equal last ones. "
            f"Received: x.shape={x.shape}, y.shape={y.shape}"
        )
    difference = x[..., :, None, :] - y[..., None, :, :]
    return tf.sqrt(tf.reduce_sum(tf.square(difference), -1))


def jvp(fun: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    """The value of `fun` and its derivative in one direction, in one forward pass.

    Args:
        fun: a function of tensors.
        primals: its arguments.
        tangents: the direction: one tensor an argument.
        has_aux: whether `fun` gives a pair, of which the second is passed on as it is.

    Returns:
        The value, the derivative, and the second result where `has_aux`.

    Example:
        >>> value, derivative = jvp(lambda x: x * x, (3.0,), (1.0,))
        >>> float(value), float(derivative)
        (9.0, 6.0)
    """
    if any_symbolic((primals, tangents), {}):
        return record(jvp, _jvp, (fun, primals, tangents, has_aux), {})
    return _jvp(fun, primals, tangents, has_aux)


def _jvp(fun: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    primals = tf.nest.map_structure(as_tensor, primals)
    tangents = tf.nest.map_structure(lambda t, p: tf.cast(t, p.dtype), tangents, primals)
    with tf.autodiff.ForwardAccumulator(
        tf.nest.flatten(primals), tf.nest.flatten(tangents)
    ) as accumulator:
        outputs = fun(*primals)
        value, *aux = outputs if has_aux else (outputs,)
    derivative = tf.nest.map_structure(accumulator.jvp, value)
    return (value, derivative, *aux)
