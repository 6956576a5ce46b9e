"""`DTypePolicyMap`, and the numbering of layers inside, beside Keras."""

import keras as oracle
import numpy as np
import pytest

import tfkit
from tfkit.src.files.interop.stand_in.functions import flatten_layers

BOTH = pytest.mark.parametrize("keras", [oracle, tfkit], ids=["keras", "tfkit"])
X = np.ones((1, 3), "float32")


def model_of(keras, policy):
    class Two(keras.Model):
        def __init__(self, dtype):
            super().__init__(name="a", dtype=dtype)
            self.b = keras.layers.Dense(4, name="b", dtype=self.dtype_policy)
            self.c = keras.layers.Dense(4, name="c", dtype=self.dtype_policy)

        def call(self, x):
            return self.c(self.b(x))

    return Two(policy)


@BOTH
def test_a_layer_has_the_policy_of_its_path(keras):
    policies = keras.dtype_policies.DTypePolicyMap("bfloat16")
    policies["a/b"] = keras.DTypePolicy("mixed_float16")
    policies["x+"] = "float64"
    model = model_of(keras, policies)
    y = model(X)
    assert (model.b.compute_dtype, model.b.variable_dtype) == ("float16", "float32")
    assert (model.c.compute_dtype, model.c.variable_dtype) == ("bfloat16", "bfloat16")
    assert [np.dtype(weight.numpy().dtype).name for weight in model.weights] == [
        *("float32", "float32", "bfloat16", "bfloat16")
    ]
    assert y.dtype.name == "bfloat16"
    assert model.dtype_policy is policies
    assert policies["xx"].name == "float64"
    assert policies["xxy"].name == "bfloat16"


@BOTH
def test_an_entry_may_quantize(keras):
    policies = keras.dtype_policies.DTypePolicyMap("float32")
    policies["b"] = keras.dtype_policies.QuantizedDTypePolicy("int8", "float32")
    inputs = keras.Input((3,))
    layer = keras.layers.Dense(2, name="b", dtype=policies)
    keras.Model(inputs, layer(inputs))
    assert layer.quantization_mode == "int8"
    assert np.asarray(layer._kernel if keras is oracle else layer.kernel).dtype.name == "int8"


@BOTH
def test_its_configuration_and_copies(keras):
    policies = keras.dtype_policies.DTypePolicyMap("bfloat16", {"a": keras.DTypePolicy("float16")})
    config = keras.dtype_policies.serialize(policies)
    assert config["class_name"] == "DTypePolicyMap"
    assert config["config"]["default_policy"] == "bfloat16"
    again = keras.dtype_policies.get(config)
    assert isinstance(again, keras.dtype_policies.DTypePolicyMap)
    assert again.name == policies.name == "map_bfloat16"
    assert again["a"].name == "float16"
    layer = keras.layers.Dense(1, dtype=policies)
    assert type(layer).from_config(layer.get_config()).dtype_policy["a"].name == "float16"


@pytest.mark.parametrize("ending", ["h5", "keras"])
def test_a_file_keeps_the_map(ending, tmp_path):
    policies = tfkit.dtype_policies.DTypePolicyMap("float32", {"s/b": "float64"})
    layers = [tfkit.Input((3,)), tfkit.layers.Dense(2, name="b", dtype=policies)]
    model = tfkit.Sequential(layers, name="s")
    assert model.layers[0].compute_dtype == "float64"
    model.save(tmp_path / f"m.{ending}")
    loaded = tfkit.models.load_model(tmp_path / f"m.{ending}")
    assert loaded.layers[0].dtype_policy == policies
    np.testing.assert_array_equal(loaded(X), model(X))


def test_the_global_policy_may_be_an_empty_map():
    tfkit.config.set_dtype_policy(tfkit.dtype_policies.DTypePolicyMap("float64"))
    assert tfkit.layers.Dense(1).compute_dtype == "float64"


@BOTH
def test_a_map_is_a_mapping_that_refuses_what_it_cannot_mean(keras):
    policies = keras.dtype_policies.DTypePolicyMap("float32")
    policies["a+"] = "float16"
    policies["a*"] = "float64"
    with pytest.raises(ValueError, match="a\\+"):
        policies["a+"] = "bfloat16"
    with pytest.raises(ValueError, match="match"):
        policies["aa"]
    with pytest.raises(TypeError, match="policy_map"):
        keras.dtype_policies.DTypePolicyMap(policy_map=[1])
    assert list(policies) == ["a+", "a*"]
    del policies["a*"]
    assert "a*" not in policies
    assert policies["aa"].name == "float16"
    with pytest.raises(TypeError, match="unhashable"):
        hash(policies)


def names_of(keras):
    layers = keras.layers

    class Inner(layers.Layer):
        def __init__(self, name):
            super().__init__(name=name)
            self.x = layers.Dense(1, name=name + "_x")
            self.y = [layers.Dense(1, name=name + "_y1"), layers.Dense(1, name=name + "_y2")]

    class Outer(keras.Model):
        def __init__(self):
            super().__init__(name="outer")
            self.a, self.d, self.b = Inner("a"), layers.Dense(1, name="d"), Inner("b")

    inputs = keras.Input((2,), name="i")
    inner = keras.Sequential(
        [keras.Input((2,), name="j"), layers.Dense(2, name="s"), layers.Dense(2, name="t")]
    )
    graph = keras.Model(inputs, layers.Dense(1, name="top")(inner(inputs)), name="f")
    flatten = oracle.layers.Layer._flatten_layers if keras is oracle else flatten_layers
    found = [flatten(Outer()), flatten(Outer(), False)]
    found += [flatten(Outer(), recursive=False), flatten(graph, include_self=False)]
    assert all(isinstance(each, list) for each in found)
    return [[layer.name for layer in each] for each in found]


def test_layers_inside_have_the_order_of_keras():
    """Files of libraries number layers by it."""
    ours, theirs = names_of(tfkit), names_of(oracle)
    assert ours[:3] == theirs[:3]
    assert len(ours[3]) == len(theirs[3])
    assert [name for name in ours[3] if "seq" not in name] == [
        name for name in theirs[3] if "seq" not in name
    ]


class Sampler:
    def __init__(self, k=1):
        self.k = k

    def get_config(self):
        return {"k": self.k}

    @classmethod
    def from_config(cls, config):
        return cls(**config)


def test_objects_of_a_module_by_name():
    deserialize = tfkit.saving.deserialize_keras_object
    known = {"top_k": Sampler, "identity": abs}
    assert deserialize("top_k", module_objects=known).k == 1
    assert deserialize("identity", module_objects=known) is abs
    config = {"class_name": "top_k", "config": {"k": 3}}
    assert deserialize(config, module_objects=known).k == 3
    with pytest.raises(
        ValueError, match=r"Unknown sampler: 'top'. Expected one of \['identity', 'top_k'\]"
    ):
        deserialize("top", module_objects=known, printable_module_name="sampler")
