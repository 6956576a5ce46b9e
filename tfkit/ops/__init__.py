"""Keras 3's `keras.ops` for TensorFlow: each op is one function of tensors, symbolic ones too."""

from collections.abc import Callable
from typing import Any

from tfkit.ops import image as image
from tfkit.ops import linalg as linalg
from tfkit.ops import nn as nn
from tfkit.ops import numpy as numpy
from tfkit.ops.activations import celu as celu
from tfkit.ops.activations import elu as elu
from tfkit.ops.activations import gelu as gelu
from tfkit.ops.activations import glu as glu
from tfkit.ops.activations import hard_shrink as hard_shrink
from tfkit.ops.activations import hard_sigmoid as hard_sigmoid
from tfkit.ops.activations import hard_silu as hard_silu
from tfkit.ops.activations import hard_swish as hard_swish
from tfkit.ops.activations import hard_tanh as hard_tanh
from tfkit.ops.activations import leaky_relu as leaky_relu
from tfkit.ops.activations import log_sigmoid as log_sigmoid
from tfkit.ops.activations import log_softmax as log_softmax
from tfkit.ops.activations import relu as relu
from tfkit.ops.activations import relu6 as relu6
from tfkit.ops.activations import selu as selu
from tfkit.ops.activations import sigmoid as sigmoid
from tfkit.ops.activations import silu as silu
from tfkit.ops.activations import soft_shrink as soft_shrink
from tfkit.ops.activations import softmax as softmax
from tfkit.ops.activations import softplus as softplus
from tfkit.ops.activations import softsign as softsign
from tfkit.ops.activations import sparse_plus as sparse_plus
from tfkit.ops.activations import sparse_sigmoid as sparse_sigmoid
from tfkit.ops.activations import sparsemax as sparsemax
from tfkit.ops.activations import squareplus as squareplus
from tfkit.ops.activations import swish as swish
from tfkit.ops.activations import tanh_shrink as tanh_shrink
from tfkit.ops.activations import threshold as threshold
from tfkit.ops.arithmetic import add as add
from tfkit.ops.arithmetic import allclose as allclose
from tfkit.ops.arithmetic import arctan2 as arctan2
from tfkit.ops.arithmetic import bitwise_and as bitwise_and
from tfkit.ops.arithmetic import bitwise_invert as bitwise_invert
from tfkit.ops.arithmetic import bitwise_left_shift as bitwise_left_shift
from tfkit.ops.arithmetic import bitwise_not as bitwise_not
from tfkit.ops.arithmetic import bitwise_or as bitwise_or
from tfkit.ops.arithmetic import bitwise_right_shift as bitwise_right_shift
from tfkit.ops.arithmetic import bitwise_xor as bitwise_xor
from tfkit.ops.arithmetic import divide as divide
from tfkit.ops.arithmetic import divide_no_nan as divide_no_nan
from tfkit.ops.arithmetic import equal as equal
from tfkit.ops.arithmetic import floor_divide as floor_divide
from tfkit.ops.arithmetic import fmax as fmax
from tfkit.ops.arithmetic import fmin as fmin
from tfkit.ops.arithmetic import fmod as fmod
from tfkit.ops.arithmetic import gcd as gcd
from tfkit.ops.arithmetic import greater as greater
from tfkit.ops.arithmetic import greater_equal as greater_equal
from tfkit.ops.arithmetic import heaviside as heaviside
from tfkit.ops.arithmetic import hypot as hypot
from tfkit.ops.arithmetic import isclose as isclose
from tfkit.ops.arithmetic import lcm as lcm
from tfkit.ops.arithmetic import ldexp as ldexp
from tfkit.ops.arithmetic import left_shift as left_shift
from tfkit.ops.arithmetic import less as less
from tfkit.ops.arithmetic import less_equal as less_equal
from tfkit.ops.arithmetic import logaddexp as logaddexp
from tfkit.ops.arithmetic import logaddexp2 as logaddexp2
from tfkit.ops.arithmetic import logical_and as logical_and
from tfkit.ops.arithmetic import logical_not as logical_not
from tfkit.ops.arithmetic import logical_or as logical_or
from tfkit.ops.arithmetic import logical_xor as logical_xor
from tfkit.ops.arithmetic import maximum as maximum
from tfkit.ops.arithmetic import minimum as minimum
from tfkit.ops.arithmetic import mod as mod
from tfkit.ops.arithmetic import multiply as multiply
from tfkit.ops.arithmetic import nextafter as nextafter
from tfkit.ops.arithmetic import not_equal as not_equal
from tfkit.ops.arithmetic import power as power
from tfkit.ops.arithmetic import right_shift as right_shift
from tfkit.ops.arithmetic import subtract as subtract
from tfkit.ops.arithmetic import true_divide as true_divide
from tfkit.ops.attention import dot_product_attention as dot_product_attention
from tfkit.ops.complex_numbers import angle as angle
from tfkit.ops.complex_numbers import conj as conj
from tfkit.ops.complex_numbers import conjugate as conjugate
from tfkit.ops.complex_numbers import imag as imag
from tfkit.ops.complex_numbers import polar as polar
from tfkit.ops.complex_numbers import real as real
from tfkit.ops.complex_numbers import view_as_complex as view_as_complex
from tfkit.ops.complex_numbers import view_as_real as view_as_real
from tfkit.ops.control_flow import associative_scan as associative_scan
from tfkit.ops.control_flow import cond as cond
from tfkit.ops.control_flow import fori_loop as fori_loop
from tfkit.ops.control_flow import map as map
from tfkit.ops.control_flow import scan as scan
from tfkit.ops.control_flow import switch as switch
from tfkit.ops.control_flow import vectorize as vectorize
from tfkit.ops.control_flow import vectorized_map as vectorized_map
from tfkit.ops.control_flow import while_loop as while_loop
from tfkit.ops.convolution import conv as conv
from tfkit.ops.convolution import conv_transpose as conv_transpose
from tfkit.ops.convolution import depthwise_conv as depthwise_conv
from tfkit.ops.convolution import separable_conv as separable_conv
from tfkit.ops.core import array as array
from tfkit.ops.core import cast as cast
from tfkit.ops.core import convert_to_numpy as convert_to_numpy
from tfkit.ops.core import convert_to_tensor as convert_to_tensor
from tfkit.ops.core import copy as copy
from tfkit.ops.core import custom_gradient as custom_gradient
from tfkit.ops.core import dtype as dtype
from tfkit.ops.core import is_tensor as is_tensor
from tfkit.ops.core import ndim as ndim
from tfkit.ops.core import saturate_cast as saturate_cast
from tfkit.ops.core import scatter as scatter
from tfkit.ops.core import scatter_update as scatter_update
from tfkit.ops.core import shape as shape
from tfkit.ops.core import size as size
from tfkit.ops.core import slice as slice
from tfkit.ops.core import slice_update as slice_update
from tfkit.ops.core import stop_gradient as stop_gradient
from tfkit.ops.counting import bincount as bincount
from tfkit.ops.counting import histogram as histogram
from tfkit.ops.counting import isin as isin
from tfkit.ops.counting import unique as unique
from tfkit.ops.counting import unravel_index as unravel_index
from tfkit.ops.creation import arange as arange
from tfkit.ops.creation import bartlett as bartlett
from tfkit.ops.creation import blackman as blackman
from tfkit.ops.creation import empty as empty
from tfkit.ops.creation import empty_like as empty_like
from tfkit.ops.creation import eye as eye
from tfkit.ops.creation import full as full
from tfkit.ops.creation import full_like as full_like
from tfkit.ops.creation import geomspace as geomspace
from tfkit.ops.creation import hamming as hamming
from tfkit.ops.creation import hanning as hanning
from tfkit.ops.creation import identity as identity
from tfkit.ops.creation import kaiser as kaiser
from tfkit.ops.creation import linspace as linspace
from tfkit.ops.creation import logspace as logspace
from tfkit.ops.creation import meshgrid as meshgrid
from tfkit.ops.creation import ones as ones
from tfkit.ops.creation import ones_like as ones_like
from tfkit.ops.creation import tri as tri
from tfkit.ops.creation import vander as vander
from tfkit.ops.creation import zeros as zeros
from tfkit.ops.creation import zeros_like as zeros_like
from tfkit.ops.diagonals import diag as diag
from tfkit.ops.diagonals import diagflat as diagflat
from tfkit.ops.diagonals import diagonal as diagonal
from tfkit.ops.diagonals import trace as trace
from tfkit.ops.diagonals import tril as tril
from tfkit.ops.diagonals import triu as triu
from tfkit.ops.elementwise import abs as abs
from tfkit.ops.elementwise import absolute as absolute
from tfkit.ops.elementwise import arccos as arccos
from tfkit.ops.elementwise import arccosh as arccosh
from tfkit.ops.elementwise import arcsin as arcsin
from tfkit.ops.elementwise import arcsinh as arcsinh
from tfkit.ops.elementwise import arctan as arctan
from tfkit.ops.elementwise import arctanh as arctanh
from tfkit.ops.elementwise import cbrt as cbrt
from tfkit.ops.elementwise import ceil as ceil
from tfkit.ops.elementwise import clip as clip
from tfkit.ops.elementwise import cos as cos
from tfkit.ops.elementwise import cosh as cosh
from tfkit.ops.elementwise import deg2rad as deg2rad
from tfkit.ops.elementwise import erf as erf
from tfkit.ops.elementwise import erfc as erfc
from tfkit.ops.elementwise import erfinv as erfinv
from tfkit.ops.elementwise import exp as exp
from tfkit.ops.elementwise import exp2 as exp2
from tfkit.ops.elementwise import expm1 as expm1
from tfkit.ops.elementwise import fabs as fabs
from tfkit.ops.elementwise import floor as floor
from tfkit.ops.elementwise import i0 as i0
from tfkit.ops.elementwise import isfinite as isfinite
from tfkit.ops.elementwise import isinf as isinf
from tfkit.ops.elementwise import isnan as isnan
from tfkit.ops.elementwise import isneginf as isneginf
from tfkit.ops.elementwise import isposinf as isposinf
from tfkit.ops.elementwise import isreal as isreal
from tfkit.ops.elementwise import log as log
from tfkit.ops.elementwise import log1p as log1p
from tfkit.ops.elementwise import log2 as log2
from tfkit.ops.elementwise import log10 as log10
from tfkit.ops.elementwise import nan_to_num as nan_to_num
from tfkit.ops.elementwise import negative as negative
from tfkit.ops.elementwise import rad2deg as rad2deg
from tfkit.ops.elementwise import reciprocal as reciprocal
from tfkit.ops.elementwise import round as round
from tfkit.ops.elementwise import rsqrt as rsqrt
from tfkit.ops.elementwise import sign as sign
from tfkit.ops.elementwise import signbit as signbit
from tfkit.ops.elementwise import sin as sin
from tfkit.ops.elementwise import sinc as sinc
from tfkit.ops.elementwise import sinh as sinh
from tfkit.ops.elementwise import sqrt as sqrt
from tfkit.ops.elementwise import square as square
from tfkit.ops.elementwise import tan as tan
from tfkit.ops.elementwise import tanh as tanh
from tfkit.ops.elementwise import trunc as trunc
from tfkit.ops.indexing import argpartition as argpartition
from tfkit.ops.indexing import argsort as argsort
from tfkit.ops.indexing import digitize as digitize
from tfkit.ops.indexing import get_item as get_item
from tfkit.ops.indexing import in_top_k as in_top_k
from tfkit.ops.indexing import nonzero as nonzero
from tfkit.ops.indexing import searchsorted as searchsorted
from tfkit.ops.indexing import select as select
from tfkit.ops.indexing import sort as sort
from tfkit.ops.indexing import take as take
from tfkit.ops.indexing import take_along_axis as take_along_axis
from tfkit.ops.indexing import top_k as top_k
from tfkit.ops.indexing import where as where
from tfkit.ops.linalg import cdist as cdist
from tfkit.ops.linalg import cholesky as cholesky
from tfkit.ops.linalg import cholesky_inverse as cholesky_inverse
from tfkit.ops.linalg import det as det
from tfkit.ops.linalg import eig as eig
from tfkit.ops.linalg import eigh as eigh
from tfkit.ops.linalg import inv as inv
from tfkit.ops.linalg import jvp as jvp
from tfkit.ops.linalg import logdet as logdet
from tfkit.ops.linalg import lstsq as lstsq
from tfkit.ops.linalg import lu_factor as lu_factor
from tfkit.ops.linalg import matrix_rank as matrix_rank
from tfkit.ops.linalg import norm as norm
from tfkit.ops.linalg import pinv as pinv
from tfkit.ops.linalg import qr as qr
from tfkit.ops.linalg import slogdet as slogdet
from tfkit.ops.linalg import solve as solve
from tfkit.ops.linalg import solve_triangular as solve_triangular
from tfkit.ops.linalg import svd as svd
from tfkit.ops.losses import binary_crossentropy as binary_crossentropy
from tfkit.ops.losses import categorical_crossentropy as categorical_crossentropy
from tfkit.ops.losses import ctc_decode as ctc_decode
from tfkit.ops.losses import ctc_loss as ctc_loss
from tfkit.ops.losses import multi_hot as multi_hot
from tfkit.ops.losses import one_hot as one_hot
from tfkit.ops.losses import psnr as psnr
from tfkit.ops.losses import sparse_categorical_crossentropy as sparse_categorical_crossentropy
from tfkit.ops.nan_reductions import nanargmax as nanargmax
from tfkit.ops.nan_reductions import nanargmin as nanargmin
from tfkit.ops.nan_reductions import nancumprod as nancumprod
from tfkit.ops.nan_reductions import nancumsum as nancumsum
from tfkit.ops.nan_reductions import nanmax as nanmax
from tfkit.ops.nan_reductions import nanmean as nanmean
from tfkit.ops.nan_reductions import nanmin as nanmin
from tfkit.ops.nan_reductions import nanprod as nanprod
from tfkit.ops.nan_reductions import nanstd as nanstd
from tfkit.ops.nan_reductions import nansum as nansum
from tfkit.ops.nan_reductions import nanvar as nanvar
from tfkit.ops.normalization import batch_normalization as batch_normalization
from tfkit.ops.normalization import layer_normalization as layer_normalization
from tfkit.ops.normalization import moments as moments
from tfkit.ops.normalization import normalize as normalize
from tfkit.ops.normalization import rms_normalization as rms_normalization
from tfkit.ops.patches import depth_to_space as depth_to_space
from tfkit.ops.patches import fold as fold
from tfkit.ops.patches import rearrange as rearrange
from tfkit.ops.patches import space_to_depth as space_to_depth
from tfkit.ops.patches import unfold as unfold
from tfkit.ops.pooling import adaptive_average_pool as adaptive_average_pool
from tfkit.ops.pooling import adaptive_max_pool as adaptive_max_pool
from tfkit.ops.pooling import average_pool as average_pool
from tfkit.ops.pooling import max_pool as max_pool
from tfkit.ops.products import corrcoef as corrcoef
from tfkit.ops.products import correlate as correlate
from tfkit.ops.products import cross as cross
from tfkit.ops.products import dot as dot
from tfkit.ops.products import einsum as einsum
from tfkit.ops.products import inner as inner
from tfkit.ops.products import kron as kron
from tfkit.ops.products import matmul as matmul
from tfkit.ops.products import outer as outer
from tfkit.ops.products import tensordot as tensordot
from tfkit.ops.products import vdot as vdot
from tfkit.ops.reductions import all as all
from tfkit.ops.reductions import amax as amax
from tfkit.ops.reductions import amin as amin
from tfkit.ops.reductions import any as any
from tfkit.ops.reductions import argmax as argmax
from tfkit.ops.reductions import argmin as argmin
from tfkit.ops.reductions import average as average
from tfkit.ops.reductions import count_nonzero as count_nonzero
from tfkit.ops.reductions import cumprod as cumprod
from tfkit.ops.reductions import cumsum as cumsum
from tfkit.ops.reductions import diff as diff
from tfkit.ops.reductions import logsumexp as logsumexp
from tfkit.ops.reductions import max as max
from tfkit.ops.reductions import mean as mean
from tfkit.ops.reductions import min as min
from tfkit.ops.reductions import prod as prod
from tfkit.ops.reductions import ptp as ptp
from tfkit.ops.reductions import std as std
from tfkit.ops.reductions import sum as sum
from tfkit.ops.reductions import trapezoid as trapezoid
from tfkit.ops.reductions import var as var
from tfkit.ops.segments import segment_max as segment_max
from tfkit.ops.segments import segment_min as segment_min
from tfkit.ops.segments import segment_prod as segment_prod
from tfkit.ops.segments import segment_sum as segment_sum
from tfkit.ops.shaping import append as append
from tfkit.ops.shaping import array_split as array_split
from tfkit.ops.shaping import broadcast_to as broadcast_to
from tfkit.ops.shaping import concatenate as concatenate
from tfkit.ops.shaping import dsplit as dsplit
from tfkit.ops.shaping import dstack as dstack
from tfkit.ops.shaping import expand_dims as expand_dims
from tfkit.ops.shaping import flip as flip
from tfkit.ops.shaping import fliplr as fliplr
from tfkit.ops.shaping import flipud as flipud
from tfkit.ops.shaping import hsplit as hsplit
from tfkit.ops.shaping import hstack as hstack
from tfkit.ops.shaping import moveaxis as moveaxis
from tfkit.ops.shaping import pad as pad
from tfkit.ops.shaping import ravel as ravel
from tfkit.ops.shaping import repeat as repeat
from tfkit.ops.shaping import reshape as reshape
from tfkit.ops.shaping import roll as roll
from tfkit.ops.shaping import rot90 as rot90
from tfkit.ops.shaping import split as split
from tfkit.ops.shaping import squeeze as squeeze
from tfkit.ops.shaping import stack as stack
from tfkit.ops.shaping import swapaxes as swapaxes
from tfkit.ops.shaping import tile as tile
from tfkit.ops.shaping import transpose as transpose
from tfkit.ops.shaping import unstack as unstack
from tfkit.ops.shaping import view as view
from tfkit.ops.shaping import vsplit as vsplit
from tfkit.ops.shaping import vstack as vstack
from tfkit.ops.signal import extract_sequences as extract_sequences
from tfkit.ops.signal import fft as fft
from tfkit.ops.signal import fft2 as fft2
from tfkit.ops.signal import ifft2 as ifft2
from tfkit.ops.signal import irfft as irfft
from tfkit.ops.signal import istft as istft
from tfkit.ops.signal import rfft as rfft
from tfkit.ops.signal import stft as stft
from tfkit.ops.statistics import median as median
from tfkit.ops.statistics import nanmedian as nanmedian
from tfkit.ops.statistics import nanpercentile as nanpercentile
from tfkit.ops.statistics import nanquantile as nanquantile
from tfkit.ops.statistics import percentile as percentile
from tfkit.ops.statistics import quantile as quantile
from tfkit.registry import register_builtins
from tfkit.symbolic import define_operators

register_builtins(
    "ops",
    [
        abs,
        adaptive_average_pool,
        adaptive_max_pool,
        add,
        all,
        allclose,
        amax,
        amin,
        angle,
        any,
        append,
        arange,
        arccos,
        arccosh,
        arcsin,
        arcsinh,
        arctan,
        arctan2,
        arctanh,
        argmax,
        argmin,
        argpartition,
        argsort,
        array,
        array_split,
        associative_scan,
        average,
        average_pool,
        bartlett,
        batch_normalization,
        binary_crossentropy,
        bincount,
        bitwise_and,
        bitwise_invert,
        bitwise_left_shift,
        bitwise_or,
        bitwise_right_shift,
        bitwise_xor,
        blackman,
        broadcast_to,
        cast,
        categorical_crossentropy,
        cbrt,
        cdist,
        ceil,
        celu,
        cholesky,
        cholesky_inverse,
        clip,
        concatenate,
        cond,
        conjugate,
        conv,
        conv_transpose,
        convert_to_numpy,
        convert_to_tensor,
        copy,
        corrcoef,
        correlate,
        cos,
        cosh,
        count_nonzero,
        cross,
        ctc_decode,
        ctc_loss,
        cumprod,
        cumsum,
        custom_gradient,
        deg2rad,
        depth_to_space,
        depthwise_conv,
        det,
        diag,
        diagflat,
        diagonal,
        diff,
        digitize,
        divide,
        divide_no_nan,
        dot,
        dot_product_attention,
        dsplit,
        dstack,
        dtype,
        eig,
        eigh,
        einsum,
        elu,
        empty,
        empty_like,
        equal,
        erf,
        erfc,
        erfinv,
        exp,
        exp2,
        expand_dims,
        expm1,
        extract_sequences,
        eye,
        fabs,
        fft,
        fft2,
        flip,
        fliplr,
        flipud,
        floor,
        floor_divide,
        fmax,
        fmin,
        fmod,
        fold,
        fori_loop,
        full,
        full_like,
        gcd,
        gelu,
        geomspace,
        get_item,
        glu,
        greater,
        greater_equal,
        hamming,
        hanning,
        hard_shrink,
        hard_sigmoid,
        hard_silu,
        hard_tanh,
        heaviside,
        histogram,
        hsplit,
        hstack,
        hypot,
        i0,
        identity,
        ifft2,
        imag,
        in_top_k,
        inner,
        inv,
        irfft,
        is_tensor,
        isclose,
        isfinite,
        isin,
        isinf,
        isnan,
        isneginf,
        isposinf,
        isreal,
        istft,
        jvp,
        kaiser,
        kron,
        layer_normalization,
        lcm,
        ldexp,
        leaky_relu,
        less,
        less_equal,
        linspace,
        log,
        log10,
        log1p,
        log2,
        log_sigmoid,
        log_softmax,
        logaddexp,
        logaddexp2,
        logdet,
        logical_and,
        logical_not,
        logical_or,
        logical_xor,
        logspace,
        logsumexp,
        lstsq,
        lu_factor,
        map,
        matmul,
        matrix_rank,
        max,
        max_pool,
        maximum,
        mean,
        median,
        meshgrid,
        min,
        minimum,
        mod,
        moments,
        moveaxis,
        multi_hot,
        multiply,
        nan_to_num,
        nanargmax,
        nanargmin,
        nancumprod,
        nancumsum,
        nanmax,
        nanmean,
        nanmedian,
        nanmin,
        nanpercentile,
        nanprod,
        nanquantile,
        nanstd,
        nansum,
        nanvar,
        ndim,
        negative,
        nextafter,
        nonzero,
        norm,
        normalize,
        not_equal,
        one_hot,
        ones,
        ones_like,
        outer,
        pad,
        percentile,
        pinv,
        polar,
        power,
        prod,
        psnr,
        ptp,
        qr,
        quantile,
        rad2deg,
        ravel,
        real,
        rearrange,
        reciprocal,
        relu,
        relu6,
        repeat,
        reshape,
        rfft,
        rms_normalization,
        roll,
        rot90,
        round,
        rsqrt,
        saturate_cast,
        scan,
        scatter,
        scatter_update,
        searchsorted,
        segment_max,
        segment_min,
        segment_prod,
        segment_sum,
        select,
        selu,
        separable_conv,
        shape,
        sigmoid,
        sign,
        signbit,
        silu,
        sin,
        sinc,
        sinh,
        size,
        slice,
        slice_update,
        slogdet,
        soft_shrink,
        softmax,
        softplus,
        softsign,
        solve,
        solve_triangular,
        sort,
        space_to_depth,
        sparse_categorical_crossentropy,
        sparse_plus,
        sparse_sigmoid,
        sparsemax,
        split,
        sqrt,
        square,
        squareplus,
        squeeze,
        stack,
        std,
        stft,
        stop_gradient,
        subtract,
        sum,
        svd,
        swapaxes,
        switch,
        take,
        take_along_axis,
        tan,
        tanh,
        tanh_shrink,
        tensordot,
        threshold,
        tile,
        top_k,
        trace,
        transpose,
        trapezoid,
        tri,
        tril,
        triu,
        true_divide,
        trunc,
        unfold,
        unique,
        unravel_index,
        unstack,
        vander,
        var,
        vdot,
        vectorize,
        vectorized_map,
        view,
        view_as_complex,
        view_as_real,
        vsplit,
        vstack,
        where,
        while_loop,
        zeros,
        zeros_like,
        image.affine_transform,
        image.crop_images,
        image.extract_patches,
        image.extract_patches_3d,
        image.gaussian_blur,
        image.hsv_to_rgb,
        image.map_coordinates,
        image.pad_images,
        image.perspective_transform,
        image.resize,
        image.rgb_to_grayscale,
        image.rgb_to_hsv,
        image.scale_and_translate,
        image.sobel_edges,
        image.ssim,
    ],
    {
        "absolute": abs,
        "bitwise_not": bitwise_invert,
        "conj": conjugate,
        "hard_swish": hard_silu,
        "left_shift": bitwise_left_shift,
        "right_shift": bitwise_right_shift,
        "swish": silu,
    },
)


def _reflected(op: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """`op` with its operands exchanged, for operators whose symbolic tensor stands on the right."""
    return lambda self, other: op(other, self)


define_operators(
    {
        "__add__": add,
        "__radd__": _reflected(add),
        "__sub__": subtract,
        "__rsub__": _reflected(subtract),
        "__mul__": multiply,
        "__rmul__": _reflected(multiply),
        "__truediv__": true_divide,
        "__rtruediv__": _reflected(true_divide),
        "__floordiv__": floor_divide,
        "__rfloordiv__": _reflected(floor_divide),
        "__mod__": mod,
        "__rmod__": _reflected(mod),
        "__pow__": power,
        "__rpow__": _reflected(power),
        "__matmul__": matmul,
        "__rmatmul__": _reflected(matmul),
        "__neg__": negative,
        "__abs__": abs,
        "__round__": lambda self, ndigits=None: round(self, ndigits or 0),
        "__lt__": less,
        "__le__": less_equal,
        "__gt__": greater,
        "__ge__": greater_equal,
        # `==` stays identity, as in Keras: symbolic tensors are keys and members of lists.
        "__ne__": not_equal,
        "__and__": logical_and,
        "__rand__": _reflected(logical_and),
        "__or__": logical_or,
        "__ror__": _reflected(logical_or),
        "__xor__": logical_xor,
        "__rxor__": _reflected(logical_xor),
        "__invert__": logical_not,
        "__getitem__": get_item,
        "reshape": lambda self, newshape: reshape(self, newshape),
        "squeeze": lambda self, axis=None: squeeze(self, axis),
    }
)
