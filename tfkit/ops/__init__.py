"""Keras 3's `keras.ops` for TensorFlow: each op is one function of tensors, which may be symbolic."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.ops import image as image
    from tfkit.ops import linalg as linalg
    from tfkit.ops import nn as nn
    from tfkit.ops import numpy as numpy
    from tfkit.ops.linalg import *
    from tfkit.ops.nn import *
    from tfkit.ops.numpy import *
    from tfkit.src.ops.complex_numbers import view_as_complex as view_as_complex
    from tfkit.src.ops.complex_numbers import view_as_real as view_as_real
    from tfkit.src.ops.control_flow import associative_scan as associative_scan
    from tfkit.src.ops.control_flow import cond as cond
    from tfkit.src.ops.control_flow import fori_loop as fori_loop
    from tfkit.src.ops.control_flow import map as map
    from tfkit.src.ops.control_flow import scan as scan
    from tfkit.src.ops.control_flow import switch as switch
    from tfkit.src.ops.control_flow import vectorized_map as vectorized_map
    from tfkit.src.ops.control_flow import while_loop as while_loop
    from tfkit.src.ops.core import cast as cast
    from tfkit.src.ops.core import convert_to_numpy as convert_to_numpy
    from tfkit.src.ops.core import convert_to_tensor as convert_to_tensor
    from tfkit.src.ops.core import custom_gradient as custom_gradient
    from tfkit.src.ops.core import dtype as dtype
    from tfkit.src.ops.core import is_tensor as is_tensor
    from tfkit.src.ops.core import saturate_cast as saturate_cast
    from tfkit.src.ops.core import scatter as scatter
    from tfkit.src.ops.core import scatter_update as scatter_update
    from tfkit.src.ops.core import shape as shape
    from tfkit.src.ops.core import slice as slice
    from tfkit.src.ops.core import slice_update as slice_update
    from tfkit.src.ops.core import stop_gradient as stop_gradient
    from tfkit.src.ops.elementwise import erf as erf
    from tfkit.src.ops.elementwise import erfc as erfc
    from tfkit.src.ops.elementwise import erfinv as erfinv
    from tfkit.src.ops.elementwise import rsqrt as rsqrt
    from tfkit.src.ops.indexing import in_top_k as in_top_k
    from tfkit.src.ops.indexing import top_k as top_k
    from tfkit.src.ops.linalg import cdist as cdist
    from tfkit.src.ops.linalg import logdet as logdet
    from tfkit.src.ops.patches import rearrange as rearrange
    from tfkit.src.ops.reductions import logsumexp as logsumexp
    from tfkit.src.ops.segments import segment_max as segment_max
    from tfkit.src.ops.segments import segment_min as segment_min
    from tfkit.src.ops.segments import segment_prod as segment_prod
    from tfkit.src.ops.segments import segment_sum as segment_sum
    from tfkit.src.ops.shaping import unstack as unstack
    from tfkit.src.ops.signal import extract_sequences as extract_sequences
    from tfkit.src.ops.signal import fft as fft
    from tfkit.src.ops.signal import fft2 as fft2
    from tfkit.src.ops.signal import ifft2 as ifft2
    from tfkit.src.ops.signal import irfft as irfft
    from tfkit.src.ops.signal import istft as istft
    from tfkit.src.ops.signal import rfft as rfft
    from tfkit.src.ops.signal import stft as stft

_later.offer(__name__)
