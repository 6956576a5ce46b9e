"""Linear algebra: norms, factorisations, solving."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.ops.linalg import cholesky as cholesky
    from tfkit.src.ops.linalg import cholesky_inverse as cholesky_inverse
    from tfkit.src.ops.linalg import det as det
    from tfkit.src.ops.linalg import eig as eig
    from tfkit.src.ops.linalg import eigh as eigh
    from tfkit.src.ops.linalg import inv as inv
    from tfkit.src.ops.linalg import jvp as jvp
    from tfkit.src.ops.linalg import lstsq as lstsq
    from tfkit.src.ops.linalg import lu_factor as lu_factor
    from tfkit.src.ops.linalg import matrix_rank as matrix_rank
    from tfkit.src.ops.linalg import norm as norm
    from tfkit.src.ops.linalg import pinv as pinv
    from tfkit.src.ops.linalg import qr as qr
    from tfkit.src.ops.linalg import solve as solve
    from tfkit.src.ops.linalg import solve_triangular as solve_triangular
    from tfkit.src.ops.linalg import svd as svd

_later.offer(__name__)
