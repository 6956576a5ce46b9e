"""Folders as datasets: the same elements in the same order as Keras's."""

import os
import wave

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    for name, count in (("b", 14), ("a", 9), ("c", 2)):
        (folder / name / "below").mkdir(parents=True)
        for number in range(count):
            pixels = RNG.integers(0, 255, (6 + number % 3, 9, 3), "uint8")
            (folder / name / f"{number}.png").write_bytes(tf.io.encode_png(pixels).numpy())
        jpeg = tf.io.encode_jpeg(RNG.integers(0, 255, (8, 5, 3), "uint8")).numpy()
        (folder / name / "below" / "Z.JPG").write_bytes(jpeg)
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "h.png").write_bytes((folder / "a" / "0.png").read_bytes())
    (folder / "a" / "note.txt").write_text("no image")
    return folder


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    for name in ("b", "a"):
        (folder / name).mkdir()
        for number in range(4):
            (folder / name / f"{number}.txt").write_text(f"text {name} {number}")
    return folder


@pytest.fixture(scope="module")
def sounds(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sounds")
    for name in ("b", "a"):
        (folder / name).mkdir()
        for number in range(3):
            with wave.open(str(folder / name / f"{number}.wav"), "wb") as file:
                file.setnchannels(1)
                file.setsampwidth(2)
                file.setframerate(8000)
                file.writeframes(RNG.integers(-3000, 3000, 20 + number, "int16").tobytes())
    return folder


def assert_equal(ours, theirs):
    assert type(ours) is list or isinstance(ours, tf.data.Dataset)
    pairs = zip(ours, theirs, strict=True) if isinstance(ours, list) else [(ours, theirs)]
    for got, expected in pairs:
        assert got.element_spec == expected.element_spec
        assert got.class_names == getattr(expected, "class_names", None)
        for _ in range(2):  # Shuffled anew in each pass.
            for one, other in zip(got, expected, strict=True):
                tf.nest.map_structure(
                    lambda a, b: np.testing.assert_array_equal(
                        a.to_tensor() if isinstance(a, tf.RaggedTensor) else a,
                        b.to_tensor() if isinstance(b, tf.RaggedTensor) else b,
                    ),
                    one,
                    other,
                )


def compare(name, folder, options):
    arguments = {"seed": 5, "verbose": False, **options}
    assert_equal(
        getattr(tfkit.utils, name)(str(folder), **arguments),
        getattr(keras.utils, name)(str(folder), **arguments),
    )


IMAGES = [
    {},
    {"shuffle": False, "batch_size": 4},
    {"batch_size": 1},
    {"batch_size": None},
    {"label_mode": "categorical"},
    {"label_mode": "binary", "class_names": ["c", "a"]},
    {"label_mode": None},
    {"labels": None, "shuffle": False},
    {"labels": [n % 5 for n in range(29)]},
    {"validation_split": 0.3, "subset": "training"},
    {"validation_split": 0.3, "subset": "validation"},
    {"validation_split": 0.3, "subset": "both"},
    {"interpolation": "nearest"},
    {"color_mode": "grayscale", "data_format": "channels_first", "image_size": 8},
    {"crop_to_aspect_ratio": True, "interpolation": "nearest"},
    {"pad_to_aspect_ratio": True, "image_size": (12, 4)},
    {"interpolation": "mitchellcubic"},
]


@pytest.mark.parametrize("options", IMAGES, ids=str)
def test_images(images, options):
    compare("image_dataset_from_directory", images, {"image_size": (7, 5), **options})


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_length": 3, "batch_size": None, "shuffle": False},
        {"labels": list("abababab"), "label_mode": "int"},
        {"validation_split": 0.5, "subset": "both", "label_mode": "binary"},
    ],
    ids=str,
)
def test_texts(texts, options):
    compare("text_dataset_from_directory", texts, options)


@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": 2, "shuffle": False},
        {"output_sequence_length": 21, "batch_size": 4},
        {"ragged": True, "batch_size": 2},
        {"batch_size": None, "labels": None},
    ],
    ids=str,
)
def test_sounds(sounds, options):
    compare("audio_dataset_from_directory", sounds, options)


def test_sampling_rates(tmp_path):
    """A wave of 50 Hz is one at each rate."""
    (tmp_path / "a").mkdir()
    with wave.open(str(tmp_path / "a" / "0.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes((20000 * np.sin(2 * np.pi * 50 * np.arange(8000) / 8000)).astype("int16"))
    for rate in (8000, 4000, 11025):
        dataset = tfkit.utils.audio_dataset_from_directory(
            tmp_path, sampling_rate=rate, output_sequence_length=rate + 5, verbose=False
        )
        ((sound, _),) = dataset
        expected = 20000 / 32768 * np.sin(2 * np.pi * 50 * np.arange(rate) / rate)
        assert sound.shape == (1, rate + 5, 1)
        np.testing.assert_allclose(sound[0, :rate, 0], expected, atol=1e-4)
        assert not np.any(sound[0, rate:])


def test_found_files_are_said_and_listed(texts, capsys):
    dataset = tfkit.preprocessing.text_dataset_from_directory(
        texts, shuffle=False, validation_split=0.25, subset="validation"
    )
    assert capsys.readouterr().out == (
        "Found 8 files belonging to 2 classes.\nUsing 2 files for validation.\n"
    )
    assert dataset.file_paths == [str(texts / "b" / f"{number}.txt") for number in (2, 3)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": "x"}, "`labels` must be"),
        ({"label_mode": "x"}, "`label_mode` must be"),
        ({"label_mode": "binary", "class_names": ["a"]}, "exactly 2 classes"),
        ({"class_names": ["a", "z"]}, r"The subfolders: \['a', 'b'\]"),
        ({"labels": [0] * 8, "class_names": ["a"]}, "can only be given"),
        ({"validation_split": 0.5}, "passed together"),
        ({"subset": "training"}, "passed together"),
        ({"subset": "test", "validation_split": 0.5}, "`subset` must be"),
        ({"validation_split": 2.0, "subset": "training"}, "between 0 and 1"),
        ({"validation_split": 0.5, "subset": "training", "seed": None}, "need a `seed`"),
        ({"batch_size": 2.5}, "`batch_size` must be"),
        ({"format": "x"}, "`format` must be"),
    ],
    ids=str,
)
def test_options_that_do_not_fit(texts, options, message):
    arguments = {"seed": 1, "verbose": False, **options}
    for library in (tfkit, keras):
        with pytest.raises((ValueError, TypeError), match=message if library is tfkit else None):
            library.utils.text_dataset_from_directory(str(texts), **arguments)


def test_what_keras_takes_or_leaks_on(texts):
    options = {"seed": 1, "verbose": False}
    with pytest.raises(ValueError, match=r"2 labels; .* has 8 files"):
        tfkit.utils.text_dataset_from_directory(texts, labels=[1, 2], **options)
    with pytest.raises(ValueError, match="no files were found"):
        tfkit.utils.text_dataset_from_directory(
            texts, validation_split=0.01, subset="validation", **options
        )


def test_no_files(tmp_path):
    for library in (tfkit, keras):
        with pytest.raises(FileNotFoundError):
            library.utils.image_dataset_from_directory(str(tmp_path / "none"))
        with pytest.raises(ValueError, match=r"\.bmp.*\.png"):
            library.utils.image_dataset_from_directory(str(tmp_path))
    with pytest.raises(ValueError, match="`color_mode` must be"):
        tfkit.utils.image_dataset_from_directory(tmp_path, color_mode="cmyk")
    with pytest.raises(ValueError, match="at most one of"):
        tfkit.utils.image_dataset_from_directory(
            tmp_path, crop_to_aspect_ratio=True, pad_to_aspect_ratio=True
        )
    with pytest.raises(ValueError, match="at most one of"):
        tfkit.utils.audio_dataset_from_directory(tmp_path, ragged=True, output_sequence_length=4)
    with pytest.raises(ValueError, match="`sampling_rate` must be"):
        tfkit.utils.audio_dataset_from_directory(tmp_path, sampling_rate=0)


def test_pipes_links_in_circles_and_names_of_any_bytes(tmp_path):
    inner = tmp_path / "texts" / "a"
    inner.mkdir(parents=True)
    (inner / "0.txt").write_text("a text")
    os.mkfifo(inner / "pipe.txt")
    (inner / "zero.txt").symlink_to("/dev/zero")
    for name in ("up", "again", "once more"):
        (inner / name).symlink_to(tmp_path if name == "up" else inner)
    with open(os.fsencode(inner) + b"/\xff\x1b.txt", "wb") as file:
        file.write(b"strange")
    found = tfkit.utils.text_dataset_from_directory(
        tmp_path / "texts", verbose=False, follow_links=True, shuffle=False, label_mode=None
    )
    assert found.file_paths == [
        f"{inner}/0.txt",
        os.fsdecode(os.fsencode(inner) + b"/\xff\x1b.txt"),
    ]
    assert [text for batch in found for text in batch.numpy().tolist()] == [b"a text", b"strange"]
