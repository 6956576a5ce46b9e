"""Calls of functions on symbolic tensors: in Keras `ops.sum(x, axis=1)` is an object of a class `Sum`.

In Keras the arguments that are not tensors belong to the constructor; here they are part of the call.
"""

from __future__ import annotations

import inspect
from collections.abc import Container
from typing import Any

from tfkit.src.base.names import to_snake_case
from tfkit.src.base.registry.tables import builtins_of
from tfkit.src.ops.classes import options_of

# The classes of `keras.src.ops`, by module.
_TABLE = {
    "core": """
        Cast ConvertToTensor SaturateCast Scatter ScatterUpdate Slice SliceUpdate
        StopGradient Unstack
    """,
    "linalg": """
        Cholesky CholeskyInverse Det Eig Eigh Inv Lstsq LuFactor MatrixRank Norm Pinv Qr SVD
        Solve SolveTriangular
    """,
    "math": """
        Erf Erfc Erfinv ExtractSequences FFT FFT2 IFFT2 IRFFT ISTFT InTopK Logdet Logsumexp
        RFFT Rsqrt STFT SegmentMax SegmentMin SegmentProd SegmentSum TopK ViewAsComplex
        ViewAsReal
    """,
    "nn": """
        AdaptiveAveragePool AdaptiveMaxPool AveragePool BinaryCrossentropy CTCDecode CTCLoss
        CategoricalCrossentropy Celu Conv ConvTranspose DepthToSpace DepthwiseConv
        DotProductAttention Elu Fold Gelu Glu HardShrink HardSigmoid HardSilu HardTanh
        LeakyRelu LogSigmoid LogSoftmax MaxPool Moments MultiHot Normalize OneHot PSNR Polar
        Relu Relu6 Selu SeparableConv Sigmoid Silu SoftShrink Softmax Softplus Softsign
        SpaceToDepth SparseCategoricalCrossentropy SparsePlus SparseSigmoid Sparsemax
        Squareplus TanhShrink Threshold Unfold
    """,
    "numpy": """
        Abs Absolute Add All Amax Amin Angle Any Append Arange Arccos Arccosh Arcsin Arcsinh
        Arctan Arctan2 Arctanh Argmax Argmin Argpartition Argsort Array ArraySplit Average
        Bincount BitwiseAnd BitwiseInvert BitwiseLeftShift BitwiseNot BitwiseOr
        BitwiseRightShift BitwiseXor BroadcastTo Cbrt Ceil Clip Concatenate Conj Conjugate
        Copy Corrcoef Correlate Cos Cosh CountNonzero Cross Cumprod Cumsum Deg2rad Diag
        Diagflat Diagonal Diff Digitize Divide DivideNoNan Dot Dsplit Dstack Einsum
        EmptyLike Equal Exp Exp2 ExpandDims Expm1 Fabs Flip Fliplr Flipud Floor FloorDivide
        Fmax Fmin Fmod Full FullLike Gcd Geomspace GetItem Greater GreaterEqual Heaviside
        Hsplit Hstack Hypot I0 Imag Inner Isclose Isfinite Isinf Isnan Isneginf Isposinf
        Isreal Kron Lcm Ldexp LeftShift Less LessEqual Linspace Log Log10 Log1p Log2
        Logaddexp Logaddexp2 LogicalAnd LogicalNot LogicalOr LogicalXor Logspace Matmul Max
        Maximum Mean Median Meshgrid Min Minimum Mod Moveaxis Multiply NanToNum Nanargmax
        Nanargmin Nancumprod Nancumsum Nanmax Nanmean Nanmedian Nanmin Nanpercentile Nanprod
        Nanquantile Nanstd Nansum Nanvar Ndim Negative Nextafter Nonzero NotEqual OnesLike
        Outer Pad Percentile Power Prod Ptp Quantile Rad2deg Ravel Real Reciprocal Repeat
        Reshape RightShift Roll Rot90 Round Select Sign Signbit Sin Sinc Sinh Size Slogdet
        Sort Split Sqrt Square Squeeze Stack Std Subtract Sum Swapaxes Take TakeAlongAxis
        Tan Tanh Tensordot Tile Trace Transpose Trapezoid Tril Triu TrueDivide Trunc Unique
        UnravelIndex Vander Var Vdot View Vsplit Vstack Where ZerosLike
    """,
}
# Function: module and class.
_CLASSES: dict[str, tuple[str, str]] = {
    to_snake_case(name): (module, name)
    for module, names in _TABLE.items()
    for name in names.split()
}


def _settable(function: str) -> Container[str]:
    """Returns the arguments of the constructor of a function's class."""
    return options_of(builtins_of("ops")[function]).parameters


def is_op(entry: dict[str, Any]) -> bool:
    """Whether an entry of Keras's list of layers is an op: ops have no `trainable`."""
    config = entry.get("config")
    return (
        isinstance(config, dict)
        and not config.keys() & {"trainable", "batch_shape", "layers"}
        and str(entry.get("module", "keras.src.ops.")).startswith("keras.src.ops.")
        and to_snake_case(str(entry.get("class_name"))) in _CLASSES
    )


def from_keras(entry: dict[str, Any]) -> dict[str, Any]:
    """Returns an op of Keras as the call of a function."""
    name = to_snake_case(entry["class_name"])
    settable = _settable(name)
    settings = {key: value for key, value in entry["config"].items() if key in settable}
    # An op such as `Einsum(subscripts)` has its first argument among the settings; the function
    # needs it in front.
    first = next(iter(inspect.signature(builtins_of("ops")[name]).parameters))
    leading = [settings.pop(first)] if first in settings else []
    calls = []
    for call in entry["inbound_nodes"]:
        args = [*leading, *call["args"]]
        if name == "get_item" and isinstance(args[1], list):
            args[1] = tuple(args[1])  # An index; JSON has no tuples.
        calls.append({"args": args, "kwargs": {**settings, **call["kwargs"]}})
    return {
        "module": "keras.ops",
        "class_name": "function",
        "config": name,
        "name": entry["name"],
        "inbound_nodes": calls,
    }


def to_keras(entry: dict[str, Any]) -> dict[str, Any]:
    """Returns the call of a function as an op of Keras.

    Raises:
        TypeError: for a function without a class in Keras.
    """
    function = entry["config"]
    if function not in _CLASSES:
        raise TypeError(
            f"Cannot write a model that calls `{function}` on symbolic tensors to a `.keras` file, which "
            "has no name for it. Put the call into a Layer's `call()`, or save to `.h5`."
        )
    module, name = _CLASSES[function]
    settable = _settable(function)
    parameters = list(inspect.signature(builtins_of("ops")[function]).parameters)
    (call,) = entry["inbound_nodes"]
    # Arguments collected by a star belong to the call, and have no name in the list of settings.
    named = [*parameters[: len(call["args"])], *parameters[-1:] * len(call["args"])]
    args, settings = [], {}
    for parameter, value in zip(named, call["args"], strict=False):
        if parameter in settable:
            settings[parameter] = value
        else:
            args.append(value)
    settings |= {key: value for key, value in call["kwargs"].items() if key in settable}
    kwargs = {key: value for key, value in call["kwargs"].items() if key not in settable}
    return {
        "module": f"keras.src.ops.{module}",
        "class_name": name,
        "config": {"name": entry["name"], **settings},
        "registered_name": name,
        "name": entry["name"],
        "inbound_nodes": [{"args": args, "kwargs": kwargs}],
    }
