"""Metrics: measurements over an epoch."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.losses.binary import binary_crossentropy as binary_crossentropy
    from tfkit.src.losses.binary import binary_focal_crossentropy as binary_focal_crossentropy
    from tfkit.src.losses.categorical import categorical_crossentropy as categorical_crossentropy
    from tfkit.src.losses.categorical import (
        categorical_focal_crossentropy as categorical_focal_crossentropy,
    )
    from tfkit.src.losses.categorical import (
        sparse_categorical_crossentropy as sparse_categorical_crossentropy,
    )
    from tfkit.src.losses.hinge import categorical_hinge as categorical_hinge
    from tfkit.src.losses.hinge import hinge as hinge
    from tfkit.src.losses.hinge import squared_hinge as squared_hinge
    from tfkit.src.losses.probabilistic import kl_divergence as kl_divergence
    from tfkit.src.losses.probabilistic import poisson as poisson
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
    from tfkit.src.metrics.accuracy import Accuracy as Accuracy
    from tfkit.src.metrics.accuracy import BinaryAccuracy as BinaryAccuracy
    from tfkit.src.metrics.accuracy import CategoricalAccuracy as CategoricalAccuracy
    from tfkit.src.metrics.accuracy import SparseCategoricalAccuracy as SparseCategoricalAccuracy
    from tfkit.src.metrics.accuracy import (
        SparseTopKCategoricalAccuracy as SparseTopKCategoricalAccuracy,
    )
    from tfkit.src.metrics.accuracy import TopKCategoricalAccuracy as TopKCategoricalAccuracy
    from tfkit.src.metrics.accuracy import binary_accuracy as binary_accuracy
    from tfkit.src.metrics.accuracy import categorical_accuracy as categorical_accuracy
    from tfkit.src.metrics.accuracy import (
        sparse_categorical_accuracy as sparse_categorical_accuracy,
    )
    from tfkit.src.metrics.accuracy import (
        sparse_top_k_categorical_accuracy as sparse_top_k_categorical_accuracy,
    )
    from tfkit.src.metrics.accuracy import top_k_categorical_accuracy as top_k_categorical_accuracy
    from tfkit.src.metrics.auc import AUC as AUC
    from tfkit.src.metrics.base import Metric as Metric
    from tfkit.src.metrics.confusion import FalseNegatives as FalseNegatives
    from tfkit.src.metrics.confusion import FalsePositives as FalsePositives
    from tfkit.src.metrics.confusion import Precision as Precision
    from tfkit.src.metrics.confusion import Recall as Recall
    from tfkit.src.metrics.confusion import TrueNegatives as TrueNegatives
    from tfkit.src.metrics.confusion import TruePositives as TruePositives
    from tfkit.src.metrics.correlation import ConcordanceCorrelation as ConcordanceCorrelation
    from tfkit.src.metrics.correlation import PearsonCorrelation as PearsonCorrelation
    from tfkit.src.metrics.correlation import concordance_correlation as concordance_correlation
    from tfkit.src.metrics.correlation import pearson_correlation as pearson_correlation
    from tfkit.src.metrics.f_score import F1Score as F1Score
    from tfkit.src.metrics.f_score import FBetaScore as FBetaScore
    from tfkit.src.metrics.iou import BinaryIoU as BinaryIoU
    from tfkit.src.metrics.iou import IoU as IoU
    from tfkit.src.metrics.iou import MeanIoU as MeanIoU
    from tfkit.src.metrics.iou import OneHotIoU as OneHotIoU
    from tfkit.src.metrics.iou import OneHotMeanIoU as OneHotMeanIoU
    from tfkit.src.metrics.margins import CategoricalHinge as CategoricalHinge
    from tfkit.src.metrics.margins import Hinge as Hinge
    from tfkit.src.metrics.margins import SquaredHinge as SquaredHinge
    from tfkit.src.metrics.operating_point import PrecisionAtRecall as PrecisionAtRecall
    from tfkit.src.metrics.operating_point import RecallAtPrecision as RecallAtPrecision
    from tfkit.src.metrics.operating_point import (
        SensitivityAtSpecificity as SensitivityAtSpecificity,
    )
    from tfkit.src.metrics.operating_point import (
        SpecificityAtSensitivity as SpecificityAtSensitivity,
    )
    from tfkit.src.metrics.probabilistic import BinaryCrossentropy as BinaryCrossentropy
    from tfkit.src.metrics.probabilistic import CategoricalCrossentropy as CategoricalCrossentropy
    from tfkit.src.metrics.probabilistic import KLDivergence as KLDivergence
    from tfkit.src.metrics.probabilistic import Poisson as Poisson
    from tfkit.src.metrics.probabilistic import (
        SparseCategoricalCrossentropy as SparseCategoricalCrossentropy,
    )
    from tfkit.src.metrics.r2 import R2Score as R2Score
    from tfkit.src.metrics.reduction import Mean as Mean
    from tfkit.src.metrics.reduction import MeanMetricWrapper as MeanMetricWrapper
    from tfkit.src.metrics.reduction import Sum as Sum
    from tfkit.src.metrics.regression import CosineSimilarity as CosineSimilarity
    from tfkit.src.metrics.regression import LogCoshError as LogCoshError
    from tfkit.src.metrics.regression import MeanAbsoluteError as MeanAbsoluteError
    from tfkit.src.metrics.regression import (
        MeanAbsolutePercentageError as MeanAbsolutePercentageError,
    )
    from tfkit.src.metrics.regression import MeanSquaredError as MeanSquaredError
    from tfkit.src.metrics.regression import (
        MeanSquaredLogarithmicError as MeanSquaredLogarithmicError,
    )
    from tfkit.src.metrics.regression import RootMeanSquaredError as RootMeanSquaredError
    from tfkit.src.metrics.resolve import deserialize as deserialize
    from tfkit.src.metrics.resolve import get as get
    from tfkit.src.metrics.resolve import serialize as serialize

_later.offer(__name__)
