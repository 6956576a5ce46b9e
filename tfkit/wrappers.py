"""Models as estimators of scikit-learn, which is imported when one of the names is used."""

from typing import TYPE_CHECKING

from tfkit.src.training.wrappers.lazy import __dir__ as __dir__
from tfkit.src.training.wrappers.lazy import __getattr__ as __getattr__

if TYPE_CHECKING:
    from tfkit.src.training.wrappers.estimators import SKLearnClassifier as SKLearnClassifier
    from tfkit.src.training.wrappers.estimators import SKLearnRegressor as SKLearnRegressor
    from tfkit.src.training.wrappers.estimators import SKLearnTransformer as SKLearnTransformer

__all__ = ["SKLearnClassifier", "SKLearnRegressor", "SKLearnTransformer"]
