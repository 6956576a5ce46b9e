from tfkit import registry
from tfkit.losses import binary_crossentropy as binary_crossentropy
from tfkit.losses import binary_focal_crossentropy as binary_focal_crossentropy
from tfkit.losses import categorical_crossentropy as categorical_crossentropy
from tfkit.losses import (
    categorical_focal_crossentropy as categorical_focal_crossentropy,
)
from tfkit.losses import categorical_hinge as categorical_hinge
from tfkit.losses import hinge as hinge
from tfkit.losses import huber as huber
from tfkit.losses import kl_divergence as kl_divergence
from tfkit.losses import log_cosh as log_cosh
from tfkit.losses import mean_absolute_error as mean_absolute_error
from tfkit.losses import mean_absolute_percentage_error as mean_absolute_percentage_error
from tfkit.losses import mean_squared_error as mean_squared_error
from tfkit.losses import mean_squared_logarithmic_error as mean_squared_logarithmic_error
from tfkit.losses import poisson as poisson
from tfkit.losses import (
    sparse_categorical_crossentropy as sparse_categorical_crossentropy,
)
from tfkit.losses import squared_hinge as squared_hinge
from tfkit.metrics.accuracy import Accuracy as Accuracy
from tfkit.metrics.accuracy import BinaryAccuracy as BinaryAccuracy
from tfkit.metrics.accuracy import CategoricalAccuracy as CategoricalAccuracy
from tfkit.metrics.accuracy import SparseCategoricalAccuracy as SparseCategoricalAccuracy
from tfkit.metrics.accuracy import SparseTopKCategoricalAccuracy as SparseTopKCategoricalAccuracy
from tfkit.metrics.accuracy import TopKCategoricalAccuracy as TopKCategoricalAccuracy
from tfkit.metrics.accuracy import binary_accuracy as binary_accuracy
from tfkit.metrics.accuracy import categorical_accuracy as categorical_accuracy
from tfkit.metrics.accuracy import sparse_categorical_accuracy as sparse_categorical_accuracy
from tfkit.metrics.accuracy import (
    sparse_top_k_categorical_accuracy as sparse_top_k_categorical_accuracy,
)
from tfkit.metrics.accuracy import top_k_categorical_accuracy as top_k_categorical_accuracy
from tfkit.metrics.auc import AUC as AUC
from tfkit.metrics.base import Metric as Metric
from tfkit.metrics.confusion import FalseNegatives as FalseNegatives
from tfkit.metrics.confusion import FalsePositives as FalsePositives
from tfkit.metrics.confusion import Precision as Precision
from tfkit.metrics.confusion import Recall as Recall
from tfkit.metrics.confusion import TrueNegatives as TrueNegatives
from tfkit.metrics.confusion import TruePositives as TruePositives
from tfkit.metrics.correlation import ConcordanceCorrelation as ConcordanceCorrelation
from tfkit.metrics.correlation import PearsonCorrelation as PearsonCorrelation
from tfkit.metrics.correlation import concordance_correlation as concordance_correlation
from tfkit.metrics.correlation import pearson_correlation as pearson_correlation
from tfkit.metrics.f_score import F1Score as F1Score
from tfkit.metrics.f_score import FBetaScore as FBetaScore
from tfkit.metrics.identifiers import deserialize as deserialize
from tfkit.metrics.identifiers import get as get
from tfkit.metrics.identifiers import serialize as serialize
from tfkit.metrics.iou import BinaryIoU as BinaryIoU
from tfkit.metrics.iou import IoU as IoU
from tfkit.metrics.iou import MeanIoU as MeanIoU
from tfkit.metrics.iou import OneHotIoU as OneHotIoU
from tfkit.metrics.iou import OneHotMeanIoU as OneHotMeanIoU
from tfkit.metrics.margins import CategoricalHinge as CategoricalHinge
from tfkit.metrics.margins import Hinge as Hinge
from tfkit.metrics.margins import SquaredHinge as SquaredHinge
from tfkit.metrics.operating_point import PrecisionAtRecall as PrecisionAtRecall
from tfkit.metrics.operating_point import RecallAtPrecision as RecallAtPrecision
from tfkit.metrics.operating_point import SensitivityAtSpecificity as SensitivityAtSpecificity
from tfkit.metrics.operating_point import SpecificityAtSensitivity as SpecificityAtSensitivity
from tfkit.metrics.probabilistic import BinaryCrossentropy as BinaryCrossentropy
from tfkit.metrics.probabilistic import CategoricalCrossentropy as CategoricalCrossentropy
from tfkit.metrics.probabilistic import KLDivergence as KLDivergence
from tfkit.metrics.probabilistic import Poisson as Poisson
from tfkit.metrics.probabilistic import (
    SparseCategoricalCrossentropy as SparseCategoricalCrossentropy,
)
from tfkit.metrics.r2 import R2Score as R2Score
from tfkit.metrics.reduction import Mean as Mean
from tfkit.metrics.reduction import MeanMetricWrapper as MeanMetricWrapper
from tfkit.metrics.reduction import Sum as Sum
from tfkit.metrics.regression import CosineSimilarity as CosineSimilarity
from tfkit.metrics.regression import LogCoshError as LogCoshError
from tfkit.metrics.regression import MeanAbsoluteError as MeanAbsoluteError
from tfkit.metrics.regression import MeanAbsolutePercentageError as MeanAbsolutePercentageError
from tfkit.metrics.regression import MeanSquaredError as MeanSquaredError
from tfkit.metrics.regression import MeanSquaredLogarithmicError as MeanSquaredLogarithmicError
from tfkit.metrics.regression import RootMeanSquaredError as RootMeanSquaredError

registry.register_builtins(
    "metrics",
    [
        AUC,
        Accuracy,
        BinaryAccuracy,
        BinaryCrossentropy,
        BinaryIoU,
        CategoricalAccuracy,
        CategoricalCrossentropy,
        CategoricalHinge,
        ConcordanceCorrelation,
        CosineSimilarity,
        F1Score,
        FBetaScore,
        FalseNegatives,
        FalsePositives,
        Hinge,
        IoU,
        KLDivergence,
        LogCoshError,
        Mean,
        MeanAbsoluteError,
        MeanAbsolutePercentageError,
        MeanIoU,
        MeanMetricWrapper,
        MeanSquaredError,
        MeanSquaredLogarithmicError,
        Metric,
        OneHotIoU,
        OneHotMeanIoU,
        PearsonCorrelation,
        Poisson,
        Precision,
        PrecisionAtRecall,
        R2Score,
        Recall,
        RecallAtPrecision,
        RootMeanSquaredError,
        SensitivityAtSpecificity,
        SparseCategoricalAccuracy,
        SparseCategoricalCrossentropy,
        SparseTopKCategoricalAccuracy,
        SpecificityAtSensitivity,
        SquaredHinge,
        Sum,
        TopKCategoricalAccuracy,
        TrueNegatives,
        TruePositives,
    ],
    aliases={
        "bce": BinaryCrossentropy,
        "BCE": BinaryCrossentropy,
        "mae": MeanAbsoluteError,
        "MAE": MeanAbsoluteError,
        "mape": MeanAbsolutePercentageError,
        "MAPE": MeanAbsolutePercentageError,
        "mse": MeanSquaredError,
        "MSE": MeanSquaredError,
        "msle": MeanSquaredLogarithmicError,
        "MSLE": MeanSquaredLogarithmicError,
    },
)
# A table of their own: in the table above `"binary_accuracy"` is the metric, not the function.
registry.register_builtins(
    "metrics.functions",
    [
        binary_accuracy,
        binary_crossentropy,
        binary_focal_crossentropy,
        categorical_accuracy,
        categorical_crossentropy,
        categorical_focal_crossentropy,
        categorical_hinge,
        concordance_correlation,
        hinge,
        huber,
        kl_divergence,
        log_cosh,
        mean_absolute_error,
        mean_absolute_percentage_error,
        mean_squared_error,
        mean_squared_logarithmic_error,
        pearson_correlation,
        poisson,
        sparse_categorical_accuracy,
        sparse_categorical_crossentropy,
        sparse_top_k_categorical_accuracy,
        squared_hinge,
        top_k_categorical_accuracy,
    ],
)
