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
        "Denormal numbers (below the smallest normal one) are flushed to 0 by XLA and in "
        "TensorFlow's threads, which set the CPU to do so for speed. Whether a kernel runs in "
        "such a thread depends on the size of its input. Quotients and squares of the smallest "
        "normal numbers are denormal or infinite.",
        when=has_tiny,
    ),
    Reason(
        "The gradient at NaN has no meaning. The value is NaN, so the loss shows it.",
        what=GRADIENTS,
        when=has_nan,
    ),
    Reason(
        "`silu`, `gelu`, `mish` and similar activations multiply minus infinity by a gate of 0: "
        "the value and the gradient are NaN. An infinite activation means that the training has "
        "failed, which must not be hidden. Clipping the input would cost a pass over all "
        "activations, and oneDNN's fusion with the matrix product before it, in which `gelu` of "
        "plus infinity is NaN, too.",
        names=_GATED,
        when=has_infinity,
    ),
    Reason(
        "In the tanh approximation of `gelu`, the gradient of the cube is infinite from 1.8e19 on"
        " in float32 and bfloat16, and is multiplied by 0. Clipping would cost oneDNN's fusion. "
        "float16, where this would begin at 256, is computed in float32.",
        names="gelu",
        what=GRADIENTS,
        when=has_large,
    ),
    Reason(
        "At infinities the formula of the gradient contains infinity minus infinity, or 0 times "
        "infinity. NaN instead of the limit shows that a number has overflowed.",
        what=GRADIENTS,
        when=lambda f: f.kind != "unary" and has_infinity(f),
    ),
    Reason(
        "Sums, squares and products near the largest number overflow to infinity, as in NumPy "
        "with the same dtype: scaling each row would cost a second pass over the data. Half "
        "precision is computed in float32.",
        names=_SUMS,
        when=has_large,
    ),
    Reason(
        "For a row with infinity or NaN, oneDNN's `softmax` kernel returns NaN only at those "
        "elements, other kernels in the whole row. In every case the row, its sum and its "
        "products contain NaN.",
        names=r"softmax|layers\.Softmax",
        when=lambda f: has_nan(f) or has_infinity(f),
    ),
    Reason(
        "`argmax` and `argmin` treat -0.0 as less than 0.0, however they run; NumPy returns the "
        "first of the two.",
        names="(nan)?arg(max|min)",
        what="value",
        when=has_zero,
    ),
    Reason(
        "In sorting and in quantiles, any one of several equal elements may get the gradient; "
        "zeros of both signs are equal.",
        names=_ORDERED,
        what=GRADIENTS,
        when=has_equal,
    ),
    Reason(
        "The square root of minus infinity is NaN, but its power of 0.5 is infinity, as in C. "
        "TensorFlow's graph optimizer replaces that power by the square root.",
        names="power 0.5",
        when=has_infinity,
    ),
    Reason(
        "The kernel of `i0` multiplies by an exponential, which overflows before the function "
        "does: the result is infinite in the last 4 % of the range.",
        names="i0",
        when=lambda f: abs(f.values[0]) >= (88 if f.dtype != "float16" else 9),
    ),
    Reason(
        "The gradient of `cbrt` at 0 is infinite; here it is NaN, however it runs.",
        names="cbrt",
        what=GRADIENTS,
        when=has_zero,
    ),
    Reason(
        "The gradient of `square` at a large number is infinite, and is multiplied by 0; graphs "
        "multiply in a different order.",
        names="square",
        what=GRADIENTS,
        when=has_large,
    ),
    Reason(
        "`relu` with a `threshold` jumps there, so it has no gradient at the threshold.",
        names="activations.relu 0.1 6 1",
        what=GRADIENTS,
        when=lambda f: f.values[0] == 1,
    ),
    Reason(
        "`leaky_relu` with a negative slope of 0 multiplies 0 by infinity, which is NaN; `relu` "
        "returns the limit.",
        names="leaky_relu 0",
        when=has_infinity,
    ),
    Reason(
        "`angle` of zero is 0, whatever its sign.",
        names="angle",
        when=has_zero,
    ),
    Reason(
        "`nan_to_num` replaces infinities by a constant, whose gradient is 0.",
        names="nan_to_num",
        what=GRADIENTS,
        when=has_infinity,
    ),
    Reason(
        "`arctan2` has no gradient at the zero vector; here it is NaN, however it runs.",
        names="arctan2",
        what=GRADIENTS,
        when=lambda f: f.values[0] == f.values[1] == 0,
    ),
    Reason(
        "Step functions (`floor`, `round`, ...) have the gradient between their steps. A "
        "numerical derivative across a step, or at a number too large to have one, differs.",
        names=r"ceil|floor|trunc|round.*|floor_divide|mod|fmod|nextafter|sign",
        what=GRADIENTS,
    ),
    Reason(
        "In `floor_divide` and `mod`, a negative quotient that underflows to 0 is not rounded "
        "down to -1.",
        names="floor_divide|mod",
        what="value",
        when=has_large,
    ),
    Reason(
        "In `mod`, `fmod` and `floor_divide`, the remainder is not defined in the dtype where the"
        " quotient is infinite.",
        names="mod|fmod|floor_divide",
        when=has_large,
    ),
    Reason(
        "`sin`, `cos` and `tan` of large numbers: the numerical derivative is not accurate enough"
        " to compare with.",
        names="sin|cos|tan",
        what=GRADIENTS,
        when=has_large,
    ),
    Reason(
        "`layer_normalization` of equal elements multiplies the rounding error of the mean by 1 /"
        " sqrt(epsilon), about 3,000.",
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
        "Denormal numbers are flushed to 0 by XLA and in TensorFlow's threads.",
        pattern="(tiny|denormal) in .",
    ),
    PatternReason(
        "The gradient at NaN has no meaning. The value is NaN, so the loss shows it.",
        pattern="nan in .",
        what=_SLOPES,
    ),
    PatternReason(
        "XLA has no kernel for some operations (`i0`, `det`, `ctc_decode`, segment sums, image "
        "transformations, ...). `fit` runs models with them without XLA; under `jit_compile=True`"
        " the error names the layer.",
        label=_WITHOUT_XLA,
        what="",
        way="xla",
    ),
    PatternReason(
        "In your own `tf.function(jit_compile=True)`, XLA multiplies an upstream gradient of 0 by"
        " the infinite gradient of a root or reciprocal. `fit` and all other programs of tfkit "
        "keep the 0.",
        label=r"ops\.(sqrt|rsqrt|reciprocal|batch_normalization)\(.*",
        what=r"no gradient \d",
        way="xla",
    ),
    PatternReason(
        "TensorFlow's kernels for max pooling, and for scattering maxima and minima, may ignore "
        "NaN: a window of nothing but NaN gives the lowest number of the dtype, or 0 if `relu` is "
        "next to it. XLA's do not. Checking each input would cost a pass over it.",
        label=r"(layers\.(Adaptive|Global)?MaxPooling|ops\.((adaptive_)?max_pool|scatter_update)).*",
        pattern="nan in .",
    ),
    PatternReason(
        "Without oneDNN, TensorFlow's kernel for `AveragePooling3D` marks padding by minus the "
        "largest number, and so leaves this number out of averages.",
        label=r"layers\.AveragePooling3D.*",
        pattern="-largest in .",
    ),
    PatternReason(
        "In max pooling, any one of several equal elements of a window may get the gradient.",
        label=r"(layers\.MaxPooling3D|ops\.max_pool\().*",
        pattern="(-?zeros|ones) in .",
        what=r"gradient \d",
    ),
    PatternReason(
        "Without oneDNN, TensorFlow's kernel for `MaxPooling3D` finds the maximum by a "
        "difference, which is NaN for two infinities, so infinity gets no gradient. The loss is "
        "infinite and shows it.",
        label=r"layers\.MaxPooling3D.*",
        pattern="inf in .",
        what=r"gradient \d",
    ),
    PatternReason(
        "For a row with infinity or NaN, oneDNN's softmax kernel returns NaN only at those "
        "elements, other kernels in the whole row; the row contains NaN in every case. In "
        "attention, the products with the other weights are NaN in XLA only, and dropout may drop"
        " the only NaN.",
        label=r"(layers\.(Softmax|(MultiHead|GroupQuery)?Attention)|ops\.(softmax|dot_product_attention)).*",
        pattern="nan in .|-?inf in .",
    ),
    PatternReason(
        "In attention, XLA fuses the product with the subtraction of the largest score, without "
        "rounding in between. The largest score minus itself is then the rounding error instead "
        "of 0. For scores above a billion, its exponential is 0 or infinite, and the row is NaN.",
        label=r"(layers\.Attention|ops\.dot_product_attention).*",
        pattern="-?largest in .",
        way="xla",
    ),
    PatternReason(
        "If all keys of an attention are equal, the gradient with respect to the queries is 0 in "
        "theory. It is computed as a difference of equal numbers, and their rounding error "
        "remains: 1e-4 in float32, 1e-12 in float64.",
        label=r"layers\.(MultiHead|GroupQuery)Attention.*",
        pattern="ones in [01]|-?zeros in 1",
        what="gradient 0",
    ),
    PatternReason(
        "In attention, the gradients with respect to queries and keys are differences of numbers "
        "up to a hundred times larger. In 16 bits, rounding errors are up to half of the result, "
        "and differ with the way of running.",
        label=r"layers\.(MultiHead|GroupQuery)Attention.*",
        dtype="b?float16",
        pattern="as they are|(ones|-?zeros) in .",
        what=r"gradient [01]",
        way="xla",
    ),
    PatternReason(
        "If all predictions are 0, the mean absolute percentage error is 100 % for each target, "
        "and its gradient is 0 in theory. It is computed as a difference of equal numbers, and "
        "their rounding error remains.",
        label=r"losses\.mean_absolute_percentage_error\(.*",
        dtype="b?float16",
        pattern="-?zeros in 1",
        what="gradient 0",
    ),
    PatternReason(
        "At infinities and near the largest number, the formula of the gradient contains infinity"
        " minus infinity, or 0 times infinity. The result is NaN, infinity or 0, depending on the"
        " order of the products.",
        pattern="-?(inf|largest) in .",
        what=r"gradient \d",
    ),
    PatternReason(
        "Squares and products near the largest number are infinite. Results computed from them "
        "are NaN, 0 or infinite, depending on the order of the products. XLA simplifies the root "
        "of a square and the logarithm of an exponential, which do not overflow then.",
        label=r"(losses\.(cosine_similarity|squared_hinge|(binary|categorical)_focal_crossentropy)\(|ops\.(square|nancumprod|(nan)?(std|var)|norm|normalize|(rms|layer)_normalization|average|cdist)\(|"
        r"layers\.(Dot|UnitNormalization|RMSNormalization|BatchNormalization|MelSpectrogram|STFT)).*",
        pattern="-?(largest|inf) in .",
    ),
    PatternReason(
        "For an upstream gradient of 0, `hard_silu` at infinity computes NaN times 0. XLA knows "
        "that the upstream gradient is 0 and returns 0.",
        label=r"ops\.hard_(silu|swish)\(.*",
        pattern="-?inf in .",
        what=r"no gradient \d",
    ),
    PatternReason(
        "XLA computes strided, dilated and transposed convolutions by inserting zeros, and "
        "patches by a convolution with zeros and ones. Zeros times NaN or infinity are NaN, so "
        "entries next to those that are NaN or infinite anyway become NaN, too.",
        label=_CONVOLUTIONS + r"|ops\.(unfold|extract_patches|image\.gaussian_blur)\(.*",
        pattern="-?(nan|inf) in .",
        way="xla",
    ),
    PatternReason(
        "Keras compiles float64 convolutions with XLA.",
        label=_CONVOLUTIONS + r"|ops\.image\.gaussian_blur\(.*",
        dtype="float64",
        pattern="-?(nan|inf) in .",
        way="keras",
    ),
    PatternReason(
        "No decomposition can be computed for a matrix that contains infinity or the largest "
        "number. A matrix that is singular, or not positive definite, is refused.",
        label=_MATRICES,
        pattern="-?(zeros|ones|inf|largest) in .|nan in .",
    ),
    PatternReason(
        "If singular values are 0 or equal, the singular vectors are not unique, and neither is "
        "the gradient.",
        label=r"ops\.(norm\(ord=(nuc|-?2)|svd).*",
        pattern="(ones|-?zeros) in .",
        what=r"gradient \d",
    ),
    PatternReason(
        "In `categorical_crossentropy` from logits, a class with label 0 and logit minus infinity"
        " adds 0 times infinity: NaN in TensorFlow's kernel, 0 in XLA's. The gradient is the "
        "same. Clipping would cost a pass over all logits.",
        label=r"losses\.categorical_crossentropy\(\{'from_logits': True\}\)",
        pattern="-inf in 1",
        what=r"value \d",
        way="xla",
    ),
    PatternReason(
        "`searchsorted` and `digitize` have no meaning for edges that are not sorted, for "
        "instance because of NaN or infinity.",
        label=r"ops\.(searchsorted|digitize)\(.*",
        pattern="(nan|-?inf|-?largest) in 0",
    ),
    PatternReason(
        "TensorFlow has no gradient for `bincount`, `lu_factor`, and resizing by area.",
        label=r"ops\.(bincount|lu_factor|image\.resize)\(.*",
        way="eager",
    ),
    PatternReason(
        "TensorFlow and Keras have no 16-bit Fourier transforms and few 16-bit matrix "
        "decompositions.",
        label=r"ops\.(i?r?fft2?|i?stft|cholesky|cholesky_inverse|inv|(log|slog)?det|solve.*|lstsq|lu_factor|qr|"
        r"pinv)\(.*",
        dtype="b?float16",
        what="",
        way="eager",
    ),
    PatternReason(
        "The result of casting NaN to an integer is undefined.",
        label=r"ops\.(saturate_)?cast\(.*",
        pattern="nan in .",
    ),
    PatternReason(
        "`ctc_decode` refuses scores among which none is a number.",
        label=r"ops\.ctc_decode\(.*",
        pattern="-?(nan|inf) in .",
        way="eager",
    ),
    PatternReason(
        "For `angle`, `sort`, `quantile`, `sinc`, `softsign` and other functions, Keras 3.15.1 "
        "loses or misplaces NaN, infinities or the largest numbers. tfkit returns NumPy's "
        "results, or the limits.",
        label=_LIKE_NUMPY,
        way="keras",
    ),
    PatternReason(
        "Resizing interpolates between an infinite and a finite pixel: TensorFlow's kernel by "
        "their difference, XLA by a weighted sum. If an output lies on a pixel, XLA multiplies "
        "its neighbors by 0, and the kernel does not read them. The result is NaN or infinity; a "
        "loss shows both.",
        label=r"(layers\.(UpSampling2D|Resizing)|ops\.image\.resize).*",
        pattern="nan in .|-?inf in .",
        way="xla",
    ),
    PatternReason(
        "TensorFlow's resizing kernel computes float64 in float32, where the largest float64 "
        "number is infinite.",
        label=r"(layers\.(UpSampling2D|Resizing)|ops\.image\.resize).*",
        dtype="float64",
        pattern="-?largest in .",
        way="xla",
    ),
    PatternReason(
        "In Keras, resizing turns infinity into the largest number.",
        label=r"(layers\.Resizing|ops\.image\.resize).*",
        pattern="-?inf in .",
        way="keras",
    ),
    PatternReason(
        "In histogram equalization, Keras casts infinities and the largest numbers to integers, "
        "which makes them black; in tfkit they are white.",
        label=r"layers\.(Equalization|ContrastLimitedAdaptiveHistogramEqualization).*",
        pattern="(inf|largest) in 0",
        way="keras",
    ),
    PatternReason(
        "Keras's `AutoContrast` first multiplies images by 255. The largest numbers become "
        "infinite, and their channels are left unchanged.",
        label=r"layers\.AutoContrast.*",
        pattern="-?largest in 0",
        way="keras",
    ),
    PatternReason(
        "In Keras, a color that contains NaN becomes gray or keeps its other components.",
        label=r"(ops\.image\.rgb_to_hsv|layers\.Random(Hue|Saturation|ColorJitter)).*",
        pattern="nan in .",
        way="keras",
    ),
    PatternReason(
        "In a metric, the sum of the sample weights, or their product with an error, overflows "
        "the dtype.",
        label=r"metrics\..*",
        pattern="-?largest in 2",
    ),
    PatternReason(
        "In a metric, the sum of the sample weights, or their product with an error, overflows "
        "the dtype.",
        label=r"metrics\.(Mean|Sum)( of weight 0)?",
        pattern="-?largest in 1",
    ),
    PatternReason(
        "Class ids that are NaN or infinite are refused unless their weight is 0.",
        label=r"metrics\.SparseCategoricalCrossentropy.*",
        way="eager",
    ),
    PatternReason(
        "In Keras, NaN and infinity with weight 0 still affect a mean, because 0 times NaN is NaN.",
        label=r"metrics\..* of weight 0",
        pattern="-?(nan|inf|largest) in .",
        way="keras",
    ),
    PatternReason(
        "In Keras, counts of true and false positives drop samples whose weight is NaN. In tfkit "
        "the result is NaN.",
        label=r"metrics\.(True|False|Precision|Recall).*",
        pattern="-?(nan|inf) in 2",
        way="keras",
    ),
    PatternReason(
        "In Keras, a weight of NaN counts even if its entry is masked or belongs to an ignored "
        "class.",
        label=r"metrics\.SparseCategoricalCrossentropy.*",
        pattern="-?(nan|inf) in 2",
        way="keras",
    ),
    PatternReason(
        "In Keras's `F1Score`, an infinite target gives NaN without XLA and 0 with it.",
        label=r"metrics\.F1Score.*",
        pattern="-?inf in 0",
        way="keras",
    ),
    PatternReason(
        "The epsilon of 1e-7 is 0 in float16, and vanishes when it is added to 1 in bfloat16. "
        "Divisions by it and logarithms of it are infinite, and NaN in Keras.",
        label=r"metrics\..*",
        dtype="b?float16",
        pattern="(-?zeros|ones) in .",
        way="keras",
    ),
    PatternReason(
        "Keras computes squares in float16, where the square of epsilon is 0 and squares of large"
        " numbers are infinite.",
        label=r"(losses\.cosine_similarity|ops\.psnr)\(.*",
        dtype="float16",
        pattern="-?(zeros|largest) in .",
        way="keras",
    ),
    PatternReason(
        "In Keras, `categorical_generalized_cross_entropy` adds the probabilities of all other "
        "classes, each times 0, to that of the label.",
        label=r"losses\.categorical_generalized_cross_entropy.*",
        pattern="-?inf in 0",
        way="keras",
    ),
    PatternReason(
        "If all probabilities are 0, Keras computes 0 / 0, which is NaN; tfkit clips them to the "
        "smallest probability.",
        label=r"(metrics\.CategoricalCrossentropy|losses\.categorical_(focal_)?crossentropy).*",
        pattern="-?zeros in 1",
        way="keras",
    ),
    PatternReason(
        "Keras 3.15.1's `R2Score` counts rows times outputs; see docs/coming-from-keras.md.",
        label=r"metrics\.R2Score.*",
        way="keras",
    ),
]
