"""Imports scikit-learn when one of the names of `tfkit.wrappers` is used."""

from __future__ import annotations

import importlib
from typing import Any

_NAMES = ["SKLearnClassifier", "SKLearnRegressor", "SKLearnTransformer"]


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'tfkit.wrappers' has no attribute {name!r}")
    try:
        estimators = importlib.import_module("tfkit.src.wrappers.estimators")
    except ImportError as error:
        raise ImportError(
            f"`wrappers.{name}` needs scikit-learn 1.6 or later, which is not installed: "
            f"pip install 'scikit-learn>=1.6' ({error})"
        ) from None
    return getattr(estimators, name)


def __dir__() -> list[str]:
    return list(_NAMES)
