"""Texts of a folder as a `tf.data.Dataset`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.registry.constructors import made_of
from tfkit.src.data.datasets.folder_files import Options, dataset_of_folder


@shortened
def text_dataset_from_directory(
    directory: str | os.PathLike[str],
    labels: Any = "inferred",
    label_mode: str | None = "int",
    class_names: Sequence[str] | None = None,
    batch_size: int | None = 32,
    max_length: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    validation_split: float | None = None,
    subset: str | None = None,
    follow_links: bool = False,
    format: str = "tf",
    verbose: bool = True,
) -> Any:
    """Returns a `tf.data.Dataset` of the text files in a folder, with labels by subfolder.

    Files that end in `.txt` are read, also from the folders below a subfolder. The dataset has the
    attributes `class_names` and `file_paths`.

    Args:
        directory: the folder.
        labels: `"inferred"` for the names of the subfolders; a list of one label for each file, in the order
            of their paths; `None` for texts without labels. Default: `"inferred"`.
        label_mode: `"int"`: labels of shape `(batch,)`, int32; `"categorical"`: one-hot vectors of shape
            `(batch, classes)`, float32; `"binary"`: for two classes, 0 or 1 of shape `(batch, 1)`, float32;
            `None`: texts without labels. Default: `"int"`.
        class_names: the subfolders to use, in the order of their labels. Default: all, by name.
        batch_size: texts of a batch; `None` for single texts. Default: `32`.
        max_length: bytes of a text to keep. Default: all.
        shuffle: whether to shuffle, in a new order in each pass. Otherwise in the order of paths. Default:
            `True`.
        seed: of the order, and of the choice of files for validation. Default: a new one each time.
        validation_split: share of the files for validation, between 0 and 1. Default: none.
        subset: with `validation_split`, the part to return: `"training"`, `"validation"`, or `"both"` for a
            list of the two. Default: all.
        follow_links: whether to go into folders that are symbolic links, into each once.
            Default: `False`.
        format: `"tf"`, the only one. Default: `"tf"`.
        verbose: whether to print how many files were found. Default: `True`.

    Returns:
        A dataset of texts, strings of shape `(batch,)`, or of pairs of texts and labels.

    Raises:
        FileNotFoundError: if there is no such folder.
        ValueError: for arguments that do not fit, and if no text is found.

    Example:
        >>> folder = Path(tempfile.mkdtemp())
        >>> for name in ("cat", "dog"):
        ...     (folder / name).mkdir()
        ...     _ = (folder / name / "0.txt").write_text(f"a {name}")
        >>> dataset = text_dataset_from_directory(folder, shuffle=False)
        Found 2 files belonging to 2 classes.
        >>> [text.numpy().tolist() for text, _ in dataset]
        [[b'a cat', b'a dog']]
    """
    if format != "tf":
        raise ValueError(f'`format` must be "tf". Received: format={format!r}')

    def load(path: tf.Tensor) -> tf.Tensor:
        text = tf.io.read_file(path)
        return text if max_length is None else tf.strings.substr(text, 0, max_length)

    options = made_of(Options, locals())
    return dataset_of_folder(directory, (".txt",), load, options)
