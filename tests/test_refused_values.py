"""Wrong values of settings, seeds, variables and utilities are refused before anything changes."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tests.snapshots import changes, snapshot
from tfkit import (
    callbacks,
    config,
    constraints,
    initializers,
    layers,
    losses,
    metrics,
    ops,
    optimizers,
    random,
    utils,
)

VARIABLE, RATE = tfkit.Variable([1.0, 2.0]), optimizers.SGD(0.5)
REFUSED = {
    "a negative epsilon": (lambda: config.set_epsilon(-1), "finite number of 0 or more"),
    "NaN as epsilon": (lambda: config.set_epsilon(np.nan), "Received: value=nan"),
    "a word as epsilon": (lambda: config.set_epsilon("1"), "Received: value='1'"),
    "no layout": (lambda: config.set_image_data_format(None), "Unknown `data_format`"),
    "an array of a type": (lambda: config.set_floatx(np.ones(2)), "Unknown float type"),
    "a code of NumPy's": (lambda: config.set_dtype_policy("a"), "Cannot make a dtype policy"),
    "an array as policy": (lambda: config.set_dtype_policy(np.ones(2)), "Invalid dtype"),
    "an array as dtype": (lambda: random.normal((2,), dtype=np.ones(2)), "Invalid dtype"),
    "a negative seed": (lambda: utils.set_random_seed(-1), "from 0 to 2"),
    "a name": (lambda: random.SeedGenerator(1, name=3), "`name` must be a string or None"),
    "0 as dtype": (lambda: tfkit.Variable(1.0, dtype=0), "Invalid dtype"),
    "0 as mode": (lambda: tfkit.Variable(1.0, synchronization=0), "Unknown `synchronization`"),
    "nothing assigned": (lambda: VARIABLE.assign(None), "has dtype float32. Received: None"),
    "an object added": (lambda: VARIABLE.assign_add([object, 1]), "has dtype float32. Received"),
    "no rate": (lambda: setattr(RATE, "learning_rate", None), "Received: None"),
    "a class": (lambda: setattr(RATE, "learning_rate", layers.Dense), "Dense"),
    "no gradients": (lambda: RATE.apply(None), "Expected a list of gradients. Received: None"),
    "not a model": (lambda: tfkit.models.clone_model(3), "must be a model or a layer"),
    "half a size": (lambda: ops.pad(np.ones(3), 1.5), "`pad_width` must be an integer"),
    "half a turn": (lambda: ops.rot90(np.ones((2, 2)), 0.5), "`k` must be an integer"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_value_changes_nothing(name):
    call, message = REFUSED[name]
    before = snapshot(VARIABLE, RATE), config.epsilon(), config.image_data_format()
    with pytest.raises((ValueError, TypeError), match=message):
        call()
    assert changes(before[0], snapshot(VARIABLE, RATE)) == []
    assert before[1:] == (config.epsilon(), config.image_data_format())


SCHEDULE, SMOOTHED = optimizers.schedules.ExponentialDecay, losses.CategoricalCrossentropy
REFUSED_BY_CONSTRUCTORS = {
    "a word as limit": (lambda: constraints.MaxNorm("a"), "`max_value` of MaxNorm .* number"),
    "a negative limit": (lambda: constraints.MaxNorm(-1), "0 or above.*max_value=-1"),
    "limits in the wrong order": (lambda: constraints.MinMaxNorm(2, 1), "min_value=2, max_value=1"),
    "half an axis": (lambda: constraints.UnitNorm(0.5), "`axis` of UnitNorm .* axis=0.5"),
    "a word as deviation": (lambda: initializers.RandomNormal(0, "a"), "`stddev` .*'a'"),
    "NaN as gain": (lambda: initializers.Orthogonal(np.nan), "`gain` of Orthogonal .*nan"),
    "axes of words": (lambda: initializers.HeNormal(1, ["a"]), "`input_axes` of HeNormal"),
    # It is the first argument of Keras's class, too, and any number but 0 is true.
    "smoothing as flag": (lambda: SMOOTHED(0.1), "`from_logits` of CategoricalCrossentropy .*0.1"),
    "a flag as smoothing": (lambda: SMOOTHED(True, "a"), "`label_smoothing` .*'a'"),
    "a class in words": (
        lambda: metrics.Precision(class_id="a"),
        "`class_id` of Precision .*None",
    ),
    "half a k": (lambda: metrics.TopKCategoricalAccuracy(2.5), "`k` of TopK.* an integer"),
    "a number as name": (lambda: metrics.Mean(name=3), "`name` of Mean .* string or None"),
    "a dict of thresholds": (lambda: metrics.AUC({}), "`num_thresholds` of AUC must be an integer"),
    "no function": (lambda: losses.LossFunctionWrapper("mse"), "`fn` of Loss.* a function"),
    "a word as patience": (lambda: callbacks.EarlyStopping(patience="a"), "`patience` of Early"),
    "a word as flag": (lambda: callbacks.TensorBoard(write_graph="no"), "`write_graph` of Tensor"),
    "a dict as folder": (lambda: callbacks.TensorBoard({}), "log_dir of type dict"),
    "a word as rate": (lambda: SCHEDULE("a", 10, 0.5), "`initial_learning_rate` of Expon"),
    "NaN as decay": (lambda: SCHEDULE(0.1, 10, np.nan), "`decay_rate` of ExponentialDecay .*nan"),
    "falling steps": (
        lambda: optimizers.schedules.PiecewiseConstantDecay([5, 2], [1.0, 0.5, 0.1]),
        "`boundaries` must rise",
    ),
}


@pytest.mark.parametrize("name", REFUSED_BY_CONSTRUCTORS)
def test_a_constructor_refuses_a_value_by_the_name_of_the_argument(name):
    call, message = REFUSED_BY_CONSTRUCTORS[name]
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_values_that_are_as_good_as_the_expected_ones_are_accepted():
    numbers = np.float32(0.5), np.array([0.5]), tf.constant(0.5), tf.Variable(0.5, dtype="bfloat16")
    for number in (1, *numbers):
        assert initializers.RandomNormal(number).mean is number
    for flag in (True, np.False_, 1, None):
        assert losses.BinaryCrossentropy(flag).get_config()["from_logits"] == flag
    assert callbacks.EarlyStopping(verbose=True, patience=1.5).patience == 1.5
    assert constraints.MaxNorm(axis=[0, np.int64(1)]).axis == [0, 1]
    assert SCHEDULE(0.1, 1e3, 0.5).decay_steps == 1e3


@pytest.mark.parametrize("loss", ["a", None, True, [1.0, "a"], {"a": object()}, np.array(["a"])])
def test_a_refused_loss_is_not_added(loss):
    layer = layers.Dense(1)
    with pytest.raises(ValueError, match=r"`loss` of `add_loss` .* Received: "):
        layer.add_loss(loss)
    assert layer.losses == []


@pytest.mark.parametrize("draw", [random.normal, random.truncated_normal, random.uniform])
def test_a_refused_draw_takes_no_seed(draw):
    seeds = random.SeedGenerator(1)
    with pytest.raises(Exception, match=rf"Received by `{draw.__name__}`: shape=\(2,\)"):
        draw((2,), "a", seed=seeds)
    assert seeds.state.numpy().tolist() == [1, 0]


def test_a_layout_of_images_that_is_unknown_is_refused(tmp_path):
    (tmp_path / "a").mkdir()
    tfkit.utils.save_img(tmp_path / "a" / "1.png", np.zeros((4, 6, 3)))
    read = tfkit.utils.image_dataset_from_directory
    with pytest.raises(ValueError, match="Unknown `data_format`"):
        read(tmp_path, data_format="channels_frist", verbose=False)
    with pytest.raises(ValueError, match=r"between 0 and 1, or None\. Received: 'a'"):
        read(tmp_path, validation_split="a", verbose=False)
    # As in Keras, 0 is no split, and the shape of an image is a size.
    assert len(list(read(tmp_path, validation_split=0, verbose=False))) == 1
    assert tfkit.utils.load_img(tmp_path / "a" / "1.png", target_size=(2, 3, 3)).size == (3, 2)


def test_a_piecewise_schedule_has_a_rate_for_each_of_several_steps():
    steps = np.arange(8).reshape(2, 4)
    rates = [
        it.optimizers.schedules.PiecewiseConstantDecay([2, 5], [1.0, 0.5, 0.1])(steps)
        for it in (tfkit, keras)
    ]
    np.testing.assert_array_equal(*rates)
