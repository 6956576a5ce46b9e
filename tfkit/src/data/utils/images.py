"""Converts images between files, Pillow and NumPy. Only these functions need Pillow."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np

from tfkit.src.base import settings
from tfkit.src.base.errors.frames import warn
from tfkit.src.base.errors.tracebacks import shortened

Image: Any
try:
    from PIL import Image
except ImportError:
    Image = None

_MODES = {"grayscale": "L", "rgb": "RGB", "rgba": "RGBA"}
_GRAY_MODES = ("L", "I;16", "I")
_INTERPOLATIONS = ("nearest", "bilinear", "bicubic", "hamming", "box", "lanczos")


def _pillow() -> Any:
    if Image is None:
        raise ImportError("Images need Pillow. Install it: pip install pillow")
    return Image


@shortened
def array_to_img(
    x: Any, data_format: str | None = None, scale: bool = True, dtype: Any = None
) -> Any:
    """Returns a Pillow image of an array.

    Args:
        x: one image, an array of three axes with 1, 3 or 4 channels (gray, RGB, RGBA).
        data_format: `"channels_last"` or `"channels_first"`; `None` for the value of
            `config.image_data_format()`.
        scale: whether to stretch the values so that the smallest is 0 and the largest 255. If not,
            they should be in this range. Default: `True`.
        dtype: dtype to compute in; `None` for the default float dtype.

    Returns:
        An image of Pillow (`PIL.Image.Image`).

    Raises:
        ImportError: without Pillow.
        ValueError: for a different number of axes or channels.

    Example:
        >>> array_to_img(np.zeros((2, 4, 3))).size
        (4, 2)
    """
    image = _pillow()
    x = np.asarray(x, settings.floatx() if dtype is None else dtype)
    if x.ndim != 3:
        raise ValueError(f"Expected one image, of 3 axes. Received an array of shape {x.shape}")
    if settings.standardize_data_format(data_format) == "channels_first":
        x = x.transpose(1, 2, 0)
    if scale:
        x = x - x.min()
        # An image of a single value becomes 0.
        x = x / (x.max() or 1) * 255
    channels = x.shape[2]
    if channels not in (1, 3, 4):
        raise ValueError(f"Expected 1, 3 or 4 channels. Received an array with {channels}")
    if channels > 1:
        return image.fromarray(x.astype("uint8"))
    # 8 bits in mode "L", or 32 in mode "I".
    return image.fromarray(x[:, :, 0].astype("int32" if x.max() > 255 else "uint8"))


@shortened
def img_to_array(img: Any, data_format: str | None = None, dtype: Any = None) -> np.ndarray:
    """Returns a Pillow image as an array with an axis of channels, with unchanged values.

    Args:
        img: the image.
        data_format: `"channels_last"` or `"channels_first"`; `None` for the value of
            `config.image_data_format()`.
        dtype: dtype of the result; `None` for the default float dtype.

    Returns:
        An array of shape `(height, width, channels)`, or with channels first.

    Raises:
        ValueError: for an image that has neither two nor three axes.

    Example:
        >>> img_to_array(array_to_img(np.ones((2, 4, 3)))).shape
        (2, 4, 3)
    """
    x = np.asarray(img, settings.floatx() if dtype is None else dtype)
    if x.ndim not in (2, 3):
        raise ValueError(f"Expected an image of 2 or 3 axes. Received one of shape {x.shape}")
    x = x[:, :, np.newaxis] if x.ndim == 2 else x
    channels_first = settings.standardize_data_format(data_format) == "channels_first"
    return x.transpose(2, 0, 1) if channels_first else x


@shortened
def save_img(
    path: Any,
    x: Any,
    data_format: str | None = None,
    file_format: str | None = None,
    scale: bool = True,
    **kwargs: Any,
) -> None:
    """Writes an array as an image file.

    Args:
        path: a path, or a file open for writing.
        x: one image, an array of three axes with 1, 3 or 4 channels (gray, RGB, RGBA).
        data_format: `"channels_last"` or `"channels_first"`; `None` for the value of
            `config.image_data_format()`.
        file_format: format of the file, such as `"png"`; `None` for the extension of the path.
        scale: whether to stretch the values so that the smallest is 0 and the largest 255.
            Default: `True`.
        **kwargs: options of the format, for Pillow's `Image.save`.

    Warns:
        UserWarning: for an image of 4 channels in a JPEG file, which has no transparency.

    Raises:
        ImportError: without Pillow.
        ValueError: for a different number of axes or channels.

    Example:
        >>> file = io.BytesIO()
        >>> save_img(file, np.zeros((2, 4, 3)), file_format="png")
        >>> load_img(file).size
        (4, 2)
    """
    if file_format is None and isinstance(path, (str, os.PathLike)):
        file_format = Path(path).suffix[1:].lower()
    if file_format is not None and file_format.lower() == "jpg":
        file_format = "jpeg"
    img = array_to_img(x, data_format, scale)
    if img.mode == "RGBA" and file_format == "jpeg":
        warn("JPEG has no transparency: the image is saved as RGB.")
        img = img.convert("RGB")
    img.save(path, format=file_format, **kwargs)


@shortened
def load_img(
    path: Any,
    color_mode: str = "rgb",
    target_size: tuple[int, int] | None = None,
    interpolation: str = "nearest",
    keep_aspect_ratio: bool = False,
) -> Any:
    """Returns the image of a file as a Pillow image.

    Args:
        path: a path, or the file's content as `io.BytesIO`.
        color_mode: `"grayscale"`, `"rgb"` or `"rgba"`. Default: `"rgb"`.
        target_size: `(height, width)` in pixels; `None` for the size of the file.
        interpolation: how to resize: `"nearest"`, `"bilinear"`, `"bicubic"`, `"hamming"`, `"box"`
            or `"lanczos"`. Default: `"nearest"`.
        keep_aspect_ratio: whether to resize only the largest central part that has the shape
            of `target_size`, and not distort the image. Default: `False`.

    Returns:
        An image of Pillow (`PIL.Image.Image`), which `img_to_array` converts to an array.

    Raises:
        ImportError: without Pillow.
        TypeError: for a `path` of a different type.
        ValueError: for a color mode or an interpolation that is not one of the above.

    Example:
        >>> file = io.BytesIO()
        >>> save_img(file, np.zeros((2, 4, 3)), file_format="png")
        >>> load_img(file, color_mode="grayscale", target_size=(8, 8)).size
        (8, 8)
    """
    image = _pillow()
    if color_mode not in _MODES:
        raise ValueError(
            f"`color_mode` must be one of {tuple(_MODES)}. Received: color_mode={color_mode!r}"
        )
    if isinstance(path, io.BytesIO):
        img = image.open(path)
    elif isinstance(path, (str, bytes, os.PathLike)):
        # All bytes are read here: Pillow would keep the file open until it needs the pixels.
        img = image.open(io.BytesIO(Path(os.fsdecode(path)).read_bytes()))
    else:
        raise TypeError(
            f"`path` must be a path or `io.BytesIO`. Received: {path!r} (of type {type(path).__name__})"
        )
    if not (color_mode == "grayscale" and img.mode in _GRAY_MODES):
        img = img.convert(_MODES[color_mode])
    if target_size is None:
        return img
    height, width = target_size[:2]  # As in Keras, it may be the shape of an image.
    if img.size == (width, height):
        return img
    if interpolation not in _INTERPOLATIONS:
        raise ValueError(
            f"`interpolation` must be one of {_INTERPOLATIONS}. Received: interpolation={interpolation!r}"
        )
    resample = image.Resampling[interpolation.upper()]
    box = _centre_box(img.size, (width, height)) if keep_aspect_ratio else None
    return img.resize((width, height), resample, box=box)


def _centre_box(size: tuple[int, int], target: tuple[int, int]) -> tuple[int, int, int, int]:
    """Returns the largest centered box of an image, `(width, height)`, with the target's aspect ratio."""
    width = min(size[0], size[1] * target[0] // target[1])
    height = min(size[1], size[0] * target[1] // target[0])
    left, top = (size[0] - width) // 2, (size[1] - height) // 2
    return left, top, left + width, top + height
