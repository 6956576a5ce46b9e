"""Layers of images beyond the table of conformance: boxes, masks, labels, `tf.data` and XLA."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tests.conformance.table import CASES
from tfkit import layers
from tfkit.src.layers.image.base import ImageLayer
from tfkit.src.ops.image_sampling import project

IMAGES = np.random.default_rng(0).uniform(0, 255, (3, 8, 8, 3)).astype("float32")
BOXES = np.array(
    [[[0, 1, 3, 4], [2, 2, 5, 7]], [[1, 1, 2, 2], [0, 0, 8, 8]], [[4, 4, 6, 6], [3, 0, 4, 2]]],
    "float32",
)


def data(images=IMAGES):
    return {
        "images": images,
        "labels": np.eye(3, dtype="float32"),
        "segmentation_masks": np.random.default_rng(1)
        .integers(0, 5, (3, 8, 8, 1))
        .astype("float32"),
        "bounding_boxes": {"boxes": BOXES, "labels": np.array([[1, 2], [3, 4], [5, 6]])},
    }


# In Keras 3.15.1 these draw, and `RandomCrop` does not crop: `docs/coming-from-keras.md` lists them.
OTHER_IN_INFERENCE = ("RandomSharpness", "RandomColorDegeneration", "RandomGrayscale")
OTHER_IN_INFERENCE += ("RandomPosterization", "MixUp", "RandomCrop")
WITH_BOXES = [
    ("CenterCrop", {"height": 4, "width": 5}),
    ("RandomColorDegeneration", {"factor": 0.3, "seed": 5}),
    ("RandomFlip", {"seed": 5}),
    ("RandomFlip", {"mode": "horizontal", "seed": 1}),
    ("RandomPerspective", {"factor": (1.0, 1.0), "scale": 0.4, "seed": 5}),
    ("RandomRotation", {"factor": 0.2, "seed": 5}),
    ("RandomTranslation", {"height_factor": 0.2, "width_factor": 0.3, "seed": 5}),
    ("RandomZoom", {"height_factor": 0.2, "width_factor": 0.3, "seed": 5}),
    ("RandAugment", {"seed": 7, "num_ops": 3}),
    ("Resizing", {"height": 4, "width": 6}),
    ("MaxNumBoundingBoxes", {"max_number": 3}),
]


def copied(value):
    return tf.nest.map_structure(np.copy, value)  # Keras changes the dictionary that it is given.


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize(("name", "arguments"), WITH_BOXES, ids=str)
def test_boxes_masks_and_labels_are_changed_as_in_keras(name, arguments, single):
    # Keras does not give back the relative boxes of those that warp.
    form = "xyxy" if name.startswith("Rand") else "rel_xywh"
    given = data()
    given["bounding_boxes"] = tfkit.utils.bounding_boxes.convert_format(
        given["bounding_boxes"], "xyxy", form, 8, 8
    )
    given = tf.nest.map_structure(lambda x: np.array(x[0] if single else x), given)
    ours = getattr(layers, name)(**arguments, bounding_box_format=form)(copied(given))
    theirs = getattr(keras.layers, name)(**arguments, bounding_box_format=form)(copied(given))
    tf.nest.assert_same_structure(ours, theirs)
    for a, b in zip(tf.nest.flatten(ours), tf.nest.flatten(theirs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-3)


def marked(box):
    """An image with a bright rectangle in a box."""
    image = np.zeros((1, 12, 12, 1), "float32")
    left, top, right, bottom = box
    image[0, top:bottom, left:right] = 100
    return image


@pytest.mark.parametrize(
    "layer",
    [
        layers.RandomCrop(9, 8, seed=2, bounding_box_format="xyxy"),
        layers.CenterCrop(10, 9, bounding_box_format="xyxy"),
        layers.Resizing(
            24, 18, crop_to_aspect_ratio=True, bounding_box_format="xyxy", interpolation="nearest"
        ),
        layers.Resizing(
            24, 36, pad_to_aspect_ratio=True, bounding_box_format="xyxy", interpolation="nearest"
        ),
        layers.RandomFlip("horizontal", seed=0, bounding_box_format="xyxy"),
    ],
    ids=lambda layer: type(layer).__name__,
)
def test_boxes_lie_around_what_they_lay_around(layer):
    box = (4, 3, 7, 8)
    boxes = {"boxes": np.array([[box]], "float32"), "labels": np.array([[1]])}
    outputs = layer({"images": marked(box), "bounding_boxes": boxes})
    left, top, right, bottom = outputs["bounding_boxes"]["boxes"][0, 0].numpy()
    rows, columns = np.nonzero(outputs["images"][0, :, :, 0].numpy() > 50)
    found = columns.min(), rows.min(), columns.max() + 1, rows.max() + 1
    np.testing.assert_allclose((left, top, right, bottom), found, atol=1e-3)


@pytest.mark.parametrize("factors", [(0.5, 0.0), (0.0, 0.3), (0.3, 0.2)])
def test_sheared_boxes_lie_around_what_they_lay_around(factors):
    """Keras 3.15.1 shears boxes in parts of the sides, and along x and then y: they miss their contents."""
    image = np.zeros((1, 60, 120, 1), "float32")
    image[0, 20:30, 50:80] = 100
    x, y = factors
    layer = layers.RandomShear(
        (x, x), (y, y), seed=2, fill_mode="constant", bounding_box_format="xyxy"
    )
    boxes = {"boxes": np.array([[[50, 20, 80, 30]]], "float32"), "labels": np.array([[1]])}
    outputs = layer({"images": image, "bounding_boxes": boxes})
    rows, columns = np.nonzero(outputs["images"][0, :, :, 0].numpy() > 50)
    found = columns.min(), rows.min(), columns.max() + 1, rows.max() + 1
    np.testing.assert_allclose(outputs["bounding_boxes"]["boxes"][0, 0], found, atol=1.0)


def test_one_draw_can_be_used_for_all_images():
    layer = layers.RandomFlip("vertical", seed=2)
    for _ in range(4):
        drawn = layer.get_random_transformation(IMAGES[0])
        outputs = layer.transform_images(IMAGES, drawn)
        one = layer.transform_images(IMAGES[0], drawn)
        flips = bool(tf.reduce_any(drawn["flips"]))
        np.testing.assert_array_equal(one, IMAGES[0][::-1] if flips else IMAGES[0])
        np.testing.assert_array_equal(outputs, IMAGES[:, ::-1] if flips else IMAGES)


def test_a_pipeline_runs_no_more_operations_than_keras():
    """For images one at a time these take as long as the pixels."""

    def operations(module):
        row = [
            module.RandomFlip("horizontal", seed=1),
            module.RandomRotation(0.1, seed=2),
            module.RandomZoom(0.2, seed=3),
            module.RandomContrast(0.2, seed=4),
        ]

        @tf.function(autograph=False)
        def change(image):
            for layer in row:
                image = layer(image, training=True)
            return image

        traced = change.get_concrete_function(tf.TensorSpec((8, 8, 3)))
        definition = traced.graph.as_graph_def()
        functions = [function.node_def for function in definition.library.function]
        return sum(map(len, [definition.node, *functions]))

    assert operations(layers) <= operations(keras.layers)


def test_boxes_need_a_format():
    with pytest.raises(
        ValueError, match="Pass a `bounding_box_format` argument to your RandomFlip"
    ):
        layers.RandomFlip()(data())


def test_masks_keep_their_dtype_and_may_lack_channels():
    masks = np.arange(3 * 8 * 8).reshape(3, 8, 8).astype("int32")
    layer = layers.RandomFlip("vertical", seed=5)
    outputs = layer({"images": IMAGES, "segmentation_masks": masks})
    flipped = [not np.allclose(a, b) for a, b in zip(outputs["images"], IMAGES, strict=True)]
    assert any(flipped)
    assert outputs["segmentation_masks"].dtype == tf.int32
    for mask, given, flip in zip(outputs["segmentation_masks"], masks, flipped, strict=True):
        np.testing.assert_array_equal(mask, given[::-1] if flip else given)


def test_the_dictionary_of_the_user_stays_as_it_is():
    given = data()
    layers.RandomFlip(bounding_box_format="xyxy")(given)
    assert given["images"] is IMAGES


@pytest.mark.parametrize("name", ["CutMix", "RandomElasticTransform"])
def test_what_makes_no_boxes_says_so(name):
    with pytest.raises(NotImplementedError, match="bounding boxes"):
        getattr(layers, name)(bounding_box_format="xyxy")(data())


def test_mixup_keeps_the_boxes_of_both_images():
    outputs = layers.MixUp(seed=1, bounding_box_format="xyxy")(data())["bounding_boxes"]
    assert outputs["boxes"].shape == (3, 4, 4)
    assert outputs["labels"].shape == (3, 4)


AUGMENTING = [
    ("RandomFlip", {}),
    ("RandomRotation", {"factor": 0.2}),
    ("RandomZoom", {"height_factor": 0.2}),
    ("RandomTranslation", {"height_factor": 0.2, "width_factor": 0.2}),
    ("RandomContrast", {"factor": 0.5}),
    ("RandomBrightness", {"factor": 0.2}),
    ("RandomPerspective", {}),
    ("RandomErasing", {}),
    ("RandomElasticTransform", {}),
    ("RandAugment", {}),
    ("AugMix", {"num_chains": 2, "chain_depth": 2}),  # The defaults take seconds to trace.
]


@pytest.mark.parametrize(("name", "arguments"), AUGMENTING, ids=str)
def test_layers_draw_in_tf_data_what_they_draw_eagerly(name, arguments):
    def make():
        return getattr(layers, name)(**arguments, seed=3)

    eager = make()
    batches = tf.data.Dataset.from_tensor_slices(np.stack([IMAGES, IMAGES]))
    for output in batches.map(make()):
        assert output.shape == IMAGES.shape
        np.testing.assert_allclose(output, eager(IMAGES), atol=0.02)
    # One image alone, of unknown size.
    spec = tf.TensorSpec([None, None, 3], tf.uint8)
    images = tf.data.Dataset.from_generator(lambda: IMAGES.astype("uint8"), output_signature=spec)
    outputs = list(images.map(make()))
    assert [output.shape for output in outputs] == [(8, 8, 3)] * 3


@pytest.mark.parametrize(
    ("name", "arguments"),
    [pair for pair in AUGMENTING if pair[0] not in ("RandAugment", "AugMix")],
    ids=str,
)
def test_images_have_draws_of_their_own(name, arguments):
    same = np.repeat(IMAGES[:1], 16, axis=0)
    outputs = getattr(layers, name)(**arguments, seed=3)(same).numpy()
    assert len({output.tobytes() for output in outputs}) > 1


@pytest.mark.parametrize("fill_mode", ["constant", "nearest", "reflect", "wrap"])
@pytest.mark.parametrize("interpolation", ["nearest", "bilinear"])
def test_xla_warps_as_the_kernel_does(interpolation, fill_mode):
    def warp(images, maps):
        return project(images, maps, interpolation, fill_mode, 3.0)

    from tfkit.src.ops import image_sampling

    maps = tf.random.stateless_normal((3, 8), [1, 2]) * [1, 1, 9, 1, 1, 9, 0.02, 0.02]

    def gathered(images):
        return image_sampling._gathered(images, maps, 3.0, interpolation, fill_mode)

    expected = warp(tf.constant(IMAGES), maps)
    outputs = tf.function(gathered, jit_compile=True)(tf.constant(IMAGES))
    wrong = np.abs(outputs - expected) > 0.05
    # At the edge of two pixels, rounding decides.
    assert wrong.mean() < 0.01


def test_the_gradient_of_a_warp_is_that_of_its_pixels():
    maps = tf.constant([[0.8, 0.2, 0.3, -0.1, 1.1, 0.4, 0.0, 0.0]])
    with tf.GradientTape() as tape:
        images = tf.constant(IMAGES[:1, :, :, :1])
        tape.watch(images)
        total = tf.reduce_sum(project(images, maps, "bilinear", "constant", 0.0) ** 2)
    gradient = tape.gradient(total, images)
    step = np.zeros(images.shape, "float32")
    step[0, 3, 4, 0] = 0.5
    sums = [
        tf.reduce_sum(project(images + sign * step, maps, "bilinear", "constant", 0.0) ** 2)
        for sign in (1, -1)
    ]
    np.testing.assert_allclose(gradient[0, 3, 4, 0], sums[0] - sums[1], rtol=1e-3)


@pytest.mark.parametrize("jit_compile", [True, False])
def test_models_train_on_augmented_images(jit_compile):
    model = tfkit.Sequential(
        [
            layers.Input((8, 8, 3)),
            layers.RandomFlip(seed=1),
            layers.RandomRotation(0.1, seed=1),
            layers.RandomContrast(0.2, seed=1),
            layers.RandomBrightness(0.1, seed=1),
            layers.RandomCrop(6, 6, seed=1),
            layers.Rescaling(1 / 255),
            layers.Flatten(),
            layers.Dense(3, activation="softmax"),
        ]
    )
    model.compile("sgd", "sparse_categorical_crossentropy", jit_compile=jit_compile)
    images, labels = np.repeat(IMAGES, 4, axis=0), np.repeat([0, 1, 2], 4)
    losses = model.fit(images, labels, epochs=3, batch_size=4, verbose=0, shuffle=False).history[
        "loss"
    ]
    assert np.isfinite(losses).all()
    # Outside of training nothing is random.
    np.testing.assert_array_equal(
        model.predict(images, verbose=0), model.predict(images, verbose=0)
    )


def test_augmix_mixes_an_image_with_changed_ones():
    layer = layers.AugMix(seed=4)
    drawn = layer.get_random_transformation(IMAGES)
    np.testing.assert_allclose(tf.reduce_sum(drawn["chain_mixing_weights"]), 1.0, rtol=1e-6)
    outputs = layer.transform_images(IMAGES, drawn)
    assert not np.allclose(outputs, IMAGES)
    whole = layer.transform_images(IMAGES, {**drawn, "weight_sample": 1.0})
    np.testing.assert_allclose(whole, IMAGES, rtol=1e-6)


def test_equalization_does_not_look_at_other_images():
    layer = layers.Equalization()
    np.testing.assert_array_equal(layer(IMAGES)[0], layer(IMAGES[0]))


def test_posterized_images_are_as_keras_has_them_for_integers():
    images = IMAGES.astype("uint8")
    ours = layers.RandomPosterization((2, 5), seed=2)(images)
    theirs = keras.layers.RandomPosterization((2, 5), seed=2)(images)
    np.testing.assert_allclose(ours, theirs, atol=1e-3)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("Resizing", {"height": 4, "width": 4}),
        ("RandomBrightness", {"factor": (0.01, 0.01)}),
        ("RandomGrayscale", {"factor": 1.0}),
        ("Solarization", {}),
    ],
)
def test_integers_stay_integers_where_keras_keeps_them(name, arguments):
    """In direct calls; in graphs they become floats, without rounding."""
    images = np.minimum(IMAGES, 200).astype("uint8")

    def outputs(library):
        layer = getattr(library.layers, name)(**arguments)
        model = library.Sequential([library.Input(images.shape[1:], dtype="uint8"), layer])
        return [
            *(np.asarray(layer(images)) for _ in range(3)),
            next(iter(tf.data.Dataset.from_tensors(images).map(layer))).numpy(),
            model.predict(images, verbose=0),
        ]

    for ours, theirs in zip(outputs(tfkit), outputs(keras), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, atol=1e-3)


def test_what_is_too_bright_is_white_and_not_dark_again():
    outputs = layers.RandomBrightness((0.9, 0.9))(IMAGES.astype("uint8"))
    assert outputs.dtype == tf.uint8
    assert outputs.numpy().min() >= 229


def test_pipelines_call_layers_in_order_and_are_saved():
    pipeline = layers.Pipeline(
        [layers.RandomFlip(seed=1), layers.Rescaling(1 / 255), layers.CenterCrop(4, 4)]
    )
    config = layers.serialize(pipeline)
    copy = layers.deserialize(config)
    assert [type(layer) for layer in copy.layers] == [type(layer) for layer in pipeline.layers]
    np.testing.assert_array_equal(copy(IMAGES), pipeline(IMAGES))
    np.testing.assert_allclose(
        pipeline(IMAGES, training=False), IMAGES[:, 2:6, 2:6] / np.float32(255), rtol=1e-6
    )
    outputs = next(iter(tf.data.Dataset.from_tensors(IMAGES).map(pipeline)))
    assert outputs.shape == (3, 4, 4, 3)


def test_ragged_boxes_are_filled_up():
    given = {
        "images": IMAGES,
        "bounding_boxes": {
            "boxes": tf.RaggedTensor.from_row_lengths(tf.zeros((3, 4)), [1, 0, 2]),
            "labels": tf.ragged.constant([[1], [], [2, 3]]),
        },
    }
    layer = layers.MaxNumBoundingBoxes(3, bounding_box_format="xyxy")
    labels = layer(given)["bounding_boxes"]["labels"]
    np.testing.assert_array_equal(labels, [[1, -1, -1], [-1, -1, -1], [2, 3, -1]])


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("RandomRotation", {"factor": 1.5}),
        ("RandomRotation", {"factor": (1, 2, 3)}),
        ("RandomZoom", {"height_factor": "a"}),
        ("RandomZoom", {"height_factor": -1.0}),  # Of which nothing would be seen.
        ("RandomZoom", {"height_factor": 0.1, "width_factor": (-1, 0.5)}),
        ("RandomContrast", {"factor": -0.1}),
        ("RandomBrightness", {"factor": 0.1, "value_range": 3}),
        ("RandomPosterization", {"factor": 9}),
        ("RandomGrayscale", {"factor": 1.1}),
    ],
    ids=str,
)
def test_ranges_are_checked(name, arguments):
    with pytest.raises(ValueError, match="Received"):
        getattr(layers, name)(**arguments)


@pytest.mark.parametrize("option", ["fill_mode", "interpolation"])
def test_unknown_options_are_refused(option):
    with pytest.raises(NotImplementedError, match=f"Unknown `{option}`"):
        layers.RandomRotation(0.1, **{option: "foo"})


def test_images_have_three_or_four_axes():
    with pytest.raises(ValueError, match="rank 3 or 4"):
        layers.RandomFlip()(np.ones((8, 3)))


def test_elastic_transforms_are_those_of_keras():
    for options in ({}, {"sigma": 1.0}, {"interpolation": "nearest"}):
        ours, theirs = (
            module.ops.image.elastic_transform(
                IMAGES, alpha=3.0, seed=3, fill_mode="nearest", **options
            )
            for module in (tfkit, keras)
        )
        np.testing.assert_allclose(ours, theirs, atol=0.05)


@pytest.mark.parametrize("layer", [tfkit.layers.CutMix, tfkit.layers.MixUp])
@pytest.mark.parametrize("dtype", ["float64", "int32", "float16"])
def test_mixed_labels_have_the_dtype_of_the_layer(layer, dtype):
    # `to_categorical` gives float64, beside images in float32.
    data = {"images": np.ones((2, 4, 4, 1), "uint8"), "labels": np.eye(2, dtype=dtype)}
    assert layer()(data)["labels"].dtype.name == "float32"
    if dtype != "int32":  # Keras has no mean of these.
        theirs = getattr(keras.layers, layer.__name__)()(data)
        assert theirs["labels"].dtype.name == "float32"


@pytest.mark.parametrize(("training", "changes"), [(None, True), (True, True), (False, False)])
def test_models_of_random_layers_change_images_unless_told_otherwise(training, changes):
    x = np.random.default_rng(0).random((8, 4, 4, 1)).astype("float32")
    for k in (keras, tfkit):
        augmentation = k.Sequential([k.Input((4, 4, 1)), k.layers.RandomFlip(seed=1)])
        inputs = k.Input((4, 4, 1))
        model = k.Model(inputs, augmentation(inputs))
        for called in (augmentation, model):
            assert bool(np.any(np.asarray(called(x, training=training)) != x)) is changes
            mapped = tf.data.Dataset.from_tensors(x).map(
                lambda a, c=called: c(a, training=training)
            )
            assert bool(np.any(next(iter(mapped)).numpy() != x)) is changes
        np.testing.assert_array_equal(model.predict(x, verbose=0), x)


@pytest.mark.parametrize("given", [{}, {"layers": None}], ids=str)
def test_a_configuration_of_a_pipeline_without_layers(given):
    with pytest.raises(ValueError, match="a list of configurations under 'layers'"):
        layers.Pipeline.from_config({"name": "p", **given})


@pytest.mark.parametrize("name", ["CenterCrop", "RandomCrop"])
def test_crops_of_unknown_sizes_in_xla(name):
    """XLA compiles what is done with images that are too small and what is done with the others."""
    layer = getattr(layers, name)(7, 5)
    program = tf.function(
        lambda x: layer(x, training=False),
        input_signature=[tf.TensorSpec((None, None, None, 3))],
        jit_compile=True,
    )
    for size in ((4, 5), (8, 8)):
        images = IMAGES[:, : size[0], : size[1]]
        np.testing.assert_allclose(program(images), layer(images, training=False), rtol=1e-5)


def test_a_single_number_of_bits_is_not_drawn():
    """Otherwise the later draws of `RandAugment` are others than Keras's."""
    image = IMAGES[:1] / 255
    ours, theirs = (
        module.layers.RandAugment(factor=0.1, value_range=(0, 1), seed=9)
        for module in (tfkit, keras)
    )
    for _ in range(3):
        np.testing.assert_allclose(ours(image), theirs(image), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "case",
    [
        case
        for case in CASES
        if issubclass(getattr(layers, case.layer), ImageLayer)
        and case.layer not in OTHER_IN_INFERENCE
    ],
    ids=str,
)
def test_layers_of_images_do_in_inference_what_keras_does(case):
    (given,) = case.data()
    ours, theirs = (case.make(module.layers)(given, training=False) for module in (tfkit, keras))
    np.testing.assert_allclose(ours, theirs, 1e-4, 1e-4)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_pixels_without_a_number_stay_as_they_are_in_histograms(jit_compile):
    """As an integer NaN is the smallest of all: an index that `tf.gather` refused, and 0 in XLA."""
    images = IMAGES / 255
    images[0, 2, 3, 1] = np.nan
    images[1, 4, 4, 0] = np.inf
    images[2, 4, 4, 2] = -np.inf
    for name in ("Equalization", "ContrastLimitedAdaptiveHistogramEqualization"):
        layer = getattr(layers, name)(value_range=(0, 1))
        outputs = tf.function(layer, jit_compile=jit_compile)(images)
        np.testing.assert_array_equal(np.isnan(outputs), np.isnan(images))
        # Infinity is white, and minus infinity black.
        for given in (images, np.clip(images, 0, 1)):
            np.testing.assert_allclose(outputs, layer(given), 1e-6)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 3e38])
def test_channels_that_cannot_be_stretched(value):
    images = IMAGES.copy()
    images[0, 2, 3, 1] = value
    outputs = layers.AutoContrast()(images)
    np.testing.assert_allclose(outputs, keras.layers.AutoContrast()(images), 1e-4, 1e-4)


def test_a_clip_limit_of_zero_is_no_limit():
    options = {"clip_limit": 0, "tile_grid_size": (2, 2)}
    ours, theirs = (
        module.layers.ContrastLimitedAdaptiveHistogramEqualization(**options)(IMAGES)
        for module in (tfkit, keras)
    )
    np.testing.assert_allclose(ours, theirs, 1e-3, 1e-2)


@pytest.mark.parametrize("channels", [[0], [1], [2], [0, 1], [0, 1, 2]])
def test_a_colour_without_a_number_stays_one(channels):
    """TensorFlow's kernel passes over NaN where another channel is larger: grey came out."""
    images = IMAGES / 255
    images[1, 2, 3, channels] = np.nan
    is_lost = np.isnan(images).any(-1)
    for function in (
        tfkit.ops.image.rgb_to_hsv,
        layers.RandomHue((0.4, 0.4), value_range=(0, 1)),
        layers.RandomSaturation((0.7, 0.7), value_range=(0, 1)),
    ):
        for way in (function, tf.function(function, jit_compile=True)):
            found = np.isnan(way(tf.constant(images)))
            np.testing.assert_array_equal(found, np.repeat(is_lost[..., None], 3, -1))
