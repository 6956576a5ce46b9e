"""Endless batches of the images whose files a table of pandas names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfkit.src.base.errors.frames import warn
from tfkit.src.outer.legacy.image_generator.batches import check_one_of, rows_of
from tfkit.src.outer.legacy.image_generator.files import SUFFIXES, FileIterator
from tfkit.src.training.progress import print_message

_OF_CLASSES = ("binary", "sparse", "categorical")


class DataFrameIterator(FileIterator):
    """Endless batches of the images of a table; `ImageDataGenerator.flow_from_dataframe` makes them.

    Args:
        dataframe: the table.
        directory: the folder of the files; `None` if the table has full paths.
        image_data_generator: changes and normalizes the images; `None` for neither.
        x_col: as in `flow_from_dataframe`, as all that follow. Default: `"filename"`.
        y_col: the column with the labels, or a list of columns. Default: `"class"`.
        weight_col: the column with weights; `None` for none.
        target_size: rows and columns. Default: `(256, 256)`.
        color_mode: `"rgb"`, `"rgba"` or `"grayscale"`. Default: `"rgb"`.
        classes: the classes, in the order of their indices; `None` for the classes of the table.
        class_mode: kind of the labels. Default: `"categorical"`.
        batch_size: number of images in a batch. Default: `32`.
        shuffle: whether each pass has a new order. Default: `True`.
        seed: a seed; `None` for the draws of `np.random`.
        data_format: `"channels_last"` or `"channels_first"`. Default: `"channels_last"`.
        save_to_dir: a folder for the changed images; `None` to save none.
        save_prefix: the beginning of their names. Default: `""`.
        save_format: their format. Default: `"png"`.
        subset: `"training"`, `"validation"` or `None`.
        interpolation: as in `load_img`. Default: `"nearest"`.
        keep_aspect_ratio: whether images are cropped, and not distorted. Default: `False`.
        dtype: dtype of the images. Default: `"float32"`.
        validate_filenames: whether rows without a file are left out. Default: `True`.

    Attributes:
        classes: the number of the class of each file, or a list of them; with labels that are classes.
        class_indices: the number of each class; with labels that are classes.
        filenames: the names of the files.
        filepaths: their full paths.
        samples: their number.
        image_shape: shape of an image.
    """

    allowed_class_modes = (*_OF_CLASSES, "input", "multi_output", "raw", None)

    def __init__(
        self,
        dataframe: Any,
        directory: Any = None,
        image_data_generator: Any = None,
        x_col: str = "filename",
        y_col: Any = "class",
        *,
        weight_col: str | None = None,
        target_size: tuple[int, int] = (256, 256),
        color_mode: str = "rgb",
        classes: Sequence[Any] | None = None,
        class_mode: str | None = "categorical",
        batch_size: int = 32,
        shuffle: bool = True,
        seed: int | None = None,
        data_format: str = "channels_last",
        save_to_dir: Any = None,
        save_prefix: str = "",
        save_format: str = "png",
        subset: str | None = None,
        interpolation: str = "nearest",
        keep_aspect_ratio: bool = False,
        dtype: Any = "float32",
        validate_filenames: bool = True,
    ) -> None:
        check_one_of(class_mode, "class_mode", self.allowed_class_modes)
        self.class_mode = class_mode
        self.directory = "" if directory is None else os.fspath(directory)
        self.class_indices = {}
        table = dataframe
        _check_columns(table, x_col, y_col, weight_col, class_mode)
        if validate_filenames:
            table = self._with_files(table, x_col)
        if class_mode in _OF_CLASSES:
            column = _listed(table, y_col, class_mode)
            names = _classes(column) if not classes else list(classes)
            known = set(names)
            # Classes that `classes` does not name are dropped, and rows that have no others.
            column = [[name for name in row if name in known] for row in column]
            table = table[[bool(row) for row in column]]
            column = [row for row in column if row]
            self.class_indices = {name: number for number, name in enumerate(names)}
            if class_mode == "binary" and len(names) != 2:
                raise ValueError(
                    f'class_mode="binary" needs two classes. Received: {len(names)} in column {y_col!r}'
                )
            numbers = [[self.class_indices[name] for name in row] for row in column]
        elif classes:
            warn(f"`classes` is ignored with class_mode={class_mode!r}.")
        rows = rows_of(subset, len(table), image_data_generator)
        table = table[rows]
        self.filenames = table[x_col].tolist()
        self.filepaths = [os.path.join(self.directory, name) for name in self.filenames]
        if class_mode in _OF_CLASSES:
            numbers = numbers[rows]
            # Numbers if each row has one class, as for a folder; otherwise lists of numbers.
            single = all(len(row) == 1 for row in numbers)
            self.classes = [row[0] for row in numbers] if single else numbers
            self.labels = self.classes
        elif class_mode == "multi_output":
            self.labels = [np.array(table[name].tolist()) for name in y_col]
        elif class_mode == "raw":
            self.labels = table[y_col].to_numpy()
        if weight_col is not None:
            self.sample_weight = table[weight_col].to_numpy()
        super().__init__(
            image_data_generator,
            target_size=target_size, color_mode=color_mode, data_format=data_format,
            saving=(save_to_dir, save_prefix, save_format), interpolation=interpolation,
            keep_aspect_ratio=keep_aspect_ratio, dtype=dtype, batch_size=batch_size,
            shuffle=shuffle, seed=seed,
        )  # fmt: skip
        kind = "validated " if validate_filenames else "non-validated "
        belonging = f" belonging to {len(self.class_indices)} classes" if self.class_indices else ""
        print_message(f"Found {self.samples} {kind}image filenames{belonging}.")

    def _with_files(self, table: Any, x_col: str) -> Any:
        """Returns the rows whose files exist."""
        there = [
            name.lower().endswith(SUFFIXES) and os.path.isfile(os.path.join(self.directory, name))
            for name in table[x_col]
        ]
        missing = len(there) - sum(there)
        if missing:
            warn(
                f"{missing} of {len(there)} files that column {x_col!r} names are not there, or are not "
                f"images; they are skipped. The folder is {self.directory!r}."
            )
        return table[there]


def _check_columns(table: Any, x_col: str, y_col: Any, weight_col: Any, class_mode: Any) -> None:
    """Raises an error for a column that the table does not have, or whose values are of a different type."""
    listed = isinstance(y_col, (list, tuple))
    # True only for "multi_output" without a list: `>` compares truth values.
    if (class_mode == "multi_output") > listed:
        raise TypeError(
            f'class_mode="multi_output" needs a list of columns. Received: y_col={y_col!r}'
        )
    labels = [] if class_mode in ("input", None) else list(y_col) if listed else [y_col]
    wanted = [x_col, *labels, *([] if weight_col is None else [weight_col])]
    for name in wanted:
        if name not in table:
            raise ValueError(
                f"The table has no column {name!r}. Its columns are {list(table.columns)}"
            )
    if not all(isinstance(name, str) for name in table[x_col]):
        raise TypeError(
            f"Column {x_col!r} must hold names of files. Received: other values than strings"
        )
    if class_mode in ("binary", "sparse") and not all(
        isinstance(name, str) for name in table[y_col]
    ):
        raise TypeError(
            f"With class_mode={class_mode!r} column {y_col!r} must hold strings. Received: other values. "
            "Turn numbers into strings with `table[column].astype(str)`, or use class_mode='raw'."
        )
    if class_mode == "categorical" and not all(
        isinstance(name, (str, list, tuple)) for name in table[y_col]
    ):
        raise TypeError(
            f'With class_mode="categorical" column {y_col!r} must hold strings, or lists of strings. '
            "Received: other values. Turn numbers into strings with `table[column].astype(str)`."
        )
    if weight_col is not None and not np.issubdtype(table[weight_col].dtype, np.number):
        raise TypeError(
            f"Column {weight_col!r} must hold numbers. Received: dtype {table[weight_col].dtype}"
        )


def _listed(table: Any, y_col: str, class_mode: str) -> list[list[Any]]:
    """Returns the classes of each row as a list."""
    several = (list, tuple) if class_mode == "categorical" else ()
    return [list(row) if isinstance(row, several) else [row] for row in table[y_col]]


def _classes(column: list[list[Any]]) -> list[Any]:
    return sorted({name for row in column for name in row})
