"""Groups the names of the large public modules by family."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass
from typing import Any

from documenting import public


@dataclass(frozen=True)
class Family:
    """Some names of a module: those whose definitions are in the files of `sources`, below `tfkit.src`.

    A file's name may end with a star.
    """

    title: str
    sentence: str
    sources: tuple[str, ...] = ()

    def has(self, value: Any) -> bool:
        """Returns whether an object is of this family."""
        source = value.__module__.removeprefix("tfkit.src.")
        return any(
            source.startswith(each[:-1]) if each.endswith("*") else source == each
            for each in self.sources
        )


LAYERS = (
    Family(
        "Core",
        "Layers that most models have, and what layers of your own begin with.",
        (
            *("core.layer", "symbolic.input_spec", "layers.input_layer", "layers.dense"),
            *("layers.einsum_dense", "layers.embedding", "layers.reversible_embedding"),
            *("layers.identity", "layers.lambda_layer", "layers.masking"),
        ),
    ),
    Family(
        "Activations", "Functions of one number, some of them with weights.", ("layers.activation",)
    ),
    Family(
        "Convolution",
        "Products with a kernel that moves over a series, an image or a volume.",
        (
            *("layers.convolution", "layers.transposed_convolution"),
            *("layers.depthwise_convolution", "layers.separable_convolution"),
        ),
    ),
    Family(
        "Pooling",
        "Means and maxima over windows, or over all positions.",
        ("layers.pooling", "layers.adaptive_pooling"),
    ),
    Family(
        "Recurrent",
        "Layers that go through a series step by step, and their cells and wrappers.",
        ("layers.recurrent.*", "layers.time_distributed"),
    ),
    Family(
        "Attention",
        "Weighted means over positions, whose weights come from queries and keys.",
        ("layers.attention", "layers.multi_head_attention", "layers.group_query_attention"),
    ),
    Family(
        "Normalization",
        "Layers that bring activations, or the kernel of another layer, to a common scale.",
        ("layers.batch_normalization", "layers.normalization", "layers.spectral_normalization"),
    ),
    Family("Regularization", "Noise in training, and penalties.", ("layers.regularization",)),
    Family(
        "Merging", "One tensor from several, as a layer and as a function.", ("layers.merging",)
    ),
    Family(
        "Shapes",
        "Layers that change the shape of a tensor: new axes, cut and added edges, other sizes.",
        ("layers.reshaping", "layers.resizing", "layers.volumes"),
    ),
    Family(
        "Preprocessing",
        "Tables, texts and sounds as numbers; `adapt` learns vocabularies and statistics.",
        ("layers.preprocessing.*", "layers.spectrograms"),
    ),
    Family("Images", "Preprocessing and augmentation of images.", ("layers.image.*",)),
    Family(
        "Other frameworks",
        "Functions of JAX, modules of PyTorch and SavedModels as layers.",
        ("export.*",),
    ),
    Family("Configurations", "Layers from configurations, and back.", ("layers.lookup",)),
)

OPS = (
    Family("Elementwise", "Functions of one number, applied to each element.", ("ops.elementwise",)),
    Family("Activations", "Functions that layers end with.", ("activations", "ops.activations")),
    Family("Arithmetic and comparison", "Functions of two tensors, with broadcasting.", ("ops.arithmetic",)),
    Family("Reductions", "One number from many: sums, means, extrema.", ("ops.reductions",)),
    Family("Reductions without NaN", "The same, where NaN is a missing value.", ("ops.nan_reductions",)),
    Family("Statistics", "Quantiles, counts, sets.", ("ops.statistics", "ops.counting")),
    Family("Segments", "Reductions over groups of rows.", ("ops.segments",)),
    Family("Shapes", "Other shapes, orders and pieces of the same elements.", ("ops.shaping", "ops.patches")),
    Family("Creation", "New tensors: constants, ranges, windows.", ("ops.creation", "ops.diagonals")),
    Family("Indexing and sorting", "Elements by place, by order, by condition.", ("ops.indexing",)),
    Family("Products", "Products of vectors and matrices.", ("ops.products",)),
    Family("Linear algebra", "Decompositions, solutions, norms.", ("ops.linalg",)),
    Family("Convolution and pooling", "Moving windows.", ("ops.convolution", "ops.pooling")),
    Family(
        "Normalization and attention",
        "The formulas of layers, as functions.",
        ("ops.normalization", "ops.attention"),
    ),
    Family("Losses and labels", "Crossentropies, alignments, one-hot labels.", ("ops.losses",)),
    Family("Signals", "Fourier transforms and frames.", ("ops.signal",)),
    Family("Images", "Sizes, colours, patches and filters of images.", ("ops.image*",)),
    Family("Complex numbers", "Parts of complex tensors.", ("ops.complex_numbers",)),
    Family("Control flow", "Loops, branches, mapped functions.", ("ops.control_flow",)),
    Family("Tensors", "Conversion, types, shapes, updates.", ("ops.core",)),
)  # fmt: skip

LOSSES = (
    Family(
        "Classes",
        "For targets that are classes.",
        ("losses.binary", "losses.categorical", "losses.hinge"),
    ),
    Family("Numbers", "For targets that are numbers.", ("losses.regression",)),
    Family(
        "Distributions and sequences",
        "For probabilities, counts and alignments.",
        ("losses.probabilistic",),
    ),
    Family("Images", "For masks of images.", ("losses.segmentation",)),
    Family("Similarity", "For embeddings.", ("losses.similarity",)),
    Family(
        "Of your own", "What a loss of your own begins with.", ("losses.base", "losses.wrapper")
    ),
    Family("Configurations", "Losses from names and configurations, and back.", ("losses.lookup",)),
)

METRICS = (
    Family("Accuracy", "How many rows are right.", ("metrics.accuracy",)),
    Family(
        "Positives and negatives",
        "Precision, recall, their combinations, and the area under a curve.",
        ("metrics.confusion", "metrics.f_score", "metrics.operating_point", "metrics.auc"),
    ),
    Family("Images", "How far two masks overlap.", ("metrics.iou",)),
    Family(
        "Numbers",
        "Errors and correlations.",
        ("metrics.regression", "metrics.correlation", "metrics.r2"),
    ),
    Family(
        "Probabilities and margins",
        "Losses as metrics.",
        ("metrics.probabilistic", "metrics.margins"),
    ),
    Family(
        "Of your own",
        "What a metric of your own begins with.",
        ("metrics.base", "metrics.reduction"),
    ),
    Family(
        "Configurations",
        "Metrics from names and configurations, and back.",
        ("metrics.resolve",),
    ),
)

FAMILIES = {"layers": LAYERS, "ops": OPS, "losses": LOSSES, "metrics": METRICS}
CLASSES = Family("Classes", "")
FUNCTIONS = Family("Functions", "")


@functools.cache
def of_module(module: str) -> dict[Family, list[str]]:
    """Returns the names that are described below a module, by family; without families, by kind."""
    found: dict[Family, list[str]] = {}
    for family in FAMILIES.get(module, (CLASSES, FUNCTIONS)):
        found[family] = []
    for name in public.modules()[module]:
        value = public.objects()[name]
        if public.home(value) == name:
            found[_family(module, name, value)].append(name)
    return {family: names for family, names in found.items() if names}


def _family(module: str, name: str, value: Any) -> Family:
    if module not in FAMILIES:
        return CLASSES if inspect.isclass(value) else FUNCTIONS
    for family in FAMILIES[module]:
        if family.has(value):
            return family
    raise ValueError(
        f"tfkit.{name} is in no family of FAMILIES[{module!r}]. Expected one with the file {value.__module__}"
    )
