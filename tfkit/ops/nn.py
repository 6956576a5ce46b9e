"""The ops of neural networks, as in `keras.ops.nn`."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.ops.activations import celu as celu
    from tfkit.src.ops.activations import elu as elu
    from tfkit.src.ops.activations import gelu as gelu
    from tfkit.src.ops.activations import glu as glu
    from tfkit.src.ops.activations import hard_shrink as hard_shrink
    from tfkit.src.ops.activations import hard_sigmoid as hard_sigmoid
    from tfkit.src.ops.activations import hard_silu as hard_silu
    from tfkit.src.ops.activations import hard_swish as hard_swish
    from tfkit.src.ops.activations import hard_tanh as hard_tanh
    from tfkit.src.ops.activations import leaky_relu as leaky_relu
    from tfkit.src.ops.activations import log_sigmoid as log_sigmoid
    from tfkit.src.ops.activations import log_softmax as log_softmax
    from tfkit.src.ops.activations import relu as relu
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
    from tfkit.src.ops.activations import swish as swish
    from tfkit.src.ops.activations import tanh_shrink as tanh_shrink
    from tfkit.src.ops.activations import threshold as threshold
    from tfkit.src.ops.attention import dot_product_attention as dot_product_attention
    from tfkit.src.ops.complex_numbers import polar as polar
    from tfkit.src.ops.convolution import conv as conv
    from tfkit.src.ops.convolution import conv_transpose as conv_transpose
    from tfkit.src.ops.convolution import depthwise_conv as depthwise_conv
    from tfkit.src.ops.convolution import separable_conv as separable_conv
    from tfkit.src.ops.losses import binary_crossentropy as binary_crossentropy
    from tfkit.src.ops.losses import categorical_crossentropy as categorical_crossentropy
    from tfkit.src.ops.losses import ctc_decode as ctc_decode
    from tfkit.src.ops.losses import ctc_loss as ctc_loss
    from tfkit.src.ops.losses import multi_hot as multi_hot
    from tfkit.src.ops.losses import one_hot as one_hot
    from tfkit.src.ops.losses import psnr as psnr
    from tfkit.src.ops.losses import (
        sparse_categorical_crossentropy as sparse_categorical_crossentropy,
    )
    from tfkit.src.ops.normalization import batch_normalization as batch_normalization
    from tfkit.src.ops.normalization import layer_normalization as layer_normalization
    from tfkit.src.ops.normalization import moments as moments
    from tfkit.src.ops.normalization import normalize as normalize
    from tfkit.src.ops.normalization import rms_normalization as rms_normalization
    from tfkit.src.ops.patches import depth_to_space as depth_to_space
    from tfkit.src.ops.patches import fold as fold
    from tfkit.src.ops.patches import space_to_depth as space_to_depth
    from tfkit.src.ops.patches import unfold as unfold
    from tfkit.src.ops.pooling import adaptive_average_pool as adaptive_average_pool
    from tfkit.src.ops.pooling import adaptive_max_pool as adaptive_max_pool
    from tfkit.src.ops.pooling import average_pool as average_pool
    from tfkit.src.ops.pooling import max_pool as max_pool

_later.offer(__name__)
