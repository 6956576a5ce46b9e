"""Calls of functions on symbolic tensors: in Keras `ops.sum(x, axis=1)` is an object of a class `Sum`.

In Keras the arguments that are not tensors belong to the constructor; here they are part of the call.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

from tfkit.src.base.names import to_snake_case
from tfkit.src.base.registry.tables import builtins_of

# The classes of `keras.src.ops`, by module, with the arguments of their constructors.
_TABLE = {
    "core": """
        Cast(dtype); ConvertToTensor(dtype sparse ragged); SaturateCast(dtype); Scatter(shape);
        ScatterUpdate(reduction); Slice(shape); SliceUpdate; StopGradient; Unstack(num axis)
    """,
    "linalg": """
        Cholesky(upper); CholeskyInverse(upper); Det; Eig; Eigh; Inv; Lstsq(rcond); LuFactor;
        MatrixRank(tol); Norm(ord axis keepdims); Pinv(rcond); Qr(mode);
        SVD(full_matrices compute_uv); Solve; SolveTriangular(lower)
    """,
    "math": """
        Erf; Erfc; Erfinv; ExtractSequences(sequence_length sequence_stride); FFT; FFT2; IFFT2;
        IRFFT(fft_length); ISTFT(sequence_length sequence_stride fft_length length window center);
        InTopK(k); Logdet; Logsumexp(axis keepdims); RFFT(fft_length); Rsqrt;
        STFT(sequence_length sequence_stride fft_length window center);
        SegmentMax(num_segments sorted); SegmentMin(num_segments sorted);
        SegmentProd(num_segments sorted); SegmentSum(num_segments sorted); TopK(k sorted);
        ViewAsComplex; ViewAsReal
    """,
    "nn": """
        AdaptiveAveragePool(output_size data_format); AdaptiveMaxPool(output_size data_format);
        AveragePool(pool_size strides padding data_format); BinaryCrossentropy(from_logits);
        CTCDecode(strategy beam_width top_paths merge_repeated mask_index); CTCLoss(mask_index);
        CategoricalCrossentropy(from_logits axis); Celu(alpha);
        Conv(strides padding data_format dilation_rate);
        ConvTranspose(strides padding output_padding data_format dilation_rate);
        DepthToSpace(block_size data_format);
        DepthwiseConv(strides padding data_format dilation_rate);
        DotProductAttention(is_causal flash_attention attn_logits_soft_cap); Elu(alpha);
        Fold(output_size kernel_size dilation padding stride); Gelu(approximate); Glu(axis);
        HardShrink(threshold); HardSigmoid; HardSilu; HardTanh; LeakyRelu(negative_slope);
        LogSigmoid; LogSoftmax(axis); MaxPool(pool_size strides padding data_format);
        Moments(axes keepdims synchronized); MultiHot(num_classes axis dtype sparse);
        Normalize(axis order epsilon); OneHot(num_classes axis dtype sparse); PSNR(max_val); Polar;
        Relu; Relu6; Selu; SeparableConv(strides padding data_format dilation_rate); Sigmoid; Silu;
        SoftShrink(threshold); Softmax(axis); Softplus; Softsign;
        SpaceToDepth(block_size data_format); SparseCategoricalCrossentropy(from_logits axis);
        SparsePlus; SparseSigmoid; Sparsemax(axis); Squareplus(b); TanhShrink;
        Threshold(threshold default_value); Unfold(kernel_size dilation padding stride)
    """,
    "numpy": """
        Abs; Absolute; Add; All(axis keepdims); Amax(axis keepdims); Amin(axis keepdims); Angle;
        Any(axis keepdims); Append(axis); Arange(dtype); Arccos; Arccosh; Arcsin; Arcsinh; Arctan;
        Arctan2; Arctanh; Argmax(axis keepdims); Argmin(axis keepdims); Argpartition(kth axis);
        Argsort(axis); Array(dtype); ArraySplit(indices_or_sections axis); Average(axis);
        Bincount(weights minlength sparse); BitwiseAnd; BitwiseInvert; BitwiseLeftShift; BitwiseNot;
        BitwiseOr; BitwiseRightShift; BitwiseXor; BroadcastTo(shape); Cbrt; Ceil; Clip(x_min x_max);
        Concatenate(axis); Conj; Conjugate; Copy; Corrcoef; Correlate(mode); Cos; Cosh;
        CountNonzero(axis); Cross(axisa axisb axisc axis); Cumprod(axis dtype); Cumsum(axis dtype);
        Deg2rad; Diag(k); Diagflat(k); Diagonal(offset axis1 axis2); Diff(n axis); Digitize; Divide;
        DivideNoNan; Dot; Dsplit(indices_or_sections); Dstack; Einsum(subscripts); EmptyLike(dtype);
        Equal; Exp; Exp2; ExpandDims(axis); Expm1; Fabs; Flip(axis); Fliplr; Flipud; Floor;
        FloorDivide; Fmax; Fmin; Fmod; Full(shape dtype); FullLike(dtype); Gcd;
        Geomspace(num endpoint dtype axis); GetItem; Greater; GreaterEqual; Heaviside;
        Hsplit(indices_or_sections); Hstack; Hypot; I0; Imag; Inner; Isclose(equal_nan); Isfinite;
        Isinf; Isnan; Isneginf; Isposinf; Isreal; Kron; Lcm; Ldexp; LeftShift; Less; LessEqual;
        Linspace(num endpoint retstep dtype axis); Log; Log10; Log1p; Log2; Logaddexp; Logaddexp2;
        LogicalAnd; LogicalNot; LogicalOr; LogicalXor; Logspace(num endpoint base dtype axis);
        Matmul; Max(axis keepdims initial); Maximum; Mean(axis keepdims); Median(axis keepdims);
        Meshgrid(indexing); Min(axis keepdims initial); Minimum; Mod; Moveaxis(source destination);
        Multiply; NanToNum(nan posinf neginf); Nanargmax(axis keepdims); Nanargmin(axis keepdims);
        Nancumprod(axis dtype); Nancumsum(axis dtype); Nanmax(axis keepdims);
        Nanmean(axis keepdims); Nanmedian(axis keepdims); Nanmin(axis keepdims);
        Nanpercentile(axis method keepdims); Nanprod(axis keepdims);
        Nanquantile(axis method keepdims); Nanstd(axis keepdims); Nansum(axis keepdims);
        Nanvar(axis keepdims); Ndim; Negative; Nextafter; Nonzero; NotEqual; OnesLike(dtype); Outer;
        Pad(pad_width mode); Percentile(axis method keepdims); Power; Prod(axis keepdims dtype);
        Ptp(axis keepdims); Quantile(axis method keepdims); Rad2deg; Ravel; Real; Reciprocal;
        Repeat(repeats axis); Reshape(newshape); RightShift; Roll(shift axis); Rot90(k axes);
        Round(decimals); Select; Sign; Signbit; Sin; Sinc; Sinh; Size; Slogdet; Sort(axis);
        Split(indices_or_sections axis); Sqrt; Square; Squeeze(axis); Stack(axis);
        Std(axis keepdims); Subtract; Sum(axis keepdims); Swapaxes(axis1 axis2); Take(axis);
        TakeAlongAxis(axis); Tan; Tanh; Tensordot(axes); Tile(repeats); Trace(offset axis1 axis2);
        Transpose(axes); Trapezoid(x dx axis); Tril(k); Triu(k); TrueDivide; Trunc;
        Unique(sorted return_index return_inverse return_counts axis size fill_value);
        UnravelIndex(shape); Vander(N increasing); Var(axis keepdims); Vdot; View(dtype);
        Vsplit(indices_or_sections); Vstack; Where; ZerosLike(dtype)
    """,
}

# Function: module, class, arguments of the constructor.
_CLASSES: dict[str, tuple[str, str, list[str]]] = {
    to_snake_case(name): (module, name, arguments.split())
    for module, text in _TABLE.items()
    for name, arguments in re.findall(r"(\w+)(?:\(([\w ]*)\))?", text)
}


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
    settings = {key: value for key, value in entry["config"].items() if key in _CLASSES[name][2]}
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
    module, name, settable = _CLASSES[function]
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
