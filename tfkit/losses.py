"""Losses: one pure function each, and a class that weighs, masks and reduces its values."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.losses.base import Loss as Loss
    from tfkit.src.losses.binary import BinaryCrossentropy as BinaryCrossentropy
    from tfkit.src.losses.binary import BinaryFocalCrossentropy as BinaryFocalCrossentropy
    from tfkit.src.losses.binary import binary_crossentropy as binary_crossentropy
    from tfkit.src.losses.binary import binary_focal_crossentropy as binary_focal_crossentropy
    from tfkit.src.losses.categorical import CategoricalCrossentropy as CategoricalCrossentropy
    from tfkit.src.losses.categorical import (
        CategoricalFocalCrossentropy as CategoricalFocalCrossentropy,
    )
    from tfkit.src.losses.categorical import (
        CategoricalGeneralizedCrossEntropy as CategoricalGeneralizedCrossEntropy,
    )
    from tfkit.src.losses.categorical import (
        SparseCategoricalCrossentropy as SparseCategoricalCrossentropy,
    )
    from tfkit.src.losses.categorical import categorical_crossentropy as categorical_crossentropy
    from tfkit.src.losses.categorical import (
        categorical_focal_crossentropy as categorical_focal_crossentropy,
    )
    from tfkit.src.losses.categorical import (
        categorical_generalized_cross_entropy as categorical_generalized_cross_entropy,
    )
    from tfkit.src.losses.categorical import (
        sparse_categorical_crossentropy as sparse_categorical_crossentropy,
    )
    from tfkit.src.losses.hinge import CategoricalHinge as CategoricalHinge
    from tfkit.src.losses.hinge import Hinge as Hinge
    from tfkit.src.losses.hinge import SquaredHinge as SquaredHinge
    from tfkit.src.losses.hinge import categorical_hinge as categorical_hinge
    from tfkit.src.losses.hinge import hinge as hinge
    from tfkit.src.losses.hinge import squared_hinge as squared_hinge
    from tfkit.src.losses.lookup import deserialize as deserialize
    from tfkit.src.losses.lookup import get as get
    from tfkit.src.losses.lookup import serialize as serialize
    from tfkit.src.losses.probabilistic import CTC as CTC
    from tfkit.src.losses.probabilistic import KLDivergence as KLDivergence
    from tfkit.src.losses.probabilistic import Poisson as Poisson
    from tfkit.src.losses.probabilistic import ctc as ctc
    from tfkit.src.losses.probabilistic import kl_divergence as kl_divergence
    from tfkit.src.losses.probabilistic import poisson as poisson
    from tfkit.src.losses.regression import CosineSimilarity as CosineSimilarity
    from tfkit.src.losses.regression import Huber as Huber
    from tfkit.src.losses.regression import LogCosh as LogCosh
    from tfkit.src.losses.regression import MeanAbsoluteError as MeanAbsoluteError
    from tfkit.src.losses.regression import (
        MeanAbsolutePercentageError as MeanAbsolutePercentageError,
    )
    from tfkit.src.losses.regression import MeanSquaredError as MeanSquaredError
    from tfkit.src.losses.regression import (
        MeanSquaredLogarithmicError as MeanSquaredLogarithmicError,
    )
    from tfkit.src.losses.regression import cosine_similarity as cosine_similarity
    from tfkit.src.losses.regression import huber as huber
    from tfkit.src.losses.regression import log_cosh as log_cosh
    from tfkit.src.losses.regression import mean_absolute_error as mean_absolute_error
    from tfkit.src.losses.regression import (
        mean_absolute_percentage_error as mean_absolute_percentage_error,
    )
    from tfkit.src.losses.regression import mean_squared_error as mean_squared_error
    from tfkit.src.losses.regression import (
        mean_squared_logarithmic_error as mean_squared_logarithmic_error,
    )
    from tfkit.src.losses.segmentation import Dice as Dice
    from tfkit.src.losses.segmentation import Tversky as Tversky
    from tfkit.src.losses.segmentation import dice as dice
    from tfkit.src.losses.segmentation import tversky as tversky
    from tfkit.src.losses.similarity import Circle as Circle
    from tfkit.src.losses.similarity import circle as circle
    from tfkit.src.losses.wrapper import LossFunctionWrapper as LossFunctionWrapper

_later.offer(__name__)
