"""Formulas that JAX and PyTorch have under the same names."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

# Elementwise functions. Their names in the modules are NumPy's: in lower case, with `arc` for `A`.
_FUNCTIONS = [
    *"Angle Ceil Conj Cos Cosh Exp Expm1 Imag IsFinite IsInf IsNan".split(),  # noqa: SIM905
    *"Log Log1p Real Round Sign Sin Sinh Tan Tanh".split(),  # noqa: SIM905
]
_INVERSES = ["Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh"]


def alike(np: Any, special: Any) -> dict[str, Callable[..., Any]]:
    """Returns formulas by type.

    Args:
        np: the module with the functions of NumPy: `jax.numpy`, or `torch`.
        special: the module with Bessel's functions.
    """
    named = {kind: getattr(np, kind.lower()) for kind in _FUNCTIONS}
    named |= {kind: getattr(np, f"arc{kind[1:]}") for kind in _INVERSES}
    named |= {"ComplexAbs": np.abs, "OnesLike": np.ones_like, "Rint": np.round}
    named |= {"Cholesky": np.linalg.cholesky, "MatrixDeterminant": np.linalg.det}
    named |= {f"Bessel{kind.upper()}": getattr(special, kind) for kind in ("i0", "i1")}
    named |= {f"Bessel{kind.upper()}e": getattr(special, f"{kind}e") for kind in ("i0", "i1")}
    return {
        **{kind: _of_one(function) for kind, function in named.items()},
        "AddN": lambda values: functools.reduce(lambda x, y: x + y, values),
        "Atan2": lambda y, x: np.arctan2(y, x),
        "EnsureShape": lambda x: x,
        "Identity": lambda x: x,
        "IdentityN": lambda values: values,
        "LogMatrixDeterminant": lambda x: list(np.linalg.slogdet(x)),
        "NextAfter": lambda x, y: np.nextafter(x, y),
        "SelectV2": lambda condition, x, y: np.where(condition, x, y),
    }


def _of_one(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Returns a function whose signature Python can read: PyTorch's own functions have none."""
    return lambda x: function(x)
