"""Places boxes and arrows in layers, after Sugiyama, Tagawa, Toda (1981).

A box is below all its predecessors. An arrow that crosses layers has a place in each, as a narrow box. The
order within a layer follows the mean place of the neighbours, which leaves few crossings; boxes then move
towards their neighbours as far as the others leave room.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

_SWEEPS = 8
GAP = 26.0  # between boxes of a layer
LAYER_GAP = 42.0  # between layers


@dataclasses.dataclass(frozen=True)
class Placed:
    """The result, in points; `x` grows to the right, `y` downwards.

    Attributes:
        centers: of the boxes.
        paths: for each arrow the points that it goes through, from the border of a box to that of another.
        width: of the whole.
        height: of the whole.
    """

    centers: list[tuple[float, float]]
    paths: list[list[tuple[float, float]]]
    width: float
    height: float


def placed(sizes: Sequence[tuple[float, float]], arrows: Sequence[tuple[int, int]]) -> Placed:
    """Returns positions of boxes with these sizes (width, height), and of arrows, in layers downwards."""
    depths = _depths(len(sizes), arrows)
    widths = [size[0] for size in sizes]
    links: list[tuple[int, int]] = []
    chains = []
    for start, end in arrows:  # A narrow box in each layer between.
        chain = [start]
        for depth in range(depths[start] + 1, depths[end]):
            chain.append(len(widths))
            widths.append(0.0)
            depths.append(depth)
        chain.append(end)
        links.extend(itertools.pairwise(chain))
        chains.append(chain)
    layers: list[list[int]] = [[] for _ in range(max(depths, default=-1) + 1)]
    for number, depth in enumerate(depths):
        layers[depth].append(number)
    above: list[list[int]] = [[] for _ in depths]
    below: list[list[int]] = [[] for _ in depths]
    for start, end in links:
        below[start].append(end)
        above[end].append(start)

    _order(layers, above, below)
    xs = _across(layers, above, below, widths)
    tops, middles = [], []
    top = 0.0
    for layer in layers:
        height = max((sizes[each][1] for each in layer if each < len(sizes)), default=0.0)
        tops.append((top, top + height))
        middles.append(top + height / 2)
        top += height + LAYER_GAP
    centers = [(xs[number], middles[depths[number]]) for number in range(len(sizes))]
    paths = []
    for chain in chains:
        first, last = chain[0], chain[-1]
        path = [(xs[first], middles[depths[first]] + sizes[first][1] / 2)]
        for number in chain[1:-1]:
            path += [(xs[number], tops[depths[number]][0]), (xs[number], tops[depths[number]][1])]
        paths.append([*path, (xs[last], middles[depths[last]] - sizes[last][1] / 2)])
    right = max((x + width / 2 for x, width in zip(xs, widths, strict=True)), default=0.0)
    return Placed(centers, paths, right, max(top - LAYER_GAP, 0.0))


def _depths(count: int, arrows: Sequence[tuple[int, int]]) -> list[int]:
    """Returns the layer of each box: one below its lowest predecessor. Arrows lead to later calls."""
    depths = [0] * count
    for _ in range(count):
        changed = False
        for start, end in arrows:
            if start != end and depths[end] <= depths[start] < count:
                depths[end] = depths[start] + 1
                changed = True
        if not changed:
            break
    return depths


def _order(layers: list[list[int]], above: list[list[int]], below: list[list[int]]) -> None:
    """Sorts each layer by the mean position of the neighbours, downwards and upwards in turn."""
    for sweep in range(_SWEEPS):
        downwards = sweep % 2 == 0
        for layer in layers if downwards else reversed(layers):
            neighbours = above if downwards else below
            places = {each: place for others in layers for place, each in enumerate(others)}
            layer.sort(
                key=lambda each: _mean([places[it] for it in neighbours[each]], places[each])
            )


def _across(
    layers: list[list[int]], above: list[list[int]], below: list[list[int]], widths: list[float]
) -> list[float]:
    """Returns the horizontal centers."""
    xs = [0.0] * len(widths)
    for layer in layers:
        _spread(layer, [0.0] * len(layer), widths, xs)
    for sweep in range(2 * _SWEEPS):
        downwards = sweep % 2 == 0
        for layer in layers if downwards else reversed(layers):
            neighbours = above if downwards else below
            wanted = [_mean([xs[it] for it in neighbours[each]], xs[each]) for each in layer]
            _spread(layer, wanted, widths, xs)
    left = min((x - width / 2 for x, width in zip(xs, widths, strict=True)), default=0.0)
    return [x - left for x in xs]


def _spread(layer: list[int], wanted: list[float], widths: list[float], xs: list[float]) -> None:
    """Places boxes near their wanted positions: the mean of packing them from the left and the right."""
    from_left, least = [], float("-inf")
    for each, x in zip(layer, wanted, strict=True):
        from_left.append(max(x, least + widths[each] / 2))
        least = from_left[-1] + widths[each] / 2 + GAP
    from_right, most = [], float("inf")
    for each, x in zip(reversed(layer), reversed(wanted), strict=True):
        from_right.append(min(x, most - widths[each] / 2))
        most = from_right[-1] - widths[each] / 2 - GAP
    for each, one, other in zip(layer, from_left, reversed(from_right), strict=True):
        xs[each] = (one + other) / 2


def _mean(values: list[float] | list[int], default: float) -> float:
    return sum(values) / len(values) if values else default
