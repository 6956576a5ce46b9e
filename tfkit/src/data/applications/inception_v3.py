"""Inception V3: blocks whose branches see each position at several scales."""

from __future__ import annotations

from tfkit.src.data.applications.describing import Family
from tfkit.src.data.applications.inception import (
    Average,
    Branch,
    Conv,
    Fork,
    Maximum,
    halving,
    joined,
    stem,
)
from tfkit.src.data.applications.input_and_classifier import UNNAMED, begin, finish, head
from tfkit.src.data.applications.options import Options
from tfkit.src.data.applications.variants import with_options
from tfkit.src.data.applications.weights import of_both
from tfkit.src.training.models.model import Model

_INCEPTION_V3 = Family(
    "inception_v3",
    "Szegedy, Vanhoucke, Ioffe, Shlens and Wojna, "
    '"Rethinking the Inception Architecture for Computer Vision", 2015',
    "The model expects images that `tfkit.applications.inception_v3.preprocess_input` returns: pixels from "
    "-1 to 1.",
    size=299,
    min_size=75,
)

# MD5 of the published files with and without the classifier.
_HASHES = ("9a0d58056eeedaa3f26cb7ebd46da564", "bcbd6486424b2319ff4ef7d526e38f63")


def _squares(pooled: int) -> tuple[Branch, ...]:
    """Returns figure 5 of the paper: 5 x 5 pixels are seen by two convolutions of 3 x 3, too."""
    return (
        (Conv(64),),
        (Conv(48), Conv(64, 5)),
        (Conv(64), Conv(96, 3), Conv(96, 3)),
        (Average(), Conv(pooled)),
    )


def _lines(width: int) -> tuple[Branch, ...]:
    """Returns figure 6 of the paper: 7 x 7 pixels are seen by a row and a column."""
    row, column = (1, 7), (7, 1)
    return (
        (Conv(192),),
        (Conv(width), Conv(width, row), Conv(192, column)),
        (
            *(Conv(width), Conv(width, column), Conv(width, row)),
            *(Conv(width, column), Conv(192, row)),
        ),
        (Average(), Conv(192)),
    )


def _forks(name: str) -> tuple[Branch, ...]:
    """Returns figure 7 of the paper: branches that end in two each."""
    parts = (Conv(384, (1, 3)), Conv(384, (3, 1)))
    return (
        (Conv(320),),
        (Conv(384), Fork(parts, name)),
        (Conv(448), Conv(384, 3), Fork(parts)),
        (Average(), Conv(192)),
    )


# Table 1 of the paper, from the first block on.
_BLOCKS: tuple[tuple[Branch, ...], ...] = (
    *(_squares(32), _squares(64), _squares(64)),
    ((halving(384),), (Conv(64), Conv(96, 3), halving(96)), (Maximum(),)),
    *(_lines(128), _lines(160), _lines(160), _lines(192)),
    (
        (Conv(192), halving(320)),
        (Conv(192), Conv(192, (1, 7)), Conv(192, (7, 1)), halving(192)),
        (Maximum(),),
    ),
    *(_forks("mixed9_0"), _forks("mixed9_1")),
)


@with_options(_INCEPTION_V3)
def InceptionV3(options: Options, name: str = "inception_v3") -> Model:
    """Returns InceptionV3, of 48 layers, with 23.9 million parameters."""
    path = "inception_v3/inception_v3_weights_tf_dim_ordering_tf_kernels"
    image, file = begin(options, of_both(options, path, _HASHES), size=299, min_size=75)
    x = stem(image)
    for number, branches in enumerate(_BLOCKS):
        x = joined(x, branches, f"mixed{number}")
    return finish(options, image, head(x, options, pooling_names=UNNAMED), name, file)
