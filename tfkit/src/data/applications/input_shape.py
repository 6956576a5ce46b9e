"""The sizes of the images that a model accepts."""

from __future__ import annotations

from collections.abc import Sequence

from tfkit.src.base import settings
from tfkit.src.data.applications.options import Options
from tfkit.src.symbolic.tensors import KerasTensor

Sizes = tuple[int | None, ...]

CHANNELS = 3


def channels_first() -> bool:
    """Whether images have their channels before rows and columns."""
    return settings.image_data_format() == "channels_first"


def needs_channels_last(family: str) -> None:
    """Raises an error for the other image data format.

    Raises:
        ValueError: if `config.image_data_format()` is `"channels_first"`.
    """
    if channels_first():
        raise ValueError(
            f"{family} needs images with channels last: call `tfkit.config.set_image_data_format("
            '"channels_last")` first. Received: the image data format is "channels_first"'
        )


def channel_axis(last: int = 3) -> int:
    """Returns the axis of the channels in a batch of images.

    Args:
        last: the axis if channels are last. Default: `3`.
    """
    return 1 if channels_first() else last


def with_channels(rows: int | None, columns: int | None, channels: int | None) -> Sizes:
    """Returns the shape of an image in the format of `config.image_data_format()`."""
    return (channels, rows, columns) if channels_first() else (rows, columns, channels)


def rows_and_columns(shape: Sequence[int | None]) -> tuple[int | None, int | None]:
    """Returns rows and columns of the shape of an image."""
    rows, columns = shape[1:] if channels_first() else shape[:2]
    return rows, columns


def image_shape(options: Options, *, size: int, min_size: int) -> Sizes:
    """Returns the shape of the images, after checking the one that was passed.

    Args:
        options: the arguments of the model.
        size: rows and columns with a classifier, if no shape was passed.
        min_size: the smallest number of rows and columns for which the network works.

    Raises:
        ValueError: for a shape without three sizes, for one that is too small, for one with unknown
            sizes in front of a classifier, and for one that does not fit the published weights.
    """
    default = with_channels(size, size, CHANNELS)
    if options.input_shape is None:
        return default if options.include_top else with_channels(None, None, CHANNELS)
    shape = checked(options, min_size)
    if options.published and options.include_top and shape != default:
        raise ValueError(
            f'With weights="imagenet" and include_top=True, `input_shape` must be {default}, for which the '
            "classifier was trained. For images of other sizes, pass include_top=False. "
            f"Received: input_shape={options.input_shape!r}"
        )
    if options.include_top and None in shape:
        raise ValueError(
            "With include_top=True, all sizes in `input_shape` must be known: pass integers, or "
            f"include_top=False. Received: input_shape={options.input_shape!r}"
        )
    return shape


def checked(options: Options, min_size: int) -> Sizes:
    """Returns the shape that was passed, as a tuple.

    Raises:
        ValueError: for a shape without three sizes, for one that is too small, and for a number of
            channels that the published weights do not have.
    """
    received = f"Received: input_shape={options.input_shape!r}"
    shape = options.input_shape
    if not isinstance(shape, (tuple, list)) or len(shape) != 3:
        raise ValueError(
            "`input_shape` must be a tuple of three sizes, without the size of the batch, such as "
            f"{with_channels(224, 224, CHANNELS)}. {received}"
        )
    channels = shape[0] if channels_first() else shape[-1]
    if options.published and channels != CHANNELS:
        raise ValueError(
            f'With weights="imagenet" images must have {CHANNELS} channels. With '
            f"{settings.image_data_format()!r}, the image data format, `input_shape` is of the form "
            f"{with_channels(224, 224, CHANNELS)}. {received}"
        )
    if any(each is not None and each < min_size for each in rows_and_columns(shape)):
        raise ValueError(f"Images must have at least {min_size} x {min_size} pixels. {received}")
    return tuple(shape)


def check_like(input_tensor: KerasTensor | None, input_shape: Sequence[int | None] | None) -> None:
    """Raises an error for an `input_shape` that contradicts an `input_tensor`.

    Raises:
        ValueError: if both were passed and their sizes differ.
    """
    if input_tensor is None or input_shape is None:
        return
    if tuple(input_tensor.shape[1:]) != tuple(input_shape):
        raise ValueError(
            "`input_shape` and the shape of `input_tensor` without the batch must be equal; it is enough to "
            f"pass one of the two. Received: input_shape={input_shape!r}, where `input_tensor` has "
            f"{tuple(input_tensor.shape[1:])}"
        )


def published_size(shape: Sequence[int | None] | None, sizes: Sequence[int]) -> int:
    """Returns the image size with published weights that suits a shape best: 224 for most.

    Args:
        shape: shape of the images; `None` for any.
        sizes: rows, and columns, of the images for which there are weights.
    """
    if shape is None or len(shape) != 3:
        return 224
    rows, columns = rows_and_columns(shape)
    return rows if rows is not None and rows == columns and rows in sizes else 224
