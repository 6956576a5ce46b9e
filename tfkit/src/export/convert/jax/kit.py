"""The modules and functions of JAX that formulas for both frameworks use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tfkit.src.export.convert.jax import philox
from tfkit.src.export.convert.kit import Kit


def dtype_of(name: Any) -> np.dtype[Any]:
    """Returns JAX's dtype for one of TensorFlow's: without `jax_enable_x64`, with 32 bits instead of 64."""
    return np.dtype(jax.dtypes.canonicalize_dtype(jnp.dtype(name)))


def padded(x: Any, paddings: Any, value: Any = 0) -> Any:
    """Returns `x` with elements around it, as many as a pair for each axis says."""
    return jnp.pad(x, [tuple(pair) for pair in paddings], constant_values=value)


def _array(value: np.ndarray, like: Any) -> Any:
    return jnp.asarray(value)


def _arange(count: Any, like: Any) -> Any:
    return jnp.arange(count)


def _zeros(shape: Any, like: Any) -> Any:
    return jnp.zeros(shape, like.dtype)


def _cast(x: Any, dtype: Any) -> Any:
    return x.astype(dtype)


def _with_diagonal(matrix: Any, values: Any, number: int) -> Any:
    rows = np.arange(values.shape[-1]) + max(-number, 0)
    return matrix.at[..., rows, rows + number].set(values)


def _has_slope(x: Any) -> bool:
    return jnp.issubdtype(x.dtype, jnp.floating)


def _pull(function: Callable[..., Any], dy: Any, *arguments: Any) -> tuple[Any, ...]:
    y, back = jax.vjp(function, *arguments)
    return back(jnp.asarray(dy, y.dtype))


KIT = Kit(
    np=jnp,
    nn=jax.nn,
    special=jax.scipy.special,
    array=_array,
    arange=_arange,
    zeros=_zeros,
    cast=_cast,
    pad=padded,
    rsqrt=lax.rsqrt,
    with_diagonal=_with_diagonal,
    stop=lax.stop_gradient,
    has_slope=_has_slope,
    pull=_pull,
    philox=philox,
)
