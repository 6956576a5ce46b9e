"""Decisions: why differences of the sweep at extreme values stay as they are."""

import dataclasses
import math
import re
from collections.abc import Callable

from tests.extremes.table import limits
from tests.extremes.ways import Finding


def has_tiny(finding: Finding) -> bool:
    """Whether an operand is below or just above the smallest normal number."""
    tiny = limits(finding.dtype)[1]
    return any(0 < abs(v) <= 8 * tiny for v in finding.values)


def has_nan(finding: Finding) -> bool:
    return any(map(math.isnan, finding.values))


def has_infinity(finding: Finding) -> bool:
    return any(map(math.isinf, finding.values))


def has_large(finding: Finding) -> bool:
    return any(abs(v) >= limits(finding.dtype)[0] / 2 for v in finding.values)


def has_zero(finding: Finding) -> bool:
    return 0 in finding.values


def has_equal(finding: Finding) -> bool:
    return len(set(finding.values)) < len(finding.values)


def always(finding: Finding) -> bool:
    return True


@dataclasses.dataclass(frozen=True)
class Reason:
    """A decision.

    Attributes:
        text: the decision, a sentence for a reader of the table.
        names: pattern of the ops.
        what: pattern of `"value"`, `"gradient 0"`, `"no gradient 0"`, ...
        way: pattern of the way: `"eager"`, `"xla beside eager"`, ...
        when: whether it holds for the values of a finding.
    """

    text: str
    names: str = ".*"
    what: str = ".*"
    way: str = ".*"
    when: Callable[[Finding], bool] = always

    def explains(self, finding: Finding) -> bool:
        """Whether it is the reason of a finding."""
        return bool(
            re.fullmatch(self.names, finding.name)
            and re.fullmatch(self.what, finding.what)
            and re.fullmatch(self.way, finding.way)
            and self.when(finding)
        )


GRADIENTS = r"(no )?gradient \d"
_GATED = r"(activations\.)?(silu|swish|gelu( exact)?|mish|hard_silu|hard_swish)"
_SUMS = (
    r"sum|mean|average|nan(sum|mean|var|std|prod|cumsum|cumprod)|cumsum|cumprod|prod|var|std|moments|diff|ptp|"
    r"trapezoid|cross|dot with itself|norm .*|normalize .*|(layer|rms)_normalization|"
    r"layers\.UnitNormalization|log_softmax"
)
_ORDERED = r"sort|median|nanmedian|(nan)?quantile .*|percentile .*|top_k|argsort"

REASONS = [
    Reason(
        "Numbers below the smallest normal one are 0 in XLA and in TensorFlow's threads, which "
        "set the CPU so for speed; whether a kernel runs in such a thread depends on the size "
        "of its input. Quotients and squares of the smallest normal numbers are below it, or "
        "infinite.",
        when=has_tiny,
    ),
    Reason(
        "The slope at NaN has no meaning. The value is NaN, so that the loss shows it.",
        what=GRADIENTS,
        when=has_nan,
    ),
    Reason(
        "Minus infinity times a gate of 0 is NaN, with its slope: an infinite activation comes "
        "from a training that has failed, and is not hidden. A bound before the formula would "
        "cost a pass over all activations, and oneDNN's fusion with the product before it.",
        names=_GATED,
        when=has_infinity,
    ),
    Reason(
        "The slope of the cube in the approximation is infinite from 1.8e19 on, in float32 and "
        "bfloat16, and times 0. A bound would cost oneDNN's fusion; float16, where it would be "
        "from 256 on, is computed in float32.",
        names="gelu",
        what=GRADIENTS,
        when=has_large,
    ),
    Reason(
        "At infinities slopes are computed by the formula of the slope, which has infinity "
        "minus infinity or 0 times infinity in it. NaN in place of a limit shows that a number "
        "has overflown.",
        what=GRADIENTS,
        when=lambda f: f.kind != "unary" and has_infinity(f),
    ),
    Reason(
        "Sums, squares and products near the largest number are infinite, as NumPy's in the "
        "same dtype are: a scale for each row would cost a second pass over the data. Half "
        "precision is computed in float32.",
        names=_SUMS,
        when=has_large,
    ),
    Reason(
        "The kernel of oneDNN returns NaN in place of infinity and NaN alone, the others in "
        "the whole row: each such row has a NaN in every way, and so have its sum and its "
        "products.",
        names=r"softmax|layers\.Softmax",
        when=lambda f: has_nan(f) or has_infinity(f),
    ),
    Reason(
        "-0.0 counts as less than 0.0, in all ways; NumPy takes the first of the two.",
        names="(nan)?arg(max|min)",
        what="value",
        when=has_zero,
    ),
    Reason(
        "Of equal elements, zeros of both signs among them, any one may get the gradient.",
        names=_ORDERED,
        what=GRADIENTS,
        when=has_equal,
    ),
    Reason(
        "The root of minus infinity is NaN and its power of 0.5 infinity, in C too. "
        "TensorFlow's graph optimizer makes a root of the power.",
        names="power 0.5",
        when=has_infinity,
    ),
    Reason(
        "The kernel multiplies by the exponential, which overflows before the function does: "
        "in the last 4 % of the range the result is infinite.",
        names="i0",
        when=lambda f: abs(f.values[0]) >= (88 if f.dtype != "float16" else 9),
    ),
    Reason(
        "The slope at 0 is infinite, and NaN in all ways.",
        names="cbrt",
        what=GRADIENTS,
        when=has_zero,
    ),
    Reason(
        "The slope of a large number is infinite, times 0; graphs multiply in a different order.",
        names="square",
        what=GRADIENTS,
        when=has_large,
    ),
    Reason(
        "The value jumps at the threshold.",
        names="activations.relu 0.1 6 1",
        what=GRADIENTS,
        when=lambda f: f.values[0] == 1,
    ),
    Reason(
        "A slope of 0 times infinity is NaN; `relu` has the limit.",
        names="leaky_relu 0",
        when=has_infinity,
    ),
    Reason(
        "The angle of zero is 0, whatever its sign.",
        names="angle",
        when=has_zero,
    ),
    Reason(
        "Infinities are replaced by a constant, whose slope is 0.",
        names="nan_to_num",
        what=GRADIENTS,
        when=has_infinity,
    ),
    Reason(
        "The angle of the zero vector has no slope, and is NaN in all ways.",
        names="arctan2",
        what=GRADIENTS,
        when=lambda f: f.values[0] == f.values[1] == 0,
    ),
    Reason(
        "Steps: the slope is that between the steps, and what is measured across one, or at a "
        "number too large for a step, is not.",
        names=r"ceil|floor|trunc|round.*|floor_divide|mod|fmod|nextafter|sign",
        what=GRADIENTS,
    ),
    Reason(
        "A quotient below the smallest normal number is 0, and 0 is not rounded down to -1.",
        names="floor_divide|mod",
        what="value",
        when=has_large,
    ),
    Reason(
        "The remainder of numbers with a quotient that is infinite is not defined in the dtype.",
        names="mod|fmod|floor_divide",
        when=has_large,
    ),
    Reason(
        "Waves of large numbers: the truth is not measured.",
        names="sin|cos|tan",
        what=GRADIENTS,
        when=has_large,
    ),
    Reason(
        "The rounding of the mean is multiplied by 1 / sqrt(epsilon), which is 3,000.",
        names="layer_normalization",
        what=GRADIENTS,
        when=has_equal,
    ),
]


def reason_of(finding: Finding) -> Reason | None:
    """Returns the first reason that explains a finding."""
    return next((reason for reason in REASONS if reason.explains(finding)), None)


# --- Patterns -------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Difference:
    """A difference of a call with a special value in its data from the same call run eagerly.

    `what` is `"value 0"`, `"gradient 0"` (from ones above), `"no gradient 0"` (from zeros above), or empty
    for a refusal.
    """

    label: str
    dtype: str
    pattern: str
    what: str
    way: str
    text: str


@dataclasses.dataclass(frozen=True)
class PatternReason:
    """A decision about differences whose fields match all patterns."""

    text: str
    label: str = ".*"
    dtype: str = ".*"
    pattern: str = ".*"
    what: str = ".*"
    way: str = ".*"

    def explains(self, difference: Difference) -> bool:
        """Whether it is the reason of a difference."""
        return all(
            re.fullmatch(getattr(self, name), getattr(difference, name))
            for name in ("label", "dtype", "pattern", "what", "way")
        )


_SLOPES = r"(no )?gradient \d"
# XLA has no kernel of these, or none of their slopes.
_WITHOUT_XLA = (
    r"ops\.(i0|segment_(sum|max|min|prod)|ctc_decode|(slog)?det|lu_factor)\(.*|"
    r"ops\.image\.(resize|\w+_transform)\(.*|"
    r"layers\.(CutMix|MixUp|Rand\w+) .* in training"
)
_LIKE_NUMPY = (
    r"ops\.(angle|arg(sort|max|min)|corrcoef|erf|floor_divide|hard_shrink|heaviside|histogram|isclose|normalize|nan(arg(max|min)|median|quantile)|"
    r"quantile|sinc|soft_shrink|softsign|sort|squareplus|threshold|top_k|view_as_complex)\(.*"
)
_MATRICES = (
    r"ops\.(cholesky|cholesky_inverse|(log|slog)?det|inv|lstsq|matrix_rank|pinv|solve.*|"
    r"image\.perspective_transform)\(.*"
)
_CONVOLUTIONS = r"(ops\.(.*conv.*|correlate)\(|layers\..*Conv).*"

PATTERNS = [
    PatternReason(
        "Numbers below the smallest normal one are 0 in XLA and in TensorFlow's threads.",
        pattern="(tiny|denormal) in .",
    ),
    PatternReason(
        "The slope at NaN has no meaning. The value is NaN, so that the loss shows it.",
        pattern="nan in .",
        what=_SLOPES,
    ),
    PatternReason(
        "XLA has no kernel for these: `fit` and `compile` run models with them without it, and "
        "under `jit_compile=True` the error names the layer.",
        label=_WITHOUT_XLA,
        what="",
        way="xla",
    ),
    PatternReason(
        "In a `tf.function(jit_compile=True)` of your own, TensorFlow's XLA multiplies a slope of "
        "0 from above by the infinite slope of a root or reciprocal. `fit` and all programs of "
        "tfkit keep the 0.",
        label=r"ops\.(sqrt|rsqrt|reciprocal|batch_normalization)\(.*",
        what=r"no gradient \d",
        way="xla",
    ),
    PatternReason(
        "TensorFlow's kernels of max pooling pass over NaN where a window has larger numbers, and "
        "so does its scatter of maxima and minima. XLA does not: a check of each input would cost "
        "a pass over it.",
        label=r"(layers\.(Adaptive|Global)?MaxPooling|ops\.((adaptive_)?max_pool|scatter_update)).*",
        pattern="nan in .",
    ),
    PatternReason(
        "TensorFlow's kernel without oneDNN marks the padding of volumes by minus the largest "
        "number, and leaves this number out of averages.",
        label=r"layers\.AveragePooling3D.*",
        pattern="-largest in .",
    ),
    PatternReason(
        "Of equal elements in a window of max pooling any one may get the gradient.",
        label=r"(layers\.MaxPooling3D|ops\.max_pool\().*",
        pattern="(-?zeros|ones) in .",
        what=r"gradient \d",
    ),
    PatternReason(
        "TensorFlow's kernel without oneDNN finds the maximum of a volume by a difference, which "
        "is NaN for two infinities: infinity gets no slope. The loss is infinite, and shows it.",
        label=r"layers\.MaxPooling3D.*",
        pattern="inf in .",
        what=r"gradient \d",
    ),
    PatternReason(
        "The kernel of oneDNN returns NaN in place of infinity and NaN alone, the others in the "
        "whole row: each such row has a NaN in every way. What multiplies the other weights of "
        "attention is NaN in XLA alone, and dropout may drop the one NaN.",
        label=r"(layers\.(Softmax|(MultiHead|GroupQuery)?Attention)|ops\.(softmax|dot_product_attention)).*",
        pattern="nan in .|-?inf in .",
    ),
    PatternReason(
        "XLA joins a product with the subtraction of the largest score after it, without rounding "
        "between them: the difference of this score and itself is the rounding of the product in "
        "place of 0, and from scores of a billion on its exponential is 0 or infinite, and the "
        "row NaN.",
        label=r"(layers\.Attention|ops\.dot_product_attention).*",
        pattern="-?largest in .",
        way="xla",
    ),
    PatternReason(
        "Where all keys are equal, the slope for the queries is 0: a difference of equal numbers, "
        "of which their rounding is left. It is 1e-4 in float32 and 1e-12 in float64.",
        label=r"layers\.(MultiHead|GroupQuery)Attention.*",
        pattern="ones in [01]|-?zeros in 1",
        what="gradient 0",
    ),
    PatternReason(
        "The slopes for queries and keys are differences of numbers that are up to a hundred times "
        "larger. In 16 bits their rounding, in each way a different one, is up to half of them.",
        label=r"layers\.(MultiHead|GroupQuery)Attention.*",
        dtype="b?float16",
        pattern="as they are|(ones|-?zeros) in .",
        what=r"gradient [01]",
        way="xla",
    ),
    PatternReason(
        "Where all predictions are 0, the error is 100 % for each target: its slope is 0, a "
        "difference of equal numbers, of which their rounding is left.",
        label=r"losses\.mean_absolute_percentage_error\(.*",
        dtype="b?float16",
        pattern="-?zeros in 1",
        what="gradient 0",
    ),
    PatternReason(
        "At infinities and near the largest number slopes are computed by the formula of the "
        "slope, which has infinity minus infinity or 0 times infinity in it: NaN, infinity or 0, "
        "by the order of the products.",
        pattern="-?(inf|largest) in .",
        what=r"gradient \d",
    ),
    PatternReason(
        "Squares and products near the largest number are infinite; what is computed from them is "
        "NaN, or 0 or infinite where the order of the products is different.",
        label=r"(losses\.(cosine_similarity|squared_hinge|(binary|categorical)_focal_crossentropy)\(|ops\.(square|nancumprod|(nan)?(std|var)|norm|normalize|(rms|layer)_normalization|average|cdist)\(|"
        r"layers\.(Dot|UnitNormalization|RMSNormalization|BatchNormalization|MelSpectrogram|STFT)).*",
        pattern="-?(largest|inf) in .",
    ),
    PatternReason(
        "An infinite input of a gate of 0 is NaN times 0 where the formula is run, and 0 in XLA, "
        "which knows the slope above.",
        label=r"ops\.hard_(silu|swish)\(.*",
        pattern="-?inf in .",
        what=r"no gradient \d",
    ),
    PatternReason(
        "XLA computes strides, dilations and transposed convolutions with zeros between the "
        "numbers, and patches by a convolution with ones and zeros: times NaN or infinity they "
        "are NaN, in entries next to those that are NaN or infinite in every way.",
        label=_CONVOLUTIONS + r"|ops\.(unfold|extract_patches|image\.gaussian_blur)\(.*",
        pattern="-?(nan|inf) in .",
        way="xla",
    ),
    PatternReason(
        "Keras compiles convolutions of float64 by XLA.",
        label=_CONVOLUTIONS + r"|ops\.image\.gaussian_blur\(.*",
        dtype="float64",
        pattern="-?(nan|inf) in .",
        way="keras",
    ),
    PatternReason(
        "A matrix with infinite entries, or with the largest number, has no decomposition that "
        "could be computed, and one that is singular, or not positive definite, is refused.",
        label=_MATRICES,
        pattern="-?(zeros|ones|inf|largest) in .|nan in .",
    ),
    PatternReason(
        "Singular vectors are not unique where singular values are 0 or equal, and so the slope "
        "is not.",
        label=r"ops\.(norm\(ord=(nuc|-?2)|svd).*",
        pattern="(ones|-?zeros) in .",
        what=r"gradient \d",
    ),
    PatternReason(
        "A class whose label is 0 and whose logit is minus infinity adds 0 times infinity, which "
        "TensorFlow's kernel has as NaN and XLA's as 0; the slope is the same. A bound would cost "
        "a pass over all logits.",
        label=r"losses\.categorical_crossentropy\(\{'from_logits': True\}\)",
        pattern="-inf in 1",
        what=r"value \d",
        way="xla",
    ),
    PatternReason(
        "Edges that are not in order, as with NaN or infinity among them, have no bins.",
        label=r"ops\.(searchsorted|digitize)\(.*",
        pattern="(nan|-?inf|-?largest) in 0",
    ),
    PatternReason(
        "These have no gradient in TensorFlow: counts, factors of a matrix, means over areas.",
        label=r"ops\.(bincount|lu_factor|image\.resize)\(.*",
        way="eager",
    ),
    PatternReason(
        "TensorFlow and Keras have no Fourier transforms and few decompositions in 16 bits.",
        label=r"ops\.(i?r?fft2?|i?stft|cholesky|cholesky_inverse|inv|(log|slog)?det|solve.*|lstsq|lu_factor|qr|"
        r"pinv)\(.*",
        dtype="b?float16",
        what="",
        way="eager",
    ),
    PatternReason(
        "NaN as an integer has no value.",
        label=r"ops\.(saturate_)?cast\(.*",
        pattern="nan in .",
    ),
    PatternReason(
        "A search for the best sequences in which no score is a number is refused.",
        label=r"ops\.ctc_decode\(.*",
        pattern="-?(nan|inf) in .",
        way="eager",
    ),
    PatternReason(
        "Keras 3.15.1 loses NaN, infinities or the largest numbers here, or puts them elsewhere. "
        "The numbers are NumPy's, or the limits.",
        label=_LIKE_NUMPY,
        way="keras",
    ),
    PatternReason(
        "Between an infinite pixel and a finite one the kernel subtracts them, and XLA weighs "
        "them; where an output lies on a pixel, XLA gives its neighbours the weight 0, and the "
        "kernel does not read them. NaN or infinity, which a loss shows both.",
        label=r"(layers\.(UpSampling2D|Resizing)|ops\.image\.resize).*",
        pattern="nan in .|-?inf in .",
        way="xla",
    ),
    PatternReason(
        "TensorFlow's kernel resizes float64 in float32, where the largest number is infinite.",
        label=r"(layers\.(UpSampling2D|Resizing)|ops\.image\.resize).*",
        dtype="float64",
        pattern="-?largest in .",
        way="xla",
    ),
    PatternReason(
        "In Keras a resized infinity is the largest number.",
        label=r"(layers\.Resizing|ops\.image\.resize).*",
        pattern="-?inf in .",
        way="keras",
    ),
    PatternReason(
        "Keras converts infinities and the largest numbers to integers, where they are black; "
        "here they are white.",
        label=r"layers\.(Equalization|ContrastLimitedAdaptiveHistogramEqualization).*",
        pattern="(inf|largest) in 0",
        way="keras",
    ),
    PatternReason(
        "Keras multiplies images by 255 first, which is infinite for the largest numbers, and "
        "leaves their channels as they are.",
        label=r"layers\.AutoContrast.*",
        pattern="-?largest in 0",
        way="keras",
    ),
    PatternReason(
        "In Keras a colour with a NaN becomes grey, or its other numbers stay.",
        label=r"(ops\.image\.rgb_to_hsv|layers\.Random(Hue|Saturation|ColorJitter)).*",
        pattern="nan in .",
        way="keras",
    ),
    PatternReason(
        "The sum of the weights, or their product with an error, is larger than the dtype holds.",
        label=r"metrics\..*",
        pattern="-?largest in 2",
    ),
    PatternReason(
        "The sum of the weights, or their product with an error, is larger than the dtype holds.",
        label=r"metrics\.(Mean|Sum)( of weight 0)?",
        pattern="-?largest in 1",
    ),
    PatternReason(
        "Class ids that are NaN or infinite are refused, unless their weight is 0.",
        label=r"metrics\.SparseCategoricalCrossentropy.*",
        way="eager",
    ),
    PatternReason(
        "In Keras NaN and infinity of weight 0 count in a mean: 0 times NaN.",
        label=r"metrics\..* of weight 0",
        pattern="-?(nan|inf|largest) in .",
        way="keras",
    ),
    PatternReason(
        "In Keras decisions with a weight of NaN are lost. Here the result is NaN.",
        label=r"metrics\.(True|False|Precision|Recall).*",
        pattern="-?(nan|inf) in 2",
        way="keras",
    ),
    PatternReason(
        "In Keras a masked entry, or one of a class that is ignored, has a weight that counts if "
        "it is NaN.",
        label=r"metrics\.SparseCategoricalCrossentropy.*",
        pattern="-?(nan|inf) in 2",
        way="keras",
    ),
    PatternReason(
        "In Keras an infinite target is NaN outside of XLA and 0 in it.",
        label=r"metrics\.F1Score.*",
        pattern="-?inf in 0",
        way="keras",
    ),
    PatternReason(
        "The epsilon of 1e-7 is 0 in float16, and nothing beside 1 in bfloat16: quotients by it "
        "and logarithms of it are infinite, and in Keras NaN.",
        label=r"metrics\..*",
        dtype="b?float16",
        pattern="(-?zeros|ones) in .",
        way="keras",
    ),
    PatternReason(
        "Keras computes squares in float16, where that of the epsilon is 0 and those of large numbers "
        "are infinite.",
        label=r"(losses\.cosine_similarity|ops\.psnr)\(.*",
        dtype="float16",
        pattern="-?(zeros|largest) in .",
        way="keras",
    ),
    PatternReason(
        "In Keras the probabilities of other classes are added to that of the label, each times 0.",
        label=r"losses\.categorical_generalized_cross_entropy.*",
        pattern="-?inf in 0",
        way="keras",
    ),
    PatternReason(
        "Probabilities that are all 0 are NaN in Keras, 0 / 0, and the smallest here.",
        label=r"(metrics\.CategoricalCrossentropy|losses\.categorical_(focal_)?crossentropy).*",
        pattern="-?zeros in 1",
        way="keras",
    ),
    PatternReason(
        "Keras 3.15.1 counts rows times outputs; docs/coming-from-keras.md has it.",
        label=r"metrics\.R2Score.*",
        way="keras",
    ),
]
