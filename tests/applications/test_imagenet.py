"""Preprocessing of images and names of classes, beside Keras's."""

import hashlib
import json

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit.src.data.applications import imagenet

OURS = tfkit.applications.imagenet_utils
THEIRS = keras.applications.imagenet_utils
FORMATS = ("channels_last", "channels_first")


def pixels(shape, dtype):
    return np.random.default_rng(0).uniform(0, 255, shape).astype(dtype)


@pytest.mark.parametrize("mode", ["caffe", "tf", "torch"])
@pytest.mark.parametrize("data_format", FORMATS)
@pytest.mark.parametrize("dtype", ["uint8", "int64", "float16", "float32", "float64"])
def test_arrays_become_those_of_keras(mode, data_format, dtype):
    """In place, too, where they are of floats."""
    for shape in ((3, 4, 3), (2, 3, 4, 3)):
        shape = shape if data_format == "channels_last" else (*shape[:-3], 3, *shape[-3:-1])
        ours, theirs = pixels(shape, dtype), pixels(shape, dtype)
        got = OURS.preprocess_input(ours, data_format, mode)
        expected = THEIRS.preprocess_input(theirs, data_format, mode)
        assert got.dtype == expected.dtype
        tolerance = 1e-3 if dtype == "float16" else 1e-6
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=150 * tolerance)
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=150 * tolerance)
        assert np.shares_memory(got, ours) == np.shares_memory(expected, theirs)


@pytest.mark.parametrize("mode", ["caffe", "tf", "torch"])
@pytest.mark.parametrize("data_format", FORMATS)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
def test_tensors_become_those_of_keras(mode, data_format, dtype):
    shape = (2, 4, 5, 3) if data_format == "channels_last" else (2, 3, 4, 5)
    for x in (
        tf.cast(pixels(shape, "float32"), dtype),
        tf.cast(pixels(shape[1:], "float32"), dtype),
    ):
        got = OURS.preprocess_input(x, data_format, mode)
        expected = THEIRS.preprocess_input(x, data_format, mode)
        assert got.dtype == expected.dtype
        got, expected = np.asarray(got, "float64"), np.asarray(expected, "float64")
        step = {"bfloat16": 2**-8, "float16": 2**-11}.get(dtype, 2**-23)
        np.testing.assert_allclose(got, expected, rtol=4 * step, atol=255 * step)


@pytest.mark.parametrize("mode", ["caffe", "tf", "torch"])
def test_integers_become_floats(mode):
    """Keras refuses to divide a tensor of integers."""
    x = pixels((2, 4, 4, 3), "uint8")
    expected = OURS.preprocess_input(x, mode=mode)
    got = OURS.preprocess_input(tf.constant(x), mode=mode)
    assert got.dtype == "float32"
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-5)


def test_lists_become_arrays():
    x = pixels((4, 4, 3), "uint8")
    got = OURS.preprocess_input([list(x), list(x)])
    np.testing.assert_array_equal(got, OURS.preprocess_input(np.stack([x, x])))


def test_an_array_that_cannot_be_written_is_copied():
    x = pixels((2, 4, 4, 3), "float32")
    x.flags.writeable = False
    for mode in ("caffe", "tf", "torch"):
        expected = OURS.preprocess_input(x.copy(), mode=mode)
        np.testing.assert_array_equal(OURS.preprocess_input(x, mode=mode), expected)


@pytest.mark.parametrize("mode", ["caffe", "tf", "torch"])
@pytest.mark.parametrize("data_format", FORMATS)
def test_a_model_may_contain_it_and_goes_through_files(mode, data_format, tmp_path):
    shape = (4, None, 3) if data_format == "channels_last" else (3, 4, None)
    inputs = tfkit.Input(shape, dtype="uint8")
    model = tfkit.Model(inputs, OURS.preprocess_input(inputs, data_format, mode))
    model.save(tmp_path / "model.keras")
    x = pixels((2, *(5 if size is None else size for size in shape)), "uint8")
    expected = THEIRS.preprocess_input(x, data_format, mode)
    loaded = tfkit.models.load_model(tmp_path / "model.keras")
    there = keras.models.load_model(tmp_path / "model.keras")
    for each in (model, loaded, there):
        np.testing.assert_allclose(each(x), expected, rtol=1e-6, atol=1e-4)


@pytest.mark.parametrize("mode", ["caffe", "tf", "torch"])
def test_a_model_of_keras_with_it_is_loaded(mode, tmp_path):
    inputs = keras.Input((4, 5, 3))
    model = keras.Model(inputs, THEIRS.preprocess_input(inputs, mode=mode))
    model.save(tmp_path / "model.keras")
    loaded = tfkit.models.load_model(tmp_path / "model.keras")
    x = pixels((2, 4, 5, 3), "float32")
    np.testing.assert_allclose(loaded(x), np.asarray(model(x)), rtol=1e-6, atol=1e-4)


@pytest.mark.parametrize(
    "module",
    [
        *("convnext", "densenet", "efficientnet", "efficientnet_v2", "inception_resnet_v2"),
        *("inception_v3", "mobilenet", "mobilenet_v2", "mobilenet_v3", "nasnet", "resnet"),
        *("resnet50", "resnet_v2", "vgg16", "vgg19", "xception"),
    ],
)
def test_each_family_has_its_own(module):
    ours, theirs = getattr(tfkit.applications, module), getattr(keras.applications, module)
    x = pixels((2, 4, 4, 3), "float32")
    expected = theirs.preprocess_input(x.copy())
    np.testing.assert_allclose(ours.preprocess_input(x.copy()), expected, rtol=1e-6, atol=1e-4)
    names = {name for name in dir(theirs) if not name.startswith("_")}
    assert names == {name for name in dir(ours) if not name.startswith("_")}


def test_images_that_do_not_fit_are_refused():
    x = pixels((2, 4, 4, 3), "float32")
    with pytest.raises(
        ValueError, match=r'must be "caffe", "tf" or "torch". Received: mode=.tensorflow.'
    ):
        OURS.preprocess_input(x, mode="tensorflow")
    with pytest.raises(ValueError, match=r"Received: data_format='NHWC'"):
        tfkit.applications.vgg16.preprocess_input(x, "NHWC")
    with pytest.raises(
        ValueError, match=r"3 channels .* axis 3 .channels_last.. Received: .*\(2, 4, 4, 4\)"
    ):
        OURS.preprocess_input(np.ones((2, 4, 4, 4)))
    with pytest.raises(ValueError, match=r"3 channels .* axis 1 .channels_first."):
        OURS.preprocess_input(tf.ones((2, 4, 4, 3)), "channels_first", "torch")


@pytest.fixture
def class_index(tmp_path, monkeypatch):
    """A list of classes in the form of the published one, at an address of this machine."""
    index = {str(number): [f"n{number:08}", f"class_{number}"] for number in range(1000)}
    published = tmp_path / "published" / "imagenet_class_index.json"
    published.parent.mkdir()
    published.write_text(json.dumps(index))
    monkeypatch.setenv("TFKIT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "keras"))
    monkeypatch.setattr(imagenet, "CLASS_INDEX", published.as_uri())
    monkeypatch.setattr(
        imagenet, "CLASS_INDEX_MD5", hashlib.md5(published.read_bytes()).hexdigest()
    )
    imagenet._class_names.cache_clear()
    monkeypatch.setattr("keras.src.applications.imagenet_utils.CLASS_INDEX", index)
    yield published
    imagenet._class_names.cache_clear()


def test_predictions_are_decoded_as_in_keras(class_index, tmp_path, capsys):
    scores = np.random.default_rng(0).uniform(size=(3, 1000)).astype("float32")
    for top in (5, 1, 1000):
        expected = THEIRS.decode_predictions(scores, top)
        assert tfkit.applications.resnet50.decode_predictions(scores, top=top) == expected
        assert OURS.decode_predictions(tf.constant(scores), top) == expected
    assert type(expected[0][0][2]) is type(OURS.decode_predictions(scores)[0][0][2])
    assert capsys.readouterr().out.count("Downloading data from file://") == 1
    assert (tmp_path / "home" / "models" / "imagenet_class_index.json").is_file()


def test_a_list_of_classes_with_another_hash_is_refused(class_index):
    class_index.write_text(class_index.read_text() + " ")
    with pytest.raises(ValueError, match="is not the expected one"):
        OURS.decode_predictions(np.zeros((1, 1000)))


@pytest.mark.parametrize("shape", [(1000,), (2, 10), (1, 2, 1000)])
def test_scores_of_other_shapes_are_refused(shape, class_index):
    with pytest.raises(ValueError, match=r"shape \(images, 1000\).*Received: preds of shape"):
        OURS.decode_predictions(np.zeros(shape))


@pytest.mark.parametrize("top", [0, -1, 2.5, True])
def test_a_number_of_classes_that_is_none_is_refused(top, class_index):
    with pytest.raises(ValueError, match=r"must be a positive integer\. Received: top="):
        OURS.decode_predictions(np.zeros((1, 1000)), top)
