"""Arrays in the widths in which JAX computes: 32 bits, unless `jax_enable_x64` is set."""

from __future__ import annotations

import numpy as np

from tfkit.src.export.convert.jax.kit import dtype_of


def narrowed(array: np.ndarray, owner: str) -> np.ndarray:
    """Returns an array in the dtype that JAX has for it.

    Args:
        array: the array.
        owner: what has it, for the message: "The data".

    Raises:
        OverflowError: for integers that do not fit in the 32 bits of JAX.
    """
    dtype = dtype_of(array.dtype)
    if array.dtype.kind in "iu" and dtype.itemsize < array.dtype.itemsize and array.size:
        limits = np.iinfo(dtype)
        least, most = int(array.min()), int(array.max())
        if most > limits.max or least < limits.min:
            raise OverflowError(
                f"{owner} has integers of {array.dtype} from {least} to {most}, and JAX computes in {dtype}. "
                "Let it use 64 bits before anything else: jax.config.update('jax_enable_x64', True)"
            )
    return array.astype(dtype, copy=False)
