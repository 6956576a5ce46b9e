"""Programs that use keras-cv: augmentations, boxes, losses, layers, backbones and tasks without presets."""

import keras
import keras_cv
import numpy as np
import pytest

RANDOM = np.random.default_rng(0)
IMAGES = RANDOM.integers(0, 256, (4, 32, 32, 3)).astype("float32")
FEATURES = RANDOM.normal(size=(2, 8, 8, 6)).astype("float32")
BOXES = np.array([[[2, 3, 12, 20], [8, 8, 30, 28]], [[0, 0, 10, 10], [5, 6, 25, 16]]], "float32")
OTHERS = BOXES[:, ::-1] + np.array([1.0, -1.0, 2.0, 0.5], "float32")
SCORES = np.array([[0.1, 0.7, 0.2], [0.5, 0.25, 0.25]], "float32")
LABELS = np.array([[0, 1, 0], [0, 0, 1]], "float32")
FORMATS = ("xyxy", "yxyx", "xywh", "center_xywh", "rel_xyxy", "rel_yxyx")


def note(record, value, name="value"):
    record(name, np.asarray(value, "float64").ravel()[:40].round(4).tolist())


# Augmentations draw random numbers by their own seeds; those here are independent of the draws.
FIXED = {
    "Grayscale": lambda layers: layers.Grayscale(),
    "Posterization": lambda layers: layers.Posterization((0, 255), 3),
    "Solarization": lambda layers: layers.Solarization((0, 255), threshold_factor=(128, 128)),
    "Equalization": lambda layers: layers.Equalization((0, 255)),
    "AutoContrast": lambda layers: layers.AutoContrast((0, 255)),
    "Rescaling": lambda layers: layers.Rescaling(1 / 127.5, -1.0),
    "Resizing": lambda layers: layers.Resizing(20, 24),
    "RandomBrightness": lambda layers: layers.RandomBrightness((0.2, 0.2), (0, 255)),
    "RandomSaturation": lambda layers: layers.RandomSaturation((0.7, 0.7)),
    "RandomHue": lambda layers: layers.RandomHue((0.0, 0.0), (0, 255)),
    "RandomSharpness": lambda layers: layers.RandomSharpness((0.4, 0.4), (0, 255)),
    "RandomChannelShift": lambda layers: layers.RandomChannelShift((0, 255), (0.0, 0.0)),
    "RandomColorDegeneration": lambda layers: layers.RandomColorDegeneration((0.5, 0.5)),
    "RandomGaussianBlur": lambda layers: layers.RandomGaussianBlur(3, (0.5, 0.5)),
}
DRAWN = {
    "RandomFlip": lambda layers: layers.RandomFlip("horizontal_and_vertical"),
    "RandomRotation": lambda layers: layers.RandomRotation(0.2),
    "RandomZoom": lambda layers: layers.RandomZoom((0.2, 0.3)),
    "RandomTranslation": lambda layers: layers.RandomTranslation(0.1, 0.1),
    "RandomShear": lambda layers: layers.RandomShear(0.2, 0.2),
    "RandomCutout": lambda layers: layers.RandomCutout(0.4, 0.4),
    "RandomCrop": lambda layers: layers.RandomCrop(24, 24),
    "RandomCropAndResize": lambda layers: layers.RandomCropAndResize(
        (24, 24), (0.8, 1.0), (0.9, 1.1)
    ),
    "GridMask": lambda layers: layers.GridMask((0.0, 0.5)),
    "ChannelShuffle": lambda layers: layers.ChannelShuffle(3),
    "AugMix": lambda layers: layers.AugMix((0, 255)),
}
MIXED = {
    "MixUp": lambda layers: layers.MixUp(),
    "CutMix": lambda layers: layers.CutMix(),
    "FourierMix": lambda layers: layers.FourierMix(),
    "Mosaic": lambda layers: layers.Mosaic(),
}


@pytest.mark.parametrize("name", FIXED)
def test_an_augmentation_without_chance(name, record_property):
    layer = FIXED[name](keras_cv.layers)
    outputs = layer(IMAGES, training=True)
    note(record_property, outputs)
    note(record_property, layer(IMAGES[0], training=True), "one")


@pytest.mark.parametrize("name", DRAWN)
def test_an_augmentation(name, record_property):
    layer = DRAWN[name](keras_cv.layers)
    outputs = np.asarray(layer({"images": IMAGES, "labels": np.arange(4)}, training=True)["images"])
    assert np.isfinite(outputs).all()
    assert np.abs(outputs - IMAGES).max() > 0 if outputs.shape == IMAGES.shape else True
    record_property("shape", list(outputs.shape))


@pytest.mark.parametrize("name", MIXED)
def test_a_mixture(name, record_property):
    layer = MIXED[name](keras_cv.layers)
    labels = np.eye(4, dtype="float32")
    outputs = layer({"images": IMAGES, "labels": labels}, training=True)
    np.testing.assert_allclose(np.asarray(outputs["labels"]).sum(axis=1), 1.0, rtol=1e-5)
    record_property("shape", list(outputs["images"].shape))


def test_boxes_that_are_flipped(record_property):
    layer = keras_cv.layers.RandomFlip("horizontal", rate=1.0, bounding_box_format="xyxy")
    boxes = {"boxes": BOXES, "classes": np.zeros((2, 2), "float32")}
    outputs = layer({"images": IMAGES[:2], "bounding_boxes": boxes}, training=True)
    note(record_property, keras_cv.bounding_box.to_dense(outputs["bounding_boxes"])["boxes"])


@pytest.mark.parametrize("source", FORMATS)
@pytest.mark.parametrize("target", FORMATS)
def test_formats_of_boxes(source, target, record_property):
    given = keras_cv.bounding_box.convert_format(
        BOXES, source="xyxy", target=source, images=IMAGES[:2]
    )
    found = keras_cv.bounding_box.convert_format(
        given, source=source, target=target, images=IMAGES[:2]
    )
    note(record_property, found)


@pytest.mark.parametrize("function", ["compute_iou", "compute_ciou"])
def test_overlaps(function, record_property):
    note(record_property, getattr(keras_cv.bounding_box, function)(BOXES, OTHERS, "xyxy"))


LOSSES = {
    "FocalLoss": (lambda losses: losses.FocalLoss(), LABELS, SCORES),
    "FocalLoss logits": (lambda losses: losses.FocalLoss(from_logits=True), LABELS, SCORES),
    "GIoULoss": (lambda losses: losses.GIoULoss("xyxy"), BOXES, OTHERS),
    "IoULoss": (lambda losses: losses.IoULoss("xyxy"), BOXES, OTHERS),
    "SmoothL1Loss": (lambda losses: losses.SmoothL1Loss(l1_cutoff=0.5), BOXES, OTHERS),
    "SimCLRLoss": (lambda losses: losses.SimCLRLoss(0.5), LABELS, SCORES),
    "BinaryPenaltyReducedFocalCrossEntropy": (
        lambda losses: losses.BinaryPenaltyReducedFocalCrossEntropy(),
        LABELS,
        SCORES,
    ),
}


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss(name, record_property):
    make, labels, predictions = LOSSES[name]
    loss = make(keras_cv.losses)
    note(record_property, loss(labels, predictions))
    again = type(loss).from_config(loss.get_config())
    np.testing.assert_allclose(again(labels, predictions), loss(labels, predictions))


LAYERS = {
    "DropPath": lambda layers: layers.DropPath(0.0),
    "DropBlock2D": lambda layers: layers.DropBlock2D(0.2, 3),
    "SqueezeAndExcite2D": lambda layers: layers.SqueezeAndExcite2D(6, 2),
    "SpatialPyramidPooling": lambda layers: layers.SpatialPyramidPooling([2, 3], 4),
    "FusedMBConvBlock": lambda layers: layers.FusedMBConvBlock(6, 6, se_ratio=0.25),
    "MBConvBlock": lambda layers: layers.MBConvBlock(6, 8, expand_ratio=2, se_ratio=0.25),
    "PatchingAndEmbedding": lambda layers: layers.PatchingAndEmbedding(12, 4),
    "OverlappingPatchingAndEmbedding": lambda layers: layers.OverlappingPatchingAndEmbedding(12),
    "ViTDetPatchingAndEmbedding": lambda layers: layers.ViTDetPatchingAndEmbedding(
        (4, 4), (4, 4), 8
    ),
    "WindowedTransformerEncoder": lambda layers: layers.WindowedTransformerEncoder(
        6, 12, 2, window_size=4, input_size=(8, 8)
    ),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer(name, record_property):
    keras.utils.set_random_seed(1)
    layer = LAYERS[name](keras_cv.layers)
    note(record_property, keras.tree.flatten(layer(FEATURES))[0])
    again = type(layer).from_config(layer.get_config())
    assert (
        keras.tree.flatten(again(FEATURES))[0].shape == keras.tree.flatten(layer(FEATURES))[0].shape
    )


def test_a_transformer(record_property):
    keras.utils.set_random_seed(2)
    layer = keras_cv.layers.TransformerEncoder(6, 2, 12)
    note(record_property, layer(FEATURES[:, 0]))


def test_anchors_and_suppression(record_property):
    anchors = keras_cv.layers.AnchorGenerator(
        "xyxy", sizes=[16.0, 32.0], scales=[1.0], aspect_ratios=[1.0, 2.0], strides=[8, 16]
    )
    found = anchors(image_shape=(32, 32, 3))
    note(record_property, keras.tree.flatten(found)[0])
    decoder = keras_cv.layers.MultiClassNonMaxSuppression("xyxy", True, max_detections=4)
    boxes = np.concatenate([BOXES, OTHERS], axis=1)
    scores = RANDOM.normal(size=(2, 4, 3)).astype("float32")
    found = decoder(boxes, scores * 3)
    note(record_property, found["boxes"], "boxes")
    note(record_property, found["confidence"], "confidence")


def resnet():
    return keras_cv.models.ResNetV2Backbone(
        stackwise_filters=[8, 16],
        stackwise_blocks=[1, 1],
        stackwise_strides=[1, 2],
        include_rescaling=True,
        input_shape=(32, 32, 3),
    )


BACKBONES = {
    "ResNetV2": resnet,
    "ResNet": lambda: keras_cv.models.ResNetBackbone(
        stackwise_filters=[8, 16],
        stackwise_blocks=[1, 1],
        stackwise_strides=[1, 2],
        include_rescaling=True,
        input_shape=(32, 32, 3),
        block_type="block",
    ),
    "DenseNet": lambda: keras_cv.models.DenseNetBackbone(
        stackwise_num_repeats=[1, 2],
        include_rescaling=True,
        growth_rate=4,
        input_shape=(32, 32, 3),
    ),
    "CSPDarkNet": lambda: keras_cv.models.CSPDarkNetBackbone(
        stackwise_channels=[8, 8, 8, 8],
        stackwise_depth=[1, 1, 1, 1],
        include_rescaling=True,
        input_shape=(32, 32, 3),
    ),
}


@pytest.mark.parametrize("name", BACKBONES)
def test_a_backbone(name, record_property):
    keras.utils.set_random_seed(3)
    backbone = BACKBONES[name]()
    record_property("count", backbone.count_params())
    note(record_property, backbone(IMAGES[:1]))
    again = type(backbone).from_config(backbone.get_config())
    assert again.count_params() == backbone.count_params()
    levels = backbone.pyramid_level_inputs
    record_property("levels", sorted(levels))


def test_a_classifier(tmp_path, record_property):
    keras.utils.set_random_seed(4)
    model = keras_cv.models.ImageClassifier(backbone=resnet(), num_classes=3)
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
    history = model.fit(IMAGES, np.arange(4) % 3, epochs=2, shuffle=False, verbose=0).history
    record_property("loss", history["loss"])
    model.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras")
    np.testing.assert_allclose(
        loaded.predict(IMAGES, verbose=0), model.predict(IMAGES, verbose=0), rtol=1e-4, atol=1e-6
    )


def test_a_segmentation(record_property):
    keras.utils.set_random_seed(5)
    backbone = keras_cv.models.ResNetV2Backbone(
        stackwise_filters=[8, 8, 8, 8],
        stackwise_blocks=[1, 1, 1, 1],
        stackwise_strides=[1, 2, 2, 2],
        include_rescaling=True,
        input_shape=(64, 64, 3),
    )
    model = keras_cv.models.DeepLabV3Plus(num_classes=3, backbone=backbone)
    model.compile("sgd", "sparse_categorical_crossentropy")
    images = RANDOM.normal(size=(2, 64, 64, 3)).astype("float32")
    labels = RANDOM.integers(0, 3, (2, 64, 64, 1))
    note(record_property, model.predict(images, verbose=0))
    history = model.fit(images, labels, epochs=1, verbose=0).history
    assert np.isfinite(history["loss"]).all()


def test_a_detector(record_property):
    keras.utils.set_random_seed(6)
    backbone = keras_cv.models.ResNetV2Backbone(
        stackwise_filters=[8, 8, 8, 8],
        stackwise_blocks=[1, 1, 1, 1],
        stackwise_strides=[1, 2, 2, 2],
        include_rescaling=True,
        input_shape=(128, 128, 3),
    )
    model = keras_cv.models.RetinaNet(num_classes=3, bounding_box_format="xyxy", backbone=backbone)
    model.compile("sgd", classification_loss="focal", box_loss="smoothl1")
    images = RANDOM.normal(size=(2, 128, 128, 3)).astype("float32")
    boxes = {"boxes": BOXES * 3, "classes": np.array([[0.0, 1.0], [2.0, 1.0]], "float32")}
    history = model.fit(images, boxes, epochs=1, batch_size=2, shuffle=False, verbose=0).history
    record_property("loss", history["loss"])
