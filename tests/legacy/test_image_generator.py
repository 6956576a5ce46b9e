"""`ImageDataGenerator` and its batches, beside Keras's."""

import pickle

import numpy as np
import pandas as pd
import pytest
from keras._tf_keras.keras.preprocessing import image as oracle

import tfkit
from tfkit.preprocessing import image

pytestmark = pytest.mark.filterwarnings("ignore:Please import .affine_transform")  # Keras's
DRAWS = np.random.default_rng(0)
IMAGES = DRAWS.uniform(0, 255, (7, 6, 6, 3)).astype("float32")
LABELS = np.arange(7)
BOTH = (image, oracle)
CHANGES = {
    "rotation": {"rotation_range": 30},
    "shear": {"shear_range": 20, "fill_mode": "reflect"},
    "zoom": {"zoom_range": 0.3, "fill_mode": "wrap", "interpolation_order": 0},
    "zoom of a range": {"zoom_range": (0.5, 0.9), "fill_mode": "constant", "cval": 9.0},
    "channels": {"channel_shift_range": 30.0},
    "flips": {"horizontal_flip": True, "vertical_flip": True},
    "brightness": {"brightness_range": (0.3, 1.5)},
    "all of these": {
        "rotation_range": 10,
        "shear_range": 5,
        "zoom_range": 0.1,
        "channel_shift_range": 5.0,
        "horizontal_flip": True,
        "brightness_range": (0.5, 1.0),
        "interpolation_order": 3,
    },
    "of an image": {"samplewise_center": True, "samplewise_std_normalization": True},
    "of a user": {"rescale": 1 / 255, "preprocessing_function": lambda x: x[::-1] - 10},
    "float64": {"dtype": "float64", "rotation_range": 5},
}


def assert_same(ours, theirs, atol=1e-3):
    """Asserts that batches are the same: arrays, or nests of them."""
    if isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs)
        for mine, other in zip(ours, theirs, strict=True):
            assert_same(mine, other, atol)
        return
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=atol)


@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize("options", CHANGES.values(), ids=CHANGES)
def test_batches_are_those_of_keras(options, seed):
    passes = []
    for library in BOTH:
        np.random.seed(1)
        batches = library.ImageDataGenerator(**options).flow(IMAGES, LABELS, 3, seed=seed)
        assert len(batches) == 3
        found = [next(batches) for _ in range(4)] + [batches[1], batches[2]]
        batches.on_epoch_end()
        batches.reset()
        passes.append([*found, batches[0], next(batches)])
    assert_same(*passes)


@pytest.mark.parametrize(
    "options",
    [
        {"width_shift_range": 0.3, "height_shift_range": 0.2},
        {"width_shift_range": 3, "height_shift_range": [1, 4]},
        {"width_shift_range": 2.5, "rotation_range": 10},
    ],
    ids=str,
)
def test_rows_are_shifted_by_parts_of_the_height(options):
    """Keras draws the same numbers, and shifts columns by parts of the height."""
    ours, theirs = (library.ImageDataGenerator(**options) for library in BOTH)
    for seed in range(5):
        numbers = theirs.get_random_transform((6, 6, 3), seed)
        numbers["tx"], numbers["ty"] = numbers["ty"], numbers["tx"]
        assert ours.get_random_transform((6, 6, 3), seed) == numbers
        assert_same(
            ours.random_transform(IMAGES[0], seed), theirs.apply_transform(IMAGES[0], numbers)
        )
    up = image.ImageDataGenerator(height_shift_range=[1]).flow(IMAGES, batch_size=1, seed=1)
    assert any(np.array_equal(batch[0, :-1], x[1:]) for batch in [next(up)] for x in IMAGES)


def test_an_image_is_turned_about_its_centre():
    """Keras takes the centre of a square image, also for others."""
    x = DRAWS.random((1, 3, 5))
    np.testing.assert_allclose(image.apply_affine_transform(x, theta=180), x[:, ::-1, ::-1])
    wide = image.apply_affine_transform(
        np.moveaxis(x, 0, 2), 180, row_axis=0, col_axis=1, channel_axis=2
    )
    np.testing.assert_allclose(wide, np.moveaxis(x[:, ::-1, ::-1], 0, 2))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("random_rotation", (30,)),
        ("random_shear", (20,)),
        ("random_zoom", ((0.5, 1.5),)),
        ("random_channel_shift", (30.0,)),
        ("random_brightness", ((0.5, 1.5),)),
        ("random_brightness", ((0.5, 1.5), False)),
        ("apply_affine_transform", (10, 1, 2, 5, 0.9, 1.2)),
        ("apply_brightness_shift", (0.7, False)),
        ("apply_channel_shift", (20.0,)),
    ],
)
@pytest.mark.parametrize("scale", [1.0, -3.0])
def test_functions_of_an_image_are_those_of_keras(name, arguments, scale):
    axes = {"row_axis": 0, "col_axis": 1, "channel_axis": 2}
    takes_axes = name.endswith(("rotation", "shear", "zoom", "transform"))
    results = []
    for library in BOTH:
        np.random.seed(0)
        options = axes if takes_axes else {}
        results.append(getattr(library, name)(IMAGES[0] * scale, *arguments, **options))
    assert_same(*results)


@pytest.mark.parametrize(
    "options",
    [
        {"featurewise_center": True},
        {"featurewise_std_normalization": True},
        {"zca_whitening": True, "zca_epsilon": 1.0},
        {"featurewise_std_normalization": True, "data_format": "channels_first"},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:This ImageDataGenerator specifies")  # Keras's
def test_statistics_of_the_data_are_those_of_keras(options):
    x = IMAGES.transpose(0, 3, 1, 2) if "data_format" in options else IMAGES
    results = []
    for library in BOTH:
        generator = library.ImageDataGenerator(**options)
        generator.fit(x)
        generator.fit(x, augment=True, rounds=2, seed=1)
        results.append(next(generator.flow(x, seed=1)))
    assert_same(*results)
    with pytest.warns(UserWarning, match="Call `fit"):
        image.ImageDataGenerator(**options).standardize(x[0])


def test_seeds_leave_the_draws_of_numpy_alone():
    np.random.seed(5)
    expected = np.random.random(3)
    np.random.seed(5)
    next(image.ImageDataGenerator(rotation_range=5).flow(IMAGES, seed=1))
    np.testing.assert_array_equal(np.random.random(3), expected)


@pytest.mark.parametrize("subset", ["training", "validation"])
def test_subsets_weights_and_further_arrays(subset):
    batches = [
        next(
            library.ImageDataGenerator(validation_split=0.3).flow(
                (IMAGES, LABELS * 2), LABELS % 2, 4, sample_weight=LABELS + 1.0,
                shuffle=False, subset=subset, ignore_class_split=True,
            )
        )
        for library in BOTH
    ]  # fmt: skip
    (*ours, weights), (*theirs, _) = batches
    assert_same(ours, theirs)
    first = 0 if subset == "validation" else 2  # Keras takes the first weights for both.
    np.testing.assert_array_equal(weights, np.arange(first, first + len(weights)) + 1.0)


def test_a_model_is_trained_on_batches(tmp_path):
    batches = image.ImageDataGenerator(horizontal_flip=True, rescale=1 / 255).flow(
        IMAGES, LABELS % 2, 3, seed=0, save_to_dir=tmp_path
    )
    batches = pickle.loads(pickle.dumps(batches))
    model = tfkit.Sequential(
        [tfkit.Input((6, 6, 3)), tfkit.layers.Flatten(), tfkit.layers.Dense(1)]
    )
    model.compile("sgd", "mse")
    assert len(model.fit(batches, epochs=2, verbose=0).history["loss"]) == 2
    assert model.predict(batches, verbose=0).shape == (7, 1)
    assert batches.total_batches_seen >= 9
    assert len(list(tmp_path.glob("_*.png"))) >= 21


@pytest.mark.parametrize("seed", [None, 5])
@pytest.mark.parametrize("source", ["array", "folder"])
def test_written_files_have_the_names_of_keras_and_change_no_draws(source, seed, folder, tmp_path):
    names, batches = [], []
    for library, target in zip(BOTH, (tmp_path / "ours", tmp_path / "theirs"), strict=True):
        target.mkdir()
        options = {"batch_size": 3, "seed": seed, "save_to_dir": target, "save_prefix": "a"}
        generator = library.ImageDataGenerator(rotation_range=30)
        if source == "array":
            drawn = generator.flow(IMAGES, LABELS, **options)
        else:
            drawn = generator.flow_from_directory(folder, target_size=(6, 6), **options)
        np.random.seed(1)
        found = [drawn[0], drawn[1]]
        drawn.on_epoch_end()
        batches.append([*found, *(next(drawn) for _ in range(3))])
        if seed and library is image:
            assert np.random.randint(10**9) == np.random.RandomState(1).randint(10**9)
        names.append(sorted(path.name for path in target.iterdir()))
    assert len(names[0]) >= 11
    assert names[0] == names[1]
    assert_same(*batches)


# --- Files --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with images of two classes, in folders of different depth, and other files."""
    root = tmp_path_factory.mktemp("images")
    for number, name in enumerate(
        ["cat/1.png", "cat/2.PNG", "cat/far/0.png", "dog/a.bmp", "dog/b.png"]
    ):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        tfkit.utils.save_img(path, IMAGES[number], scale=False)
    (root / "dog" / "notes.txt").write_text("none")
    return root


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"class_mode": "binary", "color_mode": "grayscale", "target_size": (4, 8)},
        {"class_mode": "sparse", "classes": ["dog", "cat"]},
        {"class_mode": "input", "shuffle": False},
        {
            "class_mode": None,
            "interpolation": "bilinear",
            "target_size": (9, 5),
            "keep_aspect_ratio": True,
        },
        {"subset": "training", "batch_size": 2},
        {"subset": "validation"},
    ],
    ids=str,
)
def test_batches_of_a_folder_are_those_of_keras(folder, options, capsys):
    options = {"target_size": (6, 6), "seed": 1} | options
    made, said = [], []
    for library in BOTH:
        generator = library.ImageDataGenerator(validation_split=0.4, horizontal_flip=True)
        made.append(generator.flow_from_directory(folder, **options))
        said.append(capsys.readouterr().out)
    ours, theirs = made
    assert said[0] == said[1]
    for name in (
        "class_indices",
        "filenames",
        "filepaths",
        "samples",
        "num_classes",
        "image_shape",
    ):
        assert getattr(ours, name) == getattr(theirs, name), name
    np.testing.assert_array_equal(ours.classes, theirs.classes)
    assert_same([next(ours) for _ in range(3)], [next(theirs) for _ in range(3)])


TABLE = pd.DataFrame(
    {
        "filename": ["cat/1.png", "dog/b.png", "none.png", "cat/2.PNG", "dog/a.bmp"],
        "class": ["cat", "dog", "cat", "cat", "dog"],
        "several": [["b"], ["a", "b"], ["c"], ["a"], ["b", "c"]],
        "x": [1.0, 2.0, 3.0, 4.0, 5.0],
        "weight": [0.1, 0.2, 0.3, 0.4, 0.5],
    }
)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"class_mode": "binary", "weight_col": "weight"},
        {"class_mode": "sparse", "classes": ["dog", "cat"]},
        {"class_mode": "sparse", "classes": ["dog"], "shuffle": False},
        {"y_col": "several"},
        {"y_col": "several", "classes": ["c", "b"]},
        {"y_col": "x", "class_mode": "raw"},
        {"y_col": ["x", "weight"], "class_mode": "raw"},
        {"y_col": ["x", "class"], "class_mode": "multi_output"},
        {"class_mode": "input"},
        {"class_mode": None},
        {"subset": "validation"},
        {"subset": "training", "class_mode": "raw", "y_col": "x"},
    ],
    ids=str,
)
def test_batches_of_a_table_are_those_of_keras(folder, options, capsys):
    options = {"target_size": (6, 6), "seed": 1, "directory": str(folder)} | options
    made, said = [], []
    for library in BOTH:
        generator = library.ImageDataGenerator(validation_split=0.4)
        with pytest.warns(UserWarning, match=r"none.png|not there|invalid image filename"):
            made.append(generator.flow_from_dataframe(TABLE, **options))
        said.append(capsys.readouterr().out)
    ours, theirs = made
    assert said[0] == said[1]
    assert ours.filenames == list(theirs.filenames)
    if options.get("class_mode", "categorical") in ("binary", "sparse", "categorical"):
        assert ours.class_indices == theirs.class_indices
        assert ours.classes == theirs.classes
    for _ in range(2):
        for mine, other in zip(_flat(next(ours)), _flat(next(theirs)), strict=True):
            np.testing.assert_array_equal(mine, other)


def _flat(batch):
    if isinstance(batch, (tuple, list)):
        return [array for part in batch for array in _flat(part)]
    return [batch]


# --- Errors -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: image.ImageDataGenerator(zoom_range="a"), "zoom_range='a'"),
        (lambda: image.ImageDataGenerator(brightness_range=2), "brightness_range=2"),
        (lambda: image.ImageDataGenerator(validation_split=1.5), "validation_split=1.5"),
        (lambda: image.ImageDataGenerator().flow(IMAGES[0]), r"\(6, 6, 3\)"),
        (lambda: image.ImageDataGenerator().flow(IMAGES, [1, 2]), "7 images, and y of length 2"),
        (lambda: image.ImageDataGenerator().flow(IMAGES, subset="test"), "subset='test'"),
        (
            lambda: image.ImageDataGenerator(validation_split=0.5).flow(
                IMAGES, LABELS, subset="training"
            ),
            "4 and 3 classes",
        ),
        (lambda: image.ImageDataGenerator().fit(IMAGES[0]), r"\(6, 6, 3\)"),
        (lambda: image.ImageDataGenerator().flow(IMAGES)[1], "index 1"),
        (lambda: image.random_zoom(IMAGES[0], 2), "zoom_range=2"),
        (
            lambda: image.ImageDataGenerator().flow_from_directory(".", class_mode="none"),
            "class_mode='none'",
        ),
        (
            lambda: image.ImageDataGenerator().flow_from_dataframe(TABLE, y_col="label"),
            "no column 'label'",
        ),
        (
            lambda: image.ImageDataGenerator().flow_from_dataframe(
                TABLE, y_col="x", class_mode="binary"
            ),
            r"astype\(str\)",
        ),
    ],
)
def test_errors_say_what_was_expected(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_images_of_other_channels_are_warned_of():
    with pytest.warns(UserWarning, match="with 5 channels"):
        image.ImageDataGenerator().flow(np.zeros((2, 4, 4, 5)))
