"""`ImageDataGenerator`: the random changes of images, and their normalization."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfkit.src.base import settings
from tfkit.src.base.errors.frames import warn
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.registry.constructors import given
from tfkit.src.outer.legacy.image_generator.batches import NumpyArrayIterator, warn_of_channels
from tfkit.src.outer.legacy.image_generator.folders import DirectoryIterator
from tfkit.src.outer.legacy.image_generator.tables import DataFrameIterator
from tfkit.src.outer.legacy.image_generator.transforms import (
    Axes,
    Draws,
    apply_affine_transform,
    apply_brightness_shift,
    apply_channel_shift,
    pair,
)

_NEVER_ZERO = 1e-6  # added to standard deviations


class ImageDataGenerator:
    """Makes batches of images that are changed at random, for programs of `tf.keras`.

    Layers such as `RandomRotation` and `image_dataset_from_directory` are newer and faster.

    An image is rotated, shifted, sheared, zoomed, shifted in its values, flipped, made lighter, and then
    normalized: `preprocessing_function`, `rescale`, its own mean and deviation, those of the data.

    Args:
        featurewise_center: whether the mean of the data is subtracted; `fit` computes it. Default: `False`.
        samplewise_center: whether the mean of each image is subtracted. Default: `False`.
        featurewise_std_normalization: whether images are divided by the standard deviation of the data.
            Default: `False`.
        samplewise_std_normalization: whether each image is divided by its own. Default: `False`.
        zca_whitening: whether images are made uncorrelated by the data's covariance; `fit` computes it.
            Default: `False`.
        zca_epsilon: added to the covariance's eigenvalues. Default: `1e-6`.
        rotation_range: the largest angle, in degrees. Default: `0`.
        width_shift_range: the largest shift of columns: a fraction of the width below 1, or pixels; a whole
            number of pixels `n` for one of `-(n - 1)` to `n - 1`, a list to choose from. Default: `0.0`.
        height_shift_range: the same for rows. Default: `0.0`.
        brightness_range: the smallest and the largest factor for the brightness; `None` for 1. It
            rounds values as an image file does.
        shear_range: the largest angle, in degrees. Default: `0.0`.
        zoom_range: the smallest and largest factor, or a number `z` for `1 - z` to `1 + z`. Default: `0.0`.
        channel_shift_range: the largest number that is added to the values. Default: `0.0`.
        fill_mode: `"nearest"`, `"constant"`, `"reflect"` or `"wrap"`: the pixels outside the image.
            Default: `"nearest"`.
        cval: their value for `"constant"`. Default: `0.0`.
        horizontal_flip: whether half of the images are mirrored left to right. Default: `False`.
        vertical_flip: whether half of them are mirrored top to bottom. Default: `False`.
        rescale: factor for the values; `None` or 0 for none.
        preprocessing_function: a function of an image that returns one of the same shape; `None` for none.
        data_format: `"channels_last"` or `"channels_first"`; `None` for the value of
            `config.image_data_format()`.
        validation_split: the part of the images that `subset="validation"` of the `flow` methods uses.
            Default: `0.0`.
        interpolation_order: order of the splines between pixels. Default: `1`.
        dtype: dtype of the images; `None` for the default float dtype.

    Raises:
        ValueError: for an invalid argument.

    Example:
        >>> generator = ImageDataGenerator(rotation_range=20, horizontal_flip=True, rescale=1 / 255)
        >>> images, labels = next(generator.flow(np.ones((8, 4, 4, 3)), np.arange(8), batch_size=4))
        >>> images.shape, labels.shape
        ((4, 4, 4, 3), (4,))
    """

    def __init__(
        self,
        featurewise_center: bool = False,
        samplewise_center: bool = False,
        featurewise_std_normalization: bool = False,
        samplewise_std_normalization: bool = False,
        zca_whitening: bool = False,
        zca_epsilon: float = 1e-6,
        rotation_range: float = 0,
        width_shift_range: Any = 0.0,
        height_shift_range: Any = 0.0,
        brightness_range: Sequence[float] | None = None,
        shear_range: float = 0.0,
        zoom_range: Any = 0.0,
        channel_shift_range: float = 0.0,
        fill_mode: str = "nearest",
        cval: float = 0.0,
        horizontal_flip: bool = False,
        vertical_flip: bool = False,
        rescale: float | None = None,
        preprocessing_function: Callable[[Any], Any] | None = None,
        data_format: str | None = None,
        validation_split: float = 0.0,
        interpolation_order: int = 1,
        dtype: Any = None,
    ) -> None:
        self.rotation_range = rotation_range
        self.width_shift_range, self.height_shift_range = width_shift_range, height_shift_range
        self.brightness_range = (
            None if brightness_range is None else pair(brightness_range, "brightness_range")
        )
        self.shear_range = shear_range
        self.zoom_range = _zoom(zoom_range)
        self.channel_shift_range = channel_shift_range
        self.fill_mode, self.cval = fill_mode, cval
        self.horizontal_flip, self.vertical_flip = horizontal_flip, vertical_flip
        self.interpolation_order = interpolation_order
        self.rescale = rescale
        self.preprocessing_function = preprocessing_function
        self.data_format = settings.standardize_data_format(data_format)
        self.validation_split = _fraction(validation_split)
        self.dtype = settings.floatx() if dtype is None else dtype

        # A division by deviations, and whitening, are for values about their mean.
        self.samplewise_center = samplewise_center or samplewise_std_normalization
        self.samplewise_std_normalization = samplewise_std_normalization
        self.featurewise_center = (
            featurewise_center or featurewise_std_normalization or zca_whitening
        )
        self.featurewise_std_normalization = featurewise_std_normalization and not zca_whitening
        self.zca_whitening, self.zca_epsilon = zca_whitening, zca_epsilon
        self.mean: Any = None
        self.std: Any = None
        self.zca_whitening_matrix: Any = None
        if zca_whitening and featurewise_std_normalization:
            warn("`zca_whitening` replaces `featurewise_std_normalization`, which is ignored.")

    # --- Batches --------------------------------------------------------------------------------------

    @shortened
    def flow(
        self,
        x: Any,
        y: Any = None,
        batch_size: int = 32,
        shuffle: bool = True,
        sample_weight: Any = None,
        seed: int | None = None,
        save_to_dir: Any = None,
        save_prefix: str = "",
        save_format: str = "png",
        ignore_class_split: bool = False,
        subset: str | None = None,
    ) -> NumpyArrayIterator:
        """Returns endless batches of images of an array.

        Args:
            x: the images, of shape `(n, height, width, channels)`; or a tuple of them and arrays, which
                are in the batches, unchanged.
            y: the labels; `None` for batches of images only.
            batch_size: number of images in a batch. Default: `32`.
            shuffle: whether each pass has a new order. Default: `True`.
            sample_weight: a weight for each image; `None` for none.
            seed: a seed for the order and the changes; `None` for the draws of `np.random`.
            save_to_dir: a folder for the changed images, for inspection; `None` to save none.
            save_prefix: the beginning of the names of these files. Default: `""`.
            save_format: their format. Default: `"png"`.
            ignore_class_split: whether a subset may lack classes. Default: `False`.
            subset: `"training"` or `"validation"`, with `validation_split`; `None` for all images.

        Raises:
            ValueError: for arrays of different lengths, for images without four axes, for an unknown
                subset, for a subset that lacks classes.
        """
        return NumpyArrayIterator(**given(locals()), **self._for_iterators)

    @shortened
    def flow_from_directory(
        self,
        directory: Any,
        target_size: tuple[int, int] = (256, 256),
        color_mode: str = "rgb",
        classes: Sequence[str] | None = None,
        class_mode: str | None = "categorical",
        batch_size: int = 32,
        shuffle: bool = True,
        seed: int | None = None,
        save_to_dir: Any = None,
        save_prefix: str = "",
        save_format: str = "png",
        follow_links: bool = False,
        subset: str | None = None,
        interpolation: str = "nearest",
        keep_aspect_ratio: bool = False,
    ) -> DirectoryIterator:
        """Returns endless batches of the images of a folder, which has a subfolder for each class.

        Args:
            directory: the folder.
            target_size: rows and columns to which images are resized. Default: `(256, 256)`.
            color_mode: `"rgb"`, `"rgba"` or `"grayscale"`. Default: `"rgb"`.
            classes: names of the subfolders; `None` for all, in alphabetical order.
            class_mode: the labels: `"categorical"` for one-hot vectors, `"binary"` or `"sparse"` for indices,
                `"input"` for the images themselves, `None` for none. Default: `"categorical"`.
            batch_size: number of images in a batch. Default: `32`.
            shuffle: whether each pass has a new order. Default: `True`.
            seed: a seed for the order and the changes; `None` for the draws of `np.random`.
            save_to_dir: a folder for the changed images, for inspection; `None` to save none.
            save_prefix: the beginning of the names of these files. Default: `""`.
            save_format: their format. Default: `"png"`.
            follow_links: whether links to folders are followed. Default: `False`.
            subset: `"training"` or `"validation"`, with `validation_split`; `None` for all images.
            interpolation: as in `load_img`. Default: `"nearest"`.
            keep_aspect_ratio: whether images are cropped to the shape of `target_size` instead of distorted.
                Default: `False`.

        Raises:
            ValueError: for any other mode or subset.
            OSError: if the folder cannot be read.
        """
        return DirectoryIterator(**given(locals()), **self._for_iterators)

    @shortened
    def flow_from_dataframe(
        self,
        dataframe: Any,
        directory: Any = None,
        x_col: str = "filename",
        y_col: Any = "class",
        weight_col: str | None = None,
        target_size: tuple[int, int] = (256, 256),
        color_mode: str = "rgb",
        classes: Sequence[str] | None = None,
        class_mode: str | None = "categorical",
        batch_size: int = 32,
        shuffle: bool = True,
        seed: int | None = None,
        save_to_dir: Any = None,
        save_prefix: str = "",
        save_format: str = "png",
        subset: str | None = None,
        interpolation: str = "nearest",
        validate_filenames: bool = True,
        *,
        keep_aspect_ratio: bool = False,
    ) -> DataFrameIterator:
        """Returns endless batches of the images whose files a table of pandas names.

        Args:
            dataframe: the table.
            directory: the folder of the files; `None` if the table has full paths.
            x_col: the column with the names of files. Default: `"filename"`.
            y_col: the column with the labels, or a list of columns. Default: `"class"`.
            weight_col: the column with weights; `None` for none.
            target_size: rows and columns to which images are resized. Default: `(256, 256)`.
            color_mode: `"rgb"`, `"rgba"` or `"grayscale"`. Default: `"rgb"`.
            classes: the classes, in the order of their indices; `None` for the classes of the table, sorted.
            class_mode: the labels: `"categorical"` for one-hot vectors (of several classes if a row has a
                list), `"binary"` or `"sparse"` for indices, `"raw"` for the columns as they are,
                `"multi_output"` for a list of columns, `"input"` for the images themselves, `None` for none.
                Default: `"categorical"`.
            batch_size: number of images in a batch. Default: `32`.
            shuffle: whether each pass has a new order. Default: `True`.
            seed: a seed for the order and the changes; `None` for the draws of `np.random`.
            save_to_dir: a folder for the changed images, for inspection; `None` to save none.
            save_prefix: the beginning of the names of these files. Default: `""`.
            save_format: their format. Default: `"png"`.
            subset: `"training"` or `"validation"`, with `validation_split`; `None` for all images.
            interpolation: as in `load_img`. Default: `"nearest"`.
            validate_filenames: whether rows whose files do not exist are left out, with a warning. Without
                this, a missing file is an error when its batch is made. Default: `True`.
            keep_aspect_ratio: whether images are cropped to the shape of `target_size` instead of distorted.
                Default: `False`.

        Raises:
            ValueError: for any other mode or subset; for columns that the table does not have.
            TypeError: for columns with other values.
        """
        return DataFrameIterator(**given(locals()), **self._for_iterators)

    @property
    def _for_iterators(self) -> dict[str, Any]:
        """The arguments of iterators that the generator has."""
        own = {"data_format": self.data_format, "dtype": self.dtype}
        return {"image_data_generator": self, **own}

    # --- Normalization --------------------------------------------------------------------------------

    @shortened
    def fit(self, x: Any, augment: bool = False, rounds: int = 1, seed: int | None = None) -> None:
        """Computes the statistics of images that the normalization by features needs.

        Args:
            x: the images, of shape `(n, height, width, channels)`.
            augment: whether the images are changed at random first. Default: `False`.
            rounds: number of passes over the images with `augment`. Default: `1`.
            seed: a seed for the changes; `None` for the draws of `np.random`.

        Raises:
            ValueError: for an array without four axes.
        """
        x = np.array(x, dtype=self.dtype)
        if x.ndim != 4:
            raise ValueError(
                f"`fit()` needs images of shape (n, height, width, channels). Received: x of shape {x.shape}"
            )
        axes = self._axes
        warn_of_channels(x, self.data_format)
        draws = _draws(seed)
        if augment:
            changed = [self._changed(image, draws) for _ in range(rounds) for image in x]
            x = np.array(changed, dtype=self.dtype)
        # Statistics are one number for each channel; the axes of an image follow that of the batch.
        over = (0, axes.row + 1, axes.col + 1)
        mean = std = whitening = None
        if self.featurewise_center:
            mean = np.mean(x, axis=over, keepdims=True)[0]
            x = x - mean
        if self.featurewise_std_normalization:
            std = np.std(x, axis=over, keepdims=True)[0]
            x = x / (std + _NEVER_ZERO)
        if self.zca_whitening:
            # A row for each image, of all its values.
            whitening = _whitening(x.reshape(len(x), -1), self.zca_epsilon)
        self.mean, self.std, self.zca_whitening_matrix = mean, std, whitening

    @shortened
    def standardize(self, x: Any) -> Any:
        """Returns an image that is normalized; the array may be changed.

        Args:
            x: one image, of a float dtype.
        """
        if self.preprocessing_function:
            x = self.preprocessing_function(x)
        if self.rescale:
            x = x * self.rescale
        if self.samplewise_center:
            x = x - np.mean(x, keepdims=True)
        if self.samplewise_std_normalization:
            x = x / (np.std(x, keepdims=True) + _NEVER_ZERO)
        if self.featurewise_center and self._has(self.mean, "featurewise_center"):
            x = x - self.mean
        if self.featurewise_std_normalization and self._has(
            self.std, "featurewise_std_normalization"
        ):
            x = x / (self.std + _NEVER_ZERO)
        if self.zca_whitening and self._has(self.zca_whitening_matrix, "zca_whitening"):
            x = (np.reshape(x, (1, -1)) @ self.zca_whitening_matrix).reshape(np.shape(x))
        return x

    def _has(self, statistic: Any, option: str) -> bool:
        if statistic is None:
            warn(
                f"`{option}` needs statistics of the data. Call `fit(images)` first; it is left out."
            )
        return statistic is not None

    # --- Changes --------------------------------------------------------------------------------------

    @shortened
    def random_transform(self, x: Any, seed: int | None = None) -> Any:
        """Returns an image that is changed at random.

        Args:
            x: one image.
            seed: a seed; `None` for the draws of `np.random`.
        """
        return self._changed(x, _draws(seed))

    def _changed(self, x: Any, draws: Draws) -> Any:
        """Returns an image that is changed by the next draws."""
        return self.apply_transform(x, self._transform(np.shape(x), draws))

    @shortened
    def get_random_transform(self, img_shape: Any, seed: int | None = None) -> dict[str, Any]:
        """Returns the parameters of a random change, by name, as `apply_transform` accepts them.

        Args:
            img_shape: shape of the image.
            seed: a seed; `None` for the draws of `np.random`.
        """
        return self._transform(img_shape, _draws(seed))

    def _transform(self, shape: Any, draws: Draws) -> dict[str, Any]:
        """Returns the parameters of a random change; they are drawn in the same order as in Keras."""
        axes = self._axes
        theta = _angle(self.rotation_range, draws)
        ty = _shift(self.height_shift_range, shape[axes.row], draws)
        tx = _shift(self.width_shift_range, shape[axes.col], draws)
        shear = _angle(self.shear_range, draws)
        least, most = self.zoom_range
        # Two factors: the height and the width change independently.
        zx, zy = (1, 1) if least == most == 1 else draws.uniform(least, most, 2)
        # Flips are drawn even if they are not wanted,
        # so that an option leaves later draws the same.
        horizontal = int((draws.random_sample() < 0.5) * self.horizontal_flip)
        vertical = int((draws.random_sample() < 0.5) * self.vertical_flip)
        intensity = brightness = None
        if self.channel_shift_range != 0:
            intensity = draws.uniform(-self.channel_shift_range, self.channel_shift_range)
        if self.brightness_range is not None:
            brightness = draws.uniform(*self.brightness_range)
        return {
            "theta": theta,
            "tx": tx,
            "ty": ty,
            "shear": shear,
            "zx": zx,
            "zy": zy,
            "flip_horizontal": horizontal,
            "flip_vertical": vertical,
            "channel_shift_intensity": intensity,
            "brightness": brightness,
        }

    @shortened
    def apply_transform(self, x: Any, transform_parameters: dict[str, Any]) -> Any:
        """Returns an image changed by given parameters.

        Args:
            x: one image.
            transform_parameters: some of `"theta"` (degrees), `"tx"` and `"ty"` (pixels, of columns and
                rows), `"shear"` (degrees), `"zx"`, `"zy"`, `"flip_horizontal"`, `"flip_vertical"`,
                `"channel_shift_intensity"` and `"brightness"`.
        """
        axes, given = self._axes, transform_parameters.get
        x = apply_affine_transform(
            x,
            given("theta", 0), given("tx", 0), given("ty", 0), given("shear", 0),
            given("zx", 1), given("zy", 1), *axes,
            fill_mode=self.fill_mode, cval=self.cval, order=self.interpolation_order,
        )  # fmt: skip
        intensity, brightness = given("channel_shift_intensity"), given("brightness")
        if intensity is not None:
            x = apply_channel_shift(x, intensity, axes.channel)
        if given("flip_horizontal"):
            x = np.flip(x, axes.col)
        if given("flip_vertical"):
            x = np.flip(x, axes.row)
        if brightness is not None:
            x = apply_brightness_shift(x, brightness, scale=False)
        return x

    @property
    def _axes(self) -> Axes:
        """The axes of one image."""
        return Axes(1, 2, 0) if self.data_format == "channels_first" else Axes(0, 1, 2)


def _draws(seed: int | None) -> Draws:
    """Returns NumPy's draws, or draws from a seed, which do not change NumPy's generator."""
    return np.random if seed is None else np.random.RandomState(seed)


def _angle(largest: float, draws: Draws) -> float:
    return draws.uniform(-largest, largest) if largest else 0


def _shift(largest: Any, size: int, draws: Draws) -> float:
    """Returns a shift in pixels."""
    # Integers are pixels, a sequence lists the shifts to choose from.
    if isinstance(largest, (int, np.integer)) or np.ndim(largest):
        if not np.any(largest):
            return 0
        shift = draws.choice(largest) * draws.choice([-1, 1])
    else:
        shift = draws.uniform(-largest, largest) if largest else 0
    # A float below 1 is a share of the size, others are pixels.
    return shift * size if np.max(largest) < 1 else shift


def _whitening(rows: np.ndarray, epsilon: float) -> np.ndarray:
    """Returns the matrix of ZCA: the inverse root of the covariance of rows, in the axes of the data."""
    # The covariance is V S^2 V^T / n, with the right singular vectors V of the rows.
    _, singular, axes = np.linalg.svd(rows, full_matrices=False)
    scales = 1 / np.sqrt(singular**2 / len(rows) + epsilon)
    return (axes.T * scales) @ axes


def _zoom(value: Any) -> tuple[float, float]:
    if isinstance(value, (int, float)):
        return 1 - value, 1 + value
    pair = value if isinstance(value, (tuple, list)) else ()
    if len(pair) == 2 and all(isinstance(factor, (int, float)) for factor in pair):
        return pair[0], pair[1]
    raise ValueError(f"`zoom_range` must be a float or two floats. Received: zoom_range={value!r}")


def _fraction(value: float) -> float:
    if value and not 0 < value < 1:
        raise ValueError(
            f"`validation_split` must be 0, or between 0 and 1. Received: validation_split={value!r}"
        )
    return value
