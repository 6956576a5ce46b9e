"""Endless batches of the images of a folder, with the names of its subfolders as classes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfkit.src.data.datasets.folder_files import files_below
from tfkit.src.outer.legacy.image_generator.batches import check_one_of, rows_of
from tfkit.src.outer.legacy.image_generator.files import SUFFIXES, FileIterator
from tfkit.src.training.progress import print_message


class DirectoryIterator(FileIterator):
    """Endless batches of the images of a folder; `ImageDataGenerator.flow_from_directory` makes them.

    Args:
        directory: the folder, with a subfolder for each class.
        image_data_generator: changes and normalizes the images; `None` for neither.
        target_size: as in `flow_from_directory`, as all that follow. Default: `(256, 256)`.
        color_mode: `"rgb"`, `"rgba"` or `"grayscale"`. Default: `"rgb"`.
        classes: names of the subfolders; `None` for all.
        class_mode: kind of the labels. Default: `"categorical"`.
        batch_size: number of images in a batch. Default: `32`.
        shuffle: whether each pass has a new order. Default: `True`.
        seed: a seed; `None` for the draws of `np.random`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for the value of
            `config.image_data_format()`.
        save_to_dir: a folder for the changed images; `None` to save none.
        save_prefix: the beginning of their names. Default: `""`.
        save_format: their format. Default: `"png"`.
        follow_links: whether links to folders are followed. Default: `False`.
        subset: `"training"`, `"validation"` or `None`.
        interpolation: as in `load_img`. Default: `"nearest"`.
        keep_aspect_ratio: whether images are cropped, and not distorted. Default: `False`.
        dtype: dtype of the images; `None` for the default float dtype.

    Attributes:
        classes: the number of the class of each file.
        class_indices: the number of each class, by its name.
        filenames: paths of the files below the folder.
        filepaths: their full paths.
        samples: their number.
        num_classes: number of classes.
        image_shape: shape of an image.
    """

    allowed_class_modes = ("categorical", "binary", "sparse", "input", None)

    def __init__(
        self,
        directory: Any,
        image_data_generator: Any,
        target_size: tuple[int, int] = (256, 256),
        color_mode: str = "rgb",
        classes: Sequence[str] | None = None,
        class_mode: str | None = "categorical",
        batch_size: int = 32,
        shuffle: bool = True,
        seed: int | None = None,
        data_format: str | None = None,
        save_to_dir: Any = None,
        save_prefix: str = "",
        save_format: str = "png",
        follow_links: bool = False,
        subset: str | None = None,
        interpolation: str = "nearest",
        keep_aspect_ratio: bool = False,
        dtype: Any = None,
    ) -> None:
        check_one_of(class_mode, "class_mode", self.allowed_class_modes)
        self.directory = os.fspath(directory)
        self.class_mode = class_mode
        names = _subfolders(self.directory) if not classes else list(classes)
        self.class_indices = {name: number for number, name in enumerate(names)}
        self.num_classes = len(names)
        self.filenames, labels = [], []
        for name, number in self.class_indices.items():
            files = files_below(os.path.join(self.directory, name), SUFFIXES, follow_links)
            # The same share of each class, so that both subsets have all classes.
            files = files[rows_of(subset, len(files), image_data_generator)]
            self.filenames += [os.path.relpath(file, self.directory) for file in files]
            labels += [number] * len(files)
        self.classes = self.labels = np.array(labels, "int32")
        self.filepaths = [os.path.join(self.directory, name) for name in self.filenames]
        super().__init__(
            image_data_generator,
            target_size=target_size, color_mode=color_mode, data_format=data_format,
            saving=(save_to_dir, save_prefix, save_format), interpolation=interpolation,
            keep_aspect_ratio=keep_aspect_ratio, dtype=dtype, batch_size=batch_size,
            shuffle=shuffle, seed=seed,
        )  # fmt: skip
        print_message(f"Found {self.samples} images belonging to {self.num_classes} classes.")


def _subfolders(folder: str) -> list[str]:
    return sorted(entry.name for entry in os.scandir(folder) if entry.is_dir())
