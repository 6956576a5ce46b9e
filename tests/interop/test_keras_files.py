"""Files of the real Keras here, and files of ours there: the same outputs, and the same training."""

from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tests.conformance.table import CASES
from tfkit.src.files.interop import keras_contents

# Keras copies its variables in a way that NumPy 2 warns of, whenever it saves.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

X = np.random.default_rng(0).normal(size=(8, 4)).astype("float32")
Y = X[:, :2]


def assert_close(actual, expected, tolerance=1e-6):
    tf.nest.assert_same_structure(actual, expected)
    for a, b in zip(tf.nest.flatten(actual), tf.nest.flatten(expected), strict=True):
        np.testing.assert_allclose(
            np.asarray(a, "float64"), np.asarray(b, "float64"), rtol=tolerance, atol=tolerance
        )


def train(model, x=X, y=Y):
    """Two steps, without Keras's `fit`, whose pipelines can wait for minutes when they end."""
    first = tf.nest.map_structure(lambda part: part[:4], (x, y))
    second = tf.nest.map_structure(lambda part: part[4:], (x, y))
    return [model.train_on_batch(*half, return_dict=True) for half in (first, second)]


def there_and_back(model, folder, ours=None, theirs=None):
    """A model of Keras, loaded here; and what was loaded here, loaded in Keras."""
    model.save(folder / "theirs.keras")
    here = tfkit.saving.load_model(folder / "theirs.keras", custom_objects=ours)
    here.save(folder / "ours.keras")
    there = keras.models.load_model(folder / "ours.keras", custom_objects=theirs)
    return here, there


# --- Every layer --------------------------------------------------------------------------------------


# Layers of images are in training mode unless a call says otherwise. Most draw; and in a model of Keras the
# layers that are called after one of them are in training mode, too: attention drops in inference.
IN_TRAINING = ("Random", "RandAugment", "CutMix", "MixUp", "Solarization", "AutoContrast")
IN_TRAINING += ("CenterCrop", "ContrastLimited", "MaxNumBoundingBoxes", "Resizing")
# Of these Keras keeps no seed, or has the input for a symbolic output.
NOT_KEPT = ("RandomGrayscale", "Equalization")


def joined(cases):
    """A model of Keras with a branch for each row of the conformance table, and its data."""
    inputs, outputs, data = [], [], []
    for case in cases:
        values = case.data()
        given = tf.nest.map_structure(
            lambda x: keras.Input(x.shape[1:], dtype=str(x.dtype)), values
        )
        outputs += tf.nest.flatten(case.make(keras.layers)(*given))
        inputs += tf.nest.flatten(given)
        data += tf.nest.flatten(values)
    return keras.Model(inputs, outputs), data


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """One model for the whole table, its data and outputs."""
    keras.utils.clear_session()
    model, data = joined(
        case
        for case in CASES
        if not case.layer.startswith(IN_TRAINING) and case.layer not in NOT_KEPT
    )
    draws = np.random.default_rng(1)
    model.set_weights([draws.uniform(0.5, 1.5, w.shape) for w in model.get_weights()])
    return model, tmp_path_factory.mktemp("table"), data, model(data)


def test_layers_of_images_in_an_archive(tmp_path):
    """A model from a file begins with the draws of the new model."""
    model, data = joined(
        case for case in CASES if case.layer.startswith(IN_TRAINING) and case.layer not in NOT_KEPT
    )
    here, there = there_and_back(model, tmp_path)
    expected = model(data)
    assert_close(here(data), expected)
    assert_close(there(data), expected)


def test_every_layer_in_an_archive(table):
    model, folder, data, expected = table
    here, there = there_and_back(model, folder)
    assert_close(here(data), expected)
    assert_close(there(data), expected)


def test_every_layer_in_a_legacy_file(table):
    model, folder, data, expected = table
    model.save(folder / "legacy.h5")
    assert_close(tfkit.saving.load_model(folder / "legacy.h5")(data), expected)


# --- Graphs -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def graph():
    """Nested and shared layers, dicts of inputs and outputs, ops, a schedule, losses and metrics by name."""
    a, b = keras.Input((4,), name="a"), keras.Input((4,), name="b")
    inner = keras.Model(a, keras.layers.Dense(4)(a), name="inner")
    shared = keras.layers.Dense(4, name="shared")
    h = shared(shared(inner(inner(a) + 2 * b)))
    stack = keras.Sequential([keras.layers.Dense(3), keras.layers.BatchNormalization()])
    total = keras.ops.sum(stack(h), axis=-1, keepdims=True)
    h = keras.ops.concatenate([h, total], -1)[:, 1:]
    o = keras.layers.Dense(2, kernel_regularizer="l2", name="o")(keras.ops.where(h > 0, h, 0.1 * h))
    model = keras.Model({"a": a, "b": b}, {"o": o, "i": inner(b)})
    rate = keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.9)
    model.compile(
        keras.optimizers.Adam(rate),
        {"o": "mse", "i": keras.losses.Huber()},
        metrics={"o": ["mae"], "i": keras.metrics.RootMeanSquaredError()},
    )
    return model


def test_graphs_train_on_as_in_keras(graph, tmp_path):
    data, targets = {"a": X, "b": X + 1}, {"o": Y, "i": X}
    train(graph, data, targets)
    models = list(there_and_back(graph, tmp_path))
    graph.save(tmp_path / "legacy.h5")  # After which Keras leaves the optimizer out of archives.
    models.append(tfkit.saving.load_model(tmp_path / "legacy.h5"))
    expected = graph(data)
    for model in models:
        assert_close(model(data), expected)
    history = train(graph, data, targets)
    for model in models:
        assert_close(train(model, data, targets), history, 1e-5)


def compiled_inside(module, loss="mae"):
    """A model with two compiled ones in it, of which one has been trained by itself."""
    module.utils.set_random_seed(0)
    x = module.Input((4,))
    trained = module.Model(x, module.layers.Dense(2)(x), name="trained")
    trained.compile(module.optimizers.Adam(0.01), "mse", metrics=["mae"])
    trained.train_on_batch(X, Y)
    fresh = module.Sequential([module.Input((4,)), module.layers.Dense(4)], name="fresh")
    fresh.compile("rmsprop", loss)
    model = module.Model(x, trained(fresh(x)))
    model.compile("sgd", "mse")
    return model


def states(model):
    """What the models inside compute, and the variables of their optimizers."""
    trained, fresh = model.get_layer("trained"), model.get_layer("fresh")
    assert type(fresh.optimizer).__name__ == "RMSprop"
    assert fresh.loss == "mae"
    slots = [np.asarray(variable) for variable in trained.optimizer.variables]
    return [trained.evaluate(X, Y, verbose=0), fresh.evaluate(X, X, verbose=0), *slots]


@pytest.mark.parametrize("writer", [keras, tfkit])
def test_models_inside_stay_compiled(writer, tmp_path):
    model = compiled_inside(writer)
    expected = states(model)
    model.save(tmp_path / "m.keras")
    loaded = [tfkit.models.load_model(tmp_path / "m.keras")]
    if (
        writer is tfkit
    ):  # Keras cannot load its own file: the optimizer of `fresh` has no state in it.
        loaded.append(keras.models.load_model(tmp_path / "m.keras"))
        model.save(tmp_path / "m.h5")
        loaded.append(tfkit.models.load_model(tmp_path / "m.h5"))
    for each in loaded:
        for a, b in zip(states(each), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5)
    # The next update goes on from the same state.
    trained = [each.get_layer("trained") for each in (model, *loaded)]
    for each in trained:
        each.train_on_batch(X, Y)
    for each in trained[1:]:
        for a, b in zip(each.get_weights(), trained[0].get_weights(), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


class NameTwice(tfkit.optimizers.SGD):
    def __init__(self, **kwargs):
        super().__init__(name="name_twice", **kwargs)


@pytest.mark.parametrize("ending", ["keras", "h5"])
def test_a_compile_configuration_that_cannot_be_used_says_why_at_the_end(ending, tmp_path):
    model = tfkit.Sequential([tfkit.Input((1,)), tfkit.layers.Dense(1)])
    model.compile(NameTwice(), "mse")
    model.save(tmp_path / f"m.{ending}")
    with pytest.raises(tfkit.saving.LoadError, match=r"`compile=False`\. TypeError: .*'name'$"):
        tfkit.models.load_model(tmp_path / f"m.{ending}", custom_objects={"NameTwice": NameTwice})


@pytest.mark.parametrize("ending", ["keras", "h5"])
def test_models_inside_that_are_not_to_be_compiled(ending, tmp_path):
    def own_loss(y_true, y_pred):
        return tf.abs(y_true - y_pred)

    model = compiled_inside(tfkit, own_loss)
    path = tmp_path / f"m.{ending}"
    model.save(path)
    with pytest.raises(tfkit.saving.LoadError, match="pass `compile=False`"):
        tfkit.models.load_model(path)
    loaded = tfkit.models.load_model(path, custom_objects={"own_loss": own_loss})
    assert loaded.get_layer("fresh").loss is own_loss
    loaded = tfkit.models.load_model(path, compile=False)
    assert not loaded.compiled
    assert not loaded.get_layer("trained").compiled


def test_what_a_model_inside_was_compiled_with_may_be_no_data(tmp_path):
    model = compiled_inside(tfkit, lambda y_true, y_pred: y_pred)
    with pytest.warns(UserWarning, match="model 'fresh' does not say what it was compiled with"):
        model.save(tmp_path / "m.keras")
    loaded = tfkit.models.load_model(tmp_path / "m.keras")
    assert loaded.get_layer("trained").compiled
    assert not loaded.get_layer("fresh").compiled


def test_configurations_of_compiled_models_compile(tmp_path):
    """As in Keras; its clones are not compiled, ours are as the model is."""
    model = compiled_inside(tfkit)
    for made in (
        type(model).from_config(model.get_config()),
        tfkit.models.model_from_json(model.to_json()),
        tfkit.models.model_from_json(compiled_inside(keras).to_json()),
    ):
        assert made.get_layer("fresh").loss == "mae"
    assert made.compiled


def test_a_layer_in_two_inner_models_stays_one(tmp_path):
    """Keras's own files lose that, and Keras cannot load them."""
    x = tfkit.Input((4,))
    layer = tfkit.layers.Dense(4)
    first, second = tfkit.Model(x, layer(x)), tfkit.Model(x, tfkit.ops.relu(layer(x)))
    model = tfkit.Model(x, second(first(x)))
    model.save(tmp_path / "m.keras")
    for load in (tfkit.saving.load_model, keras.models.load_model):
        loaded = load(tmp_path / "m.keras")
        assert len(loaded.weights) == 2
        assert_close(loaded(X), model(X))


def test_a_multi_output_layer_and_arguments_by_name(tmp_path):
    x, y = keras.Input((3, 6)), keras.Input((4, 6))
    sequence, h, c = keras.layers.LSTM(6, return_sequences=True, return_state=True)(x)
    attended = keras.layers.MultiHeadAttention(2, 3)(query=sequence, value=y)
    after = keras.layers.LSTM(6)(attended, initial_state=[h, c])
    model = keras.Model([x, y], [after, keras.layers.RNN([keras.layers.GRUCell(2)])(attended)])
    data = [np.ones((2, 3, 6), "float32"), np.ones((2, 4, 6), "float32")]
    here, there = there_and_back(model, tmp_path)
    assert_close(here(data), model(data))
    assert_close(there(data), model(data))
    model.save(tmp_path / "legacy.h5")
    assert_close(tfkit.saving.load_model(tmp_path / "legacy.h5")(data), model(data))


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "bfloat16"])
def test_dtype_policies(policy, tmp_path):
    dense = [keras.layers.Dense(size, dtype=policy) for size in (3, 2)]
    model = keras.Sequential([keras.Input((4,)), *dense])
    model.dtype_policy = keras.DTypePolicy(policy)  # Which makes it scale losses.
    model.compile("adam", "mse")
    train(model)
    here, there = there_and_back(model, tmp_path)
    for weights in (here.get_weights(), there.get_weights()):
        assert_close(weights, model.get_weights(), 0)
    assert type(here.optimizer).__name__ == type(model.optimizer).__name__
    assert_close(there(X), model(X), 0)
    states = [[v.numpy() for v in m.optimizer.variables] for m in (model, here, there)]
    assert_close(states[1], states[0], 0)
    assert_close(states[2], states[0], 0)


# --- The optimizer ------------------------------------------------------------------------------------

# One for each way in which slots are laid out; the others have one or two beside each weight, as Ftrl has.
OPTIMIZERS = [
    ("Adafactor", {}),
    ("Adam", {"amsgrad": True, "use_ema": True, "ema_momentum": 0.9}),
    ("Ftrl", {}),
    ("Muon", {}),
    ("Nadam", {}),
    ("RMSprop", {"momentum": 0.5, "centered": True}),
    ("SGD", {"momentum": 0.9, "nesterov": True}),
    ("SGD", {"gradient_accumulation_steps": 2}),
]


@pytest.mark.parametrize(("name", "arguments"), OPTIMIZERS)
def test_training_goes_on_as_if_nothing_had_happened(name, arguments, tmp_path):
    layers = [keras.layers.Dense(3, activation="relu"), keras.layers.Dense(2)]
    model = keras.Sequential([keras.Input((4,)), *layers])
    model.compile(getattr(keras.optimizers, name)(0.01, **arguments), "mse")
    train(model)
    here, there = there_and_back(model, tmp_path)
    for loaded in (here, there):
        assert int(loaded.optimizer.iterations) == int(model.optimizer.iterations) > 0
    expected = train(model)
    assert_close(train(here), expected, 1e-5)
    assert_close(train(there), expected, 1e-5)


def test_without_the_optimizer(graph, tmp_path):
    graph.save(tmp_path / "m.keras")
    here = tfkit.saving.load_model(tmp_path / "m.keras", compile=False)
    assert not here.compiled
    here.compile("adam", {"o": "mse", "i": "mse"})
    here.optimizer.build(here.trainable_variables)
    here.save(tmp_path / "ours.keras", include_optimizer=False)
    # As in Keras, for which the argument is one of `.h5` files alone.
    assert tfkit.saving.load_model(tmp_path / "ours.keras").compiled
    with pytest.warns(UserWarning, match="the saved optimizer has 0 variables"):
        assert keras.models.load_model(tmp_path / "ours.keras").compiled
    here.save(tmp_path / "ours.h5", include_optimizer=False)
    assert not tfkit.saving.load_model(tmp_path / "ours.h5").compiled


# --- Classes of one's own -----------------------------------------------------------------------------


def classes(framework):
    """The same program for Keras and for tfkit."""
    layers = framework.layers

    @framework.saving.register_keras_serializable("exchange", name="Scaled")
    class Scale(layers.Layer):
        def __init__(self, units=4, **kwargs):
            super().__init__(**kwargs)
            self.units = units
            self.zoom = layers.Dense(units)
            self.dropout = layers.Dropout(0.5, seed=3)

        def build(self, shape):
            self.zoom.build(shape)
            self.scale = self.add_weight(shape=(self.units,), initializer="ones", name="scale")
            self.shift = self.add_weight(shape=(self.units,), trainable=False, name="shift")

        def call(self, x):
            return self.dropout(self.zoom(x)) * self.scale + self.shift

        def get_config(self):
            return {**super().get_config(), "units": self.units}

    class Net(framework.Model):
        """Attributes before and after "layers" in the alphabet, a private one, and containers."""

        def __init__(self, units=4, **kwargs):
            super().__init__(**kwargs)
            self.units = units
            self.zed = layers.Dense(units)
            self.alpha = layers.Dense(units)
            self.blocks = [layers.Dense(units), layers.Dense(units, name="x")]
            self.heads = {"b": layers.Dense(units), "a": [layers.Dense(units), layers.Dropout(0.1)]}
            self._private = layers.Dense(units)
            self.same = self.alpha
            self.inner = framework.Sequential([layers.Dense(units), layers.BatchNormalization()])
            self.scale = Scale(units)
            self.w = self.add_weight(shape=(units,), initializer="ones", name="w")

        def call(self, x):
            for layer in [self.zed, self.alpha, *self.blocks, self.heads["b"], *self.heads["a"]]:
                x = layer(x)
            return self.scale(self.inner(self._private(x))) * self.w

        def get_config(self):
            return {"units": self.units}

    return Net, Scale


THEIRS, OURS = classes(keras), classes(tfkit)


@pytest.fixture(scope="module")
def subclassed():
    model = THEIRS[0]()
    model(X)
    model.compile("adam", "mse")
    train(model, X, X)
    return model


def test_a_subclassed_model_with_its_class_passed(subclassed, tmp_path):
    here, there = there_and_back(subclassed, tmp_path, {"Net": OURS[0]}, {"Net": THEIRS[0]})
    assert_close(here(X), subclassed(X))
    assert_close(there(X), subclassed(X))
    assert_close(
        [v.numpy() for v in there.optimizer.variables],
        [v.numpy() for v in subclassed.optimizer.variables],
        0,
    )
    names = [weight.path for weight in there.trainable_variables]
    assert len(names) == len(here.trainable_variables) == len(subclassed.trainable_variables)


def test_a_registered_layer_in_a_graph(tmp_path):
    model = keras.Sequential([keras.Input((4,)), THEIRS[1](), THEIRS[1]()])
    model.compile("sgd", "mse")
    train(model, X, X)
    here, there = there_and_back(model, tmp_path)
    assert_close(here(X), model(X))
    assert_close(there(X), model(X))


def test_a_class_that_is_not_passed_is_refused(subclassed, tmp_path):
    subclassed.save(tmp_path / "m.keras")
    with pytest.raises(tfkit.saving.LoadError, match=r"m\.keras.*'Net'.*custom_objects"):
        tfkit.saving.load_model(tmp_path / "m.keras")


def test_layers_that_store_themselves(tmp_path):
    def stores(framework):
        class Stores(framework.layers.Layer):
            def build(self, shape):
                self.w = self.add_weight(shape=(4,), initializer="ones")

            def call(self, x):
                return x * self.w

            def save_own_variables(self, store):
                store["twice"] = 2 * np.asarray(self.w)

            def load_own_variables(self, store):
                self.w.assign(np.asarray(store["twice"]) / 2)

        return Stores

    model = keras.Sequential([keras.Input((4,)), stores(keras)()])
    model.set_weights([X[0]])
    here, there = there_and_back(
        model, tmp_path, {"Stores": stores(tfkit)}, {"Stores": stores(keras)}
    )
    assert_close(here(X), model(X))
    assert_close(there(X), model(X))


def test_seed_states_are_kept_from_tfkit_to_tfkit(tmp_path):
    model = tfkit.Sequential([tfkit.Input((4,)), tfkit.layers.Dropout(0.5, seed=3)])
    model(X, training=True)
    model.save(tmp_path / "m.keras")
    loaded = tfkit.saving.load_model(tmp_path / "m.keras")
    assert_close(loaded(X, training=True), model(X, training=True), 0)
    # Keras's files have none: its draws begin anew, and ours do where Keras wrote the file.
    theirs = keras.models.load_model(tmp_path / "m.keras")
    theirs(X, training=True)
    theirs.save(tmp_path / "m.keras")
    anew = tfkit.saving.load_model(tmp_path / "m.keras")
    assert anew.layers[0].variables[0].numpy().tolist() == [3, 0]


@tfkit.utils.register_keras_serializable()
class Notes(tfkit.layers.Layer):
    """A layer of a user's with assets in a folder of its own."""

    text = ""

    def call(self, inputs):
        return inputs

    def save_assets(self, folder):
        Path(folder, "deep").mkdir()
        Path(folder, "deep", "note.txt").write_text(self.text)

    def load_assets(self, folder):
        self.text = Path(folder, "deep", "note.txt").read_text()


def test_assets_of_a_users_layer_come_back(tmp_path):
    inner = Notes()
    inner.text = "hello"
    model = tfkit.Sequential([tfkit.Input((2,)), inner, tfkit.layers.Dense(1)])
    model.save(tmp_path / "m.keras")
    loaded = tfkit.models.load_model(tmp_path / "m.keras")
    assert loaded.layers[0].text == "hello"
    with pytest.raises(ValueError, match="no further files"):
        model.save(tmp_path / "m.h5")


# --- Optimizers beside that of the outermost model ------------------------------------------------------


def test_a_compiled_and_trained_model_inside_of_another(tmp_path):
    inner = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    inner.compile("adam", "mse")
    train(inner)
    inputs = keras.Input((4,))
    outer = keras.Model(inputs, inner(keras.layers.Rescaling(2.0)(inputs)))
    here, there = there_and_back(outer, tmp_path)
    assert_close([here(X), there(X)], [outer(X)] * 2)


HELD = {
    "attribute": lambda one, other: one,
    "dict": lambda one, other: {"one": one, "other": other},
    "list": lambda one, other: [other, [one]],
}


def adversary(k, held, builds=True):
    """Returns a model of the library `k` that holds an optimizer, whose state is not zero once it is used."""

    @k.saving.register_keras_serializable("held")
    class Adversary(k.Model):
        def __init__(self, **options):
            super().__init__(**options)
            self.dense = k.layers.Dense(2)
            self.dense.build((None, 4))
            self.adam = k.optimizers.Adam()
            if builds:
                self.adam.build(self.dense.trainable_variables)
            self.the_held = HELD[held](self.adam, k.optimizers.Adam(0.5))

        def call(self, x):
            return self.dense(x)

        def compile(self, optimizer, **options):
            super().compile(optimizer, **options)
            self.its_optimizer = optimizer  # Keras stores it here, and not under `optimizer`.

        def get_config(self):
            return {"name": self.name}

    model = Adversary()
    model(X)
    return model


def held_states(model):
    """Returns the variables of the optimizers that a model holds."""
    held = model.the_held if isinstance(model.the_held, (dict, list)) else [model.the_held]
    flat = tf.nest.flatten(held) + ([model.optimizer] if model.compiled else [])
    return [np.asarray(variable) for it in flat for variable in it.variables]


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
@pytest.mark.parametrize("held", HELD)
def test_optimizers_in_attributes(tmp_path, held):
    theirs, ours = adversary(keras, held), adversary(tfkit, held)
    theirs.save_weights(tmp_path / "model.weights.h5")
    ours.load_weights(tmp_path / "model.weights.h5")
    assert_close(ours(X), theirs(X))
    theirs.compile(keras.optimizers.SGD(0.1, momentum=0.9), loss="mse")
    theirs.fit(X, Y, verbose=0)
    for it in tf.nest.flatten(theirs.the_held):
        if it.built:
            it.apply([np.ones(v.shape) for v in theirs.dense.trainable_variables])
    theirs.save(tmp_path / "model.keras")
    loaded = tfkit.models.load_model(tmp_path / "model.keras")
    for mine, its in zip(held_states(loaded), held_states(theirs), strict=True):
        np.testing.assert_array_equal(mine, its)
    alone = tfkit.models.load_model(tmp_path / "model.keras", compile=False)
    assert_close(alone(X), theirs(X))


def test_an_optimizer_in_an_attribute_whose_weights_are_not_known(tmp_path):
    theirs = adversary(keras, "dict", builds=False)
    theirs.adam.build(theirs.dense.trainable_variables)
    theirs.save(tmp_path / "model.keras")
    adversary(tfkit, "dict", builds=False)
    with pytest.warns(UserWarning, match="at 'adam' is not loaded, because it has 6 variables"):
        tfkit.models.load_model(tmp_path / "model.keras")


def used_adversary(builds):
    """Returns a model of tfkit whose optimizer in an attribute has made a step."""
    ours = adversary(tfkit, "list", builds)
    weights = ours.dense.trainable_variables
    ours.adam.apply([np.ones(weight.shape) for weight in weights], weights)
    return ours


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_the_state_of_an_optimizer_in_an_attribute_is_written(tmp_path):
    path = tmp_path / "model.keras"
    keras_class = type(
        adversary(keras, "list")
    )  # Keras restores the state if the constructor builds it.
    ours = used_adversary(builds=True)
    ours.save(path)
    theirs = keras.models.load_model(path, {"Adversary": keras_class})
    for mine, its in zip(held_states(ours), held_states(theirs), strict=True):
        np.testing.assert_array_equal(mine, its)


@pytest.mark.parametrize("name", ["model.keras", "model.h5"])
def test_an_optimizer_in_an_attribute_is_built_for_the_weights_that_it_had(tmp_path, name):
    ours = used_adversary(builds=False)
    ours.save(tmp_path / name)
    loaded = tfkit.models.load_model(tmp_path / name)
    for mine, its in zip(held_states(ours), held_states(loaded), strict=True):
        np.testing.assert_array_equal(mine, its)
    ours.save(tmp_path / name, include_optimizer=False)
    assert not tfkit.models.load_model(tmp_path / name).adam.built


@pytest.mark.parametrize("indices", [[0, 2], [0, 0], [-1]])
def test_indices_of_weights_of_an_optimizer_are_checked(tmp_path, indices, monkeypatch):
    written = np.array(indices, "int32")
    monkeypatch.setattr(keras_contents, "weights_of_held", lambda optimizer, plan: written)
    used_adversary(builds=False).save(tmp_path / "model.keras")
    with pytest.raises(tfkit.saving.LoadError, match="different indices of 2 weights"):
        tfkit.models.load_model(tmp_path / "model.keras")


@pytest.mark.parametrize("kind", ["functional", "sequential", "nested"])
def test_weights_of_the_model_that_was_saved_fit_the_one_that_is_loaded(kind, tmp_path):
    """Whatever numbers the names of their layers have: other layers were made before them."""
    for _ in range(2):
        tfkit.layers.Dense(1)
    inputs = tfkit.Input((3,))
    layers = [tfkit.layers.Dense(4), tfkit.layers.Dense(4, name="dense"), tfkit.layers.Dense(2)]
    model = tfkit.Sequential([inputs, *layers])
    if kind != "sequential":
        model = tfkit.Model(inputs, layers[2](layers[1](layers[0](inputs))))
    if kind == "nested":
        model = tfkit.Sequential([tfkit.Input((3,)), model, tfkit.layers.Dense(1)])
    file, weights = str(tmp_path / "model.keras"), str(tmp_path / "model.weights.h5")
    model.save(file)
    loaded = tfkit.models.load_model(file)
    x = np.ones((2, 3), "float32")
    for one, other in ((model, loaded), (loaded, model)):
        one.set_weights([weight + 1 for weight in one.get_weights()])
        one.save_weights(weights)
        other.load_weights(weights)
        np.testing.assert_array_equal(one(x), other(x))
    theirs = keras.models.load_model(file)
    theirs.save(file)  # Keras keeps the names, and not who has given them.
    assert len(tfkit.models.load_model(file).get_weights()) == len(model.get_weights())


@tfkit.saving.register_keras_serializable("tests")
class Together(tfkit.layers.Layer):
    """A layer of two arguments without a `build` of its own."""

    def __init__(self, inner=None, **kwargs):
        super().__init__(**kwargs)
        self.inner = inner

    def call(self, logits, values):
        return logits + values if self.inner is None else self.inner(logits) + values


@pytest.mark.parametrize("inner", [None, "dense"])
def test_a_layer_of_two_arguments_without_build(inner, tmp_path):
    x, y = tfkit.Input((3,)), tfkit.Input((3,))
    layer = Together(inner and tfkit.layers.Dense(3))
    model = tfkit.Model([x, y], layer(logits=x, values=y))
    model.save(tmp_path / "m.keras")
    loaded = tfkit.models.load_model(tmp_path / "m.keras")
    data = [np.arange(6, dtype="float32").reshape(2, 3), np.ones((2, 3), "float32")]
    np.testing.assert_array_equal(loaded(data).numpy(), model(data).numpy())
    again = Together(inner and tfkit.layers.Dense(3))
    again.build_from_config({"shapes_dict": {"logits_shape": [None, 3], "values_shape": [None, 3]}})
    assert len(again.weights) == len(model.weights)
