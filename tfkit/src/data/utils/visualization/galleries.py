"""Shows images next to each other with matplotlib, which only these functions need."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tfkit.src.base import packages
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.data.utils.visualization.boxes import draw_bounding_boxes
from tfkit.src.data.utils.visualization.masks import draw_segmentation_masks
from tfkit.src.data.utils.visualization.pixels import as_given, in_range


def _matplotlib() -> Any:
    """Returns matplotlib with the parts that are used: its import is slow, and few programs draw."""
    for part in ("patches", "pyplot"):
        packages.imported(f"matplotlib.{part}", "A gallery", "matplotlib", "matplotlib")
    return sys.modules["matplotlib"]


@shortened
def plot_image_gallery(
    images: Any,
    y_true: Any = None,
    y_pred: Any = None,
    label_map: Mapping[int, str] | None = None,
    rows: int | None = None,
    cols: int | None = None,
    value_range: tuple[float, float] = (0, 255),
    scale: float = 2,
    path: Any = None,
    show: bool | None = None,
    transparent: bool = True,
    dpi: int = 60,
    legend_handles: Sequence[Any] | None = None,
    data_format: str | None = None,
) -> Any:
    """Shows images in rows and columns, or writes such a picture to a file.

    Args:
        images: images, `(batch, height, width, channels)`.
        y_true: labels, `(batch,)`; `None` for none.
        y_pred: predicted labels, `(batch,)`; `None` for none.
        label_map: dict from labels to names, which `y_true` and `y_pred` need; `None` for none.
        rows: number of rows; `None` for as many as are needed.
        cols: number of columns; `None` for as many as are needed.
        value_range: least and greatest value of the images. Default: `(0, 255)`.
        scale: height and width of an image in inches. Default: `2`.
        path: file to write to; `None` for none.
        show: whether the picture is shown; `None` if there is no `path`.
        transparent: whether the file has a transparent background. Default: `True`.
        dpi: pixels of the file to an inch. Default: `60`.
        legend_handles: the entries of a legend, patches of matplotlib; `None` for no legend.
        data_format: `"channels_last"` or `"channels_first"`; `None` for the global setting.

    Returns:
        The figure of matplotlib if it is neither shown nor written; otherwise `None`.

    Raises:
        ValueError: for a different number of axes, for a `path` together with `show=True`, and for labels
            without `label_map` or of a different number than the images.
        ImportError: without matplotlib.

    Example:
        ```python
        (images, labels), _ = tfkit.datasets.mnist.load_data()
        names = {label: str(label) for label in range(10)}
        plot_image_gallery(images[:9, :, :, None], labels[:9], label_map=names, path="digits.png")
        ```
    """
    pixels = in_range(images, value_range, data_format)
    if path is not None and show:
        raise ValueError(
            "plot_image_gallery() expects either `path` to be set, or `show` to be true. "
            f"Received: path={path!r}, show={show}"
        )
    labels = [("Label", y_true), ("Pred", y_pred)]
    titles = [_titles(kind, values, label_map, len(pixels)) for kind, values in labels]
    matplotlib = _matplotlib()
    rows, cols = _form(len(pixels), rows, cols)
    figure = matplotlib.pyplot.figure(
        figsize=(cols * scale, rows * scale), layout="tight", frameon=True
    )
    for index, image in enumerate(pixels[: rows * cols]):
        axes = figure.add_subplot(rows, cols, index + 1)
        axes.imshow(image, cmap="gray", vmin=0, vmax=255)
        axes.axis("off")
        axes.set_title("  ".join(filter(None, (each[index] for each in titles))))
    if legend_handles is not None:
        figure.legend(handles=list(legend_handles), loc="lower center")
    if path is not None:
        figure.savefig(path, dpi=dpi, transparent=transparent, bbox_inches="tight")
    elif show or show is None:
        matplotlib.pyplot.show()
    else:
        return figure
    matplotlib.pyplot.close(figure)
    return None


@shortened
def plot_bounding_box_gallery(
    images: Any,
    bounding_box_format: str,
    y_true: Any = None,
    y_pred: Any = None,
    value_range: tuple[float, float] = (0, 255),
    true_color: tuple[int, int, int] = (0, 188, 212),
    pred_color: tuple[int, int, int] = (255, 235, 59),
    line_thickness: int = 2,
    font_scale: float = 1.0,
    text_thickness: int | None = None,
    class_mapping: Mapping[int, str] | None = None,
    ground_truth_mapping: Mapping[int, str] | None = None,
    prediction_mapping: Mapping[int, str] | None = None,
    legend: bool = False,
    legend_handles: Sequence[Any] | None = None,
    rows: int | None = None,
    cols: int | None = None,
    data_format: str | None = None,
    **kwargs: Any,
) -> Any:
    """Shows images in rows and columns, with true and predicted boxes drawn on them.

    Args:
        images: images, `(batch, height, width, 3)`.
        bounding_box_format: the format of the boxes, as in `utils.bounding_boxes.convert_format`.
        y_true: boxes, as `draw_bounding_boxes` accepts them; `None` for none.
        y_pred: predicted boxes; `None` for none.
        value_range: least and greatest value of the images. Default: `(0, 255)`.
        true_color: red, green and blue of `y_true`. Default: `(0, 188, 212)`.
        pred_color: red, green and blue of `y_pred`. Default: `(255, 235, 59)`.
        line_thickness: pixels. Default: `2`.
        font_scale: size of letters; 1.0 is 22 pixels. Default: `1.0`.
        text_thickness: pixels of the strokes of letters; `None` for `line_thickness`.
        class_mapping: dict from labels to names; `None` to write no names.
        ground_truth_mapping: the same for `y_true` alone; `None` for `class_mapping`.
        prediction_mapping: the same for `y_pred` alone; `None` for `class_mapping`.
        legend: whether a legend says which color is which. Default: `False`.
        legend_handles: the entries of a legend, patches of matplotlib; `None` for those of `legend`.
        rows: number of rows; `None` for as many as are needed.
        cols: number of columns; `None` for as many as are needed.
        data_format: `"channels_last"` or `"channels_first"`; `None` for the global setting.
        **kwargs: further arguments of `plot_image_gallery`.

    Returns:
        What `plot_image_gallery` returns.

    Raises:
        ValueError: for a different number of axes, and for both `legend` and `legend_handles`.
        ImportError: without matplotlib.

    Example:
        ```python
        boxes = {"boxes": [[[1.0, 1.0, 4.0, 3.0]]], "labels": [[0]]}
        plot_bounding_box_gallery(np.zeros((1, 5, 6, 3)), "xyxy", boxes, path="boxes.png")
        ```
    """
    if legend and legend_handles is not None:
        raise ValueError(
            "Only pass `legend` OR `legend_handles` to `plot_bounding_box_gallery()`. "
            f"Received: legend={legend} and legend_handles={legend_handles}"
        )
    drawn = as_given(in_range(images, value_range, data_format), data_format)
    if text_thickness is None:
        text_thickness = line_thickness
    for boxes, color, mapping in (
        (y_true, true_color, ground_truth_mapping),
        (y_pred, pred_color, prediction_mapping),
    ):
        if boxes is not None:
            drawn = draw_bounding_boxes(
                drawn,
                boxes,
                bounding_box_format,
                class_mapping if mapping is None else mapping,
                color,
                line_thickness,
                text_thickness,
                font_scale,
                data_format,
            )
    if legend:
        named = (("Ground Truth", true_color), ("Prediction", pred_color))
        patch = _matplotlib().patches.Patch
        legend_handles = [
            patch(color=np.array(color) / 255.0, label=label) for label, color in named
        ]
    return plot_image_gallery(
        drawn,
        rows=rows,
        cols=cols,
        legend_handles=legend_handles,
        data_format=data_format,
        **kwargs,
    )


@shortened
def plot_segmentation_mask_gallery(
    images: Any,
    num_classes: int,
    value_range: tuple[float, float] = (0, 255),
    y_true: Any = None,
    y_pred: Any = None,
    color_mapping: Mapping[int, Any] | None = None,
    blend: bool = True,
    alpha: float = 0.8,
    ignore_index: int = -1,
    data_format: str | None = None,
    **kwargs: Any,
) -> Any:
    """Shows each image in a row with its true and predicted masks.

    Args:
        images: images, `(batch, height, width, 3)`.
        num_classes: the largest class that is drawn; class 0 is the background.
        value_range: least and greatest value of the images. Default: `(0, 255)`.
        y_true: classes of pixels, as `draw_segmentation_masks` accepts them; `None` for none.
        y_pred: predicted classes of pixels; `None` for none.
        color_mapping: dict from classes to red, green and blue; `None` for clearly different colors.
        blend: whether images show through. Default: `True`.
        alpha: how opaque the colors are, from 0 to 1. Default: `0.8`.
        ignore_index: a class that is not drawn. Default: `-1`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for the global setting.
        **kwargs: further arguments of `plot_image_gallery`; `rows` and `cols` follow from the masks.

    Returns:
        What `plot_image_gallery` returns.

    Raises:
        ValueError: for a different number of axes, and for masks that do not fit the images.
        ImportError: without matplotlib.

    Example:
        ```python
        masks = np.array([[[0, 1], [2, 0]]])
        plot_segmentation_mask_gallery(np.zeros((1, 2, 2, 3)), 2, y_true=masks, path="masks.png")
        ```
    """
    plain = as_given(in_range(images, value_range, data_format), data_format)
    columns = [plain]
    for masks in (y_true, y_pred):
        if masks is not None:
            columns.append(
                draw_segmentation_masks(
                    plain,
                    masks,
                    num_classes,
                    color_mapping,
                    alpha,
                    blend,
                    ignore_index,
                    data_format,
                )
            )
    together = np.stack(columns, axis=1).reshape(-1, *plain.shape[1:])
    return plot_image_gallery(
        together, rows=len(plain), cols=len(columns), data_format=data_format, **kwargs
    )


def _titles(kind: str, labels: Any, label_map: Mapping[int, str] | None, count: int) -> list[str]:
    """Returns the title above each image."""
    if labels is None:
        return [""] * count
    if label_map is None:
        raise ValueError(
            "If `y_true` or `y_pred` are provided, a `label_map` must also be provided: a dict from labels "
            "to names."
        )
    flat = np.asarray(labels).reshape(-1).astype(int).tolist()
    if len(flat) != count:
        raise ValueError(
            f"There must be a label for each image. Expected: {count} labels. Received: {len(flat)}"
        )
    return [f"{kind}: {label_map.get(label, 'Unknown')}" for label in flat]


def _form(count: int, rows: int | None, cols: int | None) -> tuple[int, int]:
    """Returns the numbers of rows and columns: approximately a square if neither is given."""
    if rows is None:
        rows = math.ceil(count / cols) if cols else math.ceil(math.sqrt(count))
    return max(rows, 1), max(cols or math.ceil(count / max(rows, 1)), 1)
