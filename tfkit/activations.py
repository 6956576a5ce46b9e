"""Activation functions by name, for layers: `Dense(8, activation="relu")`."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.ops.activation_lookup import deserialize as deserialize
    from tfkit.src.ops.activation_lookup import exponential as exponential
    from tfkit.src.ops.activation_lookup import gelu as gelu
    from tfkit.src.ops.activation_lookup import get as get
    from tfkit.src.ops.activation_lookup import hard_swish as hard_swish
    from tfkit.src.ops.activation_lookup import linear as linear
    from tfkit.src.ops.activation_lookup import mish as mish
    from tfkit.src.ops.activation_lookup import relu as relu
    from tfkit.src.ops.activation_lookup import serialize as serialize
    from tfkit.src.ops.activation_lookup import swish as swish
    from tfkit.src.ops.activations import celu as celu
    from tfkit.src.ops.activations import elu as elu
    from tfkit.src.ops.activations import glu as glu
    from tfkit.src.ops.activations import hard_shrink as hard_shrink
    from tfkit.src.ops.activations import hard_sigmoid as hard_sigmoid
    from tfkit.src.ops.activations import hard_silu as hard_silu
    from tfkit.src.ops.activations import hard_tanh as hard_tanh
    from tfkit.src.ops.activations import leaky_relu as leaky_relu
    from tfkit.src.ops.activations import log_sigmoid as log_sigmoid
    from tfkit.src.ops.activations import log_softmax as log_softmax
    from tfkit.src.ops.activations import relu6 as relu6
    from tfkit.src.ops.activations import selu as selu
    from tfkit.src.ops.activations import sigmoid as sigmoid
    from tfkit.src.ops.activations import silu as silu
    from tfkit.src.ops.activations import soft_shrink as soft_shrink
    from tfkit.src.ops.activations import softmax as softmax
    from tfkit.src.ops.activations import softplus as softplus
    from tfkit.src.ops.activations import softsign as softsign
    from tfkit.src.ops.activations import sparse_plus as sparse_plus
    from tfkit.src.ops.activations import sparse_sigmoid as sparse_sigmoid
    from tfkit.src.ops.activations import sparsemax as sparsemax
    from tfkit.src.ops.activations import squareplus as squareplus
    from tfkit.src.ops.activations import tanh_shrink as tanh_shrink
    from tfkit.src.ops.activations import threshold as threshold
    from tfkit.src.ops.elementwise import tanh as tanh

_later.offer(__name__)
