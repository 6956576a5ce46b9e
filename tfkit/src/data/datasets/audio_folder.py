"""Audio files of a folder as a `tf.data.Dataset`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.registry.constructors import made_of
from tfkit.src.data.datasets.folder_files import Options, dataset_of_folder


@shortened
def audio_dataset_from_directory(
    directory: str | os.PathLike[str],
    labels: Any = "inferred",
    label_mode: str | None = "int",
    class_names: Sequence[str] | None = None,
    batch_size: int | None = 32,
    sampling_rate: int | None = None,
    output_sequence_length: int | None = None,
    ragged: bool = False,
    shuffle: bool = True,
    seed: int | None = None,
    validation_split: float | None = None,
    subset: str | None = None,
    follow_links: bool = False,
    verbose: bool = True,
) -> Any:
    """Returns a `tf.data.Dataset` of the sounds in a folder, with labels by subfolder.

    Files that end in `.wav` (16 bits) are read, also from the folders below a subfolder. The dataset has the
    attributes `class_names` and `file_paths`.

    Args:
        directory: the folder.
        labels: `"inferred"` for the names of the subfolders; a list of one label for each file, in the order
            of their paths; `None` for sounds without labels. Default: `"inferred"`.
        label_mode: `"int"`: labels of shape `(batch,)`, int32; `"categorical"`: one-hot vectors of shape
            `(batch, classes)`, float32; `"binary"`: for two classes, 0 or 1 of shape `(batch, 1)`, float32;
            `None`: sounds without labels. Default: `"int"`.
        class_names: the subfolders to use, in the order of their labels. Default: all, by name.
        batch_size: sounds of a batch; `None` for single sounds. Default: `32`.
        sampling_rate: samples per second to which sounds are converted, by their Fourier transform. Default:
            they keep their rates.
        output_sequence_length: samples of each sound: longer ones are cut off, shorter ones end in zeros.
            Default: the samples of the longest sound of the batch.
        ragged: whether batches are ragged tensors, without zeros at the ends. Default: `False`.
        shuffle: whether to shuffle, in a new order in each pass. Otherwise in the order of paths. Default:
            `True`.
        seed: of the order, and of the choice of sounds for validation. Default: a new one each time.
        validation_split: share of the sounds for validation, between 0 and 1. Default: none.
        subset: with `validation_split`, the part to return: `"training"`, `"validation"`, or `"both"` for a
            list of the two. Default: all.
        follow_links: whether to go into folders that are symbolic links, into each once.
            Default: `False`.
        verbose: whether to print how many files were found. Default: `True`.

    Returns:
        A dataset of sounds, float32 with values from -1 to 1, of shape `(batch, samples, channels)`, or of
        pairs of sounds and labels.

    Raises:
        FileNotFoundError: if there is no such folder.
        ValueError: for arguments that do not fit, and if no sound is found.

    Example:
        >>> folder = Path(tempfile.mkdtemp())
        >>> for name in ("cat", "dog"):
        ...     (folder / name).mkdir()
        ...     sound = tf.audio.encode_wav(tf.zeros((100, 1)), 8000)
        ...     _ = (folder / name / "0.wav").write_bytes(sound.numpy())
        >>> dataset = audio_dataset_from_directory(folder, label_mode="binary")
        Found 2 files belonging to 2 classes.
        >>> dataset.class_names, next(iter(dataset))[0].shape
        (['cat', 'dog'], TensorShape([2, 100, 1]))
    """
    if ragged and output_sequence_length is not None:
        raise ValueError(
            "Pass at most one of `ragged` and `output_sequence_length`. Received: ragged=True, "
            f"output_sequence_length={output_sequence_length}"
        )
    if sampling_rate is not None and (not isinstance(sampling_rate, int) or sampling_rate < 1):
        raise ValueError(
            f"`sampling_rate` must be a whole number over 0. Received: sampling_rate={sampling_rate!r}"
        )

    def load(path: tf.Tensor) -> Any:
        samples, rate = tf.audio.decode_wav(
            tf.io.read_file(path),
            desired_samples=-1
            if output_sequence_length is None or sampling_rate
            else output_sequence_length,
        )
        if sampling_rate is not None:
            samples = _resampled(samples, rate, sampling_rate)
            if output_sequence_length is not None:
                samples = samples[:output_sequence_length]
                missing = output_sequence_length - tf.shape(samples)[0]
                samples = tf.pad(samples, [[0, missing], [0, 0]])
                samples.set_shape((output_sequence_length, None))
        return tf.RaggedTensor.from_tensor(samples) if ragged else samples

    def batched(elements: tf.data.Dataset, size: int) -> tf.data.Dataset:
        if ragged or output_sequence_length is not None:
            return elements.batch(size)
        return elements.padded_batch(size)

    options = made_of(Options, locals())
    return dataset_of_folder(directory, (".wav",), load, options, batched)


def _resampled(samples: tf.Tensor, rate: tf.Tensor, new_rate: int) -> tf.Tensor:
    """Returns sounds of shape `(samples, channels)` at a new rate: their spectrum is cut off or padded."""

    def resample() -> tf.Tensor:
        size = tf.shape(samples)[0]
        # In 64 bits: the product exceeds 32 bits after about a second of sound.
        new_size = tf.cast(tf.cast(size, "int64") * new_rate // tf.cast(rate, "int64"), "int32")
        # Shape (channels, frequencies). Frequencies that the new rate
        # cannot have are cut off; `irfft` adds zeros for missing ones, and
        # divides by the new size, although the sum was over the old one.
        spectrum = tf.signal.rfft(tf.transpose(samples))[:, : new_size // 2 + 1]
        waves = tf.signal.irfft(spectrum, [new_size])
        return tf.transpose(waves) * (tf.cast(new_size, "float32") / tf.cast(size, "float32"))

    return tf.cond(tf.equal(rate, new_rate), lambda: samples, resample)
