"""Images of a folder as a `tf.data.Dataset`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tfkit.src.base import settings
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.registry.constructors import made_of
from tfkit.src.data.datasets.folder_files import Options, dataset_of_folder
from tfkit.src.data.utils.resizing import smart_resize

_FORMATS = (".bmp", ".gif", ".jpeg", ".jpg", ".png")
_CHANNELS = {"rgb": 3, "rgba": 4, "grayscale": 1}
_METHODS = "area bicubic bilinear gaussian lanczos3 lanczos5 mitchellcubic nearest"
_INTERPOLATIONS = tuple(_METHODS.split())


@shortened
def image_dataset_from_directory(
    directory: str | os.PathLike[str],
    labels: Any = "inferred",
    label_mode: str | None = "int",
    class_names: Sequence[str] | None = None,
    color_mode: str = "rgb",
    batch_size: int | None = 32,
    image_size: int | tuple[int, int] = (256, 256),
    shuffle: bool = True,
    seed: int | None = None,
    validation_split: float | None = None,
    subset: str | None = None,
    interpolation: str = "bilinear",
    follow_links: bool = False,
    crop_to_aspect_ratio: bool = False,
    pad_to_aspect_ratio: bool = False,
    data_format: str | None = None,
    format: str = "tf",
    verbose: bool = True,
) -> Any:
    """Returns a `tf.data.Dataset` of the images in a folder, with labels by subfolder.

    Files that end in `.bmp`, `.gif` (the first frame), `.jpeg`, `.jpg` or `.png` are read, also from the
    folders below a subfolder. The dataset has the attributes `class_names` and `file_paths`.

    Args:
        directory: the folder.
        labels: `"inferred"` for the names of the subfolders; a list of one label for each file, in the order
            of their paths; `None` for images without labels. Default: `"inferred"`.
        label_mode: `"int"`: labels of shape `(batch,)`, int32; `"categorical"`: one-hot vectors of shape
            `(batch, classes)`, float32; `"binary"`: for two classes, 0 or 1 of shape `(batch, 1)`, float32;
            `None`: images without labels. Default: `"int"`.
        class_names: the subfolders to use, in the order of their labels. Default: all, by name.
        color_mode: `"rgb"`, `"rgba"` or `"grayscale"`: 3, 4 or 1 channels. Default: `"rgb"`.
        batch_size: images of a batch; `None` for single images. Default: `32`.
        image_size: height and width that images are resized to. Default: `(256, 256)`.
        shuffle: whether to shuffle, in a new order in each pass. Otherwise in the order of paths. Default:
            `True`.
        seed: of the order, and of the choice of images for validation. Default: a new one each time.
        validation_split: share of the images for validation, between 0 and 1. Default: none.
        subset: with `validation_split`, the part to return: `"training"`, `"validation"`, or `"both"` for a
            list of the two. Default: all.
        interpolation: `"bilinear"`, `"nearest"`, `"bicubic"`, `"area"`, `"lanczos3"`, `"lanczos5"`,
            `"gaussian"` or `"mitchellcubic"`. Default: `"bilinear"`.
        follow_links: whether to go into folders that are symbolic links, into each once.
            Default: `False`.
        crop_to_aspect_ratio: whether to crop images to the shape of `image_size` instead of distorting them.
            Default: `False`.
        pad_to_aspect_ratio: whether to pad them with zeros instead. Default: `False`.
        data_format: `"channels_last"` or `"channels_first"`. Default: the setting of `tfkit.config`.
        format: `"tf"`, the only one. Default: `"tf"`.
        verbose: whether to print how many files were found. Default: `True`.

    Returns:
        A dataset of images, float32 (uint8 for `"nearest"`) with values from 0 to 255, of shape `(batch,
        height, width, channels)`, or of pairs of images and labels.

    Raises:
        FileNotFoundError: if there is no such folder.
        ValueError: for arguments that do not fit, and if no image is found.

    Example:
        >>> folder = Path(tempfile.mkdtemp())
        >>> for name in ("cat", "dog"):
        ...     (folder / name).mkdir()
        ...     image = tf.io.encode_png(tf.zeros((4, 6, 3), "uint8"))
        ...     _ = (folder / name / "0.png").write_bytes(image.numpy())
        >>> dataset = image_dataset_from_directory(folder, image_size=(8, 8))
        Found 2 files belonging to 2 classes.
        >>> dataset.class_names, next(iter(dataset))[0].shape
        (['cat', 'dog'], TensorShape([2, 8, 8, 3]))
    """
    if color_mode not in _CHANNELS:
        raise ValueError(
            f'`color_mode` must be "rgb", "rgba" or "grayscale". Received: color_mode={color_mode!r}'
        )
    if str(interpolation).lower() not in _INTERPOLATIONS:
        raise ValueError(
            f"`interpolation` must be one of {', '.join(_INTERPOLATIONS)}. "
            f"Received: interpolation={interpolation!r}"
        )
    if crop_to_aspect_ratio and pad_to_aspect_ratio:
        raise ValueError(
            "Pass at most one of `crop_to_aspect_ratio` and `pad_to_aspect_ratio`. Received: both"
        )
    if format != "tf":
        raise ValueError(f'`format` must be "tf". Received: format={format!r}')
    height, width = (image_size, image_size) if isinstance(image_size, int) else image_size
    num_channels = _CHANNELS[color_mode]
    method = str(interpolation).lower()
    channels_first = settings.standardize_data_format(data_format) == "channels_first"

    def load(path: tf.Tensor) -> tf.Tensor:
        image = tf.io.decode_image(
            tf.io.read_file(path), channels=num_channels, expand_animations=False
        )
        # `decode_image` gives no static shape.
        image.set_shape((None, None, num_channels))
        if pad_to_aspect_ratio:
            image = tf.image.resize_with_pad(image, height, width, method=method)
        elif crop_to_aspect_ratio:
            image = smart_resize(image, (height, width), method)
        else:
            image = tf.image.resize(image, (height, width), method=method)
        return tf.transpose(image, (2, 0, 1)) if channels_first else image

    options = made_of(Options, locals())
    return dataset_of_folder(directory, _FORMATS, load, options)
