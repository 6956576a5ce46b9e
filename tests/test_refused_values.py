"""Wrong values of settings, seeds, variables and utilities are refused before anything changes."""

import keras
import numpy as np
import pytest

import tfkit
from tests.snapshots import changes, snapshot
from tfkit import config, layers, ops, optimizers, random, utils

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
