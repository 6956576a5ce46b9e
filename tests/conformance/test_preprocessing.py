"""Lookups, hashes and texts: the numbers of Keras in every way of running, files both ways."""

import copy
import itertools
import json
import pickle

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import layers
from tfkit.src.export.verification import run_elsewhere

WORDS = [["b", "a", "b"], ["zz", "", "c"]]
NUMBERS = [[5, 9, 5], [0, -7, 11]]
TEXTS = ["The cat sat, the cat!", "dogs", ""]


def grid(layer, inputs, fixed=None, **lists):
    """Rows for all combinations of arguments."""
    for values in itertools.product(*lists.values()):
        arguments = {**(fixed or {}), **dict(zip(lists, values, strict=True))}
        if arguments.get("output_mode", "int") == "tf_idf" and "vocabulary" in arguments:
            arguments["idf_weights"] = [0.5 + i for i, _ in enumerate(arguments["vocabulary"])]
        yield layer, arguments, inputs


MODES = ["int", "one_hot", "multi_hot", "count", "tf_idf"]
ROWS = [
    *grid(
        *("StringLookup", WORDS, {"vocabulary": ["a", "b"]}),
        **{"output_mode": MODES, "mask_token": [None, ""], "num_oov_indices": [1, 3]},
    ),
    *grid(
        "StringLookup", WORDS, {"vocabulary": ["a", "b"], "num_oov_indices": 3}, salt=[7, [1, 2]]
    ),
    *grid(
        *("StringLookup", WORDS, {"vocabulary": ["a", "b"], "max_tokens": 6}),
        **{"output_mode": ["multi_hot", "tf_idf"], "pad_to_max_tokens": [True]},
    ),
    *grid(
        "StringLookup",
        [[1, 2, 0], [9, -1, 3]],
        {"vocabulary": ["a", "b"]},
        invert=[True],
        mask_token=[None, ""],
    ),
    *grid(
        *("IntegerLookup", NUMBERS, {"vocabulary": [5, 9]}),
        **{"output_mode": ["int", "count"], "mask_token": [None, 0], "num_oov_indices": [1, 3]},
    ),
    *grid(
        "IntegerLookup",
        NUMBERS,
        {"vocabulary": [5, 9], "num_oov_indices": 3},
        oov_method=["farmhash"],
        salt=[None, 4],
    ),
    *grid("IntegerLookup", [[1, 2], [9, 0]], {"vocabulary": [5, 9]}, invert=[True]),
    *grid(
        "Hashing",
        WORDS,
        {"num_bins": 5},
        output_mode=MODES[:4],
        mask_value=[None, ""],
        salt=[None, 3],
    ),
    *grid("Hashing", NUMBERS, {"num_bins": 5}, mask_value=[None, 0]),
    *grid(
        "HashedCrossing",
        ([["a"], ["b"]], [[1], [2]]),
        {"num_bins": 7},
        output_mode=["int", "one_hot"],
    ),
    *grid(
        *("TextVectorization", TEXTS, {"vocabulary": ["the", "cat", "the cat", "t"]}),
        **{
            "standardize": ["lower_and_strip_punctuation", "lower", "strip_punctuation", None],
            "split": ["whitespace", "character", None],
        },
    ),
    *grid(
        *("TextVectorization", TEXTS, {"vocabulary": ["the", "cat", "the cat"]}),
        **{"output_mode": ["int", "multi_hot", "count", "tf_idf"], "ngrams": [None, 2, (2, 3)]},
    ),
    *grid(
        "TextVectorization", TEXTS, {"vocabulary": ["the", "cat"]}, output_sequence_length=[2, 9]
    ),
]
every_row = pytest.mark.parametrize(
    ("name", "arguments", "inputs"),
    ROWS,
    ids=lambda value: str(value) if isinstance(value, str) else None,
)


def tensors(inputs):
    return tuple(map(tf.constant, inputs)) if isinstance(inputs, tuple) else tf.constant(inputs)


def assert_same(actual, expected):
    assert actual.shape == expected.shape
    if expected.dtype == tf.string:
        assert actual.numpy().tolist() == expected.numpy().tolist()
    else:
        np.testing.assert_allclose(actual, expected, rtol=1e-6)


def symbolic_inputs(inputs, module):
    def symbol(tensor):
        return module.Input(tensor.shape[1:], dtype=tensor.dtype.name)

    return tf.nest.map_structure(symbol, tensors(inputs))


@every_row
def test_every_way_of_running_gives_the_numbers_of_keras(name, arguments, inputs):
    layer, oracle = (getattr(module, name)(**arguments) for module in (layers, keras.layers))
    x = tensors(inputs)
    expected = oracle(x)
    for _ in range(2):  # Plain, then compiled.
        assert_same(layer(x), expected)
    traced = tf.function(
        layer,
        input_signature=[
            tf.nest.map_structure(lambda t: tf.TensorSpec([None, *t.shape[1:]], t.dtype), x)
        ],
    )
    assert_same(traced(x), expected)
    symbols = symbolic_inputs(inputs, tfkit)
    promised = layer(symbols)
    model = tfkit.Model(symbols, promised)
    output = model(x)
    assert_same(output, expected)
    assert promised.dtype == output.dtype.name
    assert len(promised.shape) == len(output.shape)
    assert all(
        size in (None, known) for size, known in zip(promised.shape, output.shape, strict=True)
    )
    assert layer.weights == []


@every_row
def test_configurations_are_those_of_keras_and_make_the_same_layer(name, arguments, inputs):
    layer, oracle = (
        getattr(module, name)(**arguments, name="x") for module in (layers, keras.layers)
    )
    ours, theirs = (json.loads(json.dumps(each.get_config())) for each in (layer, oracle))
    assert ours == theirs
    assert layer.built == oracle.built
    assert layer.supports_masking == oracle.supports_masking
    x = tensors(inputs)
    made = type(layer).from_config(theirs)
    assert_same(made(x), layer(x))
    assert type(oracle).from_config(ours).get_config() == oracle.get_config()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("mode", ["one_hot", "multi_hot", "count"])
@pytest.mark.parametrize("form", ["dense", "ragged", "sparse"])
def test_ragged_and_sparse_inputs_and_outputs(form, mode, sparse):
    x = tf.ragged.constant([["a"], ["b", "zz", "b"]])
    if form != "ragged":
        x = x.to_tensor() if form == "dense" else x.to_sparse()
    layer, oracle = (
        module.StringLookup(vocabulary=["a", "b"], output_mode=mode, sparse=sparse)
        for module in (layers, keras.layers)
    )
    if mode == "one_hot" and (form == "sparse" or (form == "ragged" and sparse)):
        if form == "sparse":
            with pytest.raises(ValueError, match="needs dense or ragged inputs"):
                layer(x)
        return  # Keras raises, too.
    ours, theirs = layer(x), oracle(x)
    assert type(ours).__name__ == type(theirs).__name__
    if isinstance(ours, tf.SparseTensor):
        assert tuple(ours.dense_shape.numpy()) == tuple(theirs.dense_shape.numpy())
        np.testing.assert_array_equal(ours.indices, theirs.indices)
        np.testing.assert_array_equal(ours.values, theirs.values)
    elif isinstance(ours, tf.RaggedTensor):
        assert ours.to_list() == theirs.to_list()
    else:
        np.testing.assert_array_equal(ours, theirs)
    indices, expected = (
        module.StringLookup(vocabulary=["a", "b"])(x) for module in (layers, keras.layers)
    )
    assert type(indices) is type(expected)
    assert (
        tf.reduce_all(tf.ragged.map_flat_values(tf.equal, indices, expected))
        if form == "ragged"
        else True
    )


# --- One model with all of them, in files and exports -----------------------------------------------------

DATA = {
    "number": np.array([[1.0, 2, 3], [4, 0, 9]], "float32"),
    "id": np.array([[1, 3], [2, 9]]),
    "word": np.array([["x"], ["q"]], object),
    "text": np.array([["hello you"], ["world, w\u00f6rld"]], object),
}


def everything(module):
    """A model of adapted and of given layers, made with one library or the other."""
    lay = module.layers
    x = {
        key: module.Input(value.shape[1:], dtype=tf.constant(value).dtype.name, name=key)
        for key, value in DATA.items()
    }

    def adapted(layer, data):
        layer.adapt(data)
        return layer

    texts = ["hello world", "hello", "w\u00f6rld"]
    given = {"output_mode": "tf_idf", "idf_weights": [0.5, 2.0]}
    outputs = [
        adapted(lay.Normalization(), np.arange(12.0).reshape(4, 3))(x["number"]),
        adapted(lay.Discretization(num_bins=3, output_mode="one_hot"), np.arange(10.0))(
            x["number"]
        ),
        adapted(lay.IntegerLookup(output_mode="tf_idf"), np.array([[1, 2, 3], [1, 2, 2]]))(x["id"]),
        adapted(lay.StringLookup(), ["x", "y", "x"])(x["word"]),
        lay.StringLookup(vocabulary=["q", "r"], output_mode="multi_hot")(x["word"]),
        lay.StringLookup(vocabulary=["x", "r"], **given)(x["word"]),
        lay.StringLookup(vocabulary=["x", "é\t,"], **given, max_tokens=6, pad_to_max_tokens=True)(
            x["word"]
        ),
        lay.IntegerLookup(vocabulary=[1, -3], **given)(x["id"]),
        lay.TextVectorization(vocabulary=["the", "cat"], **given)(x["text"]),
        adapted(lay.TextVectorization(), texts)(x["text"]),
        adapted(lay.TextVectorization(output_mode="tf_idf", ngrams=2), texts)(x["text"]),
        lay.Hashing(5)(x["word"]),
        lay.HashedCrossing(7, output_mode="one_hot")((x["word"], x["text"])),
        lay.CategoryEncoding(5)(x["id"]),
    ]
    return module.Model(x, outputs)


@pytest.fixture(scope="module")
def models():
    ours, theirs = everything(tfkit), everything(keras)
    data = {key: tf.constant(value) for key, value in DATA.items()}
    return ours, theirs, data, [each.numpy() for each in ours(data)]


def check(model, data, expected):
    for output, value in zip(model(data), expected, strict=True):
        assert output.shape == value.shape
        np.testing.assert_allclose(output, value, rtol=1e-5)


def test_the_model_gives_what_keras_gives(models):
    ours, theirs, data, expected = models
    check(theirs, data, expected)
    for output, value in zip(ours.predict(DATA, verbose=0), expected, strict=True):
        np.testing.assert_allclose(output, value, rtol=1e-5)


@pytest.mark.parametrize("ending", ["h5", "keras"])
def test_vocabularies_are_in_the_file_of_the_model(models, ending, tmp_path):
    ours, _, data, expected = models
    ours.save(tmp_path / f"m.{ending}")
    check(tfkit.models.load_model(tmp_path / f"m.{ending}"), data, expected)


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_files_are_exchanged_with_keras(models, tmp_path):
    ours, theirs, data, expected = models
    ours.save(tmp_path / "ours.keras")
    check(keras.models.load_model(tmp_path / "ours.keras"), data, expected)
    theirs.save(tmp_path / "theirs.keras")
    check(tfkit.models.load_model(tmp_path / "theirs.keras"), data, expected)


def test_weights_copies_and_pickles_hold_vocabularies(models, tmp_path):
    ours, _, data, expected = models
    check(copy.deepcopy(ours), data, expected)
    check(pickle.loads(pickle.dumps(ours)), data, expected)
    ours.save_weights(tmp_path / "m.weights.h5")
    fresh = type(ours).from_config(ours.get_config())
    with pytest.raises(RuntimeError, match="has no vocabulary"):
        fresh(data)
    fresh.load_weights(tmp_path / "m.weights.h5")
    check(fresh, data, expected)


def test_exports_take_raw_strings_in_the_c_library(models, tmp_path):
    ours, _, data, expected = models
    folders = [tmp_path / name for name in ("plain", "frozen", "tensorflow", "traced_before")]
    ours.export(folders[0], verbose=False)
    ours.export(folders[1], verbose=False, freeze=True)
    tf.saved_model.save(ours, folders[2])
    function = tf.function(lambda x: dict(zip(ours.output_names, ours(x), strict=True)))
    function(data)
    archive = tfkit.export.ExportArchive()
    archive.add_endpoint("serve", function)
    archive.write_out(folders[3], verbose=False)
    names = [
        {},
        {},
        # TensorFlow's own saving numbers them, as Keras has it.
        dict(zip(sorted(DATA), ("inputs", "inputs_1", "inputs_2", "inputs_3"), strict=True)),
        {key: f"x_{key}" for key in DATA},
    ]  # A function's inputs have its argument's name.
    cases = [
        (folder, [("serving_default", {renamed.get(key, key): DATA[key] for key in DATA})])
        for folder, renamed in zip(folders, names, strict=True)
    ]
    for folder, (found,) in zip(folders, run_elsewhere(cases), strict=True):
        assert not isinstance(found, str), found
        numbered = [f"output_{index}" for index in range(len(expected))]
        outputs = numbered if folder.name == "tensorflow" else ours.output_names
        for name, value in zip(outputs, expected, strict=True):
            np.testing.assert_allclose(found[name], value, rtol=1e-5)
