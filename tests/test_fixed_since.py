"""What Keras has fixed since 3.15.1: tfkit gives the fixed value, and Keras 3.15.1 does not.

`docs/coming-from-keras.md` has a table of the decisions. A row here whose second half fails belongs to a
newer Keras: the ordinary comparisons cover it then.
"""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tests import weighing

X = np.random.default_rng(0).random((2, 3, 4)).astype("float32")
ROWS = np.random.default_rng(1).random((8, 4)).astype("float32")
WORDS = np.array([["a b"], ["b c"]])
SEEN = np.array([[1, 1, 0], [0, 0, 0]], bool)
INF = np.inf


def f32(*values):
    return np.array(values, "float32")


def attended(k, layer, scale=1.0, mask=SEEN):
    return getattr(k.layers, layer)(seed=1)([X * scale, X * scale], mask=[None, mask])


def first_alone(k):
    mask = np.array([[1, 0, 0], [1, 0, 0]], bool)
    return attended(k, "Attention", 1e6, mask) / 1e6


def score(k, y_true, y_pred, **options):
    metric = k.metrics.R2Score(**options)
    metric.update_state(f32(*y_true), f32(*y_pred))
    return metric.result()


def iou_of_another_axis(k):
    y_true = np.moveaxis(np.eye(3, dtype="float32")[[[0, 1], [2, 0]]], -1, 1)
    y_pred = np.moveaxis(np.eye(3, dtype="float32")[[[0, 2], [2, 1]]], -1, 1)
    metric = k.metrics.OneHotMeanIoU(3, axis=1)
    metric.update_state(y_true, y_pred)
    return metric.result()


def two_directions(k, **options):
    layers = k.layers
    backward = layers.GRU(3, go_backwards=True)
    layer = layers.Bidirectional(layers.GRU(2), backward_layer=backward, **options)
    return layer.compute_output_shape((2, 3, 4))


def config(path, *args, **kwargs):
    *module, name, key = path.split(".")

    def get(k):
        for each in module:
            k = getattr(k, each)
        return getattr(k, name)(*args, **kwargs).get_config().get(key)

    return get


def mask_of(name, *args):
    images = np.arange(72, dtype="float32").reshape(2, 6, 6, 1)
    labels = (np.arange(72) % 5).reshape(2, 6, 6, 1).astype("uint8")

    def get(k):
        layer = getattr(k.layers, name)(*args, **({} if name == "CenterCrop" else {"seed": 1}))
        data = {"images": images, "segmentation_masks": labels}
        data |= {"labels": f32([1, 0], [0, 1])} if name == "CutMix" else {}
        found = np.asarray(layer(data, training=True)["segmentation_masks"])
        return found.dtype == "uint8" and np.isin(found, labels).all()

    return get


def cropped_boxes(k):
    boxes = {"boxes": f32([[1, 0, 4, 5], [2, 2, 6, 3]]), "labels": np.ones((1, 2), "int32")}
    layer = k.layers.RandomCrop(4, 4, seed=1, bounding_box_format="xyxy")
    data = {"images": np.ones((1, 4, 6, 3), "float32"), "bounding_boxes": boxes}
    found = np.asarray(layer(data, training=True)["bounding_boxes"]["boxes"])
    left = found[0, 0, 0] - 1  # The crop moves along x alone; boxes end at its edges.
    expected = np.clip(boxes["boxes"] + [left, 0, left, 0], 0, 4)
    return np.array_equal(found, expected)


def adapted(name, data, result, **options):
    def get(k):
        layer = getattr(k.layers, name)(**options)
        layer.adapt(tf.data.Dataset.from_tensor_slices((data, np.ones(len(data)))).batch(2))
        return [str(it) for it in getattr(layer, result)()]

    return get


def gradients(name, x, y):
    def get(k):
        x_, y_ = tf.constant(x), tf.constant(y)
        with tf.GradientTape() as tape:
            tape.watch([x_, y_])
            result = getattr(k.ops, name)(x_, y_)
        return tape.gradient(result, [x_, y_])

    return get


def op(name, *args, **kwargs):
    return lambda k: getattr(k.ops, name)(*args, **kwargs)


def excluded_late(k):
    optimizer = k.optimizers.SGD(0.1, weight_decay=0.5)
    optimizer.build([k.Variable(1.0)])
    optimizer.exclude_from_weight_decay(var_names=["bias"])


def from_name(name):
    return lambda k: type(k.optimizers.get(name)).__name__


# Name: (program, the value).
FIXED = {
    "Attention where nothing is seen": (lambda k: attended(k, "Attention")[1], np.zeros((3, 4))),
    "AdditiveAttention where nothing is seen": (
        lambda k: attended(k, "AdditiveAttention")[1],
        np.zeros((3, 4)),
    ),
    "Attention of large scores": (first_alone, np.repeat(X[:, :1], 3, 1)),
    "R2Score of constants that are predicted": (lambda k: score(k, [[1]] * 3, [[1]] * 3), 1.0),
    "R2Score of one sample": (lambda k: score(k, [[2]], [[2]]), 1.0),
    "R2Score of one constant output": (
        lambda k: score(k, [[1, 1], [1, 2]], [[1, 1], [1, 3]], class_aggregation=None),
        [1.0, -1.0],
    ),
    "R2Score of constants, by variance": (
        lambda k: score(
            k, [[1, 2]] * 2, [[1, 2]] * 2, class_aggregation="variance_weighted_average"
        ),
        1.0,
    ),
    "IoU along another axis": (iou_of_another_axis, 1 / 3),
    "GroupNormalization of large values": (
        lambda k: k.layers.GroupNormalization(1, epsilon=1e-3)(f32([30000, 30001, 30002, 30003])),
        [np.array([-1.5, -0.5, 0.5, 1.5]) / np.sqrt(1.25 + 1e-3)],
    ),
    "Bidirectional of two sizes": (two_directions, (2, 5)),
    "floor_divide below a whole number": (
        op("floor_divide", f32(1, -1, 6, -7, 0.3), f32(0.1, 0.1, 0.1, 2, 0.1)),
        np.floor_divide(f32(1, -1, 6, -7, 0.3), f32(0.1, 0.1, 0.1, 2, 0.1)),
    ),
    "cdist of integers": (op("cdist", np.array([[0, 0]]), np.array([[3, 4]])), [[5.0]]),
    "average along one axis in a tuple": (
        op("average", np.arange(6.0).reshape(2, 3), axis=(1,), weights=f32(1, 2, 3)),
        [4 / 3, 13 / 3],
    ),
    "bfloat16 as an array": (lambda k: k.ops.convert_to_numpy(k.ops.cast(1.5, "bfloat16")), 1.5),
    "isclose of infinities": (
        op("isclose", f32(INF, INF, 1), f32(INF, -INF, INF)),
        [True, False, False],
    ),
    "unravel_index of a matrix": (
        op("unravel_index", np.array([[3, 7], [11, 2]]), (3, 4)),
        np.unravel_index(np.array([[3, 7], [11, 2]]), (3, 4)),
    ),
    "pad by one pair": (
        op("pad", np.ones((2, 2)), ((1, 2),)),
        np.pad(np.ones((2, 2)), ((1, 2),)),
    ),
    "roll along two axes": (
        op("roll", np.arange(6).reshape(2, 3), 1, axis=(0, 1)),
        np.roll(np.arange(6).reshape(2, 3), 1, axis=(0, 1)),
    ),
    "searchsorted of a matrix": (
        op("searchsorted", np.array([1, 2, 3]), np.array([[0, 2], [3, 4]])),
        [[0, 1], [2, 3]],
    ),
    "add of a column": (
        op("add", np.zeros((3, 3), "float32"), f32([0], [1], [2])),
        [[0] * 3, [1] * 3, [2] * 3],
    ),
    "conv with strides and dilation": (
        op(
            "conv",
            np.ones((1, 6, 6, 1), "float32"),
            np.ones((2, 2, 1, 1), "float32"),
            2,
            dilation_rate=2,
        ),
        np.full((1, 2, 2, 1), 4),
    ),
    "gradient of logaddexp": (gradients("logaddexp", 2.0, 2.0), [0.5, 0.5]),
    "gradient of hypot": (gradients("hypot", 3.0, 3.0), [np.sqrt(0.5)] * 2),
    "config of SimpleRNN": (config("layers.SimpleRNN.seed", 2, seed=3), 3),
    "config of RandomGrayscale": (config("layers.RandomGrayscale.seed", seed=3), 3),
    "config of CategoryEncoding": (
        config("layers.CategoryEncoding.sparse", 4, "multi_hot", sparse=True),
        True,
    ),
    "config of MaxNumBoundingBoxes": (
        config("layers.MaxNumBoundingBoxes.fill_value", 3, fill_value=-2),
        -2,
    ),
    "config of Identity": (config("initializers.Identity.gain", gain=2.0), 2.0),
    "config of CosineSimilarity": (config("losses.CosineSimilarity.axis", axis=1), 1),
    "config of the metric CosineSimilarity": (config("metrics.CosineSimilarity.axis", axis=1), 1),
    "config of SparseCategoricalCrossentropy": (
        config("losses.SparseCategoricalCrossentropy.axis", axis=1),
        1,
    ),
    "config of Huber": (config("losses.Huber.delta", 2.0), 2.0),
    "mask of CenterCrop": (mask_of("CenterCrop", 8, 8), True),
    "mask of RandomCrop": (mask_of("RandomCrop", 8, 8), True),
    "mask of CutMix": (mask_of("CutMix"), True),
    "boxes of RandomCrop": (cropped_boxes, True),
    "adapt of Discretization to pairs": (
        adapted("Discretization", ROWS, "get_config", num_bins=3),
        list(tfkit.layers.Discretization(num_bins=3).get_config()),
    ),
    "adapt of StringLookup to pairs": (
        adapted("StringLookup", WORDS, "get_vocabulary"),
        ["[UNK]", "b c", "a b"],
    ),
    "adapt of TextVectorization to pairs": (
        adapted("TextVectorization", WORDS, "get_vocabulary"),
        ["", "[UNK]", "b", "c", "a"],
    ),
    "an optimizer by the name lamb": (from_name("lamb"), "Lamb"),
    "an optimizer in snake case": (from_name("schedule_free_adam_w"), "ScheduleFreeAdamW"),
    "an optimizer by its class": (
        lambda k: type(k.optimizers.get(k.optimizers.Adam)).__name__,
        "Adam",
    ),
    "a penalty that NumPy computed": (
        lambda k: k.regularizers.L2(np.float32(0.5))(tf.ones(4)),
        2.0,
    ),
}


def agrees(found, expected):
    """Whether a result, which may be a nest of tensors, is the value."""
    if isinstance(expected, str) or isinstance(found, (str, type(None))):
        return found == expected
    found = (
        [np.asarray(it) for it in found] if isinstance(found, (list, tuple)) else np.asarray(found)
    )
    if np.shape(found) != np.shape(expected):
        return False
    found, expected = np.asarray(found), np.asarray(expected)
    if expected.dtype.kind in "US":
        return np.array_equal(found, expected)
    return np.allclose(found.astype("float64"), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", FIXED)
def test_the_fixed_value(name):
    program, expected = FIXED[name]
    found = program(tfkit)
    assert agrees(found, expected), found
    try:
        old = program(keras)
    except Exception:
        return
    assert not agrees(old, expected), "fixed in this version of Keras"


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize(
    ("refused", "message"),
    [
        (lambda k: k.layers.BatchNormalization(momentum=1.5), "`momentum`.*from 0 to 1.*=1.5"),
        (lambda k: k.layers.GroupNormalization(2, epsilon=-1.0), "`epsilon`.*0 or above"),
        (lambda k: k.losses.Huber(0.0), "`delta`.*above 0.*=0.0"),
        (lambda k: k.losses.Huber(-1), "`delta`.*above 0"),
        *(
            (
                lambda k, name=name: getattr(k.losses, name)(label_smoothing=1.5)(
                    *weighing.pair("classes", 3)
                ),
                "`label_smoothing` must be from 0 to 1",
            )
            for name in (
                "BinaryCrossentropy",
                "BinaryFocalCrossentropy",
                "CategoricalCrossentropy",
                "CategoricalFocalCrossentropy",
            )
        ),
        (lambda k: k.callbacks.EarlyStopping(patience=-1), "`patience` must be 0 or above"),
        (lambda k: k.regularizers.L2(True), "`l2` must be a finite number"),
        (lambda k: k.optimizers.Adadelta(rho=1.5), r"`rho` must be in the range \[0, 1\]"),
        (lambda k: k.optimizers.RMSprop(rho=-0.1), r"`rho` must be in the range \[0, 1\]"),
        (lambda k: k.optimizers.RMSprop(momentum=2.0), "`momentum` must be in the range"),
        (lambda k: k.optimizers.RMSprop(epsilon=-1.0), "`epsilon` must be 0 or above"),
        (lambda k: k.optimizers.Adagrad(initial_accumulator_value=-1.0), "must be 0 or above"),
        (excluded_late, "is built already"),
    ],
)
def test_values_without_a_meaning_are_refused(refused, message):
    """Keras 3.15.1 computes with them."""
    with pytest.raises(ValueError, match=message):
        refused(tfkit)
    refused(keras)
