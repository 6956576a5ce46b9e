"""Models as estimators of scikit-learn, which is imported when one of the names is used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfkit.wrappers.estimators import SKLearnClassifier as SKLearnClassifier
    from tfkit.wrappers.estimators import SKLearnRegressor as SKLearnRegressor
    from tfkit.wrappers.estimators import SKLearnTransformer as SKLearnTransformer

__all__ = ["SKLearnClassifier", "SKLearnRegressor", "SKLearnTransformer"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        estimators = importlib.import_module("tfkit.wrappers.estimators")
    except ImportError as error:
        raise ImportError(
            f"`wrappers.{name}` needs scikit-learn 1.6 or later, which is not installed: "
            f"pip install 'scikit-learn>=1.6' ({error})"
        ) from None
    return getattr(estimators, name)


def __dir__() -> list[str]:
    return list(__all__)
