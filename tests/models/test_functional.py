"""Models of symbolic inputs and outputs: what they are made of and how data finds its input."""

import json

import keras
import numpy as np
import pytest

import tfkit
from tests.tolerances import assert_same_sums
from tfkit import layers
from tfkit.src.core import building

X = np.arange(12, dtype="float32").reshape(4, 3)


def test_data_in_a_dict_come_by_the_keys_of_the_inputs():
    inputs = {"x": tfkit.Input((3,), name="left"), "y": tfkit.Input((2,), name="right")}
    model = tfkit.Model(inputs, layers.Concatenate()([inputs["y"], inputs["x"]]))
    np.testing.assert_array_equal(
        model({"x": X, "y": X[:, :2]}), np.concatenate([X[:, :2], X], axis=1)
    )
    with pytest.raises(ValueError, match='Missing data for input "x"'):
        model({"left": X, "right": X[:, :2]})


def test_a_nest_with_dicts_takes_data_of_its_form():
    first, second = tfkit.Input((3,)), tfkit.Input((3,))
    model = tfkit.Model({"a": {"b": first}, "c": [second]}, first - second)
    np.testing.assert_array_equal(model({"a": {"b": X}, "c": [2 * X]}), -X)


def test_outputs_of_functions_have_names_of_their_own():
    tfkit.utils.clear_session()
    inputs = tfkit.Input((3,))
    model = tfkit.Model(inputs, [layers.Subtract()([inputs, 2 * inputs]), inputs - 1, inputs - 2])
    assert model.output_names == ["subtract", "subtract_1", "subtract_2"]
    model.compile("sgd", "mse")
    logs = model.evaluate(X, [X, X, X], verbose=0, return_dict=True)
    assert list(logs) == ["loss", "subtract_1_loss", "subtract_2_loss", "subtract_loss"]


def test_a_model_that_begins_in_the_middle(tmp_path):
    inputs = tfkit.Input((3,))
    hidden = layers.Dense(5, name="below")(inputs)
    whole = tfkit.Model(inputs, layers.Dense(2, name="above")(hidden))
    head = tfkit.Model(hidden, whole.output)
    assert [layer.name for layer in head.layers][1:] == ["above"]
    assert head.count_params() == 12
    encoded = tfkit.Model(inputs, hidden)(X)
    kernels = [np.abs(layer.kernel) for layer in whole.layers[1:]]
    size = np.abs(X) @ kernels[0] @ kernels[1]
    assert_same_sums(head(encoded), whole(X), terms=3 + 5, size=size)
    for name in ("head.h5", "head.keras"):
        head.save(tmp_path / name)
        np.testing.assert_array_equal(
            tfkit.models.load_model(tmp_path / name)(encoded), head(encoded)
        )


def test_two_layers_of_one_name_are_refused():
    inputs = tfkit.Input((3,))
    twins = [layers.Dense(1, name="twin")(inputs) for _ in range(2)]
    with pytest.raises(ValueError, match='The name "twin" is used 2 times'):
        tfkit.Model(inputs, twins)


def test_a_copy_whose_calls_are_made_otherwise():
    inputs = tfkit.Input((3,))
    model = tfkit.Model(inputs, layers.Dense(2)(layers.Dense(3)(inputs)))
    called = []

    def call(layer, *args, **kwargs):
        called.append(layer.name)
        return layers.Identity()(layer(*args, **kwargs))

    copy = tfkit.models.clone_model(model, call_function=call)
    copy.set_weights(model.get_weights())
    kernels = [np.abs(layer.kernel) for layer in model.layers[1:]]
    size = np.abs(X) @ kernels[0] @ kernels[1]
    assert_same_sums(copy(X), model(X), terms=3 + 3, size=size)
    assert called == [layer.name for layer in model.layers[1:]]
    assert len(copy.layers) == 5


def test_functions_that_are_called_otherwise_have_names():
    called = []

    def call(operation, *args, **kwargs):
        called.append(operation.name)
        return operation(*args, **kwargs) * 2

    inputs = tfkit.Input((3,))
    model = tfkit.Model(inputs, tfkit.ops.exp(layers.ReLU()(tfkit.ops.abs(inputs))))
    copy = tfkit.models.clone_model(model, call_function=call)
    assert called == [operation.name for operation in model.operations[1:]]
    np.testing.assert_array_equal(copy(X), 2 * tfkit.ops.exp(4 * X))


class Scores(tfkit.Model):
    def __init__(self, units):
        super().__init__()
        self.dense = layers.Dense(units)

    def call(self, inputs):
        return self.dense(inputs)


@pytest.mark.parametrize("make", [Scores, layers.Dense])
def test_a_copy_has_weights_if_the_original_has(make):
    model = make(2)
    assert tfkit.models.clone_model(model).weights == []
    expected = model(X)
    copy = tfkit.models.clone_model(model)
    copy.set_weights(model.get_weights())
    np.testing.assert_array_equal(copy(X), expected)


@pytest.mark.parametrize("framework", [tfkit, keras])
def test_attributes_that_are_not_called_are_not_among_the_layers(framework):
    inputs = framework.Input((3,), name="inputs")
    model = framework.Model(inputs, framework.layers.Dense(2, name="scores")(inputs))
    model.extra = framework.layers.Dense(2)
    model.extra.build((None, 2))
    assert [layer.name for layer in model.layers] == ["inputs", "scores"]
    assert len(model.weights) == 4


@pytest.mark.parametrize(
    ("recursive", "expected"), [(False, ["a", "m"]), (True, ["a", "b", "c", "m"])]
)
def test_calls_inside_of_nested_models_are_made_otherwise_too(recursive, expected):
    called = []

    def call(layer, *args, **kwargs):
        called.append(layer.name)
        return layer(*args, **kwargs)

    x = tfkit.Input((3,))
    inner = tfkit.Model(x, layers.Dense(3, name="c")(layers.Dense(3, name="b")(x)), name="m")
    model = tfkit.Model(x, inner(layers.Dense(3, name="a")(x)))
    tfkit.models.clone_model(model, call_function=call, recursive=recursive)
    assert sorted(called) == expected


@pytest.mark.parametrize(
    ("shape", "value"), [((3,), (2, 3, 4)), ((3, 4), (2, 3)), ((3,), (3,)), ((3,), ())], ids=str
)
def test_an_input_of_another_rank_is_refused_by_name_and_path(shape, value):
    x = tfkit.Input(shape, name="foo")
    for inputs, path in ((x, ""), ([{"image": x}], "0.image")):
        data = np.ones(value)
        data = data if inputs is x else [{"image": data}]
        with pytest.raises(ValueError, match=f"name 'foo' and path '{path}'"):
            tfkit.Model(inputs, x * 2)(data)


def test_an_output_that_needs_another_input_is_named():
    x, y = tfkit.Input((3,), name="x"), tfkit.Input((3,), name="y")
    with pytest.raises(ValueError, match=r"path `b\.0` is not connected to `inputs`.* input 'y'"):
        tfkit.Model(x, {"a": x * 2, "b": [x + y]})


def test_operations_are_the_layers_and_functions_in_order():
    x = tfkit.Input((3,), name="x")
    dense = tfkit.layers.Dense(1)
    model = tfkit.Model(x, tfkit.ops.exp(dense(x)))
    first, second, third = model.operations
    assert first.name == "x"
    assert second is dense
    assert third.__name__ == "exp"


def keras2_config(*calls):
    """A configuration as Keras 2 wrote it: layers of two units, each with the layer whose output it takes."""
    entry = {"batch_input_shape": [None, 2], "dtype": "float32", "name": "x"}
    layers = [{"class_name": "InputLayer", "name": "x", "config": entry, "inbound_nodes": []}]
    for name, before in calls:
        config = {"units": 2, "name": name}
        nodes = [[[before, 0, 0, {}]]]
        layers.append(
            {"class_name": "Dense", "name": name, "config": config, "inbound_nodes": nodes}
        )
    ends = {"input_layers": [["x", 0, 0]], "output_layers": [[calls[-1][0], 0, 0]]}
    return {"name": "old", "layers": layers, **ends}


def test_configurations_of_keras2_are_read():
    configs = [keras2_config(("a", "x"), ("b", "a")) for _ in range(2)]
    model = tfkit.Model.from_config(configs[0])
    assert [layer.name for layer in model.layers] == ["x", "a", "b"]
    theirs = keras.Model.from_config(configs[1])
    model.set_weights(theirs.get_weights())
    x = np.ones((1, 2), "float32")
    np.testing.assert_allclose(model(x), theirs([x]), rtol=1e-6)
    with pytest.raises(ValueError, match="Missing node: 'gone'"):
        tfkit.Model.from_config(keras2_config(("a", "gone")))
    with pytest.raises(ValueError, match=r"has a loop.*\['a', 'b'\]"):
        tfkit.Model.from_config(keras2_config(("a", "b"), ("b", "a")))


def test_an_input_takes_the_batch_shape_by_its_older_name():
    with pytest.warns(UserWarning, match="Use `batch_shape` instead"):
        assert layers.InputLayer(batch_input_shape=(None, 10)).batch_shape == (None, 10)


@pytest.mark.parametrize("own_call", [False, True])
def test_a_large_graph_is_not_traced_again_where_it_is_called(own_call, monkeypatch):
    """Models that call models twice would double the time at each level; a `call` of a user's is run."""
    base = tfkit.layers.Dense(3)
    for _ in range(9):
        inputs = tfkit.Input((3,))
        base = tfkit.Model(inputs, base(base(inputs)))

    class Doubled(tfkit.Functional):
        def call(self, inputs):
            return 2.0 * super().call(inputs)

    if own_call:
        base = Doubled(base.inputs[0], base.outputs[0])
    traced = []
    plain = building.traced
    monkeypatch.setattr(building, "traced", lambda *args: traced.append(args) or plain(*args))
    inputs = tfkit.Input((3,))
    outputs = base(inputs)
    assert outputs.shape == (None, 3)
    assert bool(traced) == own_call
    x = np.ones((2, 3), "float32")
    np.testing.assert_allclose(tfkit.Model(inputs, outputs)(x), base(x), rtol=1e-5)


def test_configurations_list_calls_as_in_keras():
    def calls(library):
        a, b = library.Input((2,), name="a"), library.Input((2,), name="b")
        dense = library.layers.Dense(2, name="dense")
        model = library.Model([a, b], [dense(a), dense(b)])
        return [json.dumps(entry["inbound_nodes"]) for entry in model.get_config()["layers"]]

    assert calls(tfkit) == calls(keras)
