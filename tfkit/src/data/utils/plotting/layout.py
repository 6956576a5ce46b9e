"""Places boxes and arrows in layers, after Sugiyama, Tagawa, Toda (1981).

A box is below all its predecessors. An arrow that crosses layers has a position in each, as a narrow box. The
order within a layer follows the mean position of the neighbors, which leaves few crossings; boxes then move
toward their neighbors as far as the others leave room.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

Array = np.ndarray

_SWEEPS = 8
GAP = 26.0  # between boxes of a layer
LAYER_GAP = 42.0  # between layers


@dataclasses.dataclass(frozen=True)
class Placed:
    """The result, in points; `x` grows to the right, `y` downward.

    Attributes:
        centers: of the boxes.
        paths: for each arrow the points that it goes through, from border to border.
        width: of the whole.
        height: of the whole.
    """

    centers: list[tuple[float, float]]
    paths: list[list[tuple[float, float]]]
    width: float
    height: float


def placed(sizes: Sequence[tuple[float, float]], arrows: Sequence[tuple[int, int]]) -> Placed:
    """Returns positions of boxes, with sizes (width, height), and arrows, in layers from top to bottom."""
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
    depth_of, num_layers = np.array(depths, int), max(depths, default=-1) + 1
    layers = [np.flatnonzero(depth_of == depth) for depth in range(num_layers)]
    # The links into each layer, as their starts and their ends; none lead into the first or below the last.
    starts, ends = np.array(links, int).reshape(-1, 2).T
    between = [
        (starts[depth_of[ends] == depth], ends[depth_of[ends] == depth])
        for depth in range(num_layers + 1)
    ]
    xs = _across(layers, between, np.array(widths)).tolist()
    tops, middles = [], []
    top = 0.0
    for layer in layers:
        # The indices of narrow boxes follow those of all other boxes.
        height = max((sizes[each][1] for each in layer.tolist() if each < len(sizes)), default=0.0)
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


def _sweeps(layers: list[Array], between: list[tuple[Array, Array]]) -> Iterator[Any]:
    """Yields each layer with its links, as its boxes and their neighbors: downward and upward in turn."""
    for _ in range(_SWEEPS // 2):
        for layer, (starts, ends) in zip(layers, between, strict=False):
            yield layer, ends, starts
        for layer, (starts, ends) in zip(layers[::-1], between[:0:-1], strict=True):
            yield layer, starts, ends


def _across(layers: list[Array], between: list[tuple[Array, Array]], widths: Array) -> Array:
    """Returns the horizontal centers, after sorting each layer by the mean position of the neighbors."""
    places, xs = np.zeros(len(widths), int), np.zeros(len(widths))
    for layer in layers:
        places[layer] = np.arange(len(layer))

    def means(values: Array, layer: Array, boxes: Array, neighbours: Array) -> Array:
        count = np.bincount(places[boxes], minlength=len(layer))
        total = np.bincount(places[boxes], values[neighbours], minlength=len(layer))
        return np.where(count > 0, total / np.maximum(count, 1), values[layer])

    for layer, *links in _sweeps(layers, between):
        layer[:] = layer[np.argsort(means(places, layer, *links), kind="stable")]
        places[layer] = np.arange(len(layer))
    for layer in layers:
        xs[layer] = _spread(xs[layer], widths[layer])
    for _ in range(2):
        for layer, *links in _sweeps(layers, between):
            xs[layer] = _spread(means(xs, layer, *links), widths[layer])
    return xs - min(xs - widths / 2, default=0.0)


def _spread(wanted: Array, widths: Array) -> Array:
    """Places boxes near their wanted positions: the mean of packing them from the left and the right."""
    # Packed from 0 on, at the least distance; `free` is how far each box wants to move from there.
    packed = np.cumsum(widths + GAP) - widths / 2
    free = wanted - packed
    return packed + (np.maximum.accumulate(free) + np.minimum.accumulate(free[::-1])[::-1]) / 2
