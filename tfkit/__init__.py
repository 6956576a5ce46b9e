"""tfkit: deep learning for TensorFlow alone."""

from typing import TYPE_CHECKING

from tfkit.src.borrowed import tensorflow_alone as _tensorflow_alone  # noqa: F401, the first to import TensorFlow
from tfkit.src.borrowed import tensorflow_threads as _tensorflow_threads  # noqa: F401

# isort: split
from tfkit.src.base import later as _later
from tfkit.src.base.version import __version__ as __version__

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit import activations as activations
    from tfkit import applications as applications
    from tfkit import backend as backend
    from tfkit import callbacks as callbacks
    from tfkit import config as config
    from tfkit import constraints as constraints
    from tfkit import datasets as datasets
    from tfkit import distillation as distillation
    from tfkit import distribution as distribution
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
    from tfkit import quantizers as quantizers
    from tfkit import random as random
    from tfkit import regularizers as regularizers
    from tfkit import saving as saving
    from tfkit import tree as tree
    from tfkit import utils as utils
    from tfkit import visualization as visualization
    from tfkit import wrappers as wrappers
    from tfkit.src.base.calls import SymbolicScope as SymbolicScope
    from tfkit.src.base.registry.dtype_policies import DTypePolicy as DTypePolicy
    from tfkit.src.base.registry.dtype_policies import FloatDTypePolicy as FloatDTypePolicy
    from tfkit.src.base.version import version as version
    from tfkit.src.core.layer import Layer as Layer
    from tfkit.src.engine.device_scope import device as device
    from tfkit.src.layers.input_layer import Input as Input
    from tfkit.src.losses.base import Loss as Loss
    from tfkit.src.metrics.base import Metric as Metric
    from tfkit.src.optimizers.base import Optimizer as Optimizer
    from tfkit.src.symbolic.input_spec import InputSpec as InputSpec
    from tfkit.src.symbolic.operations import Operation as Operation
    from tfkit.src.symbolic.rematerialization import RematScope as RematScope
    from tfkit.src.symbolic.rematerialization import remat as remat
    from tfkit.src.symbolic.tensors import KerasTensor as KerasTensor
    from tfkit.src.training.models.function import Function as Function
    from tfkit.src.training.models.model import Functional as Functional
    from tfkit.src.training.models.model import Model as Model
    from tfkit.src.training.models.sequential import Sequential as Sequential
    from tfkit.src.weights.initializers.base import Initializer as Initializer
    from tfkit.src.weights.quantizers.base import Quantizer as Quantizer
    from tfkit.src.weights.random import SeedGenerator as SeedGenerator
    from tfkit.src.weights.regularizers import Regularizer as Regularizer
    from tfkit.src.weights.variables.name_scope import name_scope as name_scope
    from tfkit.src.weights.variables.stateless import StatelessScope as StatelessScope
    from tfkit.src.weights.variables.variables import Variable as Variable

_later.offer(__name__)

# isort: split
from tfkit.src.outer import catalog as _catalog  # noqa: E402, F401, it reads the lists of the modules above
