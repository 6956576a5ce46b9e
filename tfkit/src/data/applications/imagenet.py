"""Images in the form in which the models were trained, and the names of ImageNet's classes."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base import settings
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.registry.dtypes import standardize_dtype
from tfkit.src.data.datasets.get_file import get_file
from tfkit.src.ops.core import cast
from tfkit.src.ops.shaping import flip

# Means of the channels of ImageNet's images, for pixels from 0 to 255, blue first.
_BGR_MEANS = (103.939, 116.779, 123.68)
# The same and standard deviations, for pixels from 0 to 1, red first.
_RGB_MEANS = (0.485, 0.456, 0.406)
_RGB_DEVIATIONS = (0.229, 0.224, 0.225)

CLASS_INDEX = (
    "https://storage.googleapis.com/download.tensorflow.org/data/imagenet_class_index.json"
)
CLASS_INDEX_MD5 = "c2c37ea517e94d9795004a39431a14cb"
_CLASSES = 1000


@shortened
def preprocess_input(x: Any, data_format: str | None = None, mode: str = "caffe") -> Any:
    """Returns images in the form in which a model was trained.

    * `"caffe"`: channels in the order blue, green, red, minus ImageNet's means.
    * `"tf"`: `x / 127.5 - 1`, from -1 to 1.
    * `"torch"`: `(x / 255 - means) / deviations` of ImageNet's channels.

    Args:
        x: images with pixels from 0 to 255: an array, a tensor or a symbolic tensor. An array of floats is
            changed in place; integers become `config.floatx()`; lists become arrays.
        data_format: `"channels_last"` or `"channels_first"`; `None` for `config.image_data_format()`.
        mode: `"caffe"`, `"tf"` or `"torch"`. Default: `"caffe"`.

    Returns:
        The images, as an array or tensor of the same shape.

    Raises:
        ValueError: for an unknown mode or format, and for images that do not have three channels if the
            mode has a mean for each channel.

    Example:
        >>> preprocess_input(np.array([[[0, 127.5, 255]]]), mode="tf")
        array([[[-1.,  0.,  1.]]])
    """
    if mode not in ("caffe", "tf", "torch"):
        raise ValueError(f'`mode` must be "caffe", "tf" or "torch". Received: mode={mode!r}')
    data_format = data_format or settings.image_data_format()
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(
            '`data_format` must be "channels_first" or "channels_last". '
            f"Received: data_format={data_format!r}"
        )
    if not hasattr(x, "shape"):
        x = np.array(x)
    ndim = len(x.shape)
    if ndim == 0:
        raise ValueError(
            f"`x` must be one image or a batch of them. Received: {x}. A file is read by "
            "`tfkit.utils.img_to_array(tfkit.utils.load_img(path))`."
        )
    axis = ndim - 1 if data_format == "channels_last" else 0 if ndim == 3 else 1
    if mode != "tf" and x.shape[axis] not in (3, None):
        raise ValueError(
            f"Images must have 3 channels for mode={mode!r}, at axis {axis} ({data_format}). "
            f"Received: x of shape {tuple(x.shape)}"
        )
    if isinstance(x, np.ndarray):
        return _of_array(x, mode, axis)
    return _of_tensor(x, mode, axis)


def _of_array(x: np.ndarray, mode: str, axis: int) -> np.ndarray:
    """Returns preprocessed images; float images are changed in place, which saves memory."""
    if not np.issubdtype(x.dtype, np.floating):
        x = x.astype(settings.floatx())
    elif not x.flags.writeable:
        x = x.copy()
    if mode == "tf":
        x /= 127.5
        x -= 1.0
        return x
    if mode == "caffe":
        x = np.flip(x, axis)
        x -= _along(_BGR_MEANS, axis, x.ndim).astype(x.dtype)
        return x
    x /= 255.0
    x -= _along(_RGB_MEANS, axis, x.ndim).astype(x.dtype)
    x /= _along(_RGB_DEVIATIONS, axis, x.ndim).astype(x.dtype)
    return x


def _of_tensor(x: Any, mode: str, axis: int) -> Any:
    """Returns preprocessed images, by operations that a model can record."""
    if not tf.as_dtype(standardize_dtype(x.dtype)).is_floating:
        x = cast(x, settings.floatx())
    if mode == "tf":
        return x / 127.5 - 1.0

    def constant(values: tuple[float, ...]) -> tf.Tensor:
        return tf.constant(_along(values, axis, len(x.shape)), standardize_dtype(x.dtype))

    if mode == "caffe":
        return flip(x, axis) - constant(_BGR_MEANS)
    return (x / 255.0 - constant(_RGB_MEANS)) / constant(_RGB_DEVIATIONS)


def _along(values: tuple[float, ...], axis: int, ndim: int) -> np.ndarray:
    """Returns one value for each channel, in a shape that broadcasts with images."""
    return np.reshape(values, [len(values) if each == axis else 1 for each in range(ndim)])


@shortened
def decode_predictions(preds: Any, top: int = 5) -> list[list[tuple[str, str, Any]]]:
    """Returns the most probable of ImageNet's classes for each image.

    The names of the classes are downloaded the first time.

    Args:
        preds: scores of shape `(images, 1000)`, an array or a tensor.
        top: number of classes for each image. Default: `5`.

    Returns:
        A list for each image, of tuples `(identifier, name, score)`, the highest score first.

    Raises:
        ValueError: for scores of a different shape, and if `top` is not a positive integer.
        OSError: if the names cannot be fetched.

    Example:
        ```python
        model = tfkit.applications.MobileNetV2()
        scores = model.predict(images)
        for identifier, name, score in tfkit.applications.imagenet_utils.decode_predictions(scores)[
            0
        ]:
            print(name, score)
        ```
    """
    shape = tuple(getattr(preds, "shape", np.shape(preds)))
    if len(shape) != 2 or shape[1] != _CLASSES:
        raise ValueError(
            f"`preds` must be scores of ImageNet's classes, of shape (images, {_CLASSES}): those of a model "
            f"with include_top=True and classes={_CLASSES}. Received: preds of shape {shape}"
        )
    if isinstance(top, bool) or not isinstance(top, (int, np.integer)) or top < 1:
        raise ValueError(f"`top` must be a positive integer. Received: top={top!r}")
    names = _class_names()
    return [_decoded(scores, names, int(top)) for scores in np.asarray(preds)]


def _decoded(
    scores: np.ndarray, names: list[tuple[str, str]], top: int
) -> list[tuple[str, str, Any]]:
    highest = np.argsort(scores)[::-1][:top]
    return [(*names[index], scores[index]) for index in highest]


@functools.cache
def _class_names() -> list[tuple[str, str]]:
    """Returns identifier and name of each class, in the order of the scores."""
    file = get_file(
        "imagenet_class_index.json", CLASS_INDEX, cache_subdir="models", file_hash=CLASS_INDEX_MD5
    )
    index = json.loads(Path(file).read_text("utf-8"))
    return [tuple(index[str(number)]) for number in range(_CLASSES)]
