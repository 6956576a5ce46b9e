"""Linear algebra: norms, factorizations, solving."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfkit.src.engine.tensorflow_faults import widened
from tfkit.src.ops.checks import (
    as_axes,
    as_square,
    require_known_square,
    require_rank,
    require_square,
)
from tfkit.src.ops.promotion import as_tensor, promote_tensors, to_float, to_float32
from tfkit.src.ops.roots import root_of_sum
from tfkit.src.ops.shaping import moveaxis
from tfkit.src.symbolic.tensors import (
    KerasTensor,
    any_symbolic,
    checked_symbolic_op,
    record,
    symbolic_op,
)


@symbolic_op
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> tf.Tensor:
    """Returns norms of vectors along one axis, or of matrices in two.

    Args:
        x: a tensor of any shape; integers and bools are cast to the default float dtype.
        ord: kind of the norm. `None` is the square root of the sum of squares, over any number of
            axes. For vectors: a number `p` (`sum(abs(x)**p)**(1 / p)`), 0 (how many are not 0),
            `inf` or `-inf` (largest or smallest absolute value). For matrices: `"fro"` (as
            `None`), `"nuc"` (sum of the singular values), 2 or -2 (largest or smallest singular
            value), 1 or -1 (largest or smallest column sum), `inf` or `-inf` (the same of rows).
        axis: axis of the vectors, or the two axes of the matrices; `None` for all.
        keepdims: whether reduced axes are kept, with size 1. Default: `False`.

    Returns:
        A tensor without the axes `axis`, of the float dtype of `x`, real for complex numbers. Vectors
        of zeros have the gradient 0. Powers are computed in float32 at least.

    Raises:
        ValueError: for an axis that `x` does not have, and for an `ord` that does not apply.

    Example:
        >>> ops.norm([3.0, -4.0]).numpy().tolist(), ops.norm([3.0, -4.0], ord=1).numpy().tolist()
        (5.0, 7.0)
        >>> ops.norm([[3.0, 4.0], [0.0, 2.0]], axis=1).numpy().tolist()
        [5.0, 2.0]
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
    if ord is None or (ord == "fro" and len(axes) == 2):
        return vector_norm(x, 2, axes, keepdims)
    if len(axes) == 1 and not isinstance(ord, str):
        return vector_norm(x, ord, axes, keepdims)
    if len(axes) == 2:
        return _matrix_norm(x, ord, axes, keepdims)
    raise ValueError(
        f"This `ord` does not apply to {len(axes)} axes. Received: ord={ord!r}, axis={axis}"
    )


def vector_norm(x: Any, ord: Any, axes: list[int], keepdims: bool) -> tf.Tensor:
    """Returns norms of vectors that are spread over axes; powers are computed in float32 at least."""
    size = tf.abs(x)
    if ord == float("inf"):
        return tf.reduce_max(size, axes, keepdims)
    if ord == float("-inf"):
        return tf.reduce_min(size, axes, keepdims)
    if ord == 0:
        return tf.reduce_sum(tf.cast(x != 0, size.dtype), axes, keepdims)
    wide = to_float32(size)
    if ord == 1:
        result = tf.reduce_sum(wide, axes, keepdims)
    elif ord == 2:
        squares = tf.square(wide if x.dtype.is_complex else to_float32(x))
        result = root_of_sum(tf.reduce_sum(squares, axes, keepdims))
    elif ord < 0:
        is_zero = tf.equal(wide, 0)
        total = tf.reduce_sum(tf.where(is_zero, tf.ones_like(wide), wide) ** ord, axes, keepdims)
        has_zero = tf.reduce_any(is_zero, axes, keepdims)
        has_zero &= ~tf.math.is_nan(total)
        # A negative power of 0 is infinite, and the norm is 0: written out, so that its gradient
        # is not NaN.
        result = tf.where(has_zero, tf.zeros_like(total), total ** (1.0 / ord))
    else:
        result = _power(tf.reduce_sum(_power(wide, ord), axes, keepdims), 1.0 / ord)
    return tf.cast(result, size.dtype)


def _power(x: tf.Tensor, exponent: float) -> tf.Tensor:
    """Returns powers whose gradient at 0 is 0, as for `root_of_sum`."""
    is_zero = tf.equal(x, 0)
    powers = tf.where(is_zero, tf.ones_like(x), x) ** exponent
    return tf.where(is_zero, tf.zeros_like(x), powers)


def _matrix_norm(x: Any, ord: Any, axes: list[int], keepdims: bool) -> tf.Tensor:
    x = moveaxis(x, axes, (-2, -1))
    if ord in ("nuc", 2, -2):
        # These norms are sum, maximum and minimum of the singular values.
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


# --- Factorizations -------------------------------------------------------------------------------


@checked_symbolic_op(require_known_square)
def cholesky(x: Any, upper: bool = False) -> tf.Tensor:
    """Returns the Cholesky factor: the lower triangular `L` with `L L^H = x`.

    Args:
        x: symmetric (Hermitian) positive definite matrices of shape `(..., n, n)`, of a float or
            complex dtype. Only the lower triangle is read.
        upper: whether to return `L^H` instead. Default: `False`.

    Returns:
        A tensor of the shape and dtype of `x`.

    Raises:
        ValueError: when `x` is not square, or, eagerly, not positive definite; in a traced
            function the latter is an `InvalidArgumentError`.

    Example:
        >>> ops.cholesky([[4.0, 2.0], [2.0, 5.0]]).numpy().tolist()
        [[2.0, 0.0], [1.0, 2.0]]
    """
    x = as_square(x)
    try:
        # Some kernels return NaN instead of an error.
        factor = tf.debugging.check_numerics(tf.linalg.cholesky(x), "Cholesky")
    except tf.errors.InvalidArgumentError as error:
        raise ValueError(
            "`cholesky` needs positive definite matrices of floats, and `x` is not. "
            f"Received: x.shape={x.shape}, x.dtype={x.dtype.name}"
        ) from error
    return tf.linalg.adjoint(factor) if upper else factor


@checked_symbolic_op(require_known_square)
def cholesky_inverse(x: Any, upper: bool = False) -> tf.Tensor:
    """Returns the inverse of matrices that are given by their Cholesky factors.

    Args:
        x: triangular factors of shape `(..., n, n)`, as `cholesky` returns them.
        upper: whether the factors are upper triangular. Default: `False`.

    Returns:
        A tensor of the shape and dtype of `x`: `inv(x x^T)`, or `inv(x^T x)` for `upper`.

    Raises:
        ValueError: when `x` is not square.

    Example:
        >>> ops.cholesky_inverse([[2.0, 0.0], [1.0, 2.0]]).numpy().tolist()
        [[0.3125, -0.125], [-0.125, 0.25]]
    """
    x = as_square(x)
    inverse = tf.linalg.triangular_solve(x, tf.eye(tf.shape(x)[-1], dtype=x.dtype), lower=not upper)
    return tf.matmul(inverse, inverse, transpose_a=not upper, transpose_b=upper)


@symbolic_op
def qr(x: Any, mode: str = "reduced") -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the QR decomposition: an orthogonal matrix times an upper triangular one is `x`.

    Args:
        x: matrices of shape `(..., m, n)`, of a float or complex dtype.
        mode: `"reduced"` (`k = min(m, n)` columns) or `"complete"` (`k = m`).
            Default: `"reduced"`.

    Returns:
        A pair of `q`, of shape `(..., m, k)` with orthonormal columns, and `r`, of shape
        `(..., k, n)`, of the dtype of `x`. The signs of columns are not defined.

    Raises:
        ValueError: for any other mode, and for fewer than 2 axes.

    Example:
        >>> x = tf.constant([[3.0, 1.0], [4.0, 2.0]])
        >>> q, r = ops.qr(x)
        >>> tf.matmul(q, r).numpy().round(3).tolist()
        [[3.0, 1.0], [4.0, 2.0]]
    """
    if mode not in ("reduced", "complete"):
        raise ValueError(f"`mode` must be 'reduced' or 'complete'. Received: mode={mode!r}")
    x = as_tensor(x)
    require_rank("x", x, 2)
    q, r = tf.linalg.qr(x, full_matrices=mode == "complete")
    return q, r


@symbolic_op
def svd(x: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """Returns the singular value decomposition: `u`, `s` and `v^H` with `x = u diag(s) v^H`.

    Args:
        x: matrices of shape `(..., m, n)`, of a float or complex dtype.
        full_matrices: whether `u` and `v` are square, and not cut to `min(m, n)` columns.
            Default: `True`.
        compute_uv: whether to return a triple, and not only the singular values.
            Default: `True`.

    Returns:
        `u` of shape `(..., m, m)`, `s` of shape `(..., min(m, n))` in descending order, and `v^H`
        of shape `(..., n, n)`, all of the dtype of `x`. The signs of columns are not defined.

    Raises:
        ValueError: for fewer than 2 axes.

    Example:
        >>> ops.svd([[3.0, 0.0], [0.0, 4.0]], compute_uv=False).numpy().round(4).tolist()
        [4.0, 3.0]
        >>> [tuple(part.shape) for part in ops.svd(tf.ones((3, 2)), full_matrices=False)]
        [(3, 2), (2,), (2, 2)]
    """
    x = as_tensor(x)
    require_rank("x", x, 2)
    if not compute_uv:
        return tf.cast(_singular_values(x), x.dtype)
    s, u, v = (tf.cast(each, x.dtype) for each in tf.linalg.svd(widened(x), full_matrices))
    return u, s, tf.linalg.adjoint(v)


def _singular_values(x: tf.Tensor) -> tf.Tensor:
    """Returns the singular values, in float32 for matrices of 16-bit floats."""
    return tf.linalg.svd(widened(x), compute_uv=False)


@checked_symbolic_op(require_known_square)
def eig(x: Any) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns eigenvalues and eigenvectors of square matrices, both complex.

    Args:
        x: matrices of shape `(..., n, n)`, of a float or complex dtype.

    Returns:
        A pair of the eigenvalues, of shape `(..., n)` and in no given order, and the eigenvectors
        as the columns of a tensor of shape `(..., n, n)`; complex64 for float32, complex128 for
        float64.

    Raises:
        ValueError: when `x` is not square.

    Example:
        >>> values, vectors = ops.eig(tf.constant([[0.0, 1.0], [-1.0, 0.0]]))
        >>> sorted(values.numpy().round(4).imag.tolist())
        [-1.0, 1.0]
    """
    x = as_square(x)
    values, vectors = tf.linalg.eig(x)
    return values, vectors


@checked_symbolic_op(require_known_square)
def eigh(x: Any) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns eigenvalues and eigenvectors of symmetric (Hermitian) matrices.

    Args:
        x: symmetric matrices of shape `(..., n, n)`, of a float or complex dtype. Only the lower
            triangle is read.

    Returns:
        A pair of the eigenvalues, of shape `(..., n)` and in ascending order, and the orthonormal
        eigenvectors as the columns of a tensor of shape `(..., n, n)`, of the dtype of `x`. The
        signs of vectors are not defined.

    Raises:
        ValueError: when `x` is not square.

    Example:
        >>> values, vectors = ops.eigh([[2.0, 1.0], [1.0, 2.0]])
        >>> values.numpy().round(4)
        array([1., 3.], dtype=float32)
    """
    x = as_square(x)
    values, vectors = tf.linalg.eigh(x)
    return values, vectors


@symbolic_op
def lu_factor(x: Any) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the LU decomposition of matrices with permuted rows, in one matrix.

    `L` is below the diagonal and has ones on it, which are left out; `U` is on and above
    the diagonal.

    Args:
        x: matrices of shape `(..., n, n)`, of a float or complex dtype.

    Returns:
        A pair of a tensor of the shape and dtype of `x`, and int32 indices `p` of shape `(..., n)`:
        row `i` of `x` is row `p[i]` of the product `L U`.

    Raises:
        ValueError: when `x` is not square.

    Example:
        >>> lu, p = ops.lu_factor([[0.0, 2.0], [4.0, 1.0]])
        >>> lu.numpy().tolist(), p.numpy().tolist()
        ([[4.0, 1.0], [0.0, 2.0]], [1, 0])
    """
    x = as_square(x)
    lu, order = tf.linalg.lu(x)
    return lu, tf.argsort(order)  # The inverse of each permutation.


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


def _require_known_rows(a: Any, b: Any, *args: Any, **kwargs: Any) -> None:
    """Raises an error for symbolic tensors unless `b` is known to have as many rows as `a`."""
    require_known_square(a)
    symbolic = isinstance(a, KerasTensor) and isinstance(b, KerasTensor) and a.ndim == b.ndim
    if symbolic and b.shape[-2] is None and a.shape[-2] is not None:
        raise ValueError(
            f"`b` must be known to have as many rows as `a`. Received: a.shape={a.shape}, b.shape={b.shape}"
        )


@checked_symbolic_op(_require_known_rows)
def solve(a: Any, b: Any) -> tf.Tensor:
    """Returns the solution `x` of the linear equations `a x = b`.

    Args:
        a: matrices of shape `(..., n, n)`, of a float or complex dtype.
        b: right sides, of shape `(..., n, m)`, or `(..., n)` for one vector for each matrix.

    Returns:
        A tensor of the shape and dtype of `b`.

    Raises:
        ValueError: when `a` is not square, or `b` has a different number of rows.
        InvalidArgumentError: when a matrix has no inverse.

    Example:
        >>> ops.solve([[2.0, 1.0], [0.0, 4.0]], [4.0, 8.0]).numpy().tolist()
        [1.0, 2.0]
    """
    a = as_tensor(a)
    require_square("a", a)
    return _solve(tf.linalg.solve, a, b)


@checked_symbolic_op(_require_known_rows)
def solve_triangular(a: Any, b: Any, lower: bool = False) -> tf.Tensor:
    """Returns the solution `x` of `a x = b` for triangular matrices `a`.

    Args:
        a: upper triangular matrices of shape `(..., n, n)`, of a float or complex dtype. The
            other triangle is not read.
        b: right sides, of shape `(..., n, m)`, or `(..., n)` for one vector for each matrix.
        lower: whether the matrices are lower triangular. Default: `False`.

    Returns:
        A tensor of the shape and dtype of `b`.

    Raises:
        ValueError: when `a` is not square, or `b` has a different number of rows.

    Example:
        >>> ops.solve_triangular([[2.0, 1.0], [0.0, 4.0]], [4.0, 8.0]).numpy().tolist()
        [1.0, 2.0]
    """
    a = as_tensor(a)
    require_square("a", a)
    return _solve(lambda a, b: tf.linalg.triangular_solve(a, b, lower=lower), a, b)


@symbolic_op
def lstsq(a: Any, b: Any, rcond: float | None = None) -> tf.Tensor:
    """Returns the least-squares solution: the `x` for which `sum((a x - b)**2)` is least.

    If there are several, it is the one with the smallest norm.

    Args:
        a: a matrix of shape `(m, n)`, of a float dtype.
        b: right sides, of shape `(m, k)`, or a vector of `m` elements.
        rcond: singular values below this share of the largest count as 0; `None` for the
            precision of the dtype times `max(m, n)`.

    Returns:
        A tensor of shape `(n, k)`, or `(n,)` for a vector, of the dtype of `a`.

    Raises:
        ValueError: when `a` is not a matrix, or `b` does not have as many rows.

    Example:
        >>> a = [[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]
        >>> ops.lstsq(a, [1.0, 3.0, 5.0]).numpy().round(4)
        array([1., 2.], dtype=float32)
    """
    a, b = as_tensor(a), as_tensor(b)
    if a.shape.rank != 2 or b.shape.rank not in (1, 2) or a.shape[0] != b.shape[0]:
        raise ValueError(
            "`a` must be a matrix, and `b` a matrix or vector with as many rows. "
            f"Received: a.shape={a.shape}, b.shape={b.shape}"
        )
    if rcond is None:
        # NumPy's limit, below which singular values count as 0.
        rcond = _precision(a.dtype) * tf.cast(tf.reduce_max(tf.shape(a)), a.dtype)
    return _solve(lambda a, b: tf.matmul(_pseudo_inverse(a, rcond), b), a, b)


def _precision(dtype: Any) -> float:
    if dtype == tf.bfloat16:
        return 2.0**-7
    return float(tf.experimental.numpy.finfo(dtype.as_numpy_dtype).eps)


@checked_symbolic_op(require_known_square)
def inv(x: Any) -> tf.Tensor:
    """Returns the inverse of square matrices.

    To solve equations, `solve` is faster and more exact.

    Args:
        x: matrices of shape `(..., n, n)`, of a float or complex dtype.

    Returns:
        A tensor of the shape and dtype of `x`.

    Raises:
        ValueError: when `x` is not square.
        InvalidArgumentError: when a matrix has no inverse.

    Example:
        >>> ops.inv([[2.0, 0.0], [0.0, 4.0]]).numpy().tolist()
        [[0.5, 0.0], [0.0, 0.25]]
    """
    x = as_square(x)
    return tf.linalg.inv(x)


@symbolic_op
def pinv(x: Any, rcond: float | None = None) -> tf.Tensor:
    """Returns the Moore-Penrose pseudo-inverse of matrices.

    It is formed from the inverses of the singular values that do not count as 0.

    Args:
        x: matrices of shape `(..., m, n)`, of a float dtype.
        rcond: singular values below this share of the largest count as 0; `None` for 10 times the
            precision of the dtype times `max(m, n)`.

    Returns:
        A tensor of shape `(..., n, m)` and of the dtype of `x`.

    Example:
        >>> ops.pinv([[2.0, 0.0], [0.0, 0.0]]).numpy().round(4).tolist()
        [[0.5, 0.0], [0.0, 0.0]]
    """
    return _pseudo_inverse(as_tensor(x), rcond)


def _pseudo_inverse(x: tf.Tensor, rcond: Any) -> tf.Tensor:
    wide = widened(x)
    if rcond is None and wide is not x:
        rcond = 10.0 * _rounding(x)  # The same as in TensorFlow, for the original dtype.
    return tf.cast(tf.linalg.pinv(wide, rcond), x.dtype)


def _rounding(x: tf.Tensor) -> tf.Tensor:
    """Returns the largest possible error of a singular value, relative to the largest one."""
    return tf.cast(tf.reduce_max(tf.shape(x)[-2:]), tf.float32) * _precision(x.dtype)


@checked_symbolic_op(require_known_square)
def det(x: Any) -> tf.Tensor:
    """Returns the determinant of square matrices.

    It overflows easily for large matrices; see `slogdet`.

    Args:
        x: matrices of shape `(..., n, n)`, of a float or complex dtype.

    Returns:
        A tensor of shape `(...)` and of the dtype of `x`.

    Raises:
        ValueError: when `x` is not square.

    Example:
        >>> ops.det([[1.0, 2.0], [3.0, 4.0]]).numpy().round(4).tolist()
        -2.0
    """
    x = as_square(x)
    return tf.linalg.det(x)


@symbolic_op
def slogdet(x: Any) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the sign of the determinant, and the logarithm of its absolute value.

    Args:
        x: matrices of shape `(..., n, n)`, of a float or complex dtype.

    Returns:
        A pair of tensors of shape `(...)` and of the dtype of `x`: `det(x)` is
        `sign * exp(logarithm)`. A singular matrix gives 0 and minus infinity.

    Raises:
        ValueError: when `x` is not square.

    Example:
        >>> sign, logarithm = ops.slogdet([[0.0, 2.0], [3.0, 4.0]])
        >>> float(sign), round(float(tf.exp(logarithm)), 4)
        (-1.0, 6.0)
    """
    x = as_square(x)
    return tuple(tf.linalg.slogdet(x))


@symbolic_op
def logdet(x: Any) -> tf.Tensor:
    """Returns the logarithm of the determinant of positive definite matrices.

    Args:
        x: symmetric (Hermitian) positive definite matrices of shape `(..., n, n)`, of a float or
            complex dtype.

    Returns:
        A tensor of shape `(...)` and of the dtype of `x`; NaN for a matrix that is not positive
        definite, see `slogdet`.

    Raises:
        ValueError: when `x` is not square.

    Example:
        >>> round(float(ops.logdet([[2.0, 0.0], [0.0, 4.0]])), 4)
        2.0794
    """
    x = as_square(x)
    return tf.linalg.logdet(x)


@symbolic_op
def matrix_rank(x: Any, tol: float | None = None) -> tf.Tensor:
    """Returns the number of singular values of matrices that are above a threshold.

    Args:
        x: matrices of shape `(..., m, n)`, of a float dtype.
        tol: the threshold; `None` for the largest singular value times the precision of the dtype
            times `max(m, n)`.

    Returns:
        An int32 tensor of shape `(...)`.

    Example:
        >>> ops.matrix_rank([[1.0, 2.0], [2.0, 4.0]]).numpy().tolist()
        1
    """
    x = as_tensor(x)
    wide = widened(x)
    if tol is None and wide is not x:
        tol = tf.reduce_max(_singular_values(x), -1) * _rounding(x)
    return tf.linalg.matrix_rank(wide, tol)


@symbolic_op
def cdist(x: Any, y: Any) -> tf.Tensor:
    """Returns the Euclidean distance of each row of `x` from each row of `y`.

    Args:
        x: a tensor of shape `(..., n, size)`, of a real dtype.
        y: a tensor of shape `(..., m, size)`; leading axes broadcast.

    Returns:
        A tensor of shape `(..., n, m)` and of the common float dtype of both.

    Raises:
        ValueError: for fewer than 2 axes or rows of different sizes.

    Example:
        >>> ops.cdist([[0.0, 0.0], [3.0, 4.0]], [[0.0, 0.0]]).numpy().tolist()
        [[0.0], [5.0]]
    """
    x, y = map(to_float, promote_tensors(x, y))
    if x.shape.rank < 2 or y.shape.rank < 2 or x.shape[-1] != y.shape[-1]:
        raise ValueError(
            "`x` and `y` must have at least 2 axes and equal last ones. "
            f"Received: x.shape={x.shape}, y.shape={y.shape}"
        )
    # Differences, and not x**2 + y**2 - 2 x y, which cancels for near points.
    difference = x[..., :, None, :] - y[..., None, :, :]
    return root_of_sum(tf.reduce_sum(tf.square(difference), -1))


def jvp(fun: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    """Returns the value of a function and its derivative in one direction, in one forward pass.

    The derivative is the Jacobian matrix times the direction ("Jacobian-vector product").

    Args:
        fun: a function of tensors.
        primals: its arguments, a tuple or list.
        tangents: the direction: a tuple or list with one tensor for each argument, of its shape.
        has_aux: whether `fun` returns a pair, of which the second is returned unchanged.
            Default: `False`.

    Returns:
        A pair of the value and the derivative, of its shape and dtype; a triple with the second
        result for `has_aux=True`.

    Example:
        >>> value, derivative = ops.jvp(lambda x: x * x, (3.0,), (1.0,))
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
