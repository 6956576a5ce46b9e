"""Members of equal shapes that were attached in an unusual order: none is swapped, in either direction."""

import h5py
import keras
import numpy as np
import pytest

import tfkit
from tfkit.interop import keras as exchange
from tfkit.saving import LoadError

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
X = np.ones((1, 4), "float32")


def appended_after_others(model, make):
    early = make()
    model.stack = []
    model.zed = make()
    model.stack.append(early)


def appended_after_an_attribute(model, make):
    model.stack = []
    for index in range(2):
        layer = make()
        setattr(model, f"out{index}", make())
        model.stack.append(layer)


def a_list_and_a_dict_in_turns(model, make):
    early = [make() for _ in range(3)]
    model.tower = {}
    model.stack = [early[2]]
    model.tower["b"] = early[1]
    model.last = make()
    model.tower["a"] = early[0]


def extended_backwards(model, make):
    layers = [make() for _ in range(3)]
    model.stack = []
    model.stack.extend(reversed(layers))


def inserted_at_the_front(model, make):
    model.stack = []
    for _ in range(3):
        model.stack.insert(0, make())


def replaced(model, make):
    model.zed = make()
    model.other = make()
    model.zed = make()


def pair(program):
    """A model of Keras and one of tfkit, with the classes; and how to reach the layers of each."""
    classes, made = {}, {}
    for framework in (keras, tfkit):

        class Net(framework.Model):
            def __init__(self, framework=framework, **kwargs):
                super().__init__(**kwargs)
                layers = made[framework] = []
                program(
                    self,
                    lambda: layers.append(framework.layers.Dense(4, use_bias=False)) or layers[-1],
                )

            def build(self, shape):
                for layer in held(self):
                    layer.build((None, 4))
                self.built = True

            def get_config(self):
                return {}

        classes[framework] = Net
    return classes, made


def held(model):
    found = []
    for name, value in vars(model).items():
        if not name.startswith("_"):
            values = value.values() if isinstance(value, dict) else value
            found += values if isinstance(value, (list, dict)) else [value]
    return [it for it in found if isinstance(it, (keras.layers.Dense, tfkit.layers.Dense))]


def numbered(classes, made, framework):
    """A model whose layers have the index of their creation as weights."""
    model = classes[framework]()
    model.build((None, 4))
    for index, layer in enumerate(made[framework]):
        layer.set_weights([np.full_like(w, index) for w in layer.get_weights()])
    return model


def order(model):
    return [float(w[0, 0]) for w in model.get_weights()]


def assert_in_place(layers):
    assert [float(it.get_weights()[0][0, 0]) for it in layers if it.built] == [
        index for index, it in enumerate(layers) if it.built
    ]


def named_like_methods_of_models(model, make):
    model.zed = make()
    model.forward = make()
    model.summary = make()


PROGRAMS = [appended_after_others, appended_after_an_attribute, a_list_and_a_dict_in_turns]
PROGRAMS += [inserted_at_the_front, named_like_methods_of_models]


@pytest.mark.parametrize("program", [*PROGRAMS, extended_backwards, replaced])
def test_a_model_of_keras_is_loaded(program, tmp_path):
    classes, made = pair(program)
    model = numbered(classes, made, keras)
    model.save(tmp_path / "m.keras")
    loaded = tfkit.models.load_model(tmp_path / "m.keras", custom_objects={"Net": classes[tfkit]})
    assert_in_place(made[tfkit])
    loaded.save(tmp_path / "ours.keras")
    tfkit.models.load_model(tmp_path / "ours.keras", custom_objects={"Net": classes[tfkit]})
    assert_in_place(made[tfkit])


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_order_of_weights_is_that_of_keras_and_keras_loads_the_model(program, tmp_path):
    classes, made = pair(program)
    model = numbered(classes, made, tfkit)
    assert order(model) == order(numbered(classes, made, keras))
    model.save(tmp_path / "m.keras")
    keras.models.load_model(tmp_path / "m.keras", custom_objects={"Net": classes[keras]})
    assert_in_place(made[keras])


def test_a_list_whose_order_is_not_that_of_the_file_is_no_answer(tmp_path):
    classes, made = pair(inserted_at_the_front)
    numbered(classes, made, keras).save_weights(tmp_path / "m.weights.h5")
    model = classes[tfkit]()
    model.build((None, 4))
    with pytest.raises(LoadError, match="could be swapped"):
        model.load_weights(tmp_path / "m.weights.h5")
    exchange.load_weights(model, tmp_path / "m.weights.h5", same_order=True)
    assert_in_place(made[tfkit])


# --- Weights of one layer -----------------------------------------------------------------------------


def a_variable_first(layer, framework):
    layer.scale = framework.Variable(np.full(4, 1.0, "float32"))
    layer.shift = layer.add_weight(shape=(4,), initializer="zeros")


def variables_in_lists(layer, framework):
    layer.fixed = framework.Variable(np.full(4, 3.0, "float32"), trainable=False)
    layer.parts = [framework.Variable(np.full(4, value, "float32")) for value in (1.0, 2.0)]
    layer.shift = layer.add_weight(shape=(4,), initializer="zeros")
    layer.add_weight(shape=(4,), initializer="ones", trainable=False)


@pytest.mark.parametrize("program", [a_variable_first, variables_in_lists])
def test_variables_and_weights_of_a_layer(program, tmp_path):
    models, classes = {}, {}
    for framework in (keras, tfkit):

        class Own(framework.layers.Layer):
            def __init__(self, framework=framework, **kwargs):
                super().__init__(**kwargs)
                program(self, framework)

            def call(self, inputs):
                return inputs

            def get_config(self):
                return {}

        classes[framework] = Own
        x = framework.Input((4,))
        models[framework] = framework.Model(x, Own()(x))
    values = [float(w[0]) for w in models[keras].get_weights()]
    assert [float(w[0]) for w in models[tfkit].get_weights()] == values
    for writer, reader in ((keras, tfkit), (tfkit, keras)):
        models[writer].save(tmp_path / "m.keras")
        objects = {"Own": classes[reader]}
        loaded = reader.models.load_model(tmp_path / "m.keras", custom_objects=objects)
        layer, saved = loaded.layers[-1], models[writer].layers[-1]
        for name in ("scale", "shift", "fixed"):
            if hasattr(layer, name):
                np.testing.assert_array_equal(getattr(layer, name), getattr(saved, name))


# --- Weights by number --------------------------------------------------------------------------------


def stack(framework, *layers):
    return framework.Sequential([framework.Input((4,)), *layers, framework.layers.Dense(4)])


def test_a_layer_with_fewer_variables_is_skipped_as_a_whole(tmp_path):
    """The variance would become the mean."""
    saved = stack(keras, keras.layers.BatchNormalization())
    saved.set_weights([np.full_like(w, 7) for w in saved.get_weights()])
    saved.save_weights(tmp_path / "m.weights.h5")
    model = stack(tfkit, tfkit.layers.BatchNormalization(center=False))
    report = model.load_weights(tmp_path / "m.weights.h5", skip_mismatch=True)
    assert [float(w.flat[0]) for w in model.get_weights()] == [1, 0, 1, 7, 7]
    why = "the file has 4 variables of this layer, the model 3"
    assert report.skipped["batch_normalization/moving_mean"] == why
    assert len(report.unused) == 4


def nested(framework, frozen, **options):
    inner = stack(framework, framework.layers.Dense(4, **options))
    inner.layers[0].trainable = not frozen
    x = framework.Input((4,))
    return framework.Model(x, inner(x))


@pytest.mark.parametrize("frozen", [True, False])
def test_layers_that_were_frozen_in_an_old_file_change_no_places(frozen, tmp_path):
    path = tmp_path / "m.h5"

    def save(model):
        model.set_weights([np.full_like(w, i) for i, w in enumerate(model.get_weights())])
        model.save(path)

    save(nested(keras, frozen))
    with h5py.File(path) as file:
        assert len(file["model_weights"]) == 3
    model = nested(tfkit, not frozen)
    with pytest.raises(LoadError, match=r"may come last.*could be swapped.*trainable = False"):
        model.load_weights(path)
    for how in ({"same_order": True}, {}):
        exchange.load_weights(model, path, **how)
        assert [int(w.flat[0]) for w in model.get_weights()] == [0, 1, 2, 3]
        model = nested(tfkit, frozen)
    # Where the shapes fit one order only, or users gave names, it is certain.
    save(nested(keras, frozen, use_bias=False))
    model = nested(tfkit, not frozen, use_bias=False)
    model.load_weights(path)
    assert [int(w.flat[0]) for w in model.get_weights()] == [0, 1, 2]
    save(nested(keras, frozen, name="first"))
    model = nested(tfkit, not frozen, name="first")
    model.load_weights(path)
    assert [int(w.flat[0]) for w in model.get_weights()] == [0, 1, 2, 3]
