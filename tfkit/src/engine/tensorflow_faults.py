"""Faults of TensorFlow's kernels on some machines, and workarounds for them.

`FAULTS` states for each fault when it occurs, where it was seen and the workaround. Where a fault cannot
occur, nothing is done: for shapes that are known to be harmless, float64, other devices, or without oneDNN.
Each fault has a test in `tests/test_tensorflow_faults.py` that runs the kernel itself and fails when it is
right. Then its row is removed, with the code that only this row needs.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from tfkit.src.base import context
from tfkit.src.engine.known_rows import has_rows
from tfkit.src.engine.machine import ONEDNN_DTYPES, cpu_flags, device, onednn_is_assumed


class Fault(NamedTuple):
    """A kernel with wrong results.

    Attributes:
        kernels: TensorFlow's names of the operations.
        condition: when it is wrong, and the wrong result.
        seen: versions of TensorFlow and CPUs on which it was seen.
        upstream: reports to TensorFlow's developers; empty where none was found.
        workaround: the workaround in tfkit.
    """

    kernels: tuple[str, ...]
    condition: str
    seen: str
    upstream: tuple[str, ...]
    workaround: str


_TENSORFLOW = "https://github.com/tensorflow/tensorflow/"

FAULTS = {
    "empty convolution": Fault(
        ("Conv2D", "DepthwiseConv2dNative", "Conv3D"),
        "oneDNN, float32 and bfloat16, and float16 where the CPU has AVX512-FP16: an output without elements "
        "(no rows, an empty image, an image one smaller than its window) is the input, of the input's shape; "
        "with a bias fused into it too. The gradient of a transposed convolution is such a convolution.",
        "2.21.0 (AVX512-VNNI; AVX512-FP16 and AMX)",
        (_TENSORFLOW + "issues/112371", _TENSORFLOW + "issues/109175"),
        "`without_empty_outputs`",
    ),
    "gradient of an empty maximum": Fault(
        ("MaxPoolGrad", "MaxPool3DGrad"),
        "oneDNN, in a graph: without rows, the process is aborted.",
        "2.21.0 (AVX512-VNNI)",
        (_TENSORFLOW + "issues/126128",),
        "`without_empty_outputs`",
    ),
    "gradient of an empty depthwise convolution": Fault(
        ("DepthwiseConv2dNativeBackpropFilter",),
        "without oneDNN, or in float64: without rows, whatever is in memory, instead of zeros.",
        "2.21.0 (any CPU)",
        (_TENSORFLOW + "pull/126484",),
        "`without_empty_outputs`",
    ),
    "no rows refused": Fault(
        ("MirrorPad", "ExtractImagePatches"),
        "an empty batch is refused: by a mirrored border on another axis, by the gradient of patches.",
        "2.21.0 (any CPU)",
        (),
        "`with_some_row`",
    ),
    "fused layer normalization": Fault(
        ("_MklLayerNorm",),
        "oneDNN, in a session (TF Serving, the C library): replaces the formula that ends in "
        "`* gamma + beta`, with an epsilon of 0.001 whatever it was, and fails unless gamma has one axis.",
        "2.21.0 (AVX512-VNNI)",
        (_TENSORFLOW + "pull/58863", _TENSORFLOW + "issues/58077"),
        "`plus_offset`",
    ),
    "fused rectifier": Fault(
        (
            "_FusedMatMul",
            "_FusedConv2D",
            "_FusedConv3D",
            "_FusedDepthwiseConv2dNative",
            "_FusedBatchNormEx",
        ),
        "oneDNN, float32 and bfloat16, in a graph: `relu` and `relu6` after a product with bias or its sum "
        "with another tensor, `relu` after a normalization: NaN is 0. `leaky_relu` after a product with a "
        "bias, in training: TensorFlow's pass fails with a message, and joins nothing in the whole graph.",
        "2.21.0 (AVX512-VNNI)",
        (),
        "`apart`",
    ),
    "leaky maximum": Fault(
        ("LeakyRelu",),
        "oneDNN, float32 and bfloat16, in a graph: `maximum(x, a * x)` is replaced by a leaky rectifier with "
        "the slope a for negative numbers also where a is larger than 1.",
        "2.21.0 (AVX512-VNNI)",
        (),
        "`apart`",
    ),
    "negated comparison": Fault(
        ("LogicalNot",),
        "in a graph: `not x < y` is replaced by `x >= y`, and so on, which is false for NaN.",
        "2.21.0 (any CPU)",
        (),
        "`apart`",
    ),
    "function of a maximum": Fault(
        ("Max", "Min", "MaxPool", "MaxPool3D", "ArgMax", "ArgMin"),
        "in a graph: the maximum of a monotonic function is replaced by the function of the maximum, which "
        "is not NaN where the function is not defined for other numbers, and whose index is different where "
        "values are equal.",
        "2.21.0 (any CPU)",
        (),
        "`apart`",
    ),
    "convolution without channels": Fault(
        ("Conv2D",),
        "XLA on CPU: of images without channels, the process dies. The batch stands for the channels where "
        "the gradient of a kernel is a convolution, and XLA compiles that for no rows, too.",
        "2.21.0 (any CPU)",
        (_TENSORFLOW + "issues/42208", _TENSORFLOW + "issues/46540"),
        "`at_least_one_row`",
    ),
    "counts of no rows": Fault(
        ("DenseBincount",),
        "XLA: for a matrix without rows the counts are a vector, instead of a matrix without rows.",
        "2.21.0 (any CPU)",
        (),
        "`with_some_row`",
    ),
    "gradient of a resize": Fault(
        ("ResizeBilinearGrad",),
        "XLA: for images of any dtype it is of float32. If it is a result of the program, its bytes are read "
        "as a different dtype: infinities, and values as large as 1e38.",
        "2.21.0 (any CPU)",
        (),
        "`resize`",
    ),
    "singular values in 16 bits": Fault(
        ("Svd",),
        "XLA: for float16 matrices they are NaN, or far off.",
        "2.21.0 (any CPU)",
        (),
        "`widened`",
    ),
    "gradients of complex roots": Fault(
        ("InvGrad", "ReciprocalGrad", "RsqrtGrad", "SqrtGrad"),
        "XLA: the gradient of a complex square root or reciprocal is multiplied by a factor that lacks its "
        "conjugate.",
        "2.21.0 (any CPU)",
        (),
        "`error_in_xla`",
    ),
    "einsum with an ellipsis": Fault(
        ("Einsum",),
        "oneDNN, float16, a CPU with AVX512-FP16: '...x,xy->...y' is wrong by its own size.",
        "2.21.0 (AVX512-FP16 and AMX; right with AVX512-VNNI alone, where oneDNN does not accept float16)",
        (),
        "`einsum`",
    ),
    "shape of a diagonal": Fault(
        ("MatrixDiagV3",),
        "The static shape of a matrix with a vector of unknown size beside its main diagonal is wrong: "
        "(4, 4) on the fifth.",
        "2.21.0 (any CPU)",
        (),
        "`matrix_of_diagonal`",
    ),
}


# --- Empty outputs ------------------------------------------------------------------------------------


def without_empty_outputs(
    function: Callable[[tf.Tensor], tf.Tensor],
    images: tf.Tensor,
    windows: Sequence[int] | None = None,
    strides: Sequence[int] = (),
    always: bool = False,
) -> tf.Tensor:
    """Returns `function(images)`, where `function` never receives images without elements.

    Empty images get one row, or one pixel, of zeros, and lose it again. Other images are passed on, and not
    copied. The price, where a size is unknown, is a dozen operations on shapes: 10 microseconds. It is not
    paid where `known_rows` finds that there are rows.

    Args:
        function: from images with channels last to such images; works row by row.
        images: `(batch, *sizes, channels)`.
        windows: sizes of windows that must fit into the images, if they must. Smaller images of unknown
            size are refused at run time, with oneDNN or without, which would give an empty output.
        strides: how many pixels `function` adds for one more pixel along each axis, if not one.
        always: whether kernels other than oneDNN's are wrong as well.
    """
    sizes = images.shape[:-1].as_list()
    checked = windows is not None and None in sizes[1:]
    wrong = images.dtype in ONEDNN_DTYPES and onednn_is_assumed()
    wrong = wrong or (always and device() == "CPU" and context.current().onednn is not False)
    # Asked last, because the answer makes the trace rely on its rows.
    if wrong and not checked and all(sizes[1:]) and sizes[0] is None:
        wrong = not has_rows(images)
    if not (checked or (wrong and (None in sizes or 0 in sizes))):
        return function(images)
    shape = tf.shape(images)
    added = tf.maximum(1 - shape, 0)
    paddings, name = added, None
    if checked:
        assert windows is not None
        # The kernel refuses negative paddings, and its message contains the name of the operation, which is
        # therefore a sentence.
        paddings += tf.minimum(shape - [0, *(size if size > 1 else 0 for size in windows), 0], 0)
        name = "images_must_not_be_smaller_than_their_window"
    padded = tf.pad(images, tf.stack([tf.zeros_like(paddings), paddings], 1), name=name)
    at_least_one = [1 if size == 0 else size for size in sizes]
    outputs = function(_of_shape(padded, [*at_least_one, *images.shape[len(sizes) :]]))
    steps = [1, *(strides or [1] * (len(sizes) - 1))]
    # The pixels that were added have become `strides` times as many.
    removed = added if set(steps) == {1} else added * [*steps, 1]
    sizes_kept = tf.shape(outputs) - removed
    if not all(sizes[1:]):
        sizes_kept = tf.maximum(sizes_kept, 0)
    kept = tf.slice(outputs, tf.zeros_like(shape), sizes_kept)
    known = [
        max(output - step, 0) if size == 0 and output is not None else output
        for size, output, step in zip(sizes, outputs.shape, steps, strict=False)
    ]
    return _of_shape(kept, [*known, *outputs.shape[len(sizes) :]])


def _of_shape(x: tf.Tensor, shape: list[int | None]) -> tf.Tensor:
    """Returns `x` with the sizes that it is known to have."""
    # TFLite's converter, which programs call for exported models, refuses `EnsureShape`.
    if shape.count(None) == 1 and 0 not in shape:
        return tf.reshape(x, [-1 if size is None else size for size in shape])
    return tf.ensure_shape(x, shape)


def at_least_one_row(x: tf.Tensor) -> tf.Tensor:
    """Returns `x`, not copied, or one row of zeros if it has no rows."""
    rows = tf.maximum(1 - tf.shape(x)[:1], 0)
    padded = tf.pad(x, tf.pad(rows[:, None], [[0, x.shape.rank - 1], [1, 0]]))
    return tf.ensure_shape(padded, [None, *x.shape[1:]])


def with_some_row(function: Callable[[tf.Tensor], tf.Tensor], x: tf.Tensor) -> tf.Tensor:
    """Returns `function(x)`, which works row by row, for kernels that refuse `x` without rows."""
    if x.shape[0] or has_rows(x):
        return function(x)
    outputs = function(at_least_one_row(x))
    return tf.ensure_shape(outputs[: tf.shape(x)[0]], [x.shape[0], *outputs.shape[1:]])


def resize(images: tf.Tensor, size: Any, method: str, **options: Any) -> tf.Tensor:
    """Returns `tf.image.resize`, bilinear in float32, in which TensorFlow computes it for all dtypes."""
    if method == "bilinear" and images.dtype.is_floating:
        images = tf.cast(images, tf.float32)
    return tf.image.resize(images, size, method, **options)


def matrix_of_diagonal(vector: tf.Tensor, k: int) -> tf.Tensor:
    """Returns a matrix with a vector on its diagonal `k`, and zeros elsewhere."""
    above, below = max(k, 0), max(-k, 0)
    return tf.pad(tf.linalg.diag(vector), [[below, above], [above, below]])


def widened(matrices: tf.Tensor) -> tf.Tensor:
    """Returns matrices of 16-bit floats in float32, for their singular values."""
    if matrices.dtype in (tf.float16, tf.bfloat16):
        return tf.cast(matrices, tf.float32)
    return matrices


_NOT_CONJUGATE = (lambda dtype: dtype.is_complex, "gradients of complex numbers lack a conjugate")
_ERRORS_IN_XLA: dict[str, tuple[Callable[[tf.DType], bool], str]] = {
    **dict.fromkeys(("InvGrad", "ReciprocalGrad", "RsqrtGrad", "SqrtGrad"), _NOT_CONJUGATE),
    "Svd": (lambda dtype: dtype.size == 2, "singular values of 16-bit floats are NaN, or far off"),
    "ResizeBilinearGrad": (
        lambda dtype: dtype != tf.float32,
        "the gradient is of float32, and its bytes are read as a different dtype",
    ),
}


def error_in_xla(node: Any) -> str | None:
    """Returns a description of XLA's error for a `NodeDef`, which a user's code has made, or `None`."""
    if node.op not in _ERRORS_IN_XLA:
        return None
    concerns, error = _ERRORS_IN_XLA[node.op]
    return error if concerns(tf.as_dtype(node.attr["T"].type)) else None


# --- Layer normalization ------------------------------------------------------------------------------


def plus_offset(x: tf.Tensor, offset: tf.Tensor) -> tf.Tensor:
    """Returns `x + offset` along the last axis, by an operation that TensorFlow's pattern does not match."""
    return tf.nn.bias_add(x, offset)


# --- Einsum -------------------------------------------------------------------------------------------


def einsum(equation: str, *operands: tf.Tensor, **options: Any) -> tf.Tensor:
    """Returns `tf.einsum`, for float16 without an ellipsis where the kernel would be wrong."""
    wrong = "..." in equation and any(x.dtype == tf.float16 for x in operands)
    if not (
        wrong and onednn_is_assumed() and (context.current().onednn or "avx512_fp16" in cpu_flags())
    ):
        return tf.einsum(equation, *operands, **options)
    letters = without_ellipsis(equation, [x.shape for x in operands])
    if letters is not None:
        return tf.einsum(letters, *operands, **options)
    outputs = tf.einsum(equation, *(tf.cast(x, tf.float32) for x in operands), **options)
    return tf.cast(outputs, tf.float16)


def without_ellipsis(equation: str, shapes: Sequence[tf.TensorShape]) -> str | None:
    """Returns an equation with letters for its ellipsis; `None` if axes may be broadcast."""
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if not arrow:
        # The implicit output: the ellipsis, then the letters that occur once, in their order.
        once = (letter for letter in sorted(set(inputs) - set(".,")) if inputs.count(letter) == 1)
        output = "..." + "".join(once)
    found = [
        (shape, term.index("..."), len(term) - 3)
        for term, shape in zip(terms, shapes, strict=True)
        if "..." in term
    ]
    if any(shape.rank is None for shape, _, _ in found):
        return None
    stands_for = [tuple(shape)[at : at + shape.rank - named] for shape, at, named in found]
    if len(stands_for) > 1 and (len(set(stands_for)) > 1 or None in stands_for[0]):
        return None
    free = (letter for letter in string.ascii_letters if letter not in equation)
    letters = "".join(next(free) for _ in stands_for[0])
    return "->".join([",".join(terms), output]).replace("...", letters)
