"""Endless batches of changed images of files, however the files and their labels are found."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfkit.src.base import settings
from tfkit.src.data.utils.images import img_to_array, load_img
from tfkit.src.outer.legacy.image_generator.batches import Iterator, Saving, check_one_of
from tfkit.src.outer.legacy.image_generator.transforms import Draws

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".ppm", ".tif", ".tiff")
_CHANNELS = {"rgb": 3, "rgba": 4, "grayscale": 1}


class FileIterator(Iterator):
    """Batches of the images of files. A subclass sets its own attributes before it calls `__init__`.

    Attributes:
        filepaths: paths of the files.
        labels: the source of the batches of labels, with a row for each file.
        class_indices: the number of each class.
        class_mode: the kind of the labels.
        sample_weight: a weight for each file, or `None`.
    """

    white_list_formats = tuple(suffix[1:] for suffix in SUFFIXES)
    filepaths: list[str]
    labels: Any
    class_indices: dict[Any, int]
    class_mode: str | None
    sample_weight: Any = None

    def __init__(
        self,
        image_data_generator: Any,
        *,
        target_size: tuple[int, int],
        color_mode: str,
        data_format: str | None,
        saving: tuple[Any, str, str],
        interpolation: str,
        keep_aspect_ratio: bool,
        dtype: Any,
        batch_size: int,
        shuffle: bool,
        seed: int | None,
    ) -> None:
        self.image_data_generator = image_data_generator
        self.target_size = (int(target_size[0]), int(target_size[1]))
        check_one_of(color_mode, "color_mode", tuple(_CHANNELS))
        self.color_mode, self.interpolation = color_mode, interpolation
        self.keep_aspect_ratio = keep_aspect_ratio
        self.data_format = settings.standardize_data_format(data_format)
        self.dtype = settings.floatx() if dtype is None else dtype
        channels = _CHANNELS[color_mode]
        first = self.data_format == "channels_first"
        self.image_shape = (channels, *self.target_size) if first else (*self.target_size, channels)
        self._saving = Saving(*saving, self.data_format)
        self.samples = len(self.filepaths)
        super().__init__(self.samples, batch_size, shuffle, seed)

    def _batch(self, rows: np.ndarray, draws: Draws) -> Any:
        images = np.empty((len(rows), *self.image_shape), self.dtype)
        for place, row in enumerate(rows):
            images[place] = self._image(self.filepaths[row], draws)
        self._saving.write(images, rows, draws)
        if self.class_mode is None:
            return images
        # The target of an autoencoder is the changed image.
        labels = images.copy() if self.class_mode == "input" else self._labels(rows)
        weights = () if self.sample_weight is None else (self.sample_weight[rows],)
        return images, labels, *weights

    def _image(self, path: str, draws: Draws) -> Any:
        image = load_img(
            path, self.color_mode, self.target_size, self.interpolation, self.keep_aspect_ratio
        )
        x = img_to_array(image, self.data_format, self.dtype)
        generator = self.image_data_generator
        if generator is None:
            return x
        return generator.standardize(generator._changed(x, draws))

    def _labels(self, rows: np.ndarray) -> Any:
        if self.class_mode == "multi_output":
            return [column[rows] for column in self.labels]
        if self.class_mode == "raw":
            return self.labels[rows]
        if self.class_mode != "categorical":
            return np.asarray(self.labels)[rows].astype(self.dtype)
        vectors = np.zeros((len(rows), len(self.class_indices)), self.dtype)
        for vector, row in zip(vectors, rows, strict=True):
            vector[self.labels[row]] = 1.0
        return vectors
