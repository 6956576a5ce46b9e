"""Losses: one pure function each, and a class that weighs, masks and reduces its values."""

from __future__ import annotations

from typing import Any

from tfkit import registry, serialization
from tfkit.losses.base import Loss as Loss
from tfkit.losses.binary import BinaryCrossentropy as BinaryCrossentropy
from tfkit.losses.binary import BinaryFocalCrossentropy as BinaryFocalCrossentropy
from tfkit.losses.binary import binary_crossentropy as binary_crossentropy
from tfkit.losses.binary import binary_focal_crossentropy as binary_focal_crossentropy
from tfkit.losses.categorical import CategoricalCrossentropy as CategoricalCrossentropy
from tfkit.losses.categorical import CategoricalFocalCrossentropy as CategoricalFocalCrossentropy
from tfkit.losses.categorical import (
    CategoricalGeneralizedCrossEntropy as CategoricalGeneralizedCrossEntropy,
)
from tfkit.losses.categorical import SparseCategoricalCrossentropy as SparseCategoricalCrossentropy
from tfkit.losses.categorical import categorical_crossentropy as categorical_crossentropy
from tfkit.losses.categorical import (
    categorical_focal_crossentropy as categorical_focal_crossentropy,
)
from tfkit.losses.categorical import (
    categorical_generalized_cross_entropy as categorical_generalized_cross_entropy,
)
from tfkit.losses.categorical import (
    sparse_categorical_crossentropy as sparse_categorical_crossentropy,
)
from tfkit.losses.distribution import CTC as CTC
from tfkit.losses.distribution import KLDivergence as KLDivergence
from tfkit.losses.distribution import Poisson as Poisson
from tfkit.losses.distribution import ctc as ctc
from tfkit.losses.distribution import kl_divergence as kl_divergence
from tfkit.losses.distribution import poisson as poisson
from tfkit.losses.hinge import CategoricalHinge as CategoricalHinge
from tfkit.losses.hinge import Hinge as Hinge
from tfkit.losses.hinge import SquaredHinge as SquaredHinge
from tfkit.losses.hinge import categorical_hinge as categorical_hinge
from tfkit.losses.hinge import hinge as hinge
from tfkit.losses.hinge import squared_hinge as squared_hinge
from tfkit.losses.regression import CosineSimilarity as CosineSimilarity
from tfkit.losses.regression import Huber as Huber
from tfkit.losses.regression import LogCosh as LogCosh
from tfkit.losses.regression import MeanAbsoluteError as MeanAbsoluteError
from tfkit.losses.regression import MeanAbsolutePercentageError as MeanAbsolutePercentageError
from tfkit.losses.regression import MeanSquaredError as MeanSquaredError
from tfkit.losses.regression import MeanSquaredLogarithmicError as MeanSquaredLogarithmicError
from tfkit.losses.regression import cosine_similarity as cosine_similarity
from tfkit.losses.regression import huber as huber
from tfkit.losses.regression import log_cosh as log_cosh
from tfkit.losses.regression import mean_absolute_error as mean_absolute_error
from tfkit.losses.regression import mean_absolute_percentage_error as mean_absolute_percentage_error
from tfkit.losses.regression import mean_squared_error as mean_squared_error
from tfkit.losses.regression import mean_squared_logarithmic_error as mean_squared_logarithmic_error
from tfkit.losses.segmentation import Dice as Dice
from tfkit.losses.segmentation import Tversky as Tversky
from tfkit.losses.segmentation import dice as dice
from tfkit.losses.segmentation import tversky as tversky
from tfkit.losses.similarity import Circle as Circle
from tfkit.losses.similarity import circle as circle
from tfkit.losses.wrapper import LossFunctionWrapper as LossFunctionWrapper
from tfkit.tracebacks import shortened

registry.register_builtins(
    "losses",
    [
        BinaryCrossentropy,
        BinaryFocalCrossentropy,
        CTC,
        CategoricalCrossentropy,
        CategoricalFocalCrossentropy,
        CategoricalGeneralizedCrossEntropy,
        CategoricalHinge,
        Circle,
        CosineSimilarity,
        Dice,
        Hinge,
        Huber,
        KLDivergence,
        LogCosh,
        Loss,
        LossFunctionWrapper,
        MeanAbsoluteError,
        MeanAbsolutePercentageError,
        MeanSquaredError,
        MeanSquaredLogarithmicError,
        Poisson,
        SparseCategoricalCrossentropy,
        SquaredHinge,
        Tversky,
        binary_crossentropy,
        binary_focal_crossentropy,
        categorical_crossentropy,
        categorical_focal_crossentropy,
        categorical_generalized_cross_entropy,
        categorical_hinge,
        circle,
        cosine_similarity,
        ctc,
        dice,
        hinge,
        huber,
        kl_divergence,
        log_cosh,
        mean_absolute_error,
        mean_absolute_percentage_error,
        mean_squared_error,
        mean_squared_logarithmic_error,
        poisson,
        sparse_categorical_crossentropy,
        squared_hinge,
        tversky,
    ],
    aliases={
        "bce": binary_crossentropy,
        "BCE": binary_crossentropy,
        "kld": kl_divergence,
        "KLD": kl_divergence,
        "mae": mean_absolute_error,
        "MAE": mean_absolute_error,
        "mape": mean_absolute_percentage_error,
        "MAPE": mean_absolute_percentage_error,
        "mse": mean_squared_error,
        "MSE": mean_squared_error,
        "msle": mean_squared_logarithmic_error,
        "MSLE": mean_squared_logarithmic_error,
    },
)


@shortened
def get(identifier: Any) -> Any:
    """Returns the loss or loss function that an identifier stands for.

    Args:
        identifier: a name such as `"mse"` or `"MeanSquaredError"`, a configuration, a class, a
            callable, or `None`, which is returned.

    Returns:
        A loss function for its name, a loss for the name of a class or a configuration.

    Raises:
        ValueError: for an unknown name and for anything that is not callable.

    Example:
        >>> get("mse").__name__
        'mean_squared_error'
    """
    return serialization.resolve(identifier, "losses")


def serialize(loss: Any) -> Any:
    """Returns the configuration of a loss or loss function.

    Args:
        loss: a loss, or a function of `y_true` and `y_pred`.

    Returns:
        What `deserialize` takes: a dict, in which a function is its name.

    Example:
        >>> serialize(Huber(delta=0.5))["config"]["delta"]
        0.5
    """
    return serialization.serialize_keras_object(loss)


@shortened
def deserialize(name: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """Returns the loss or loss function that a configuration describes: the inverse of `serialize`.

    Args:
        name: a configuration as `serialize` returns it.
        custom_objects: classes and functions by name that the configuration may name besides
            tfkit's own and registered ones.

    Returns:
        A loss, or a function.

    Raises:
        ValueError: for a name that is not known or registered.

    Example:
        >>> deserialize(serialize(Huber(delta=0.5))).name
        'huber_loss'
    """
    return serialization.deserialize_keras_object(name, custom_objects, kind="losses")
