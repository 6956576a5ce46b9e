"""Layers that equalize histograms of images, as a whole or around each pixel."""

from __future__ import annotations

from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.layers.checks import check, is_integer
from tfkit.src.layers.image import factors
from tfkit.src.layers.image.base import BoxedOptions, ImageLayer, shape_of, with_values_from_0_to_1
from tfkit.src.ops.image_sampling import index_inside


def _counts(groups: tf.Tensor, num_groups: Any, bins: tf.Tensor, num_bins: int) -> tf.Tensor:
    """Returns the counts of the values 0 to `num_bins - 1` in each group, of shape `(groups, bins)`."""
    index = tf.reshape(groups * num_bins + bins, [-1])
    ones = tf.ones_like(index, tf.float32)
    return tf.reshape(
        tf.math.unsorted_segment_sum(ones, index, num_groups * num_bins), [num_groups, num_bins]
    )


def _even(counts: tf.Tensor, least: tf.Tensor) -> tf.Tensor:
    """Returns, for each value, the fraction of its group that is below it."""
    sums = tf.cumsum(counts, axis=-1)
    return tf.math.divide_no_nan(sums - least, sums[:, -1:] - least)


def _bin_of(values: tf.Tensor, num_bins: int) -> tf.Tensor:
    """Returns the number of the bin of each value from 0 to 1.

    NaN is in the first bin: converted to an integer, it is the lowest one in TensorFlow and 0 in XLA.
    """
    bins = tf.cast(tf.clip_by_value(values, 0.0, 1.0) * (num_bins - 1), tf.int32)
    return tf.where(tf.math.is_nan(values), 0, bins)


def _but_nan(even: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    """Returns `even`, and NaN where `values` are NaN."""
    return tf.where(tf.math.is_nan(values), values, even)


class Equalization(ImageLayer):
    """While training, maps the values of each channel so that all are about equally frequent.

    Args:
        value_range: the smallest and the largest value of the images. Default: `(0, 255)`.
        bins: number of distinct values. Default: `256`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        **kwargs: `bounding_box_format`, the format of boxes (`None`); and the arguments of every layer:
            `name`, `trainable`, `dtype`.

    Call arguments:
        data: images; or a dictionary of `"images"` and any of `"labels"`, `"bounding_boxes"` (a
            dictionary of `"boxes"` and `"labels"`) and `"segmentation_masks"`.
        training: whether to change anything. Default: `True`.

    Input shape: `(height, width, channels)` or `(batch, height, width, channels)`; channels before
        height with `data_format="channels_first"`.

    Output shape: The same as the input shape.

    Raises:
        ValueError: for a `value_range` that is not a pair, and `bins` that are not an integer above 1.

    Example:
        >>> Equalization()(tf.constant([[[10.0], [11.0], [12.0]]])).numpy().ravel().tolist()
        [0.0, 128.0, 255.0]
    """

    def __init__(
        self,
        value_range: Any = (0, 255),
        bins: int = 256,
        data_format: str | None = None,
        **kwargs: Unpack[BoxedOptions],
    ) -> None:
        super().__init__(data_format=data_format, **kwargs)
        check(self, is_integer(bins) and bins > 1, "bins", "an integer above 1", bins)
        self.value_range = factors.pair_of_values(self, value_range)
        self.bins = bins

    def change(self, images: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns the images, equalized."""
        return with_values_from_0_to_1(images, self.value_range, self._equalized)

    def _equalized(self, values: tf.Tensor) -> tf.Tensor:
        batch, height, width, channels = shape_of(values)
        bins = _bin_of(values, self.bins)
        # Each channel of each image has its own histogram: a row.
        bins = tf.reshape(tf.transpose(bins, [0, 3, 1, 2]), [batch * channels, height * width])
        groups = tf.range(batch * channels)[:, tf.newaxis]
        counts = _counts(groups, batch * channels, bins, self.bins)  # (batch * channels, bins)
        # The smallest existing value becomes 0.
        first = tf.argmax(counts > 0, axis=-1, output_type=tf.int32)
        least = tf.gather(counts, first[:, tf.newaxis], batch_dims=1)
        # Rounded to 8 bits, whatever the number of bins, as in Keras.
        table = tf.round(_even(counts, least) * 255.0) / 255.0
        even = tf.reshape(tf.gather(table, bins, batch_dims=1), [batch, channels, height, width])
        even = tf.cast(tf.transpose(even, [0, 2, 3, 1]), values.dtype)
        has_one_value = tf.reshape(
            least == tf.reduce_sum(counts, -1, True), [batch, 1, 1, channels]
        )
        return tf.where(has_one_value, values, _but_nan(even, values))


class ContrastLimitedAdaptiveHistogramEqualization(ImageLayer):
    """Makes the values around each pixel about equally frequent, with a limit to the contrast.

    An image is cut into tiles, each of which has a table of values made from its histogram; a pixel gets the
    mean of the tables of the four nearest tiles, weighted by its distance from their middles.

    Args:
        value_range: the smallest and the largest value of the images. Default: `(0, 255)`.
        clip_limit: how many times the mean frequency a value may have; the excess is shared among all
            values. 0 for no limit. Default: `4.0`.
        tile_grid_size: number of tiles downwards and to the side. Default: `(8, 8)`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        **kwargs: `bounding_box_format`, the format of boxes (`None`); and the arguments of every layer:
            `name`, `trainable`, `dtype`.

    Call arguments:
        data: images; or a dictionary of `"images"` and any of `"labels"`, `"bounding_boxes"` (a
            dictionary of `"boxes"` and `"labels"`) and `"segmentation_masks"`.

    Input shape: `(height, width, channels)` or `(batch, height, width, channels)`; channels before
        height with `data_format="channels_first"`.

    Output shape: The same as the input shape.

    Raises:
        ValueError: for a `value_range` or a `tile_grid_size` that is not a pair.

    Reference:
        Zuiderveld, "Contrast limited adaptive histogram equalization", 1994.

    Example:
        >>> image = tf.reshape(tf.range(64.0), (8, 8, 1))
        >>> outputs = ContrastLimitedAdaptiveHistogramEqualization(tile_grid_size=(2, 2))(image)
        >>> bool(tf.math.reduce_std(outputs) > tf.math.reduce_std(image))
        True
    """

    _only_in_training = False
    _keeps_integers = True
    _bins = 256

    def __init__(
        self,
        value_range: Any = (0, 255),
        clip_limit: float = 4.0,
        tile_grid_size: Any = (8, 8),
        data_format: str | None = None,
        **kwargs: Unpack[BoxedOptions],
    ) -> None:
        super().__init__(data_format=data_format, **kwargs)
        holds = factors.is_pair(tile_grid_size) and min(tile_grid_size) > 0
        check(self, holds, "tile_grid_size", "two positive integers", tile_grid_size)
        self.value_range = factors.pair_of_values(self, value_range)
        self.clip_limit = clip_limit
        self.tile_grid_size = tuple(tile_grid_size)

    def change(self, images: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns the images, equalized."""
        return with_values_from_0_to_1(images, self.value_range, self._equalized)

    def _equalized(self, values: tf.Tensor) -> tf.Tensor:
        batch, height, width, channels = shape_of(values)
        rows, columns = self.tile_grid_size
        tile_height, tile_width = -(-height // rows), -(-width // columns)
        bins = tf.transpose(_bin_of(values, self._bins), [0, 3, 1, 2])
        # Images that do not end with a tile are padded by reflection.
        whole = bins
        for axis, size, length in (
            (2, rows * tile_height, height),
            (3, columns * tile_width, width),
        ):
            whole = tf.gather(whole, index_inside(tf.range(size), length, "reflect"), axis=axis)
        image = tf.reshape(tf.range(batch * channels), [batch, channels, 1, 1])
        y, x = tf.range(rows * tile_height), tf.range(columns * tile_width)
        # (batch, channels, height, width): the tile of each pixel
        groups = (image * rows + (y // tile_height)[:, tf.newaxis]) * columns + x // tile_width
        counts = _counts(groups, batch * channels * rows * columns, whole, self._bins)
        if self.clip_limit > 0:
            pixels = tf.cast(tile_height * tile_width, tf.float32)
            limit = tf.cast(self.clip_limit, tf.float32) * pixels / self._bins
            excess = tf.reduce_sum(tf.maximum(counts - limit, 0.0), axis=-1, keepdims=True)
            # Counts that are cut off are spread over all bins (Zuiderveld, 1994): the total stays the number
            # of pixels.
            counts = tf.minimum(counts, limit) + excess / self._bins
        tables = tf.reshape(_even(counts, counts[:, :1]), [-1])

        def nearest(size: Any, tile: Any, num_tiles: int) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
            """Returns the tiles before and after each pixel of an axis, and the weight of the second."""
            # In units of tiles, from the middle of the first one: a table is exact in the middle
            # of its tile.
            place = tf.cast(tf.range(size), tf.float32) / tf.cast(tile, tf.float32) - 0.5
            first = tf.floor(place)
            index = tf.cast(first, tf.int32)
            tiles = [tf.clip_by_value(i, 0, num_tiles - 1) for i in (index, index + 1)]
            return tiles[0], tiles[1], place - first

        above, below, down = nearest(height, tile_height, rows)
        left, right, aside = nearest(width, tile_width, columns)

        def read(row: tf.Tensor, column: tf.Tensor) -> tf.Tensor:
            tile = (image * rows + row[:, tf.newaxis]) * columns + column
            return tf.gather(tables, tile * self._bins + bins)

        down = down[:, tf.newaxis]
        upper = read(above, left) * (1 - aside) + read(above, right) * aside
        lower = read(below, left) * (1 - aside) + read(below, right) * aside
        # Bilinear between the tables of the four nearest tiles, or the edges of tiles would be
        # visible.
        even = tf.transpose(upper * (1 - down) + lower * down, [0, 2, 3, 1])
        return _but_nan(tf.cast(even, values.dtype), values)
