"""Tables as inputs of models: numbers beside Keras's, uses, files."""

import copy
import pickle

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tfkit.utils import FeatureSpace

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

TABLE = {
    "price": [0.5, -1.0, 2.0, 7.5, 3.0, 3.0],
    "age": [20.0, 31.0, 44.0, 18.0, 67.0, 31.0],
    "size": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
    "weight": [5.0, 2.5, 3.0, 4.0, 9.0, 6.0],
    "job": ["nurse", "driver", "nurse", "cook", "driver", "nurse"],
    "code": [7, 7, 9, 11, 9, 7],
    "town": ["A", "B", "C", "A", "D", "E"],
    "number": [3, 1, 4, 1, 5, 9],
}
LABELS = np.array([[1.0], [0.0], [1.0], [0.0], [1.0], [1.0]], "float32")
ARRAYS = {name: np.array(values) for name, values in TABLE.items()}
FORMS = {
    "lists": TABLE,
    "arrays": ARRAYS,
    "columns": {name: values[:, None] for name, values in ARRAYS.items()},
    "tensors": {name: tf.constant(values) for name, values in TABLE.items()},
    "row": {name: values[2] for name, values in TABLE.items()},
    "row of tensors": {name: tf.constant(values)[2] for name, values in TABLE.items()},
}


def by_names(cls):
    return {
        "price": "float",
        "age": "float_normalized",
        "size": "float_rescaled",
        "weight": "float_discretized",
        "job": "string_categorical",
        "code": "integer_categorical",
        "town": "string_hashed",
        "number": "integer_hashed",
    }


def by_methods(cls, mode="one_hot"):
    return {
        "price": cls.float(),
        "age": cls.float_normalized(name="years"),
        "size": cls.float_rescaled(scale=2.0, offset=-1.0),
        "weight": cls.float_discretized(num_bins=3, output_mode=mode),
        "job": cls.string_categorical(max_tokens=3, output_mode=mode),
        "code": cls.integer_categorical(num_oov_indices=2, output_mode=mode),
        "town": cls.string_hashed(num_bins=4, output_mode=mode),
        "number": cls.integer_hashed(num_bins=5, output_mode=mode),
    }


def as_names(cls):
    crosses = [("weight", "job"), ("town", "number")]
    return cls(by_names(cls), crosses=crosses, crossing_dim=6, hashing_dim=7)


def as_dict(cls):
    crosses = [cls.cross(("job", "code"), crossing_dim=9)]
    return cls(by_methods(cls), output_mode="dict", crosses=crosses)


def as_indices(cls):
    crosses = [cls.cross(("job", "code"), crossing_dim=9, output_mode="int")]
    return cls(by_methods(cls, "int"), output_mode="dict", crosses=crosses)


SPACES = {"names": as_names, "dict": as_dict, "indices": as_indices}


def adapted(make, cls=FeatureSpace):
    space = make(cls)
    space.adapt(TABLE)
    return space


@pytest.fixture(scope="module")
def pairs():
    """Each space, adapted, with that of Keras."""
    return {
        name: (adapted(make), adapted(make, keras.utils.FeatureSpace))
        for name, make in SPACES.items()
    }


def assert_same(got, expected):
    tf.nest.assert_same_structure(got, expected)
    for ours, theirs in zip(tf.nest.flatten(got), tf.nest.flatten(expected), strict=True):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("form", FORMS)
def test_values_are_those_of_keras(pairs, name, form):
    ours, theirs = pairs[name]
    assert_same(ours(FORMS[form]), theirs(FORMS[form]))
    assert_same(ours(FORMS[form]), theirs(FORMS[form]))  # The second call is compiled.


@pytest.mark.parametrize("name", SPACES)
def test_names_and_shapes_are_those_of_keras(pairs, name):
    ours, theirs = pairs[name]
    symbols = [space.get_encoded_features() for space in (ours, theirs)]
    kinds = [tf.nest.map_structure(lambda x: (x.shape, x.dtype), each) for each in symbols]
    assert kinds[0] == kinds[1]
    for attribute in ("inputs", "preprocessors", "crossers"):
        mine, its = getattr(ours, attribute), getattr(theirs, attribute)
        assert {key: type(item).__name__ for key, item in mine.items() if key != "price"} == {
            key: type(item).__name__ for key, item in its.items() if key != "price"
        }
    assert ours.preprocessors["age"].name == theirs.preprocessors["age"].name
    assert set(ours.get_config()) == set(theirs.get_config())
    again = FeatureSpace.from_config(ours.get_config())
    assert again.get_config().keys() == ours.get_config().keys()
    assert tfkit.saving.serialize_keras_object(ours)["module"] == "keras.utils"


def test_an_export_takes_raw_columns(tmp_path, pairs):
    space = pairs["names"][0]
    model = tfkit.Model(space.get_inputs(), space.get_encoded_features())
    model.export(tmp_path / "m", verbose=False)
    columns = {name: value[:, None] for name, value in FORMS["tensors"].items()}
    loaded = tf.saved_model.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.serve(columns), space(TABLE))


@pytest.mark.parametrize("first", ["map", "batch"])
def test_in_a_data_pipeline(pairs, first):
    space = pairs["names"][0]
    rows = tf.data.Dataset.from_tensor_slices(TABLE)
    found = rows.map(space).batch(6) if first == "map" else rows.batch(6).map(space)
    np.testing.assert_array_equal(next(iter(found)), space(TABLE))


def test_adapt_on_batches_with_labels_is_adapt_on_the_table(pairs):
    for size in (None, 4):
        data = tf.data.Dataset.from_tensor_slices((TABLE, LABELS))
        space = as_names(FeatureSpace)
        space.adapt(data if size is None else data.batch(size))
        assert_same(space(TABLE), pairs["names"][1](TABLE))


def test_a_second_adapt_forgets_the_first():
    space = FeatureSpace({"job": "string_categorical"})
    space.adapt({"job": ["nurse"]})
    assert space({"job": ["nurse"]}).shape == (1, 2)
    space.adapt({"job": ["driver", "cook", "nurse"]})
    assert space({"job": "cook"}).numpy().tolist() == [0, 0, 0, 1]
    assert space.get_encoded_features().shape == (None, 4)


@pytest.mark.parametrize("name", SPACES)
def test_copies_and_pickles(pairs, name):
    space = pairs[name][0]
    for again in (copy.deepcopy(space), pickle.loads(pickle.dumps(space))):
        assert_same(again(TABLE), space(TABLE))


def test_weights_with_a_larger_vocabulary(tmp_path):
    spaces = [FeatureSpace({"job": "string_categorical"}) for _ in range(2)]
    for space, jobs in zip(spaces, (["nurse"], ["cook", "driver", "nurse"]), strict=True):
        space.adapt({"job": jobs})
    spaces[0]({"job": ["nurse"]})
    tfkit.saving.save_weights(spaces[1], tmp_path / "s.weights.h5")
    tfkit.saving.load_weights(spaces[0], tmp_path / "s.weights.h5")
    assert_same(*[space({"job": ["cook"]}) for space in spaces])


@pytest.mark.parametrize("ending", ["h5", "keras"])
@pytest.mark.parametrize("as_layer", [False, True], ids=["its layers", "as one layer"])
def test_in_a_model_that_is_trained_and_saved(tmp_path, ending, as_layer):
    space = adapted(as_names)
    inputs = space.get_inputs()
    encoded = space(inputs) if as_layer else space.get_encoded_features()
    model = tfkit.Model(inputs, tfkit.layers.Dense(1)(encoded))
    model.compile("sgd", "mse")
    rows = {name: values[:, None] for name, values in ARRAYS.items()}
    data = tf.data.Dataset.from_tensor_slices((rows, LABELS)).batch(3)
    before = model.evaluate(data, verbose=0)
    model.fit(data, epochs=2, verbose=0)
    assert model.evaluate(data, verbose=0) < before
    model.save(tmp_path / f"m.{ending}")
    loaded = tfkit.models.load_model(tmp_path / f"m.{ending}")
    np.testing.assert_array_equal(loaded.predict(data, verbose=0), model.predict(data, verbose=0))


@pytest.mark.parametrize("ending", ["h5", "keras"])
@pytest.mark.parametrize("name", SPACES)
def test_files(tmp_path, pairs, ending, name):
    space = pairs[name][0]
    for again in range(2):
        space.save(tmp_path / f"{again}.{ending}")
        space = tfkit.models.load_model(tmp_path / f"{again}.{ending}")
    assert_same(space(TABLE), pairs[name][0](TABLE))
    assert_same(space(FORMS["row"]), pairs[name][0](FORMS["row"]))


@pytest.mark.parametrize("name", SPACES)
def test_files_of_keras_both_ways(tmp_path, pairs, name):
    ours, theirs = pairs[name]
    theirs.save(tmp_path / "theirs.keras")
    ours.save(tmp_path / "ours.keras")
    assert_same(tfkit.models.load_model(tmp_path / "theirs.keras")(TABLE), theirs(TABLE))
    assert_same(ours(TABLE), keras.models.load_model(tmp_path / "ours.keras")(TABLE))


@pytest.mark.parametrize("ending", ["h5", "keras"])
def test_a_file_says_whether_there_was_an_adapt(tmp_path, ending):
    FeatureSpace({"age": "float_normalized"}).save(tmp_path / f"s.{ending}")
    loaded = tfkit.models.load_model(tmp_path / f"s.{ending}")
    with pytest.raises(ValueError, match=r"You need to call `\.adapt"):
        loaded({"age": [1.0]})


def test_what_is_given_needs_no_adapt():
    text = tfkit.layers.TextVectorization(vocabulary=["a", "b"], output_sequence_length=2)
    features = {
        "bin": FeatureSpace.float_discretized(None, bin_boundaries=[0.0, 1.0]),
        "code": FeatureSpace.feature(
            "int64", tfkit.layers.IntegerLookup(vocabulary=[5, 6]), "one_hot"
        ),
        "mean": FeatureSpace.feature(
            "float32", tfkit.layers.Normalization(mean=1.0, variance=4.0), "float"
        ),
        "text": FeatureSpace.feature("string", text, "int"),
    }
    space = FeatureSpace(features, output_mode="dict")
    data = {"bin": [0.5], "code": [6], "mean": [5], "text": ["b c"]}
    expected = {"bin": [[0, 1, 0]], "code": [[0, 0, 1]], "mean": [[2]], "text": [[3, 1]]}
    assert {name: value.numpy().tolist() for name, value in space(data).items()} == expected
    space.adapt(data)
    assert space(data)["bin"].numpy().tolist() == expected["bin"]


def test_a_layer_of_the_users_that_adapts():
    text = tfkit.layers.TextVectorization(output_mode="tf_idf")
    space = FeatureSpace({"text": FeatureSpace.feature("string", text, "float")})
    texts = {"text": ["first string", "second string", "third string"]}
    space.adapt(tf.data.Dataset.from_tensor_slices(texts))
    np.testing.assert_array_equal(space(texts), text(tf.constant(texts["text"])))


TWO = {"a": "integer_categorical", "b": "integer_categorical"}
REFUSED = {
    "no features": ({"features": {}}, "cannot be None or empty"),
    "unknown kind": ({"features": {"a": "float_normalised"}}, "float_normalized"),
    "no kind": ({"features": {"a": 3}}, "Invalid feature type"),
    "output mode": ({"features": TWO, "output_mode": "list"}, "for argument `output_mode`"),
    "no crossing_dim": (
        {"features": TWO, "crosses": [("a", "b")], "crossing_dim": None},
        "`crossing_dim`",
    ),
    "unknown name": ({"features": TWO, "crosses": [("a", "c")]}, "should be present in"),
    "unknown name in a cross": (
        {"features": TWO, "crosses": [FeatureSpace.cross(("a", "c"), 3)]},
        "should be present in",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), REFUSED.values(), ids=REFUSED)
def test_refused_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        FeatureSpace(**arguments)


def test_refused_uses():
    space = FeatureSpace(TWO)
    uses = (
        lambda: space({"a": 0, "b": 0}),
        space.get_inputs,
        space.get_encoded_features,
    )
    for use in uses:
        with pytest.raises(ValueError, match=r"You need to call `\.adapt"):
            use()
    for data in ([1, 2], tf.data.Dataset.range(3)):
        with pytest.raises(ValueError, match=r"`adapt\(\)`"):
            space.adapt(data)
    with pytest.raises(ValueError, match="needs a dict with the features"):
        space.adapt({"a": [1]})
    assert not space.preprocessors["a"].get_vocabulary(include_special_tokens=False)
    space.adapt({"a": [1], "b": [2]})
    with pytest.raises(ValueError, match="only be called with a dict"):
        space([1])
    for data in ({"a": 1}, {"a": 1, "b": 2, "label": 0}):
        with pytest.raises(ValueError, match=r"needs the features \['a', 'b'\]"):
            space(data)
    with pytest.raises(ValueError, match="single row"):
        space({"a": 1, "b": [1, 2]})


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (FeatureSpace.integer_hashed(3, output_mode="int"), "has not been encoded"),
        (
            FeatureSpace.feature("float32", tfkit.layers.Identity(), "one_hot"),
            "should return an integer dtype",
        ),
        (FeatureSpace.feature("int32", tfkit.layers.Identity(), "one_hot"), "is not known"),
    ],
)
def test_features_that_cannot_be_encoded(kind, message):
    with pytest.raises(ValueError, match=message):
        FeatureSpace({"a": kind}).get_encoded_features()


def test_output_modes_are_checked():
    for make in (
        lambda: FeatureSpace.feature("float32", tfkit.layers.Identity(), "dict"),
        lambda: FeatureSpace.cross(("a", "b"), 3, output_mode="float"),
    ):
        with pytest.raises(ValueError, match="for argument `output_mode`"):
            make()


def test_a_preprocessor_is_a_layer():
    with pytest.raises(ValueError, match="Expected a layer"):
        FeatureSpace.feature("float32", abs, "float")
