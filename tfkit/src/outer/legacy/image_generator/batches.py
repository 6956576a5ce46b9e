"""Endless batches of changed images: what all kinds share, and batches of an array."""

from __future__ import annotations

import threading
from collections.abc import Iterator as Iterated
from pathlib import Path
from typing import Any

import numpy as np

from tfkit.src.base import settings
from tfkit.src.base.errors.frames import warn
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.nests import brief
from tfkit.src.data.utils.images import array_to_img
from tfkit.src.outer.legacy.image_generator.transforms import Draws
from tfkit.src.training.py_dataset import PyDataset

_SUBSETS = ("training", "validation", None)


class Iterator(PyDataset):
    """Endless batches of rows: `next(batches)`; as a `PyDataset`, it has `len(batches)` of them in a pass.

    A subclass defines `_batch(rows, draws)`.

    Args:
        n: number of rows.
        batch_size: number of rows in a batch; the last of a pass may be smaller.
        shuffle: whether each pass has a new order.
        seed: a seed for the order and the changes of rows; `None` for the draws of `np.random`.
        **kwargs: arguments of `PyDataset`.
    """

    def __init__(
        self, n: int, batch_size: int, shuffle: bool, seed: int | None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.n, self.batch_size, self.shuffle, self.seed = n, batch_size, shuffle, seed
        self.batch_index = self.total_batches_seen = 0
        self.index_array: Any = None
        self._lock = threading.Lock()
        self._last_draws: Draws = np.random

    def __len__(self) -> int:
        """Returns the number of batches of a pass."""
        return -(-self.n // self.batch_size)

    @shortened
    def __getitem__(self, index: int) -> Any:
        """Returns a batch of this pass.

        Raises:
            ValueError: for an index that is too large.
        """
        if index >= len(self):
            raise ValueError(f"A pass has {len(self)} batches. Received: index {index}")
        with self._lock:
            draws = self._next_draws()
            if self.index_array is None:
                self.index_array = self._order(draws)
            rows = self.index_array[index * self.batch_size : (index + 1) * self.batch_size]
            return self._batch(rows, draws)

    def on_epoch_end(self) -> None:
        """Draws the order of the next pass."""
        self.index_array = self._order(self._last_draws)

    def reset(self) -> None:
        """Begins a new pass with the next `next(batches)`."""
        self.batch_index = 0

    def __iter__(self) -> Iterated[Any]:
        return self

    @shortened
    def __next__(self) -> Any:
        with self._lock:
            draws = self._next_draws()
            if self.batch_index == 0:
                self.index_array = self._order(draws)
            first = self.batch_index * self.batch_size
            rows = self.index_array[first : first + self.batch_size]
            # 0 after the last batch: the next call begins a new pass, in a new order.
            self.batch_index = (self.batch_index + 1) % max(len(self), 1)
            return self._batch(rows, draws)

    next = __next__

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in _NOT_COPIED}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock(), _last_draws=np.random)

    def _next_draws(self) -> Draws:
        """Returns the draws of the next batch. A seed's draws change neither NumPy's nor other batches'."""
        if self.seed is not None:
            # The number of batches so far is part of the
            # seed: each batch has its own draws, as in Keras.
            self._last_draws = np.random.RandomState(self.seed + self.total_batches_seen)
        self.total_batches_seen += 1
        return self._last_draws

    def _order(self, draws: Draws) -> np.ndarray:
        return draws.permutation(self.n) if self.shuffle else np.arange(self.n)

    def _batch(self, rows: np.ndarray, draws: Draws) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__} defines no `_batch(rows, draws)`, which returns the batch of some rows."
        )


# Neither a lock nor a module, which `np.random` is, can be pickled.
_NOT_COPIED = ("_lock", "_last_draws")


class Saving:
    """The files to which changed images are written, for inspection.

    Args:
        folder: the folder; `None` to write none.
        prefix: the beginning of the names of files.
        file_format: format of the files.
        data_format: the data format of the images.
        num_names: how many random numbers there are for names. Default: `10_000_000`.
    """

    def __init__(
        self,
        folder: Any,
        prefix: str,
        file_format: str,
        data_format: str,
        num_names: int = 10_000_000,
    ) -> None:
        self.folder, self.prefix, self.file_format = folder, prefix, file_format
        self.data_format, self.num_names = data_format, num_names

    def write(self, images: np.ndarray, rows: np.ndarray, draws: Draws) -> None:
        """Writes the images of a batch; the numbers in the names are drawn after its changes."""
        if self.folder is None:
            return
        for row, image in zip(rows, images, strict=True):
            # The random number keeps the images of a row in different passes apart.
            name = f"{self.prefix}_{row}_{draws.randint(self.num_names)}.{self.file_format}"
            array_to_img(image, self.data_format, scale=True).save(Path(self.folder, name))


class NumpyArrayIterator(Iterator):
    """Endless batches of the images of an array; `ImageDataGenerator.flow` makes them.

    Args:
        x: the images, of four axes; or a tuple of them and an array or a list of arrays.
        y: the labels; `None` for none.
        image_data_generator: changes and normalizes the images.
        batch_size: number of images in a batch. Default: `32`.
        shuffle: whether each pass has a new order. Default: `False`.
        sample_weight: a weight for each image; `None` for none.
        seed: a seed; `None` for the draws of `np.random`.
        data_format: `"channels_last"` or `"channels_first"`; `None` for the value of
            `config.image_data_format()`.
        save_to_dir: as in `ImageDataGenerator.flow`.
        save_prefix: as in `ImageDataGenerator.flow`.
        save_format: as in `ImageDataGenerator.flow`.
        subset: as in `ImageDataGenerator.flow`.
        ignore_class_split: as in `ImageDataGenerator.flow`.
        dtype: dtype of the images; `None` for the default float dtype.

    Raises:
        ValueError: as in `ImageDataGenerator.flow`.
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        image_data_generator: Any,
        batch_size: int = 32,
        shuffle: bool = False,
        sample_weight: Any = None,
        seed: int | None = None,
        data_format: str | None = None,
        save_to_dir: Any = None,
        save_prefix: str = "",
        save_format: str = "png",
        subset: str | None = None,
        ignore_class_split: bool = False,
        dtype: Any = None,
    ) -> None:
        images, further = x, []
        # A pair is images and other inputs, which reach the model unchanged.
        if isinstance(x, (tuple, list)) and len(x) == 2 and np.ndim(x[0]) == 4:
            images, further = x[0], x[1] if isinstance(x[1], list) else [x[1]]
        arrays = {"y": y, "sample_weight": sample_weight}
        arrays |= {f"x[1][{place}]": array for place, array in enumerate(further)}
        for name, array in arrays.items():
            if array is not None and len(array) != len(images):
                raise ValueError(
                    f"`x` and `{name}` must have the same length. Received: {len(images)} images, and "
                    f"{name} of length {len(array)}"
                )
        part = rows_of(subset, len(images), image_data_generator)
        if subset is not None and y is not None and not ignore_class_split:
            _check_classes(np.asarray(y), part)
        self.dtype = settings.floatx() if dtype is None else dtype
        self.x = np.asarray(images, dtype=self.dtype)[part]
        self.x_misc = [np.asarray(array)[part] for array in further]
        self.y = None if y is None else np.asarray(y)[part]
        self.sample_weight = None if sample_weight is None else np.asarray(sample_weight)[part]
        if self.x.ndim != 4:
            raise ValueError(
                f"Images must be an array of four axes. Received: an array of shape {self.x.shape}"
            )
        self.image_data_generator = image_data_generator
        self.data_format = settings.standardize_data_format(data_format)
        warn_of_channels(self.x, self.data_format)
        # As many names as in Keras: the draws after those of names depend on it.
        self._saving = Saving(save_to_dir, save_prefix, save_format, self.data_format, 10_000)
        super().__init__(len(self.x), batch_size, shuffle, seed)

    def _batch(self, rows: np.ndarray, draws: Draws) -> Any:
        generator = self.image_data_generator
        images = np.empty((len(rows), *self.x.shape[1:]), self.dtype)
        for place, row in enumerate(rows):
            images[place] = generator.standardize(generator._changed(self.x[row], draws))
        self._saving.write(images, rows, draws)
        first = [images, *(array[rows] for array in self.x_misc)] if self.x_misc else images
        if self.y is None:
            return first
        weights = () if self.sample_weight is None else (self.sample_weight[rows],)
        return first, self.y[rows], *weights


def check_one_of(value: Any, name: str, allowed: tuple[Any, ...]) -> None:
    """Raises an error for a value that is not allowed."""
    if value not in allowed:
        raise ValueError(f"`{name}` must be one of {allowed}. Received: {name}={value!r}")


def warn_of_channels(images: np.ndarray, data_format: str) -> None:
    """Warns about images whose number of channels differs from images in files."""
    channels = images.shape[1 if data_format == "channels_first" else 3]
    if channels not in (1, 3, 4):
        warn(
            f"Expected images of 1, 3 or 4 channels ({data_format}). "
            f"Received: an array of shape {images.shape}, with {channels} channels"
        )


def rows_of(subset: str | None, size: int, image_data_generator: Any) -> slice:
    """Returns the rows of a subset, of `size` rows in all: the first ones are for validation.

    Raises:
        ValueError: for an unknown subset.
    """
    check_one_of(subset, "subset", _SUBSETS)
    split = int(size * getattr(image_data_generator, "validation_split", 0.0))
    return slice(split if subset == "training" else 0, split if subset == "validation" else None)


def _check_classes(labels: np.ndarray, part: slice) -> None:
    """Raises an error if one part of the rows lacks classes that the rest has."""
    chosen = np.unique(labels[part])
    rest = np.unique(np.delete(labels, part, axis=0))
    if not np.array_equal(chosen, rest):
        raise ValueError(
            f"The training and the validation subset must have the same classes. Received: {len(chosen)} and "
            f"{len(rest)} classes; only one subset has {brief(np.setxor1d(chosen, rest).tolist())}. "
            "Shuffle the data first, or pass ignore_class_split=True."
        )
