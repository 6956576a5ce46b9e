"""The files of a folder and their labels, as a `tf.data.Dataset` of their contents."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.data.datasets.shuffling import in_new_orders, seed_or_drawn, shuffle_in_place
from tfkit.src.training.progress import print_message

_LABEL_MODES = ("int", "categorical", "binary", None)
_SUBSETS = ("training", "validation", "both", None)

Batch = Callable[[tf.data.Dataset, int], tf.data.Dataset]


@dataclasses.dataclass(frozen=True)
class Files:
    """Paths of files with their labels.

    Attributes:
        paths: of the files.
        labels: one for each; `None` without labels.
        class_names: the names of the labels, in the order of their indices; `None` without labels.
    """

    paths: list[str]
    labels: list[Any] | None
    class_names: list[str] | None

    def rows(self, rows: Sequence[int]) -> Files:
        """Returns the files of some rows."""
        labels = None if self.labels is None else [self.labels[row] for row in rows]
        return dataclasses.replace(self, paths=[self.paths[row] for row in rows], labels=labels)


@dataclasses.dataclass(frozen=True)
class Options:
    """The arguments that all functions for folders share, which document them."""

    labels: Any
    label_mode: str | None
    class_names: Sequence[str] | None
    batch_size: int | None
    shuffle: bool
    seed: int | None
    validation_split: float | None
    subset: str | None
    follow_links: bool
    verbose: bool

    def check(self) -> None:
        """Raises a `ValueError` for incompatible arguments."""
        if self.label_mode not in _LABEL_MODES:
            raise ValueError(
                '`label_mode` must be "int", "categorical", "binary" or None. '
                f"Received: label_mode={self.label_mode!r}"
            )
        if isinstance(self.labels, str) and self.labels != "inferred":
            raise ValueError(
                '`labels` must be "inferred" for the names of the subfolders, a list of one label for each '
                f"file, or None. Received: labels={self.labels!r}"
            )
        if self.class_names is not None and not isinstance(self.labels, str):
            raise ValueError(
                '`class_names` can only be given with labels="inferred". Received: '
                f"labels={self.labels!r}, class_names={self.class_names!r}"
            )
        if self.batch_size is not None and (
            not isinstance(self.batch_size, (int, np.integer)) or self.batch_size < 1
        ):
            raise ValueError(
                f"`batch_size` must be a whole number over 0, or None. Received: {self.batch_size!r}"
            )
        self._check_subset()

    def _check_subset(self) -> None:
        split, subset = self.validation_split, self.subset
        if subset not in _SUBSETS:
            raise ValueError(
                f'`subset` must be "training", "validation" or "both". Received: subset={subset!r}'
            )
        if split is not None and not (isinstance(split, (int, float)) and 0 < split < 1):
            raise ValueError(
                f"`validation_split` must be a number between 0 and 1, or None. Received: {split!r}"
            )
        if (split is None) != (subset is None):
            raise ValueError(
                f"`subset` and `validation_split` must be passed together. Received: subset={subset!r}, "
                f"validation_split={split}"
            )
        if split is not None and self.shuffle and self.seed is None:
            raise ValueError(
                "Shuffled data need a `seed`, so that the subsets have no files in common. "
                f"Received: validation_split={split}, shuffle=True, seed=None"
            )


def dataset_of_folder(
    directory: Any,
    formats: tuple[str, ...],
    load: Callable[[tf.Tensor], Any],
    options: Options,
    batched: Batch | None = None,
) -> Any:
    """Returns a dataset of the files of a folder, or a list of two for the subset `"both"`.

    Args:
        directory: the folder.
        formats: the extensions of the files to read, in lower case.
        load: makes an element of the path of a file, a scalar tensor of strings.
        options: the user's options.
        batched: makes batches. Default: `Dataset.batch`.

    Raises:
        FileNotFoundError: if there is no such folder.
        ValueError: for options that do not fit, and if no file is found.
    """
    # As in Keras, 0 is none.
    options = dataclasses.replace(options, validation_split=options.validation_split or None)
    options.check()
    files = _find(directory, formats, options)
    seed = seed_or_drawn(options.seed)
    if options.shuffle:
        order = np.arange(len(files.paths))
        shuffle_in_place(order, seed)
        files = files.rows(order.tolist())
    if options.label_mode == "binary" and len(files.class_names or ()) != 2:
        raise ValueError(
            '`label_mode="binary"` needs exactly 2 classes. '
            f"Received: class_names={files.class_names}"
        )

    parts = _parts(files, options)
    for name, part in parts.items():
        if not part.paths:
            what = "No" if name is None else f"For the subset {name!r} no"
            raise ValueError(
                f"{what} files were found in {os.fspath(directory)!r}. Files with these extensions are "
                f"read: {', '.join(formats)}"
            )
    results = [
        _dataset(
            part,
            load,
            options,
            seed,
            # Of two parts, the one for validation keeps its order.
            options.shuffle and (name, options.subset) != ("validation", "both"),
            batched,
        )
        for name, part in parts.items()
    ]
    return results if options.subset == "both" else results[0]


def _find(directory: Any, formats: tuple[str, ...], options: Options) -> Files:
    directory = os.path.expanduser(os.fspath(directory))
    if not os.path.isdir(directory):
        raise FileNotFoundError(f"There is no folder {directory!r}.")
    labels = None if options.label_mode is None else options.labels
    if isinstance(labels, str):
        class_names = sorted(
            entry.name for entry in os.scandir(directory) if entry.is_dir() and entry.name[0] != "."
        )
        if options.class_names is not None:
            unknown = [name for name in options.class_names if name not in class_names]
            if unknown or len(set(options.class_names)) != len(options.class_names):
                raise ValueError(
                    "`class_names` must be names of subfolders, each once. Received: "
                    f"class_names={list(options.class_names)}. The subfolders: {class_names}"
                )
            class_names = list(options.class_names)
        found = [
            files_below(os.path.join(directory, name), formats, options.follow_links)
            for name in class_names
        ]
        numbers = [number for number, paths in enumerate(found) for _ in paths]
        files = Files([path for paths in found for path in paths], numbers, class_names)
    else:
        paths = files_below(directory, formats, options.follow_links)
        if labels is not None and len(labels) != len(paths):
            raise ValueError(
                f"`labels` must have one label for each file. Received {len(labels)} labels; "
                f"{directory!r} has {len(paths)} files with the extensions {', '.join(formats)}"
            )
        names = None if labels is None else [str(label) for label in sorted(set(labels))]
        files = Files(paths, None if labels is None else list(labels), names)
    if options.verbose:
        belonging = (
            "" if files.labels is None else f" belonging to {len(files.class_names or ())} classes"
        )
        print_message(f"Found {len(files.paths)} files{belonging}.")
    return files


def files_below(folder: str, formats: tuple[str, ...], follow_links: bool) -> list[str]:
    """Returns the files of a folder and those below it, folder by folder, each in the order of names.

    Pipes and devices are left out, because reading them would never end.

    Args:
        folder: the folder.
        formats: the extensions of the files to read, in lower case.
        follow_links: whether links to folders are followed.
    """
    walked = sorted(_folders(folder, follow_links), key=lambda each: each[0])
    return [
        path
        for root, names in walked
        for path in (os.path.join(root, name) for name in sorted(names))
        if path.lower().endswith(formats) and os.path.isfile(path)
    ]


def _folders(folder: str, follow_links: bool) -> Iterator[tuple[str, list[str]]]:
    """Yields a folder and those below it, with the names of the files in each.

    A folder to which several links lead is visited once: links that lead upward would make endless paths.
    """
    seen = set()
    for root, inner, names in os.walk(folder, followlinks=follow_links):
        status = os.stat(root)
        place = status.st_dev, status.st_ino
        if place in seen:
            inner.clear()
            continue
        seen.add(place)
        yield root, names


def _parts(files: Files, options: Options) -> dict[str | None, Files]:
    """Returns the files of each requested subset."""
    if options.validation_split is None:
        return {None: files}
    total = len(files.paths)
    # The last files are for validation, as in Keras.
    first = total - int(options.validation_split * total)
    rows = {"training": range(first), "validation": range(first, total)}
    wanted = {name: each for name, each in rows.items() if options.subset in (name, "both")}
    if options.verbose:
        for name, part in wanted.items():
            print_message(f"Using {len(part)} files for {name}.")
    return {name: files.rows(part) for name, part in wanted.items()}


def _dataset(
    files: Files,
    load: Callable[[tf.Tensor], Any],
    options: Options,
    seed: int,
    shuffled: bool,
    batched: Batch | None,
) -> tf.data.Dataset:
    # Names of files are bytes, which need not be UTF-8.
    dataset = tf.data.Dataset.from_tensor_slices([os.fsencode(path) for path in files.paths])
    if files.labels is not None:
        labels = tf.data.Dataset.from_tensor_slices(files.labels)
        num_classes = len(files.class_names or ())
        if options.label_mode == "binary":
            labels = labels.map(lambda label: tf.expand_dims(tf.cast(label, "float32"), axis=-1))
        elif options.label_mode == "categorical":
            labels = labels.map(lambda label: tf.one_hot(label, num_classes))
        dataset = tf.data.Dataset.zip((dataset, labels))
    if shuffled:
        dataset = in_new_orders(dataset, options.batch_size, seed)
    if files.labels is None:
        dataset = dataset.map(load, num_parallel_calls=tf.data.AUTOTUNE)
    else:
        dataset = dataset.map(
            lambda path, label: (load(path), label), num_parallel_calls=tf.data.AUTOTUNE
        )
    if options.batch_size is not None:
        batched = batched or (lambda elements, size: elements.batch(size))
        dataset = batched(dataset, options.batch_size)
    dataset = dataset.prefetch(tf.data.AUTOTUNE)
    dataset.class_names = files.class_names
    dataset.file_paths = files.paths
    return dataset
