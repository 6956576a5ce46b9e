"""A stack of layers: what its first input settles."""

import sys
from pathlib import Path

import keras
import numpy as np
import pytest

import tfkit
from tests.tolerances import assert_same_sums

_TFKIT = str(Path(tfkit.__file__).parent)
X = np.arange(12, dtype="float32").reshape(4, 3)


def stack(framework):
    framework.utils.clear_session()
    framework.utils.set_random_seed(1)
    return framework.Sequential(
        [framework.layers.Dense(4, activation="relu"), framework.layers.Dense(2)]
    )


@pytest.fixture(params=["call", "build", "fit"])
def built(request):
    def run(framework):
        model = stack(framework)
        if request.param == "call":
            model(X)
        elif request.param == "build":
            model.build((None, 3))
        else:
            model.compile("sgd", "mse")
            model.fit(X, X[:, :2], verbose=0)
        return model

    return run


def test_the_first_input_makes_a_graph(built):
    ours, theirs = built(tfkit), built(keras)
    assert ours.input_shape[1:] == theirs.input_shape[1:] == (3,)
    assert ours.output_shape[1:] == theirs.output_shape[1:] == (2,)
    assert [weight.path for weight in ours.weights] == [weight.path for weight in theirs.weights]
    hidden = tfkit.Model(ours.inputs, ours.layers[0].output)([X])
    expected = keras.Model(theirs.inputs, theirs.layers[0].output)([X])
    # After `fit`: sums over the batch, in the outputs, in the gradient and in the step, made the weights.
    kernel, bias = (np.abs(weight) for weight in ours.layers[0].get_weights())
    assert_same_sums(hidden, expected, terms=3 + 1 + len(X), size=np.abs(X) @ kernel + bias)


@pytest.mark.parametrize("framework", [tfkit, keras])
def test_default_names_count_the_graphs_of_stacks(framework):
    framework.utils.clear_session()
    inputs = framework.Input((3,))
    first = framework.Model(inputs, stack_on(framework, inputs))
    second = framework.Sequential([framework.Input((3,)), framework.layers.Dense(2)])
    second.add(framework.layers.Dense(1))
    inputs = framework.Input((3,))
    third = framework.Model(inputs, second(inputs))
    assert [first.name, third.name] == ["functional_1", "functional_4"]
    assert [model.layers[0].name for model in (first, third)] == ["input_layer", "input_layer_3"]


def stack_on(framework, inputs):
    return framework.Sequential([framework.layers.ReLU(), framework.layers.Dense(2)])(inputs)


def test_nothing_is_known_before():
    for framework in (tfkit, keras):
        model = stack(framework)
        with pytest.raises(AttributeError, match="no defined inputs yet"):
            _ = model.inputs
        with pytest.raises(ValueError, match="has no layers"):
            framework.Sequential()(X)


def test_later_inputs_may_have_other_sizes(tmp_path):
    model = tfkit.Sequential(
        [tfkit.layers.Conv2D(2, 3), tfkit.layers.GlobalAveragePooling2D(), tfkit.layers.Dense(1)]
    )
    for size in (8, 6, 9):
        assert model(np.ones((2, size, size, 1), "float32")).shape == (2, 1)
    model.export(tmp_path / "exported", verbose=False)
    exported = tfkit.layers.TFSMLayer(tmp_path / "exported")
    assert exported(np.ones((1, 5, 7, 1), "float32")).shape == (1, 1)


def test_layers_that_cannot_be_traced_run_one_by_one():
    class Plain(tfkit.layers.Layer):
        def call(self, inputs):
            return tfkit.ops.convert_to_tensor(np.asarray(inputs) * 2)

    model = tfkit.Sequential([tfkit.layers.Dense(2), Plain()])
    with pytest.warns(
        UserWarning, match=r"cannot be traced, [\s\S]* of layer 'sequential\w*/plain'"
    ):
        outputs = model(X)
    model(X)  # Said once.
    size = 2 * np.abs(X) @ np.abs(model.layers[0].kernel)
    assert_same_sums(outputs, model.layers[0](X) * 2, terms=3, size=size)


@pytest.mark.parametrize("first", [[], [tfkit.Input((3,))]], ids=["deferred", "built"])
def test_a_layer_that_needs_two_tensors_is_refused(first):
    class Two(tfkit.layers.Layer):
        def call(self, a, b):
            return a + b

    with pytest.raises(ValueError, match=r"can only have a single required.*needs \['a', 'b'\]"):
        tfkit.Sequential([*first, Two()])(np.ones((2, 3)))


class _InAList(tfkit.Model):
    def __init__(self, layers):
        super().__init__()
        self.blocks = layers

    def call(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def _added(layers):
    model = tfkit.Sequential([tfkit.Input((2,))])
    for layer in layers:
        model.add(layer)


def _added_and_built(layers):
    model = tfkit.Sequential()
    for layer in layers:
        model.add(layer)
    model.build((None, 2))


def _functional(layers):
    inputs = outputs = tfkit.Input((2,))
    for layer in layers:
        outputs = layer(outputs)
    tfkit.Model(inputs, outputs)


def _in_a_list(layers):
    _InAList(layers)(np.ones((1, 2), "float32"))


def _num_calls(run, *args):
    """How many functions of tfkit are called, however long they take."""
    count = 0

    def note(frame, event, _):
        nonlocal count
        count += event == "call" and frame.f_code.co_filename.startswith(_TFKIT)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run(*args)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("make", [_added, _added_and_built, _functional, _in_a_list])
def test_each_layer_takes_as_many_calls_as_the_one_before(make):
    make(
        [tfkit.layers.Dense(2) for _ in range(2)]
    )  # What is imported, traced or kept the first time.
    few, some, many = (
        _num_calls(make, [tfkit.layers.Dense(2) for _ in range(number)]) for number in (4, 8, 12)
    )
    assert many - some == pytest.approx(some - few, abs=8)


def test_a_clone_loads_the_weights_of_its_original_by_path(tmp_path):
    """Names that were drawn, of models that are not the first ones."""
    tfkit.layers.Dense(1)
    inputs = tfkit.Input((4,))
    for model in (
        tfkit.Sequential(
            [tfkit.Input((4,)), tfkit.layers.Dense(3), tfkit.layers.Dense(2, name="last")]
        ),
        tfkit.Model(inputs, tfkit.layers.Dense(2)(tfkit.layers.Dense(3)(inputs))),
    ):
        clone = tfkit.models.clone_model(model)
        assert [it.name for it in clone.layers] == [it.name for it in model.layers]
        model.save_weights(tmp_path / "m.weights.h5")
        clone.load_weights(tmp_path / "m.weights.h5")
        for ours, theirs in zip(clone.get_weights(), model.get_weights(), strict=True):
            np.testing.assert_array_equal(ours, theirs)
