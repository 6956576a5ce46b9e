"""tfkit: deep learning for TensorFlow alone."""

from tfkit import tensorflow_alone as _tensorflow_alone  # noqa: F401, the first to import TensorFlow

# isort: split
from tfkit import activations as activations
from tfkit import backend as backend
from tfkit import callbacks as callbacks
from tfkit import config as config
from tfkit import constraints as constraints
from tfkit import datasets as datasets
from tfkit import dtype_policies as dtype_policies
from tfkit import export as export
from tfkit import initializers as initializers
from tfkit import interop as interop
from tfkit import layers as layers
from tfkit import losses as losses
from tfkit import metrics as metrics
from tfkit import mixed_precision as mixed_precision
from tfkit import models as models
from tfkit import ops as ops
from tfkit import optimizers as optimizers
from tfkit import preprocessing as preprocessing
from tfkit import random as random
from tfkit import regularizers as regularizers
from tfkit import saving as saving
from tfkit import tree as tree
from tfkit import utils as utils
from tfkit import wrappers as wrappers
from tfkit.core.input_layer import Input as Input
from tfkit.core.input_spec import InputSpec as InputSpec
from tfkit.core.layer import Layer as Layer
from tfkit.core.rematerialization import remat as remat
from tfkit.device_scope import device as device
from tfkit.dtype_policies import DTypePolicy as DTypePolicy
from tfkit.dtype_policies import FloatDTypePolicy as FloatDTypePolicy
from tfkit.initializers import Initializer as Initializer
from tfkit.losses import Loss as Loss
from tfkit.metrics import Metric as Metric
from tfkit.models import Functional as Functional
from tfkit.models import Model as Model
from tfkit.models import Sequential as Sequential
from tfkit.optimizers import Optimizer as Optimizer
from tfkit.random import SeedGenerator as SeedGenerator
from tfkit.regularizers import Regularizer as Regularizer
from tfkit.symbolic import KerasTensor as KerasTensor
from tfkit.variables import Variable as Variable
from tfkit.version import __version__ as __version__
from tfkit.version import version as version

# isort: split
import sys as _sys

from tfkit import absent_names as _absent_names

_absent_names.explain_in(_sys.modules[__name__])
