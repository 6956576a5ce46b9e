"""`InputSpec`: how it is shown, and which shapes it lets pass, as in Keras."""

import keras
import pytest
import tensorflow as tf

import tfkit

SPECS = [
    {"shape": (None, 3)},
    {"ndim": 3, "axes": {2: 4}},
    {"dtype": "int32", "min_ndim": 1, "max_ndim": 3},
    {},
]


@pytest.mark.parametrize("options", SPECS, ids=str)
def test_it_is_shown_as_in_keras(options):
    assert repr(tfkit.InputSpec(**options)) == repr(keras.InputSpec(**options))


@pytest.mark.parametrize("given", [(2, 3), (2, 3, 1), (2, 4), (2, 4, 1), (2, 1), (1, 3), (2, 1, 1)])
@pytest.mark.parametrize("expected", [(None, 3), (None, 3, 1), (2, None), (2, 3)])
def test_a_last_axis_of_size_1_may_be_missing(expected, given):
    accepted = []
    for module in (tfkit, keras):
        layer = module.layers.Identity()
        layer.input_spec = module.InputSpec(shape=expected, allow_last_axis_squeeze=True)
        try:
            layer(tf.ones(given))
            accepted.append(True)
        except ValueError:
            accepted.append(False)
    assert accepted[0] == accepted[1]
