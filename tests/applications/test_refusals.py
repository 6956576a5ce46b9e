"""Arguments that cannot be: an error before anything is built or downloaded."""

import keras
import numpy as np
import pytest

import tfkit
from tfkit.src.data.applications import input_and_classifier, weights

TOP = {"weights": None, "classes": 10}
NO_TOP = {"weights": "imagenet", "include_top": False}
# A function, arguments, and what the message says.
REFUSED = [
    (
        "ResNet50",
        {"weights": "imagenett"},
        r"weights='imagenett', which is not a file. Did you mean 'imagenet'\?",
    ),
    ("VGG16", {"weights": "/nowhere/vgg.h5"}, r"weights='/nowhere/vgg.h5', which is not a file"),
    ("VGG19", {"weights": 3}, r"weights=3 \(of type int\)"),
    ("ResNet50V2", {"classes": 10}, r"must be 1000.*include_top=False and add.*classes=10"),
    ("DenseNet121", {"classes": 10}, r"classes=10"),
    ("MobileNetV3Small", {"classes": 10}, r"classes=10"),
    ("ResNet50", {"classifier_activation": "relu"}, r"classifier_activation='relu'"),
    ("MobileNetV2", {"weights": __file__, "classifier_activation": "sigmoid"}, r"'sigmoid'"),
    ("MobileNet", {**TOP, "classifier_activation": "sofmax"}, r"'sofmax'"),
    ("ResNet50", {**TOP, "input_shape": (31, 32, 3)}, r"32 x 32 pixels.*\(31, 32, 3\)"),
    ("MobileNetV3Large", {**TOP, "input_shape": (31, 32, 3)}, r"32 x 32 pixels.*\(31, 32, 3\)"),
    ("ResNet50", {**TOP, "input_shape": (3, 224, 224)}, r"32 x 32 pixels.*\(3, 224, 224\)"),
    ("VGG16", {**TOP, "input_shape": (224, 224)}, r"three sizes.*input_shape=\(224, 224\)"),
    ("VGG16", {**TOP, "input_shape": (None, None, 3)}, r"must be known.*\(None, None, 3\)"),
    ("DenseNet121", {"input_shape": (200, 200, 3)}, r"must be \(224, 224, 3\).*\(200, 200, 3\)"),
    ("MobileNet", {"input_shape": (200, 200, 3)}, r"must be \(224, 224, 3\).*\(200, 200, 3\)"),
    ("Xception", {**TOP, "input_shape": (70, 80, 3)}, r"71 x 71 pixels.*\(70, 80, 3\)"),
    ("InceptionV3", {**TOP, "input_shape": (74, 80, 3)}, r"75 x 75 pixels.*\(74, 80, 3\)"),
    ("InceptionResNetV2", {**TOP, "input_shape": (80, 74, 3)}, r"75 x 75 pixels.*\(80, 74, 3\)"),
    ("NASNetMobile", {**TOP, "input_shape": (31, 32, 3)}, r"32 x 32 pixels.*\(31, 32, 3\)"),
    ("EfficientNetB0", {**TOP, "input_shape": (31, 32, 3)}, r"32 x 32 pixels.*\(31, 32, 3\)"),
    ("EfficientNetV2S", {**TOP, "input_shape": (31, 32, 3)}, r"32 x 32 pixels.*\(31, 32, 3\)"),
    ("ConvNeXtTiny", {**TOP, "input_shape": (31, 32, 3)}, r"32 x 32 pixels.*\(31, 32, 3\)"),
    ("NASNetLarge", {"input_shape": (224, 224, 3)}, r"must be \(331, 331, 3\).*\(224, 224, 3\)"),
    ("EfficientNetB3", {"input_shape": (224, 224, 3)}, r"must be \(300, 300, 3\)"),
    ("EfficientNetV2M", {"input_shape": (224, 224, 3)}, r"must be \(480, 480, 3\)"),
    ("EfficientNetB7", {"classes": 10}, r"must be 1000.*classes=10"),
    ("EfficientNetV2L", {"classes": 10}, r"must be 1000.*classes=10"),
    ("ConvNeXtXLarge", {"classes": 10}, r"must be 1000.*classes=10"),
    ("EfficientNetB0", {**NO_TOP, "input_shape": (64, 64, 1)}, r"3 channels.*\(64, 64, 1\)"),
    ("NASNetMobile", {**TOP, "input_shape": (None, None, 3)}, r"known sizes.*\(None, None, 3\)"),
    ("ResNet101", {**NO_TOP, "input_shape": (64, 64, 1)}, r"3 channels.*\(64, 64, 1\)"),
    ("MobileNet", {"alpha": 0.3}, r"\[0.25, 0.5, 0.75, 1.0\].*alpha=0.3"),
    ("MobileNet", {"depth_multiplier": 2}, r"must be 1. Received: depth_multiplier=2"),
    ("MobileNetV2", {"alpha": 0.3}, r"\(0.35, 0.5, 0.75, 1.0, 1.3, 1.4\).*alpha=0.3"),
    ("MobileNetV3Small", {"alpha": 0.5}, r"one of \(0.75, 1.0\).*alpha=0.5"),
    ("MobileNetV3Small", {"alpha": 0.75, "minimalistic": True}, r"one of \(1.0,\).*alpha=0.75"),
    (
        "ResNet50",
        {**TOP, "input_tensor": np.ones((1, 64, 64, 3))},
        r"symbolic.*input_tensor of type ndarray",
    ),
    (
        "MobileNetV2",
        {**TOP, "input_tensor": np.ones((1, 64, 64, 3))},
        r"symbolic.*input_tensor of type ndarray",
    ),
]
# Those that Keras accepts, and ignores, or finds when it loads the weights.
OURS_ALONE = [
    ("ResNet50", {**NO_TOP, "pooling": "average"}, r"pooling='average'"),
    ("MobileNetV3Small", {**NO_TOP, "input_shape": (64, 64, 1)}, r"3 channels.*\(64, 64, 1\)"),
    # Keras makes models that no image fits.
    ("NASNetLarge", {**NO_TOP, "input_shape": (None, 331, 3)}, r"known sizes.*\(None, 331, 3\)"),
]


@pytest.fixture
def nothing_is_made(monkeypatch):
    def fail(*args, **kwargs):
        raise AssertionError("an input was made, or a file asked for")

    monkeypatch.setattr(input_and_classifier, "Input", fail)
    monkeypatch.setattr(weights, "get_file", fail)


@pytest.mark.parametrize(("name", "arguments", "message"), [*REFUSED, *OURS_ALONE])
def test_arguments_are_checked_first(name, arguments, message, nothing_is_made):
    with pytest.raises(ValueError, match=message):
        getattr(tfkit.applications, name)(**arguments)


# Keras finds a wrong activation at the end of a large model, and takes 3 for an open file.
QUICK = [
    row[:2]
    for row in REFUSED
    if "classifier_activation" not in row[1] and row[1].get("weights") != 3
]


@pytest.mark.filterwarnings("ignore:This model usually expects:UserWarning")
@pytest.mark.parametrize(("name", "arguments"), QUICK)
def test_keras_refuses_them_too(name, arguments):
    with pytest.raises(ValueError):  # noqa: PT011, its own message
        getattr(keras.applications, name)(**arguments)


@pytest.mark.parametrize("name", ["MobileNetV2", "MobileNetV3Large"])
def test_a_shape_that_contradicts_the_tensor_is_refused(name, nothing_is_made):
    tensor = tfkit.Input((64, 64, 3))
    with pytest.raises(ValueError, match=r"input_shape=\(64, 48, 3\).*has \(64, 64, 3\)"):
        getattr(tfkit.applications, name)(
            input_tensor=tensor, input_shape=(64, 48, 3), weights=None
        )


@pytest.fixture
def channels_first():
    tfkit.config.set_image_data_format("channels_first")
    yield
    tfkit.config.set_image_data_format("channels_last")


def test_shapes_are_checked_with_channels_first(channels_first, nothing_is_made):
    with pytest.raises(ValueError, match=r"must be \(3, 224, 224\).*\(3, 64, 64\)"):
        tfkit.applications.ResNet50(input_shape=(3, 64, 64))
    with pytest.raises(ValueError, match=r"'channels_first'.*\(3, 224, 224\).*\(64, 64, 3\)"):
        tfkit.applications.ResNet50(include_top=False, input_shape=(64, 64, 3))
    for name in ("DenseNet121", "NASNetMobile", "ConvNeXtTiny"):
        with pytest.raises(ValueError, match=r"set_image_data_format\(\"channels_last\"\)"):
            getattr(tfkit.applications, name)(weights=None)


def test_a_file_of_another_model_is_refused(tmp_path):
    small = {"include_top": False, "alpha": 0.25, "input_shape": (32, 32, 3)}
    tfkit.applications.MobileNet(weights=None, **small).save_weights(tmp_path / "m.weights.h5")
    with pytest.raises(tfkit.saving.LoadError, match=r"conv1"):
        tfkit.applications.MobileNet(weights=tmp_path / "m.weights.h5", **{**small, "alpha": 0.5})


def test_the_name_of_a_file_is_no_image() -> None:
    with pytest.raises(
        ValueError, match=r"Received: cat\.jpg\. A file is read by `tfkit\.utils\.img_to_array"
    ):
        tfkit.applications.vgg16.preprocess_input("cat.jpg")
