"""`adapt`: what it takes, what it finds, what it leaves as it was; vocabularies in traces and files."""

import copy
import gc
import json
import pickle
import threading
import weakref
import zipfile

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit import layers
from tfkit.saving import LoadError, load_model
from tfkit.src.files.interop import keras_layout
from tfkit.src.layers.preprocessing import with_vocabulary

TEXTS = np.array(["good fine", "bad awful", "fine day", "awful day"] * 8, object)
LABELS = np.array([[1.0], [0.0]] * 16, "float32")


class Batches(tfkit.utils.PyDataset):
    def __init__(self, arrays):
        super().__init__()
        self.arrays = arrays

    def __len__(self):
        return len(self.arrays)

    def __getitem__(self, index):
        return self.arrays[index], np.zeros(len(self.arrays[index]))


FORMS = ["array", "tensor", "dataset", "pairs", "generator", "list", "PyDataset"]


def forms(array, batch=3):
    """The same data in all forms that `adapt` takes."""
    pieces = [array[start : start + batch] for start in range(0, len(array), batch)]
    dataset = tf.data.Dataset.from_tensor_slices(array)
    return {
        "array": array,
        "tensor": tf.constant(array),
        "dataset": dataset.batch(batch),
        "rows": dataset,
        "pairs": tf.data.Dataset.zip(dataset, dataset).batch(batch),
        "generator": iter(pieces),
        "list": pieces,
        "PyDataset": Batches(pieces),
    }


@pytest.mark.parametrize(
    "form", ["array", "tensor", "dataset", "pairs", "generator", "list", "PyDataset"]
)
def test_all_forms_of_data_give_one_mean_and_variance(form):
    array = np.random.default_rng(0).normal(1e4, 1.0, (20, 2, 3))
    layer = layers.Normalization(axis=(1, 2))
    layer.adapt(forms(array)[form])
    mean, variance, count = layer.get_weights()
    np.testing.assert_allclose(mean, array.mean(0), rtol=1e-6)
    np.testing.assert_allclose(variance, array.var(0), rtol=1e-6)
    assert count == 0


@pytest.mark.parametrize(
    "form", ["array", "tensor", "dataset", "rows", "pairs", "generator", "list", "PyDataset"]
)
def test_all_forms_of_data_give_the_vocabulary_of_keras(form):
    words = np.array(["b", "a", "B", "\u00e9", "z", "a", "z", "[UNK]", ""], object)
    layer, oracle = layers.StringLookup(), keras.layers.StringLookup()
    layer.adapt(forms(words)[form])
    oracle.adapt(words)
    assert layer.get_vocabulary() == list(map(str, oracle.get_vocabulary()))
    layer, oracle = (
        layers.TextVectorization(max_tokens=4),
        keras.layers.TextVectorization(max_tokens=4),
    )
    layer.adapt(forms(TEXTS)[form])
    oracle.adapt(TEXTS)
    assert layer.get_vocabulary() == list(map(str, oracle.get_vocabulary()))


def test_weights_of_tokens_are_those_of_keras_for_all_forms():
    rows = np.array([[1, 2, 2], [2, 3, 4], [4, 4, 4], [1, 4, 2]])
    texts = ["a b b", "b c d", "d d", ""]
    oracle = keras.layers.IntegerLookup(output_mode="tf_idf")
    oracle.adapt(rows)
    text_oracle = keras.layers.TextVectorization(output_mode="tf_idf")
    text_oracle.adapt(texts)
    for data in (
        rows,
        tf.data.Dataset.from_tensor_slices(rows).batch(3),
        tf.RaggedTensor.from_tensor(rows),
    ):
        layer = layers.IntegerLookup(output_mode="tf_idf")
        layer.adapt(data)
        np.testing.assert_allclose(layer.idf_weights, oracle.idf_weights, rtol=1e-6)
    for data in (texts, tf.data.Dataset.from_tensor_slices(texts).batch(3)):
        layer = layers.TextVectorization(output_mode="tf_idf")
        layer.adapt(data)
        np.testing.assert_allclose(layer(texts), text_oracle(texts), rtol=1e-6)


@pytest.mark.parametrize("size", [1, 10, 150, 1000])
@pytest.mark.parametrize("epsilon", [0.01, 0.03, 0.3])
def test_bins_are_those_of_keras(size, epsilon):
    values = np.random.default_rng(size).normal(size=size).astype("float32")
    for data in (values, tf.data.Dataset.from_tensor_slices(values).batch(64)):
        layer, oracle = (
            module.Discretization(num_bins=4, epsilon=epsilon) for module in (layers, keras.layers)
        )
        layer.adapt(data)
        oracle.adapt(data)
        assert layer.bin_boundaries == oracle.bin_boundaries


@pytest.mark.parametrize("values", [[0.5, 1.5, 9.0], [0, 2, 300]])
def test_bins_of_a_dtype_of_integers_are_those_of_keras(values):
    for mode, dtype in (("int", "int64"), ("one_hot", "uint8"), ("multi_hot", "int32")):
        layer, oracle = (
            module.Discretization([1.2, 2.0], output_mode=mode, dtype=dtype)
            for module in (layers, keras.layers)
        )
        bins, expected = layer(np.array(values)), oracle(np.array(values))
        np.testing.assert_array_equal(bins, expected)
        assert bins.dtype == expected.dtype


def test_steps_end_endless_data_which_is_refused_without():
    endless = tf.data.Dataset.from_tensors(tf.constant(["a", "b"])).repeat()
    layer = layers.StringLookup()
    with pytest.raises(ValueError, match=r"never ends\. Pass `steps`"):
        layer.adapt(endless)
    layer.adapt(endless, steps=2)
    assert layer.get_vocabulary() == ["[UNK]", "b", "a"]


def test_a_failed_adapt_leaves_what_was_there():
    layer = layers.StringLookup()
    layer.adapt(["a"])
    bins = layers.Discretization(num_bins=2)
    bins.adapt(np.arange(9.0))
    before = list(bins.bin_boundaries), bins.summary

    def broken():
        yield np.array([1.0, 2.0])
        raise OSError("gone")

    for tested in (layer, bins):
        with pytest.raises((OSError, ValueError), match=r"gone|expects strings"):
            tested.adapt(broken())
    with pytest.raises(TypeError, match="Take the feature out first"):
        layer.adapt(tf.data.Dataset.from_tensors({"x": ["a"]}))
    assert layer.get_vocabulary() == ["[UNK]", "a"]
    assert bins.bin_boundaries == before[0]
    assert bins.summary is before[1]


def test_a_new_vocabulary_reaches_programs_that_were_traced_before():
    layer = layers.StringLookup(vocabulary=["a", "b"])
    model = tfkit.Sequential([tfkit.Input((1,), dtype="string"), layer])
    x = tf.constant([["a"], ["b"]])
    old = tf.data.Dataset.from_tensors(x).map(layer)
    results = [model(x), model(x), model.predict(x, verbose=0)]
    assert all(np.ravel(result).tolist() == [1, 2] for result in results)
    layer.set_vocabulary(["b"])
    gc.collect()
    results = [model(x), model(x), model.predict(x, verbose=0)]
    assert all(np.ravel(result).tolist() == [0, 1] for result in results)
    assert np.ravel(next(iter(old))).tolist() == [1, 2]  # It keeps the table that it was made with.


def test_tables_are_gone_with_the_last_that_reads_them():
    layer = layers.StringLookup(vocabulary=["a"])
    layer(["a"])
    table = weakref.ref(layer._vocabulary.table("indices", None))
    layer.set_vocabulary(["b"])
    gc.collect()
    assert table() is None


def test_threads_see_whole_vocabularies():
    layer = layers.StringLookup()
    vocabularies = [[str(i) for i in range(n)] for n in (3, 50)]
    layer.set_vocabulary(vocabularies[0])
    found = set()

    def look():
        for _ in range(200):
            found.add(
                tuple(layer._tfkit_call_in_phases((tf.constant(["2", "40"]),), {}).numpy().tolist())
            )

    threads = [threading.Thread(target=look) for _ in range(2)]
    for thread in threads:
        thread.start()
    for turn in range(100):
        layer.set_vocabulary(vocabularies[turn % 2])
    for thread in threads:
        thread.join()
    assert found <= {(3, 0), (3, 41)}


# --- In models --------------------------------------------------------------------------------------------


class Classifier(tfkit.Model):
    def __init__(self):
        super().__init__()
        self.texts = layers.TextVectorization(output_mode="multi_hot")
        self.dense = layers.Dense(1)

    def call(self, inputs):
        return self.dense(self.texts(inputs))


def subclassed():
    model = Classifier()
    model.texts.adapt(TEXTS)
    return model


def sequential():
    texts = layers.TextVectorization(output_sequence_length=3)
    texts.adapt(TEXTS)
    return tfkit.Sequential([texts, layers.Embedding(9, 4), layers.Flatten(), layers.Dense(1)])


@pytest.mark.parametrize("build", [subclassed, sequential])
@pytest.mark.parametrize("ending", ["h5", "keras"])
def test_models_learn_from_strings_and_come_back_from_files(build, ending, tmp_path):
    model = build()
    model.compile("sgd", "mse")
    for data in (
        {"x": TEXTS, "y": LABELS},
        {"x": tf.data.Dataset.from_tensor_slices((TEXTS, LABELS)).batch(8)},
    ):
        losses = model.fit(**data, epochs=3, verbose=0).history["loss"]
        assert losses[-1] < losses[0]
    assert "dtype string" in str(model.plan)
    expected = model.predict(TEXTS, verbose=0)
    model.save(tmp_path / f"m.{ending}")
    again = load_model(tmp_path / f"m.{ending}", custom_objects={"Classifier": Classifier})
    np.testing.assert_allclose(again.predict(TEXTS, verbose=0), expected, rtol=1e-6)


def test_training_that_goes_on_has_the_vocabulary_that_it_began_with(tmp_path):
    backup = tfkit.callbacks.BackupAndRestore(tmp_path / "b.h5", delete_checkpoint=False)
    model = sequential()
    model.compile("sgd", "mse")
    model.fit(TEXTS, LABELS, epochs=1, verbose=0, callbacks=[backup])
    other = sequential()
    other.layers[0].adapt(["something else"])
    other.compile("sgd", "mse")
    other.fit(TEXTS, LABELS, epochs=1, verbose=0, callbacks=[backup])
    assert other.layers[0].get_vocabulary() == model.layers[0].get_vocabulary()


def test_numbers_are_left_to_xla_and_texts_are_not():
    x = np.random.default_rng(0).normal(size=(32, 2)).astype("float32")
    normalization = layers.Normalization()
    normalization.adapt(x)
    ones = np.ones((32, 2), "int64")
    for layer, data, kind in (
        (normalization, x, "XLA loop"),
        (layers.Discretization([0.0], output_mode="count"), x, "XLA loop"),
        (layers.CategoryEncoding(3, output_mode="count"), ones, "XLA loop"),
        (
            layers.IntegerLookup(vocabulary=[1, 2], output_mode="count"),
            np.ones((32, 2), "int64"),
            "graph loop",
        ),
    ):
        model = tfkit.Sequential([layer, layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(data, LABELS, verbose=0)
        assert model.plan["train"].kind == kind


# --- What files may not do --------------------------------------------------------------------------------


def lookup_model():
    layer = layers.StringLookup()
    layer.adapt(["x", "a\u00e9"])
    return tfkit.Sequential([tfkit.Input((1,), dtype="string"), layer])


def packed(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


@pytest.mark.parametrize("kind", ["StringLookup", "IntegerLookup", "TextVectorization"])
def test_a_path_in_a_configuration_is_never_opened(kind, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("1\n2\n")
    layer = getattr(layers, kind)(vocabulary=str(secret))  # In code it is.
    assert len(layer.get_vocabulary(include_special_tokens=False)) == 2
    assert layer.get_config()["vocabulary"] is None
    config = {**layer.get_config(), "vocabulary": str(secret)}
    with pytest.raises(ValueError, match="which is never opened"):
        type(layer).from_config(config)
    model = tfkit.Sequential([tfkit.Input((1,), dtype=layer.input_dtype), layer])
    model.save(tmp_path / "m.keras")
    with zipfile.ZipFile(tmp_path / "m.keras") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    document = json.loads(members["config.json"])
    document["config"]["layers"][1]["config"]["vocabulary"] = str(secret)
    members["config.json"] = json.dumps(document)
    with pytest.raises(LoadError, match="which is never opened"):
        load_model(packed(tmp_path / "bad.keras", members))


@pytest.mark.parametrize("text", [b"[UNK]\nx\nx", b"[UNK]\n\xff\n\xff", b"\n" * (2**24 + 1)])
def test_a_damaged_vocabulary_is_refused(text, tmp_path):
    lookup_model().save(tmp_path / "m.keras")
    with zipfile.ZipFile(tmp_path / "m.keras") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["assets/layers/string_lookup/vocabulary.txt"] = text
    with pytest.raises(LoadError, match=r"repeated term|tokens of a vocabulary"):
        load_model(packed(tmp_path / "bad.keras", members))


def test_arrays_that_are_no_vocabulary_are_refused_and_nothing_changes():
    layer = layers.StringLookup()
    layer.adapt(["x", "yy"])
    good = {}
    layer.save_own_variables(good)
    bytes_, lengths = good["vocabulary"], good["lengths"]
    for bad in (
        {"vocabulary": bytes_},
        {"vocabulary": bytes_.astype("int64"), "lengths": lengths},
        {"vocabulary": bytes_, "lengths": lengths + 1},
        {"vocabulary": bytes_, "lengths": lengths - 9},
        {"vocabulary": bytes_, "lengths": np.full(2, 2**62)},
        {"vocabulary": bytes_, "lengths": lengths.astype("float32")},
        {**good, "idf_weights": np.ones(3, "float32")},
    ):
        with pytest.raises(ValueError, match=r"vocabulary|lengths|Expected weights"):
            layer.load_own_variables(bad)
    assert layer.get_vocabulary() == ["[UNK]", "yy", "x"]


def test_a_file_that_does_not_fit_changes_no_vocabulary(tmp_path):
    def build(units, words):
        lookup = layers.StringLookup(vocabulary=words)
        bins = layers.Discretization(num_bins=units)
        bins.adapt(np.arange(20.0))
        x = tfkit.Input((1,), dtype="string")
        n = tfkit.Input((1,))
        return tfkit.Model([x, n], [lookup(x), bins(n), Broken()(n)])

    build(3, ["a"]).save_weights(tmp_path / "m.weights.h5")
    model = build(4, ["b"])
    with pytest.raises(LoadError, match="nothing was loaded"):
        model.load_weights(tmp_path / "m.weights.h5")
    assert model.layers[2].get_vocabulary() == ["[UNK]", "b"]
    assert model.layers[2].get_config()["vocabulary"] == ["b"]
    assert len(model.layers[3].bin_boundaries) == 3


class Broken(layers.Layer):
    """Stores something, and cannot load it."""

    def call(self, x):
        return x

    def save_own_variables(self, store):
        store["x"] = np.zeros(1)

    def load_own_variables(self, store):
        raise ValueError("no")


def test_tokens_with_line_breaks_are_kept_in_our_files_and_refused_for_keras(tmp_path):
    layer = layers.StringLookup()
    layer.adapt(["a\nb", "\r", "", "c"])
    model = tfkit.Sequential([tfkit.Input((1,), dtype="string"), layer])
    model.save(tmp_path / "m.h5")
    assert load_model(tmp_path / "m.h5").layers[0].get_vocabulary() == layer.get_vocabulary()
    with pytest.raises(ValueError, match="has a line break"):
        model.save(tmp_path / "m.keras")
    assert not (tmp_path / "m.keras").exists()


LARGE = {
    "StringLookup": lambda: layers.StringLookup(vocabulary=["b", "a", "c"], mask_token=""),
    "IntegerLookup": lambda: layers.IntegerLookup(vocabulary=[5, 3, 4]),
    "TextVectorization": lambda: layers.TextVectorization(
        vocabulary=["b", "a", "c"], output_mode="tf_idf", idf_weights=[1.0, 2.0, 3.0]
    ),
}


@pytest.mark.parametrize("ending", ["h5", "keras"])
@pytest.mark.parametrize("kind", LARGE)
def test_a_large_vocabulary_that_was_given_is_stored_like_an_adapted_one(
    kind, ending, tmp_path, monkeypatch
):
    """Ten million words are more than a configuration may have."""
    monkeypatch.setattr(with_vocabulary, "_MOST_TOKENS", 2)
    layer = LARGE[kind]()
    integers = kind == "IntegerLookup"
    inputs = tfkit.Input((1,), dtype="int64" if integers else "string")
    model = tfkit.Sequential([inputs, layer])
    data = np.array([[3], [9]]) if integers else tf.constant([["a"], ["z"]])
    expected = model(data).numpy()
    path = tmp_path / f"m.{ending}"
    model.save(path)
    if ending == "keras":
        with zipfile.ZipFile(path) as archive:
            assert (
                json.loads(archive.read("config.json"))["config"]["layers"][1]["config"][
                    "vocabulary"
                ]
                is None
            )
        np.testing.assert_array_equal(keras.models.load_model(path)(data), expected)
    loaded = load_model(path)
    np.testing.assert_array_equal(loaded(data).numpy(), expected)
    assert loaded.layers[0].get_vocabulary() == layer.get_vocabulary()
    loaded.save(path)
    np.testing.assert_array_equal(load_model(path)(data).numpy(), expected)
    # Only files have it apart: a copy has it from the configuration.
    assert layer.get_config()["vocabulary"] == layer.get_vocabulary(include_special_tokens=False)
    again = type(layer).from_config(layer.get_config())
    np.testing.assert_array_equal(again(data).numpy(), layer(data).numpy())


@pytest.mark.parametrize("kind", LARGE)
def test_no_attribute_is_a_list_of_the_words_that_were_given(kind):
    """It would be searched for members at each save, three times."""
    layer = LARGE[kind]()
    lookup = getattr(layer, "_lookup_layer", layer)
    searched = [(name, value) for name, value, _ in keras_layout._children(lookup)]
    nests = [value for _, value in [*searched, *vars(lookup).items()] if isinstance(value, list)]
    assert not [nest for nest in nests if len(nest) >= lookup.vocabulary_size() - 2]


@pytest.mark.parametrize("special", [[], ["", "[UNK]"]])
def test_the_configuration_has_the_words_as_they_were_given(special):
    words, weights = [*special, "b", "\udc80"], [0.1] * len(special) + [0.2, 3]
    options = {"mask_token": "", "output_mode": "int"} if special else {"output_mode": "tf_idf"}
    if not special:
        options["idf_weights"] = weights
    layer = layers.StringLookup(vocabulary=words, **options)
    for each in (layer, copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert each.input_vocabulary == each.get_config()["vocabulary"] == words
        assert each.input_idf_weights == each.get_config()["idf_weights"]
        assert each.input_idf_weights == (None if special else weights)
        assert each.get_vocabulary() == layer.get_vocabulary()
    words.append("c")  # The layer has its own.
    assert "c" not in layer.input_vocabulary
    layer.set_vocabulary(["d"], None if special else [1.0])
    assert layer.input_vocabulary is layer.input_idf_weights is None


@pytest.mark.parametrize("ending", ["h5", "keras"])
def test_words_that_were_loaded_replace_those_of_the_configuration(ending, tmp_path):
    """The archive had those of the constructor, and the loaded ones were lost."""

    def build(words):
        return tfkit.Sequential(
            [tfkit.Input((1,), dtype="string"), layers.StringLookup(vocabulary=words)]
        )

    build(["a", "b"]).save_weights(tmp_path / "m.weights.h5")
    model = build(["c"])
    model.load_weights(tmp_path / "m.weights.h5")
    assert model.layers[0].get_config()["vocabulary"] is None
    model.save(tmp_path / f"m.{ending}")
    assert load_model(tmp_path / f"m.{ending}").layers[0].get_vocabulary() == ["[UNK]", "a", "b"]
    model = build(["a", "b"])
    model.load_weights(tmp_path / "m.weights.h5")
    assert model.layers[0].get_config()["vocabulary"] == ["a", "b"]


def test_long_tokens_are_a_large_vocabulary(monkeypatch):
    layer = layers.StringLookup(vocabulary=["a" * 9, "b"])
    assert not layer._is_large()
    monkeypatch.setattr(with_vocabulary, "_MOST_BYTES", 9)
    assert layer._is_large()


def test_an_empty_vocabulary_and_one_that_was_never_made_are_kept_apart(tmp_path):
    empty, missing = layers.StringLookup(mask_token=""), layers.StringLookup()
    empty.adapt([""])
    assert empty(["a"]).numpy().tolist() == [1]
    x = tfkit.Input((1,), dtype="string")
    tfkit.Model(x, [empty(x), missing(x)]).save(tmp_path / "m.h5")
    empty, missing = load_model(tmp_path / "m.h5").layers[1:]
    assert empty(["a"]).numpy().tolist() == [1]
    with pytest.raises(RuntimeError, match="has no vocabulary"):
        missing(["a"])


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("StringLookup", {"vocabulary": ["a", "a"]}, "at least one repeated term"),
        ("StringLookup", {"vocabulary": []}, "Cannot set an empty vocabulary"),
        ("StringLookup", {"vocabulary": ["a", ""], "mask_token": ""}, "Found reserved mask token"),
        (
            "StringLookup",
            {"vocabulary": ["a", "[UNK]"], "invert": True},
            "Found reserved OOV token",
        ),
        (
            "StringLookup",
            {"vocabulary": ["a", "b"], "max_tokens": 2},
            "larger than the maximum vocab size",
        ),
        ("StringLookup", {"vocabulary": "/no/file"}, "Vocabulary file /no/file does not exist"),
        (
            "StringLookup",
            {"vocabulary": ["a"], "output_mode": "tf_idf"},
            "`idf_weights` argument must also",
        ),
        (
            "StringLookup",
            {"vocabulary": ["a"], "output_mode": "tf_idf", "idf_weights": [1.0, 2.0]},
            r"len\(idf_weights\) is 2; len\(vocabulary\) is 1",
        ),
        ("IntegerLookup", {"vocabulary_dtype": "int32"}, "Only `vocabulary_dtype='int64'`"),
        ("IntegerLookup", {"salt": 1}, "`salt` can only be used when"),
        ("TextVectorization", {"ngrams": "x"}, "`ngrams` must be None, an integer"),
        ("TextVectorization", {"ngrams": 0}, "all positive"),
        ("TextVectorization", {"output_sequence_length": 0}, "None or a positive integer"),
        (
            "TextVectorization",
            {"ragged": True, "output_mode": "count"},
            "`ragged` must not be true",
        ),
        ("TextVectorization", {"split": "x"}, "Unknown value for `split`"),
        ("Hashing", {"num_bins": 0}, "cannot be `None` or non-positive"),
        ("Normalization", {"mean": 1.0}, "both `mean` and `variance` must be set"),
        ("Normalization", {"mean": [1.0, 2.0], "variance": 1.0}, "must have the same shape"),
        ("Discretization", {}, "either `num_bins` or `bin_boundaries`"),
        ("Discretization", {"num_bins": 2, "sparse": True}, "`sparse=True` may only be used"),
        ("Discretization", {"bin_boundaries": [2.0, 1.0]}, "must be in increasing order"),
        ("CategoryEncoding", {}, "num_tokens must be set"),
        ("StringLookup", {"vocabulary": [1, 2]}, "a flat list of strings. Received: 1 of type int"),
        ("StringLookup", {"vocabulary": ["a", None]}, "a flat list of strings. Received: None"),
        ("TextVectorization", {"vocabulary": [["a"], ["b"]]}, "a flat list of strings"),
        ("IntegerLookup", {"vocabulary": [1, None]}, "of integers must be a flat list of integers"),
        (
            "IntegerLookup",
            {"vocabulary": [1, np.nan]},
            "of integers must be a flat list of integers",
        ),
        (
            "HashedCrossing",
            {"num_bins": 2, "dtype": "float32"},
            "`dtype` should be an integer type",
        ),
    ],
)
def test_arguments_that_are_refused(name, arguments, message):
    with pytest.raises(ValueError, match=message):
        getattr(layers, name)(**arguments)


def test_inputs_that_are_refused():
    lookup = layers.StringLookup(vocabulary=["a"], num_oov_indices=0)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r'found OOV values \["z"\]'):
        lookup(["a", "z"])
    with pytest.raises(ValueError, match=r"expects strings\. Received: a tensor of dtype int32"):
        lookup([1])
    with pytest.raises(ValueError, match="last shape dimension must be 1"):
        layers.TextVectorization(vocabulary=["a"])([["a", "b"]])
    with pytest.raises(ValueError, match=r"call `adapt\(data\)`"):
        layers.Discretization(num_bins=2)([1.0])
    with pytest.raises(ValueError, match="after setting a static vocabulary"):
        lookup.adapt(["b"])
    with pytest.raises(ValueError, match="Received: a ragged tensor"):
        layers.Normalization().adapt(tf.ragged.constant([[1.0], [2.0, 3.0]]))
    with pytest.raises(ValueError, match="incompatible shape"):
        layers.Normalization().adapt([np.ones((2, 3)), np.ones((2, 4))])
    counted = layers.StringLookup(output_mode="count")
    counted.adapt(["a"])
    counted(["a"])
    with pytest.raises(RuntimeError, match="the vocabulary size cannot be changed"):
        counted.adapt(["a", "b"])
    assert counted.get_vocabulary() == ["[UNK]", "a"]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("StringLookup", ["a", None], "Received: None among strings. Fill missing values"),
        ("StringLookup", np.array(["a", np.nan], object), "Received: nan among strings"),
        ("TextVectorization", [np.array(["a", 1], object)], "Received: 1 among strings"),
        ("Normalization", [1.0, None], "Received: None among numbers"),
        ("Normalization", np.array(["1", "2"]), "expects numbers. Received: strings, such as"),
        ("Normalization", [[1.0, 2.0], [3.0]], "rows of one length and type"),
        ("Normalization", {"a": [1.0], "b": [2.0]}, "expects one feature. Received: a dict of 2"),
    ],
)
def test_data_that_adapt_refuses(name, data, message):
    layer = getattr(layers, name)()
    with pytest.raises((ValueError, TypeError), match=message):
        layer.adapt(data)


def test_bins_that_adapt_refuses():
    with pytest.raises(ValueError, match=r"expects numbers\. Received: strings, such as"):
        layers.Discretization(num_bins=2).adapt(["1", "2"])
    for arguments in ({"num_bins": 0}, {"num_bins": 2, "epsilon": 0}):
        with pytest.raises(ValueError, match="needs at least one bin and an `epsilon` above 0"):
            layers.Discretization(**arguments).adapt([1.0, 2.0])


def test_lists_that_are_no_inputs_and_empty_ones():
    indices = layers.StringLookup(vocabulary=["a"], invert=True)
    for layer, inputs, message in (
        (layers.Hashing(3), [None], "Received: a list with `None` in it"),
        (indices, ["a"], "expects the indices of tokens. Received: a tensor of dtype string"),
        (layers.CategoryEncoding(3), ["a"], "expects integers. Received: a tensor of dtype string"),
    ):
        with pytest.raises(ValueError, match=message):
            layer(inputs)
    for layer in (
        layers.StringLookup(vocabulary=["a"]),
        layers.IntegerLookup(vocabulary=[1]),
        layers.Discretization([1.0]),
    ):
        assert layer([]).shape == (0,)
    assert layers.TextVectorization(vocabulary=["a"])([]).shape == (0, 0)


def test_plain_lists_are_inputs_as_tensors_are():
    crossing = layers.HashedCrossing(5)
    assert crossing((["A", "B"], [101, 101])).numpy().tolist() == [1, 4]
    assert layers.CategoryEncoding(3)([[0, 2]]).numpy().tolist() == [[1, 0, 1]]
    assert layers.Discretization([0.5])(0.7).numpy() == 1
    assert layers.StringLookup(vocabulary=["a"])("a").numpy() == 1


def dashes(texts):
    return tf.strings.regex_replace(texts, "-", " ")


def test_functions_for_standardize_and_split_are_found_by_name(tmp_path):
    layer = layers.TextVectorization(standardize=dashes, split=tf.strings.split)
    layer.adapt(["a-b", "B a"])
    assert layer.get_vocabulary() == ["", "[UNK]", "a", "b", "B"]
    tfkit.utils.register_keras_serializable()(dashes)
    saved = layers.TextVectorization(standardize=dashes)
    saved.adapt(["a-b", "B a"])
    model = tfkit.Sequential([tfkit.Input((1,), dtype="string"), saved])
    model.save(tmp_path / "m.h5")
    assert load_model(tmp_path / "m.h5")(tf.constant([["a-B"]])).numpy().tolist() == [[2, 4]]


def test_a_hashed_crossing_is_built_from_shapes():
    for mode in ("int", "one_hot"):
        layer = layers.HashedCrossing(3, output_mode=mode)
        layer.build(((2,), (2,)))
        assert layer.built


def test_normalization_names_the_sizes_that_it_was_built_for():
    layer = layers.Normalization()
    layer.adapt(np.ones((3, 4)))
    with pytest.raises(ValueError, match=r"sizes \(4,\) at axis=.*incompatible shape \(2, 5\)"):
        layer(np.ones((2, 5)))


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "float16"])
def test_bins_are_those_of_32_bits_under_policies_of_16(policy):
    x = np.array([[1000.4, 1000.6, 2048.5, 2049.2, 2999.9]], "float32")
    ours, theirs = (
        library.layers.Discretization([1000.5, 2049.0, 3000.0], dtype=policy)
        for library in (tfkit, keras)
    )
    assert ours(x).numpy().tolist() == theirs(x).numpy().tolist() == [[0, 1, 1, 2, 2]]
    inputs = tfkit.Input((5,))
    assert tfkit.Model(inputs, ours(inputs)).predict(x, verbose=0).tolist() == [[0, 1, 1, 2, 2]]
    counts = layers.Discretization([1000.5, 2049.0, 3000.0], output_mode="count", dtype=policy)
    assert counts(x.astype("int32")).numpy().tolist() == [[2, 1, 2, 0]]
    assert counts(x).dtype == counts.compute_dtype


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "float16"])
def test_large_numbers_are_normalized_in_32_bits(policy):
    """In 16 bits a variance of a million is infinite, and its quotients are zeros."""
    x = np.array([[70000.0], [72000.0]], "float32")
    given = layers.Normalization(mean=71000.0, variance=1e6, dtype=policy)
    assert given(x).numpy().tolist() == [[-1.0], [1.0]]
    assert given(x).dtype == given.compute_dtype
    back = layers.Normalization(mean=1000.0, variance=1e6, invert=True, dtype=policy)
    assert back(np.array([[1.0]])).numpy().tolist() == [[2000.0]]
    if policy != "float16":  # Its weights have 16 bits.
        adapted = layers.Normalization(dtype=policy)
        adapted.adapt(x)
        inputs = tfkit.Input((1,))
        model = tfkit.Model(inputs, adapted(inputs))
        assert model.predict(x, verbose=0).tolist() == [[-1.0], [1.0]]


@pytest.mark.parametrize("nothing", [[], np.array([], "object"), iter([])])
def test_an_adapt_to_nothing_is_refused_and_keeps_the_vocabulary(nothing):
    for layer in (layers.TextVectorization(), layers.StringLookup()):
        layer.adapt(["a b", "b"])
        before = layer.get_vocabulary()
        with pytest.raises(ValueError, match="cannot adapt to an empty iterable"):
            layer.adapt(nothing)
        assert layer.get_vocabulary() == before


def test_wrong_arguments_of_preprocessing_layers_are_named():
    for axis in (1.0, "a", (0, None)):
        with pytest.raises(
            TypeError, match="`axis` must be an integer, a tuple of integers or None"
        ):
            layers.Normalization(axis=axis)
    with pytest.raises(ValueError, match="`variance` must not be negative"):
        layers.Normalization(mean=[0.0, 1.0], variance=[1.0, -1.0])
    with pytest.raises(ValueError, match="`count_weights` must have one weight for each integer"):
        layers.CategoryEncoding(3, "count")(np.array([[1, 1]]), count_weights=np.ones((1, 3)))
    with pytest.raises(ValueError, match="All `HashedCrossing` inputs should have equal shape"):
        layers.HashedCrossing(5)((np.array(["a"]), np.array(["b", "c"])))


def test_an_axis_of_normalization_that_is_named_twice_counts_once():
    x = np.arange(6.0, dtype="float32").reshape(3, 2)
    twice, once = layers.Normalization(axis=(1, -1)), layers.Normalization(axis=1)
    twice.adapt(x)
    once.adapt(x)
    np.testing.assert_array_equal(twice(x), once(x))
