"""The forms of what goes into a model and comes out of it, beside Keras; copies; what is there when."""

import collections
import warnings

import keras
import numpy as np
import pytest

import tfkit

pytestmark = pytest.mark.usefixtures("eager_keras")

A, B = np.ones((4, 2), "float32"), np.full((4, 3), 2.0, "float32")
Pair = collections.namedtuple("Pair", "p q")
both = pytest.mark.parametrize("package", [tfkit, keras], ids=["tfkit", "keras"])


def two_inputs(package, form):
    a, b = package.Input((2,), name="a"), package.Input((3,), name="b")
    return package.Model(form(a, b), package.layers.Concatenate()([a, b]))


@both
@pytest.mark.parametrize(
    ("form", "data", "warns"),
    [
        (lambda a, b: {"a": a, "b": b}, {"a": A, "b": B}, False),
        (lambda a, b: {"a": a, "b": b}, {"a": A, "b": B, "c": B}, True),
        (lambda a, b: {"a": a, "b": b}, [A, B], True),
        (lambda a, b: [a, b], (A, B), False),
        (lambda a, b: [a, b], {"a": A, "b": B}, False),
        (lambda a, b: [a, b], [[A], B], True),
    ],
)
def test_data_in_another_form(package, form, data, warns):
    model = two_inputs(package, form)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        outputs = model(data)
    told = [str(w.message) for w in caught if "doesn't match the expected" in str(w.message)]
    assert len(told) == warns
    np.testing.assert_array_equal(outputs, np.concatenate([A, B], axis=1))


def test_the_warning_says_what_is_left_out_and_where():
    model = two_inputs(tfkit, lambda a, b: {"a": a, "b": b})
    with pytest.warns(UserWarning, match=r"Nothing is done with \['c'\]") as caught:
        model({"a": A, "b": B, "c": B})
    assert caught[0].filename == __file__


def test_symbolic_inputs_are_warned_of_when_the_model_runs():
    inner = two_inputs(tfkit, lambda a, b: {"a": a, "b": b})
    inputs = {"a": tfkit.Input(A.shape[1:]), "b": tfkit.Input(B.shape[1:]), "c": tfkit.Input((1,))}
    outer = tfkit.Model(inputs, inner(inputs))  # No warning: it would be an error here.
    with pytest.warns(UserWarning, match=r"Nothing is done with \['c'\]"):
        outer({"a": A, "b": B, "c": B[:, :1]})


@both
def test_a_list_is_not_sorted_into_a_dict_of_another_order(package):
    first, second = package.Input((2,), name="IT"), package.Input((2,), name="IS")
    model = package.Model({"IT": first, "IS": second}, first - second)
    np.testing.assert_array_equal(model({"IT": A, "IS": 3 * A}), -2 * A)
    with pytest.raises(ValueError, match="doesn't match the expected structure"):
        model([A, 3 * A])


@both
@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_an_input_of_another_float_width(package, dtype):
    x, n = package.Input((2,), dtype=dtype), package.Input((2,), dtype="int32")
    model = package.Model((x, n), (x + 1, n + 1))
    value = A.astype("float64") + 1e-9
    outputs = model((value, A))
    assert [keras.backend.standardize_dtype(y.dtype) for y in outputs] == [dtype, "int32"]
    np.testing.assert_array_equal(outputs[0], (value.astype(dtype) + 1).astype(dtype))


@both
@pytest.mark.parametrize(
    "form",
    [
        lambda y, z: (y, z),
        lambda y, z: [y, (z, y)],
        lambda y, z: {"u": (y,), "v": [z]},
    ],
)
def test_tuples_stay_tuples(package, form):
    x = package.Input((2,))
    model = package.Model((x,), form(x * 1, x * 2))
    again = package.Model.from_config(model.get_config())
    keras.tree.assert_same_structure(again([A]), form(A, A))
    assert isinstance(again.input, tuple)


def test_tuples_stay_tuples_in_files_and_named_tuples_in_the_process(tmp_path):
    x = tfkit.Input((2,))
    model = tfkit.Model(x, Pair(x * 1, x * 2))
    assert isinstance(model(A), Pair)
    assert isinstance(model.predict(A, verbose=0), Pair)
    model.save(tmp_path / "m.h5")
    outputs = tfkit.models.load_model(tmp_path / "m.h5")(A)
    assert isinstance(outputs, tuple)
    np.testing.assert_array_equal(outputs[1], 2 * A)


class Doubled(tfkit.layers.Layer):
    def call(self, x):
        return 2 * x


def test_from_config_takes_custom_objects():
    model = tfkit.Sequential([tfkit.Input((2,)), Doubled()])
    functional = tfkit.Model(model.inputs, model.outputs[0])
    for one in (model, functional):
        with pytest.raises(ValueError, match="not registered"):
            type(one).from_config(one.get_config())
        again = type(one).from_config(one.get_config(), custom_objects={"Doubled": Doubled})
        np.testing.assert_array_equal(again(A), 2 * A)


# --- Optional inputs ----------------------------------------------------------------------------------


def with_optional(package):
    class Add(package.layers.Layer):
        def call(self, x, other=None):
            return x if other is None else x + other

        def compute_output_shape(self, x_shape, other_shape=None):
            return x_shape

    x, other = package.Input((2,), name="x"), package.Input((2,), name="o", optional=True)
    y = package.layers.Dense(1, kernel_initializer="ones")(Add()(x, other))
    model = package.Model({"x": x, "o": other}, y)
    model.compile(package.optimizers.SGD(0.01), "mse")
    return model


@pytest.mark.parametrize("other", [None, A], ids=["none", "tensor"])
def test_an_optional_input_in_data(other):
    data, target = {"x": A, "o": other}, np.zeros((4, 1), "float32")
    losses = []
    for package in (tfkit, keras):
        model = with_optional(package)
        fitted = model.fit(data, target, batch_size=2, shuffle=False, verbose=0).history["loss"]
        outputs = model.predict(data, verbose=0)
        batch = {"x": A[:2], "o": None if other is None else other[:2]}, target[:2]
        fitted += model.fit(
            (batch for _ in range(3)), steps_per_epoch=2, shuffle=False, verbose=0
        ).history["loss"]
        losses.append([*fitted, model.evaluate(data, target, verbose=0), *outputs[:, 0]])
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5)


def test_an_optional_input_through_every_door():
    model, data = with_optional(tfkit), {"x": A, "o": None}
    y = np.zeros((4, 1), "float32")
    np.testing.assert_array_equal(model.predict_on_batch(data), model(data))
    assert model.train_on_batch(data, y) > 0
    assert model.test_on_batch(data, y) > 0
    assert "val_loss" in model.fit(data, y, validation_split=0.5, verbose=0).history
    model.run_eagerly = True
    assert "loss" in model.fit(data, y, verbose=0).history
    with pytest.raises(ValueError, match="not optional, but None"):
        model.predict({"x": None, "o": A}, verbose=0)


# --- Copies ---------------------------------------------------------------------------------------------


@both
def test_clones_of_structured_models(package):
    a, b = package.Input((2,), name="x"), package.Input((2,), name="y")
    total = a + b
    model = package.Model({"x": a, "y": b}, {"z": total, "d": package.layers.Dense(1)(total)})
    for inputs in (None, {"x": package.Input((2,), name="x"), "y": package.Input((2,), name="y")}):
        clone = package.models.clone_model(model, input_tensors=inputs)
        assert set(clone.input) == {"x", "y"}
        np.testing.assert_array_equal(clone({"x": A, "y": 3 * A})["z"], 4 * A)
    with pytest.raises(ValueError, match="must have the same structure"):
        package.models.clone_model(model, input_tensors=(a, b))


class Plain(tfkit.Model):
    """A functional model whose class takes a graph."""


class Own(tfkit.Model):
    """A functional model whose class has arguments of its own."""

    def __init__(self, units=2):
        x = tfkit.Input((2,))
        super().__init__(x, tfkit.layers.Dense(units)(x))


@pytest.mark.parametrize("package", [keras, tfkit])
def test_a_layer_is_cloned_too(package):
    layer = package.layers.Dense(3, name="scores")
    clone = package.models.clone_model(layer)
    assert (clone.units, clone.name) == (3, "scores")
    assert clone is not layer


def test_clones_are_compiled_as_the_model_is():
    x = tfkit.Input((2,))
    sequential = tfkit.Sequential([x, tfkit.layers.Dense(2)])
    metric = tfkit.metrics.MeanAbsoluteError(name="off")
    for model in (tfkit.Model(x, tfkit.layers.Dense(2)(x)), sequential, Plain(x, x * 2), Own(2)):
        model.compile(tfkit.optimizers.Adam(0.5), lambda y, p: (y - p) ** 2, metrics=[metric])
        clone = tfkit.models.clone_model(model)
        assert clone.optimizer is not model.optimizer
        assert float(clone.optimizer.learning_rate) == 0.5
        assert "off" in clone.evaluate(A, A, verbose=0, return_dict=True)
        assert type(clone) is (tfkit.models.Functional if type(model) is Own else type(model))
    assert not tfkit.models.clone_model(Own()).compiled


@both
def test_a_subclass_that_is_a_graph_is_functional(package):
    class Body(package.Model):
        def __init__(self):
            x = package.Input((2,))
            super().__init__(x, package.layers.Dense(1)(x))

    class Other(package.Model):
        pass

    kind = package.models.Model(a := package.Input((2,)), a * 2).__class__
    assert isinstance(Body(), kind)
    assert not isinstance(Other(), kind)
    assert not isinstance(package.Sequential([package.Input((2,))]), kind)


@both
def test_layers_keep_flags_of_their_own_in_a_model_that_is_not_trained(package):
    x = package.Input((2,))
    model = package.models.Model(x, package.layers.Dense(1)(x), trainable=False)
    again = type(model).from_config(model.get_config())
    assert not again.trainable
    assert again.trainable_weights == []
    assert again.layers[-1].trainable == model.layers[-1].trainable


# --- Sequential, and what is there when -----------------------------------------------------------------


@both
def test_a_model_as_the_first_layer_builds_the_stack(package):
    x = package.Input((2,))
    for first in (
        package.Model(x, x * 2),
        package.Sequential([package.Input((2,)), package.layers.Dense(2)]),
    ):
        model = package.Sequential([first, package.layers.Dense(1)])
        assert model.built
        assert len(model.layers) == 2
        assert model.output_shape == (None, 1)
        again = package.Sequential.from_config(model.get_config())
        assert again(A).shape == (4, 1)


@both
def test_a_stack_is_not_built_for_another_shape(package):
    model = package.Sequential([package.Input((2,), batch_size=3), package.layers.Dense(1)])
    model.build((3, 2))
    with pytest.raises(ValueError, match="already been configured"):
        model.build((3, 4))


@both
def test_what_is_not_there_yet(package):
    model = package.Sequential([package.layers.Dense(1)])
    names = ["input_shape", "output_shape", "inputs", "outputs", "optimizer", "stop_training"]
    assert not any(hasattr(model, name) for name in names)
    model.build((None, 2))
    model.compile("sgd", "mse")
    assert all(hasattr(model, name) for name in names)
    with pytest.raises(AttributeError, match="layers"):
        model.layers = []


# --- State trees ------------------------------------------------------------------------------------------


def trained(package):
    x = package.Input((2,), name="x")
    hidden = package.layers.BatchNormalization(name="norm")(x)
    model = package.Model(x, package.layers.Dense(1, name="out")(hidden))
    model.compile(package.optimizers.Adam(name="adam"), "mse", metrics=["mae"])
    model.fit(A, np.ones((4, 1)), verbose=0)
    return model


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # Of Keras.
def test_state_trees_have_the_form_of_those_of_keras():
    ours, theirs = trained(tfkit), trained(keras)
    tree, expected = ours.get_state_tree(), theirs.get_state_tree()
    for kind in ("trainable_variables", "non_trainable_variables", "optimizer_variables"):
        paths = [[p for p, _ in keras.tree.flatten_with_path(t[kind])] for t in (tree, expected)]
        assert sorted(paths[0]) == sorted(paths[1])
    assert tree["metrics_variables"].keys() >= {"loss"}
    kernel = ours.get_state_tree("numpy_array")["trainable_variables"]["out"]["kernel"]
    assert isinstance(kernel, np.ndarray)


def test_state_trees_go_from_model_to_model():
    source, target = trained(tfkit), trained(tfkit)
    target.set_state_tree(source.get_state_tree())
    for ours, theirs in zip(source.get_weights(), target.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for ours, theirs in zip(source.optimizer.variables, target.optimizer.variables, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    target.set_state_tree({"trainable_variables": {"out": {"bias": [0.5]}}})
    np.testing.assert_array_equal(target.get_layer("out").bias, [0.5])


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"weights": {}}, "Unknown kind"),
        (
            {"trainable_variables": {"out": {"bias": [1.0], "scale": [1.0]}}},
            "no variable 'out/scale'",
        ),
        ({"trainable_variables": {"out": {"bias": [1.0], "kernel": [1.0]}}}, "has the shape"),
    ],
)
def test_a_state_tree_that_does_not_fit_changes_nothing(tree, message):
    model = trained(tfkit)
    before = model.get_weights()
    with pytest.raises(ValueError, match=message):
        model.set_state_tree(tree)
    for ours, theirs in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    with pytest.raises(ValueError, match="`value_format` must be"):
        model.get_state_tree(value_format="list")


# --- What is known of a layer or model before it is built or compiled -----------------------------------


class _Cell(tfkit.layers.Layer):  # Which is not registered.
    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = self.state_size = units

    def build(self, input_shape):
        self.w = self.add_weight(shape=(input_shape[-1], self.units))

    def call(self, inputs, states):
        h = inputs @ self.w + states[0]
        return h, [h]


def test_shapes_and_clones_of_unbuilt_layers_need_no_registered_class():
    rnn, first = tfkit.layers.RNN(_Cell(3)), tfkit.layers.Lambda(lambda x: x[..., :1])
    assert rnn.compute_output_shape((None, 5, 2)) == (None, 3)
    assert first.compute_output_shape((None, 3)) == (None, 1)
    assert not rnn.built
    inputs = tfkit.Input((5, 2))
    model = tfkit.Model(inputs, first(rnn(inputs)))
    clone = tfkit.models.clone_model(model)
    assert clone.output_shape == (None, 1)
    assert clone.layers[1].cell is not rnn.cell


@pytest.mark.parametrize("compiled", [False, True])
def test_attributes_that_compile_adds_are_there_when_they_are_in_keras(compiled):
    def found(library):
        model = library.Sequential([library.Input((2,)), library.layers.Dense(1)])
        if compiled:
            model.compile("adam", "mse")
        names = ("optimizer", "loss", "metrics", "compiled", "stop_training", "loss_weights")
        return [name for name in (*names, "run_eagerly", "jit_compile") if hasattr(model, name)]

    assert found(tfkit) == found(keras)


def _remainders(size):
    """An embedding whose vector for each id is the id's last two digits, exact in 16 bits."""
    embedding = tfkit.layers.Embedding(size, 1)
    embedding.build()
    embedding.set_weights([(np.arange(size) % 100).astype("float32")[:, None]])
    return embedding


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16", "float16"])
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_16_bits_do_not_round_the_ids_that_a_model_is_given(policy, dtype):
    """As in Keras with an `Input`, which is of floats by default; without one Keras rounds."""
    ids = np.array([[257, 2049, 4]]).astype(dtype)
    before = tfkit.config.dtype_policy()
    tfkit.config.set_dtype_policy(policy)
    try:
        inputs = tfkit.Input((3,))
        inner = tfkit.Model(inputs, _remainders(3000)(inputs))
        built = tfkit.Sequential([_remainders(3000)])
        built.build((None, 3))
        for model in (
            inner,
            tfkit.Model(inputs, inner(inputs)),
            tfkit.Sequential([inputs, _remainders(3000)]),
            tfkit.Sequential([_remainders(3000)]),
            built,
        ):
            for outputs in (model(ids), model(ids), model.predict(ids, verbose=0)):
                assert np.ravel(outputs).tolist() == [57.0, 49.0, 4.0]
    finally:
        tfkit.config.set_dtype_policy(before)
