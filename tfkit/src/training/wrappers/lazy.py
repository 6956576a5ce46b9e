"""Imports scikit-learn when one of the names of `tfkit.wrappers` is used."""

from __future__ import annotations

from typing import Any

from tfkit.src.base import packages

_NAMES = ["SKLearnClassifier", "SKLearnRegressor", "SKLearnTransformer"]


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'tfkit.wrappers' has no attribute {name!r}")
    estimators = packages.imported(
        "tfkit.src.training.wrappers.estimators",
        f"`wrappers.{name}`",
        "scikit-learn 1.6 or later",
        "'scikit-learn>=1.6'",
    )
    return getattr(estimators, name)


def __dir__() -> list[str]:
    return list(_NAMES)
