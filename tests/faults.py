"""The faults of TensorFlow's kernels that tfkit works around, mostly in `engine/tensorflow_faults.py`."""

from typing import NamedTuple


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
