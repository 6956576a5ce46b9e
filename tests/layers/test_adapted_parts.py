"""Parts of layers that are made of others, changed later: files and copies keep integers and LoRA."""

import copy
import pickle

import numpy as np
import pytest

import tfkit as keras

X = np.random.default_rng(0).integers(0, 10, (2, 5))


@keras.saving.register_keras_serializable("adapted parts")
class Block(keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.attention = keras.layers.MultiHeadAttention(2, 4)
        self.dense = keras.Sequential([keras.layers.Dense(8, "relu"), keras.layers.Dense(16)])

    def call(self, inputs):
        return inputs + self.dense(self.attention(inputs, inputs))


def model_of():
    inputs = keras.Input((5,))
    x = keras.layers.Embedding(10, 16)(inputs)
    for _ in range(2):
        x = Block()(x)
    return keras.Model(inputs, keras.layers.GroupQueryAttention(4, 4, 2)(x, x))


def with_lora(model):
    for layer in model.layers[1:4]:
        for part in parts_of(layer):
            part.enable_lora(2, lora_alpha=3)
    random = np.random.default_rng(1)
    for weight in model.trainable_weights:
        weight.assign(random.normal(0, 0.1, weight.shape))


def parts_of(layer):
    if isinstance(layer, Block):
        return (*layer.dense.layers, layer.attention.query_dense, layer.attention.output_dense)
    return (layer,)


def kinds_of(weights):
    return sorted((tuple(weight.shape), weight.dtype.name) for weight in weights)


def in_integers(model):
    model.quantize("int8")


def in_both(model):
    model.quantize("int4")
    with_lora(model)


def in_float8(model):
    model.quantize("float8")


def through_file(ending):
    def again(model, folder):
        model.save(folder / f"model.{ending}")
        return keras.saving.load_model(folder / f"model.{ending}")

    return again


WAYS = {
    "h5": through_file("h5"),
    "keras": through_file("keras"),
    "copy": lambda model, folder: copy.deepcopy(model),
    "pickle": lambda model, folder: pickle.loads(pickle.dumps(model)),
}


@pytest.mark.parametrize("change", [with_lora, in_integers, in_both, in_float8])
def test_files_and_copies_keep_what_the_parts_have_become(change, tmp_path):
    model = model_of()
    change(model)
    expected = np.asarray(model(X))
    for way, again in WAYS.items():
        if (change, way) == (in_both, "keras"):
            continue  # A file of Keras holds the integers of the sum with LoRA.
        other = again(model, tmp_path)
        np.testing.assert_allclose(np.asarray(other(X)), expected, atol=1e-5, err_msg=way)
        if way != "keras" or change is not with_lora:  # A file of Keras holds the sums.
            assert kinds_of(other.weights) == kinds_of(model.weights)
            assert kinds_of(other.trainable_weights) == kinds_of(model.trainable_weights)


@pytest.mark.parametrize(
    ("entry", "message"),
    [({"dtype": "float16"}, "quantized dtype policy"), ({"lora_rank": -1}, "lora_rank")],
)
def test_an_entry_that_means_nothing_is_refused(entry, message):
    layer = keras.layers.MultiHeadAttention(2, 4)
    layer.build((None, 5, 8), (None, 5, 8))
    layer.query_dense.quantize("int8")
    config = keras.layers.serialize(layer)
    config["build_config"]["adapted_parts"]["query_dense"] = entry
    with pytest.raises(ValueError, match=message):
        keras.layers.deserialize(config)
