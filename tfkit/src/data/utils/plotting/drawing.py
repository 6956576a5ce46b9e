"""Draws a diagram: SVG as text, other formats with Pillow."""

from __future__ import annotations

import dataclasses
import io
import itertools
from collections.abc import Iterator
from typing import Any
from xml.sax.saxutils import escape

from tfkit.src.base import packages
from tfkit.src.data.utils.plotting.diagram import Box, Diagram
from tfkit.src.data.utils.plotting.layout import placed

_FONT, _SMALL = 14.0, 11.0  # sizes of text
_WIDE = 0.62  # ratio of a character's width to the size of the text
_PAD, _LINE = 10.0, 18.0
_MARGIN = 14.0
_GREEN, _RED = "#2e7d32", "#c62828"
_DIRECTIONS = ("TB", "LR", "BT", "RL")

Point = tuple[float, float]


@dataclasses.dataclass(frozen=True)
class Rectangle:
    """A rectangle with text; `left`, `top`, `width`, `height` in points."""

    left: float
    top: float
    width: float
    height: float
    box: Box


@dataclasses.dataclass(frozen=True)
class Picture:
    """Positions of everything that is drawn, in points; `sideways` if arrows lead left or right."""

    rectangles: list[Rectangle]
    frames: list[tuple[float, float, float, float, str]]
    paths: list[list[Point]]
    width: float
    height: float
    sideways: bool


def picture_of(diagram: Diagram, rankdir: str = "TB") -> Picture:
    """Returns a picture of the diagram after layout.

    Args:
        diagram: of a model.
        rankdir: direction of arrows: `"TB"` from top to bottom, `"LR"` from left to right, `"BT"`, `"RL"`.
    """
    if rankdir not in _DIRECTIONS:
        raise ValueError(f"`rankdir` must be one of {_DIRECTIONS}. Received: rankdir={rankdir!r}")
    sizes = [_size(box) for box in diagram.boxes]
    turned = rankdir in ("LR", "RL")
    # The layout runs downwards; `at` turns it into the other directions.
    result = placed([size[::-1] if turned else size for size in sizes], diagram.arrows)
    extent = result.height

    def at(point: Point) -> Point:
        across, along = point
        along = extent - along if rankdir in ("BT", "RL") else along
        x, y = (along, across) if turned else (across, along)
        return x + _MARGIN, y + _MARGIN

    rectangles = []
    for box, (width, height), center in zip(diagram.boxes, sizes, result.centers, strict=True):
        x, y = at(center)
        rectangles.append(Rectangle(x - width / 2, y - height / 2, width, height, box))
    width, height = (extent, result.width) if turned else (result.width, extent)
    return Picture(
        rectangles,
        list(_frames(rectangles)),
        [[at(point) for point in path] for path in result.paths],
        width + 2 * _MARGIN,
        height + 2 * _MARGIN,
        turned,
    )


def _size(box: Box) -> Point:
    texts = [(box.title, _FONT), *((f"{label}: {value}", _SMALL) for label, value in box.lines)]
    width = max(len(text) * size * _WIDE for text, size in texts)
    return width + 2 * _PAD, _LINE * (1 + len(box.lines)) + _PAD


def _frames(rectangles: list[Rectangle]) -> Iterator[tuple[float, float, float, float, str]]:
    """Yields frames around the boxes of each nested model: left, top, width, height, name."""
    groups: dict[tuple[str, ...], list[Rectangle]] = {}
    for rectangle in rectangles:
        for depth in range(1, len(rectangle.box.group) + 1):
            groups.setdefault(rectangle.box.group[:depth], []).append(rectangle)
    for group, members in sorted(groups.items(), key=lambda item: len(item[0])):
        # Frames of inner models are closer to the boxes, so that they do not touch the outer ones.
        border = _MARGIN / (1 + len(group))
        left = min(each.left for each in members) - border
        top = min(each.top for each in members) - border
        right = max(each.left + each.width for each in members) + border
        bottom = max(each.top + each.height for each in members) + border
        yield left, top, right - left, bottom - top, group[-1]


def svg(picture: Picture, curved: bool = True) -> str:
    """Returns a picture as an SVG document."""
    width, height = round(picture.width), round(picture.height)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" '
        'font-family="Helvetica, Arial, sans-serif">',
        '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
        'orient="auto"><path d="M0 0 L8 4 L0 8 z"/></marker></defs>',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for left, top, across, down, name in picture.frames:
        parts.append(
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{across:.1f}" height="{down:.1f}" fill="none" '
            f'stroke="black" stroke-dasharray="5 3"/>'
            f'<text x="{left:.1f}" y="{top - 3:.1f}" font-size="{_SMALL:.0f}">{escape(name)}</text>'
        )
    for path in picture.paths:
        line = _svg_path(path, curved, picture.sideways)
        parts.append(
            f'<path d="{line}" fill="none" stroke="black" stroke-width="1.5" marker-end="url(#head)"/>'
        )
    for rectangle in picture.rectangles:
        parts.extend(_svg_box(rectangle))
    return "\n".join([*parts, "</svg>\n"])


def _svg_path(path: list[Point], curved: bool, sideways: bool) -> str:
    points = [f"{x:.1f} {y:.1f}" for x, y in path]
    if not curved:
        return "M" + " L".join(points)
    # A cubic curve between two points, at both in the direction of the arrows.
    text = "M" + points[0]
    for (x, y), (next_x, next_y) in itertools.pairwise(path):
        if sideways:
            middle = (x + next_x) / 2
            text += f" C{middle:.1f} {y:.1f} {middle:.1f} {next_y:.1f} {next_x:.1f} {next_y:.1f}"
        else:
            middle = (y + next_y) / 2
            text += f" C{x:.1f} {middle:.1f} {next_x:.1f} {middle:.1f} {next_x:.1f} {next_y:.1f}"
    return text


def _svg_box(rectangle: Rectangle) -> Iterator[str]:
    left, top, width, height = rectangle.left, rectangle.top, rectangle.width, rectangle.height
    middle = left + width / 2
    yield (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" rx="3" fill="white" '
        'stroke="black"/>'
    )
    yield (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{_LINE + _PAD / 2:.1f}" rx="3" '
        f'fill="{colour_of(rectangle.box)}"/>'
    )
    yield (
        f'<text x="{middle:.1f}" y="{top + _LINE:.1f}" font-size="{_FONT:.0f}" font-weight="bold" '
        f'fill="white" text-anchor="middle">{escape(rectangle.box.title)}</text>'
    )
    for number, (label, value) in enumerate(rectangle.box.lines):
        y = top + _LINE * (number + 2) + _PAD / 4
        yield (
            f'<text x="{middle:.1f}" y="{y:.1f}" font-size="{_SMALL:.0f}" '
            f'text-anchor="middle">{escape(label)}: {escape(value)}</text>'
        )


def colour_of(box: Box) -> str:
    """Returns the color of a box: for trained weights, frozen weights, or no weights."""
    return "black" if box.trainable is None else _GREEN if box.trainable else _RED


def raster(picture: Picture, format: str, dpi: float = 200.0) -> bytes:
    """Returns a picture in a format of Pillow: `"png"`, `"jpg"`, `"pdf"`, ...

    Raises:
        ImportError: without Pillow.
        ValueError: for an unknown format.
    """
    images = _pillow("Image")
    name = {"jpg": "jpeg"}.get(format, format)
    images.init()
    if name.upper() not in images.SAVE:
        raise ValueError(f"Unknown format of a picture: {format!r}. Known: svg, dot, png, jpg, pdf")
    # A unit of the picture is a pixel at 96 dpi, as in SVG.
    scale = dpi / 96
    size = round(picture.width * scale), round(picture.height * scale)
    image = images.new("RGB", size, "white")
    _Brush(_pillow("ImageDraw").Draw(image), scale).draw(picture)
    file = io.BytesIO()
    image.save(file, name, dpi=(dpi, dpi))
    return file.getvalue()


def _pillow(name: str) -> Any:
    """Returns a module of Pillow; imported here, because few programs draw, and the fonts take memory."""
    user = "A picture whose file does not end in `.svg`"
    return packages.imported(f"PIL.{name}", user, "Pillow", "pillow")


class _Brush:
    """Draws with Pillow, in points."""

    def __init__(self, draw: Any, scale: float) -> None:
        self._draw = draw
        self._scale = scale
        # Pillow reads its font again each time.
        load = _pillow("ImageFont").load_default
        self._fonts = {size: load(size * scale) for size in (_FONT, _SMALL)}

    def draw(self, picture: Picture) -> None:
        for left, top, width, height, name in picture.frames:
            self._rectangle(left, top, width, height, None, "grey")
            self._text(left, top - 3, name, _SMALL, "black", anchor="ls")
        for path in picture.paths:
            self._line(path)
            # The head of the arrow: a triangle on the last piece of the path, 8 long and 8 wide.
            (x, y), (before_x, before_y) = path[-1], path[-2]
            length = max(((x - before_x) ** 2 + (y - before_y) ** 2) ** 0.5, 1e-9)
            dx, dy = 8 * (x - before_x) / length, 8 * (y - before_y) / length
            head = [(x, y), (x - dx - dy / 2, y - dy + dx / 2), (x - dx + dy / 2, y - dy - dx / 2)]
            self._draw.polygon([self._at(*point) for point in head], fill="black")
        for rectangle in picture.rectangles:
            self._box(rectangle)

    def _at(self, x: float, y: float) -> Point:
        return x * self._scale, y * self._scale

    def _line(self, path: list[Point]) -> None:
        self._draw.line(
            [self._at(*point) for point in path], "black", max(round(1.5 * self._scale), 1)
        )

    def _rectangle(
        self, left: float, top: float, width: float, height: float, fill: Any, outline: str
    ) -> None:
        corners = [*self._at(left, top), *self._at(left + width, top + height)]
        self._draw.rectangle(corners, fill, outline, max(round(self._scale), 1))

    def _box(self, rectangle: Rectangle) -> None:
        box, middle = rectangle.box, rectangle.left + rectangle.width / 2
        self._rectangle(
            rectangle.left, rectangle.top, rectangle.width, rectangle.height, "white", "black"
        )
        head = _LINE + _PAD / 2
        self._rectangle(
            rectangle.left, rectangle.top, rectangle.width, head, colour_of(box), "black"
        )
        self._text(middle, rectangle.top + head / 2, box.title, _FONT, "white")
        for number, (label, value) in enumerate(box.lines):
            top = rectangle.top + _LINE * (number + 1.5) + _PAD / 2
            self._text(middle, top, f"{label}: {value}", _SMALL, "black")

    def _text(
        self, x: float, y: float, text: str, size: float, colour: str, anchor: str = "mm"
    ) -> None:
        self._draw.text(self._at(x, y), text, colour, self._fonts[size], anchor)
