"""Dtype policies of quantized layers against Keras's."""

import keras
import pytest

import tfkit

NAMES = [
    "int8_from_float32",
    "int8_from_mixed_bfloat16",
    "int4_from_float32",
    "int4/128_from_float32",
    "int4/-1_from_bfloat16",
    "float8_from_mixed_float16",
]


@pytest.mark.parametrize("name", NAMES)
def test_policies_are_keras(name):
    ours, theirs = tfkit.dtype_policies.get(name), keras.dtype_policies.get(name)
    for attribute in ("name", "compute_dtype", "variable_dtype", "quantization_mode"):
        assert getattr(ours, attribute) == getattr(theirs, attribute)
    assert repr(ours) == repr(theirs)
    config = tfkit.dtype_policies.serialize(ours)
    assert config == keras.dtype_policies.serialize(theirs)
    for again in (tfkit.dtype_policies.deserialize(config), tfkit.dtype_policies.get(config)):
        assert again == ours
        assert hash(again) == hash(ours)


def test_a_policy_without_a_source_takes_the_global_one():
    assert tfkit.dtype_policies.QuantizedDTypePolicy("int8").name == "int8_from_float32"


def test_lengths_of_histories_distinguish_policies():
    make = tfkit.dtype_policies.QuantizedFloat8DTypePolicy
    assert make("float8", amax_history_length=8) != make("float8")
    assert make("float8", amax_history_length=8) == make("float8", amax_history_length=8)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: p.get("int9_from_float32"), "Expected one of .*int8.*'int9'"),
        (lambda p: p.get("int8_from_floaty"), "Received: 'floaty'|floaty"),
        (lambda p: p.QuantizedDTypePolicy("int8", "mixed_float16"), "doesn't work well.*float16"),
        (lambda p: p.Int4DTypePolicy("int4"), "Expected.*'int4/<block_size>'"),
        (lambda p: p.Int4DTypePolicy("int4/0"), "-1.*or a positive integer"),
    ],
)
def test_refused_as_by_keras(make, message):
    with pytest.raises(ValueError, match=message):
        make(tfkit.dtype_policies)
    with pytest.raises(ValueError):  # noqa: PT011
        make(keras.dtype_policies)


def test_modes_that_need_texts_say_what_to_use():
    with pytest.raises(ValueError, match=r"does not have the quantization mode 'gptq'.*'int4'"):
        tfkit.dtype_policies.get("gptq/4/128_from_float32")
    with pytest.raises(TypeError, match="amax_history_length"):
        tfkit.dtype_policies.QuantizedFloat8DTypePolicy("float8", amax_history_length=0)


class Halves(tfkit.DTypePolicy):
    """A policy of a user's own class."""


@pytest.mark.parametrize("package", [tfkit, keras])
def test_a_constructor_gets_the_name_of_a_plain_policy(package):
    given = []

    class Layer(package.layers.Layer):
        def __init__(self, dtype=None, **kwargs):
            super().__init__(dtype=dtype, **kwargs)
            given.append(dtype)

    for name in ("mixed_bfloat16", "int8_from_float32"):
        layer = Layer.from_config(package.layers.Layer(dtype=name).get_config())
        assert layer.dtype_policy == package.dtype_policies.get(name)
    assert given[0] == "mixed_bfloat16"
    assert given[1] == package.dtype_policies.get("int8_from_float32")
    policy = package.DTypePolicy("float16")
    Layer.from_config({"dtype": policy})
    assert given[2] is policy


def test_a_constructor_gets_a_policy_of_another_class_whole():
    """In Keras it gets the name, and the class is lost."""
    with tfkit.utils.custom_object_scope({"Halves": Halves}):
        config = tfkit.layers.Dense(2, dtype=Halves("float16")).get_config()
        layer = tfkit.layers.Dense.from_config(config)
    assert type(layer.dtype_policy) is Halves
