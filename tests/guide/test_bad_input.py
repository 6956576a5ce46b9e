"""Bad uses: each is refused by an error that says where, what was expected and passed, and the fix.

And nothing has changed after it: no weight, no layer built, no step counted, no file left over.
"""

import functools
import re
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

import tfkit as keras
from tfkit import layers
from tfkit.saving import DamagedFileError, LoadError
from tfkit.src.core import tracking


def ones(*shape):
    return np.ones(shape, "float32")


STRINGS = np.full((4, 4), "a")


# --- What is used badly -------------------------------------------------------------------------------


class Encoder(layers.Layer):
    def __init__(self, layer):
        super().__init__()
        self.first = layers.Identity()
        self.dense_proj = layer

    def call(self, x):
        return self.dense_proj(self.first(x))


class Net(keras.Model):
    def __init__(self, layer):
        super().__init__(name="model")
        self.encoder = Encoder(layer)

    def call(self, x):
        return self.encoder(x)


def inside(layer, built_on=None):
    """A model with `layer` at `model/encoder/dense_proj`."""
    model = Net(layer)
    if built_on is not None:
        model(built_on)
    return model


def sequential(*args, **kwargs):
    stack = [
        keras.Input((4,), name="x"),
        layers.Dense(3, name="hidden"),
        layers.Dense(2, name="out"),
    ]
    return keras.Sequential(stack, name="model")


@functools.cache
def compiled():
    """A model after a step of training; all cases share it, for none of them changes it."""
    model = sequential()
    model.compile("adam", "mse")
    model.fit(ones(4, 4), ones(4, 2), verbose=0)
    return model


@functools.cache
def classifier(loss):
    model = sequential()
    model.compile("adam", loss)
    model(X)
    return model


@functools.cache
def two_inputs():
    a, b = keras.Input((2,), name="a"), keras.Input((3,), name="b")
    model = keras.Model(
        [a, b], layers.Dense(1)(layers.Concatenate(name="cat")([a, b])), name="model"
    )
    model.compile("sgd", "mse")
    return model


def alone(layer_class, *args, **kwargs):
    return layer_class(*args, name="it", **kwargs)


class Forgetful(layers.Layer):
    def __init__(self):
        self.units = 3

    def call(self, x):
        return x


class ForgetfulWithWeight(layers.Layer):
    def __init__(self):
        self.w = self.add_weight(shape=(3,))


class ForgetfulModel(keras.Model):
    def __init__(self):
        self.units = 3


class BuildsFromOther(layers.Layer):
    def build(self, key_shape, value_shape):
        self.w = self.add_weight(shape=(3,))

    def call(self, inputs, other):
        return inputs


class BuildsFromMore(layers.Layer):
    def build(self, query_shape, value_shape):
        self.w = self.add_weight(shape=(3,))

    def call(self, query, value=None):
        return query


class AddsInCall(layers.Layer):
    def call(self, x):
        return x * self.add_weight(shape=(), name="late")


class HasNoCall(layers.Layer):
    pass


class Unregistered(layers.Dense):
    pass


def dataset():
    return tf.data.Dataset.from_tensor_slices((ones(8, 4), ones(8, 2))).batch(2)


def endless(*batch):
    while True:
        yield batch


def fit(x=None, y=None, **kwargs):
    return lambda model: model.fit(x, y, verbose=0, **kwargs)


def call(*args, **kwargs):
    return lambda layer: layer(*args, **kwargs)


X, Y = ones(4, 4), ones(4, 2)
PATH = "model/encoder/dense_proj"


# --- The table: what, how it is used, the exception, and pieces of its message ------------------------------

CALLS = {
    # The first call, of layers that are not built.
    "rank of Dense": (
        lambda: inside(layers.Dense(3)), call(ones(4)), ValueError,
        PATH, "expected min_ndim=2", "found ndim=1", "(4,)",
    ),
    "rank of Conv2D": (
        lambda: inside(layers.Conv2D(3, 2)), call(ones(4, 4)), ValueError,
        PATH, "expected min_ndim=4", "found ndim=2", "(4, 4)",
    ),
    "rank of LSTM": (
        lambda: inside(layers.LSTM(3)), call(ones(4, 4)), ValueError,
        PATH, "expected ndim=3", "found ndim=2", "(4, 4)",
    ),
    "axis of BatchNormalization": (
        lambda: inside(layers.BatchNormalization(axis=3)), call(ones(4, 4)), IndexError,
        PATH, "BatchNormalization", "axis=3", "(4, 4)", "from -2 to 1",
    ),
    "axis of LayerNormalization": (
        lambda: inside(layers.LayerNormalization(axis=5)), call(ones(4, 4)), IndexError,
        PATH, "LayerNormalization", "axis=5", "(4, 4)",
    ),
    "heads get other ranks": (
        lambda: alone(layers.MultiHeadAttention, 2, 2), call(ones(2, 3, 4), ones(2, 3, 4, 5)),
        tf.errors.InvalidArgumentError, "'it' (of type MultiHeadAttention)", "rank 4", "5",
    ),
    "strings into Embedding": (
        lambda: inside(layers.Embedding(3, 2)), call(STRINGS), ValueError,
        PATH, "Embedding", "string tensor", "(4, 4)", "into ids",
    ),
    "strings into Dense": (
        lambda: inside(layers.Dense(3)), call(STRINGS), ValueError,
        PATH, "Expected a float tensor", "string tensor of shape (4, 4)", "into numbers",
    ),
    "strings into Conv2D": (
        lambda: inside(layers.Conv2D(3, 2)), call(STRINGS.reshape(1, 4, 4, 1)), ValueError,
        PATH, "Conv2D", "Expected a float tensor", "string", "into numbers",
    ),
    "image smaller than the kernel": (
        lambda: inside(layers.Conv2D(3, 5)), call(ones(2, 4, 4, 3)), ValueError,
        PATH, "window of 5 by 5", "4 by 4", "(2, 4, 4, 3)", "(5, 5, 3, 3)",
    ),
    # Layers that are built.
    "features of Dense": (
        lambda: inside(layers.Dense(3), X), call(ones(4, 5)), ValueError,
        PATH, "expected axis -1", "value 4", "found 5", "(4, 5)",
    ),
    "channels of Conv2D": (
        lambda: inside(layers.Conv2D(3, 2), ones(2, 4, 4, 3)), call(ones(2, 4, 4, 2)), ValueError,
        PATH, "expected axis -1", "value 3", "found 2",
    ),
    "features of LSTM": (
        lambda: inside(layers.LSTM(3), ones(2, 4, 4)), call(ones(2, 4, 5)), ValueError,
        PATH, "expected axis -1", "value 4", "found 5",
    ),
    "features of BatchNormalization": (
        lambda: inside(layers.BatchNormalization(), X), call(ones(4, 5)), ValueError,
        PATH, "expected axis -1", "value 4", "found 5",
    ),
    "id beyond the Embedding": (
        lambda: inside(layers.Embedding(3, 2)), call(np.full((1, 1), 7)),
        tf.errors.InvalidArgumentError, PATH, "= 7", "[0, 3)",
    ),
    # Layers of a user's.
    "no super().__init__()": (
        Forgetful, call(X), RuntimeError, "'Forgetful'", "forgot to call `super().__init__()`",
    ),
    "build() of other names": (
        BuildsFromOther, call(X, X), ValueError,
        "BuildsFromOther", "`key_shape`", "['inputs_shape', 'other_shape']",
    ),
    "build() needs more than is passed": (
        BuildsFromMore, call(X), TypeError,
        "BuildsFromMore", "`value_shape`", "no tensor for `value`", "['query']", "default of None",
    ),
    "add_weight in call": (
        lambda: inside(AddsInCall()), call(X), ValueError,
        PATH, "'late'", "inside its `call()`", "`__init__()` or `build()`",
    ),
    "no call()": (HasNoCall, call(X), NotImplementedError, "HasNoCall", "def call(self, inputs)"),
    # Arguments of the call.
    "no argument": (
        lambda: alone(layers.Dense, 2), call(), TypeError, "'it'", "missing", "'inputs'", "call(inputs",
    ),
    "an unknown argument": (
        lambda: alone(layers.Dense, 2), call(X, mode=3), TypeError, "'it'", "'mode'", "call(inputs",
    ),
    "a string": (
        lambda: inside(layers.Dense(2)), call("a"), ValueError, "'model'", "'a' (of type str)", "keyword",
    ),
    "a list of numbers": (
        lambda: alone(layers.Dense, 2), call([1.0, 2.0]), ValueError, "'it'", "1.0", "np.array",
    ),
    "None": (lambda: alone(layers.Dense, 2), call(None), ValueError, "'it'", "None", "tensors"),
    "too few inputs": (
        two_inputs, call([ones(2, 2)]), ValueError, '"model"', "2 input(s) ['a', 'b']", "1 input", "[2, 2]",
    ),
    "too many inputs": (
        two_inputs, call([ones(2, 2), ones(2, 3), ones(2, 3)]), ValueError, "2 input(s)", "received 3",
    ),
    "a key is missing": (
        two_inputs, call({"a": ones(2, 2)}), ValueError, '"b"', "'model'", "keys ['a']", "['a', 'b']",
    ),
    "None for an input": (
        two_inputs, call([ones(2, 2), None]), ValueError, "'model'", "None", "'b'",
    ),
    "features of an input": (
        two_inputs, call([ones(2, 2), ones(2, 4)]), ValueError, "'b'", "'model'", "(None, 3)", "(2, 4)",
    ),
    "batches of two sizes": (
        two_inputs, call([ones(2, 2), ones(3, 3)]), ValueError, "'model/cat'", "same batch size", "(3, 3)",
    ),
    "Add of other sizes": (
        lambda: alone(layers.Add), call([ones(2, 3), ones(2, 4)]), ValueError,
        "'it' (of type Add)", "broadcast", "[(2, 3), (2, 4)]",
    ),
    "Concatenate of other sizes": (
        lambda: alone(layers.Concatenate), call([ones(2, 3, 2), ones(2, 4, 3)]), ValueError,
        "'it' (of type Concatenate)", "except for the concatenation axis, -1", "(2, 4, 3)",
    ),
    "Dot of other sizes": (
        lambda: alone(layers.Dot, axes=1), call([ones(2, 3), ones(2, 4)]), ValueError,
        "'it' (of type Dot)", "equal sizes", "(2, 4)",
    ),
    "Multiply of one tensor": (
        lambda: alone(layers.Multiply), call(X), ValueError, "'it' (of type Multiply)", "a list of",
    ),
}  # fmt: skip

TRAINING = {
    "fit before compile": (sequential, fit(X, Y), ValueError, "`compile()`", "`fit()`", "'model'", "adam"),
    "evaluate before compile": (
        sequential, lambda m: m.evaluate(X, Y, verbose=0), ValueError, "`compile()`", "`evaluate()`",
    ),
    "no loss": (
        lambda: classifier(None), fit(X, Y), ValueError, "No loss", "`compile()`", "add_loss",
    ),
    "no targets": (compiled, fit(X), ValueError, "no targets", "y=None", "fit(x, y)"),
    "rows of y": (compiled, fit(X, ones(3, 2)), ValueError, "ambiguous", "x: 4, y: 3"),
    "rows of sample_weight": (
        compiled, fit(X, Y, sample_weight=ones(3)), ValueError, "ambiguous", "sample_weight: 3",
    ),
    "rows of validation data": (
        compiled, fit(X, Y, validation_data=(X, ones(3, 2))), ValueError, "x: 4, y: 3",
    ),
    "features of x": (compiled, fit(ones(4, 5), Y), ValueError, "'model/hidden'", "value 4", "(None, 5)"),
    "rank of x": (compiled, fit(ones(4), Y), ValueError, "name 'x'", "(None, 4)", "shape (None,)"),
    "an axis too many": (
        compiled, fit(ones(4, 3, 4), Y), ValueError, "name 'x'", "(None, 4)", "(None, 3, 4)", "batch",
    ),
    "x and y in a tuple": (compiled, fit((X, Y)), ValueError, "'model'", "1 input(s)", "2 in", "fit(x, y)"),
    "y as a list of strings": (compiled, fit(X, ["a"] * 4), ValueError, "`y`", "str in a list", "array(y)"),
    "y as a set": (compiled, fit(X, {1.0}), ValueError, "`y`", "a Python set.", "sorted(y)"),
    "epochs=2.5": (compiled, fit(X, Y, epochs=2.5), TypeError, "`epochs`", "integer", "epochs=2.5", "float"),
    "epochs=None": (compiled, fit(X, Y, epochs=None), TypeError, "`epochs`", "NoneType"),
    "epochs='2'": (compiled, fit(X, Y, epochs="2"), TypeError, "`epochs`", "epochs='2'", "str"),
    "batch_size=4.0": (compiled, fit(X, Y, batch_size=4.0), TypeError, "`batch_size`", "4.0"),
    "steps_per_epoch=1.0": (compiled, fit(X, Y, steps_per_epoch=1.0), TypeError, "`steps_per_epoch`"),
    "steps=1.5": (compiled, lambda m: m.evaluate(X, Y, steps=1.5), TypeError, "`steps`", "1.5"),
    "batch_size='4'": (compiled, lambda m: m.predict(X, batch_size="4"), TypeError, "`batch_size`", "'4'"),
    "validation_freq=1.5": (
        compiled, fit(X, Y, validation_data=(X, Y), validation_freq=1.5), ValueError, "list of epochs", "1.5",
    ),
    "validation_split='0.2'": (
        compiled, fit(X, Y, validation_split="0.2"), TypeError, "`validation_split`", "'0.2'", "str",
    ),
    "strings as x": (compiled, fit(STRINGS, Y), ValueError, "'x'", "float32", "string", "dtype='string'"),
    "a text as y": (compiled, fit(X, "labels.csv"), ValueError, "y='labels.csv'", "arrays or tensors"),
    "strings as y": (compiled, fit(X, STRINGS[:, :2]), ValueError, "loss", "string", "one-hot"),
    "shape of y": (compiled, fit(X, ones(4, 3)), ValueError, "same shape", "(None, 3)", "(None, 2)"),
    "shape of y in evaluate": (
        compiled, lambda m: m.evaluate(X, ones(4, 3), verbose=0), ValueError, "(None, 3)", "(None, 2)",
    ),
    "one-hot targets wanted": (
        lambda: classifier("categorical_crossentropy"), fit(X, ones(4, 1)), ValueError, "(None, 1)",
    ),
    "class ids wanted": (
        lambda: classifier("sparse_categorical_crossentropy"), fit(X, Y), ValueError,
        "Class ids", "(None, 2)", "without `sparse`",
    ),
    "shape of sample_weight": (
        compiled, fit(X, Y, sample_weight=ones(4, 3)), ValueError, "`sample_weight`", "(None, 3)",
    ),
    "no rows": (compiled, fit(ones(0, 4), ones(0, 2)), ValueError, "no samples", "at least one row"),
    "no rows to predict": (
        compiled, lambda m: m.predict(ones(0, 4), verbose=0), ValueError, "no samples",
    ),
    "batch_size=0": (compiled, fit(X, Y, batch_size=0), ValueError, "`batch_size`", "positive", "0"),
    "validation_split of a dataset": (
        compiled, fit(dataset(), validation_split=0.5), ValueError, "`validation_split`", "arrays",
    ),
    "validation_split=2": (
        compiled, fit(X, Y, validation_split=2.0), ValueError, "`validation_split`", "between 0 and 1", "2.0",
    ),
    "y beside a dataset": (compiled, fit(dataset(), Y), ValueError, "Argument `y`", "(x, y, sample_weight)"),
    "sample_weight beside a dataset": (
        compiled, fit(dataset(), sample_weight=ones(8)), ValueError, "Argument `sample_weight`",
    ),
    "a generator of four": (
        compiled, fit(endless(X, Y, Y, Y), steps_per_epoch=1), ValueError, "`(x, y)`", "sample_weight",
    ),
    "an empty generator": (compiled, fit(iter(())), ValueError, "yielded no batches"),
    "a key is missing in fit": (
        two_inputs, fit({"a": ones(2, 2)}, ones(2, 1)), ValueError, '"b"', "keys ['a']",
    ),
    "too few inputs to predict": (
        two_inputs, lambda m: m.predict([ones(2, 2)], verbose=0), ValueError, "['a', 'b']", "1 input",
    ),
    "class_weight without y": (
        compiled, fit(X, class_weight={0: 1.0}), ValueError, "`class_weight`", "without `y`",
    ),
}  # fmt: skip


def compile_with(*args, **kwargs):
    return lambda model: model.compile(*args, **kwargs)


MODELS = {
    "unknown optimizer": (compiled, compile_with("admm", "mse"), ValueError, "'admm'", "'adam'"),
    "optimizer=3": (compiled, compile_with(optimizer=3), ValueError, "optimizers", "3"),
    "unknown loss": (compiled, compile_with("sgd", "msee"), ValueError, "'msee'", "'mse'"),
    "unknown metric": (
        compiled, compile_with("sgd", "mse", metrics=["acuracy"]), ValueError, "'acuracy'", "'accuracy'",
    ),
    "a metric that cannot be called": (
        compiled, compile_with("sgd", "mse", metrics=[3]), ValueError, "metrics", "3",
    ),
    "metrics in no list": (compiled, compile_with("sgd", "mse", metrics="mae"), ValueError, "list", "'mae'"),
    "steps_per_execution=0": (
        compiled, compile_with("sgd", steps_per_execution=0), ValueError, "steps_per_execution", "0",
    ),
    "too few weights": (compiled, lambda m: m.set_weights([X]), ValueError, "'model'", "1", "4 weights"),
    "a weight of another shape": (
        compiled, lambda m: m.set_weights([ones(4, 3), ones(3), ones(3, 3), ones(2)]), ValueError,
        "'model'", "out/kernel", "(3, 2)", "(3, 3)",
    ),
    "a weight of strings": (
        compiled, lambda m: m.set_weights([ones(4, 3), ones(3), ones(3, 2), STRINGS[0, :2]]), ValueError,
        "'model'", "out/bias", "float32", "<U1",
    ),
    "get_layer of an unknown name": (
        compiled, lambda m: m.get_layer("hiden"), ValueError, "hiden", "['hidden', 'out']", "'hidden'?",
    ),
    "get_layer of an index": (compiled, lambda m: m.get_layer(index=7), ValueError, "7", "2 layers"),
    "add_weight to a built layer": (
        compiled, lambda m: m.layers[0].add_weight(shape=(2,), name="w"), ValueError,
        "'w'", "model/hidden", "once it is built", "`build()`",
    ),
    "a layer that does not fit on top": (
        sequential, lambda m: m.add(layers.Conv2D(2, 2, name="conv")), ValueError,
        "'model/conv'", "min_ndim=4",
    ),
    "an Input on top": (sequential, lambda m: m.add(keras.Input((3,))), ValueError, "'model'", "Input"),
    "what a layer returns on top": (
        sequential, lambda m: m.add(layers.Dense(2)(keras.Input((2,)))), ValueError, "Input(...)", "a layer",
    ),
    "text for a weight": (
        compiled, lambda m: m.layers[0].bias.assign("zeros"), TypeError,
        "model/hidden/bias", "float32", "string",
    ),
    "no layer": (sequential, lambda m: m.add(3), ValueError, "`Layer`", "3 (of type int)"),
    "the same name twice": (
        sequential, lambda m: m.add(layers.Dense(2, name="out")), ValueError, "unique", "'out'",
    ),
    "count_params of an unbuilt layer": (
        lambda: alone(layers.Dense, 2), lambda layer: layer.count_params(), ValueError, "'it'", "build(",
    ),
}  # fmt: skip

MAKING = {
    "units=-1": (lambda: layers.Dense(-1), ValueError, "`units` of layer Dense", "positive", "units=-1"),
    "units=0": (lambda: layers.Dense(0), ValueError, "`units` of layer Dense", "units=0"),
    "units='a'": (lambda: layers.Dense("a"), ValueError, "`units` of layer Dense", "units='a'"),
    "filters=0": (lambda: layers.Conv2D(0, 3), ValueError, "`filters` of layer Conv2D", "filters=0"),
    "kernel_size": (lambda: layers.Conv2D(2, (3, 3)*2), ValueError, "`kernel_size`", "2 of", "(3, 3, 3, 3)"),
    "rate=2": (lambda: layers.Dropout(2), ValueError, "`rate` of layer Dropout", "from 0 to 1", "rate=2"),
    "an unknown keyword": (lambda: layers.Dense(2, unit=3), ValueError, "Dense", "'unit': 3"),
    "a slash in a name": (lambda: layers.Dense(2, name="a/b"), ValueError, "`name`", "a/b"),
    "Bidirectional of Dense": (
        lambda: layers.Bidirectional(layers.Dense(2)), ValueError, "`layer`", "Bidirectional", "recurrent",
    ),
    "unknown activation": (lambda: layers.Dense(2, activation="rellu"), ValueError, "'rellu'", "'relu'"),
    "unknown initializer": (
        lambda: layers.Dense(2, kernel_initializer="glorot_unifrm"), ValueError, "'glorot_uniform'",
    ),
    "unknown regularizer": (lambda: layers.Dense(2, kernel_regularizer="l3"), ValueError, "'l3'", "'l2'"),
    "unknown dtype": (lambda: layers.Dense(2, dtype="flaot32"), ValueError, "'flaot32'", "'float32'?"),
    "unknown policy": (
        lambda: layers.Dense(2, dtype="mixed_flaot16"), ValueError, "'mixed_flaot16'", "'mixed_float16'?",
    ),
    "weight before super().__init__()": (
        ForgetfulWithWeight, RuntimeError, "'ForgetfulWithWeight'", "super().__init__()",
    ),
    "compile without super().__init__()": (
        lambda: ForgetfulModel().compile("sgd"), RuntimeError, "'ForgetfulModel'", "super().__init__()",
    ),
    "a configuration with an unknown key": (
        lambda: Encoder.from_config({"name": "e", "width": 3}), TypeError, "Encoder.from_config()", "'width'",
        "get_config()",
    ),
    "lr": (lambda: keras.optimizers.Adam(lr=0.1), ValueError, "Adam", "'lr': 0.1", "called `learning_rate`"),
    "weight of unknown size": (
        lambda: alone(layers.Dense, 2).add_weight(shape=(None, 2), name="w"), ValueError,
        "'w'", "'it'", "(None, 2)", "Input(shape=...)",
    ),
    "weight of size 'a'": (
        lambda: alone(layers.Dense, 2).add_weight(shape=("a", 2), name="w"), ValueError, "'w'", "'it'", "'a'",
    ),
    "weight with a slash": (
        lambda: alone(layers.Dense, 2).add_weight(shape=(2,), name="a/b"), ValueError, "`name`", "'a/b'",
    ),
    "weight's name first": (
        lambda: alone(layers.Dense, 2).add_weight("w", (2,)), ValueError, "keyword", "name='w'",
    ),
    "shape and batch_shape": (
        lambda: keras.Input(shape=(2,), batch_shape=(None, 2)), ValueError, "`shape` and `batch_shape`",
    ),
    "Input without a shape": (lambda: keras.Input(), ValueError, "must pass a `shape`"),
    "Input(3)": (lambda: keras.Input(3), ValueError, "Input(shape=(28,))", "shape=3"),
    "Input of a string": (lambda: keras.Input(("a", 3)), ValueError, "integers", "('a', 3)"),
    "Input of -1": (lambda: keras.Input((-1, 3)), ValueError, "non-negative", "(-1, 3)"),
    "a model without outputs": (
        lambda: keras.Model(inputs=keras.Input((2,))), ValueError, "both `inputs` and `outputs`",
    ),
    "pop of nothing": (lambda: keras.Sequential(name="m").pop(), IndexError, "'m'", "no layer"),
}  # fmt: skip


def loads_damaged(change):
    def bad(model, folder):
        (folder / "m.weights.h5").write_bytes(change((folder / "saved.weights.h5").read_bytes()))
        model.load_weights(folder / "m.weights.h5")

    return bad


def loads_unregistered(model, folder):
    keras.Sequential([keras.Input((4,)), Unregistered(2)]).save(folder / "u.h5")
    keras.models.load_model(folder / "u.h5")


def loads_into(make):
    return lambda model, folder: make().load_weights(folder / "saved.weights.h5")


FILES = {
    "weights of another architecture": (
        loads_into(lambda: keras.Sequential([keras.Input((4,)), layers.Dense(5, name="hidden")])),
        LoadError, "saved.weights.h5", "hidden/kernel", "(4, 3)", "(4, 5)", "out/kernel", "nothing was",
    ),
    "weights into an unbuilt model": (
        loads_into(lambda: keras.Sequential([layers.Dense(3)], name="m")), ValueError, "'m'", "Call it",
    ),
    "an unregistered class": (
        loads_unregistered, LoadError, "'Unregistered'", "register_keras_serializable", "custom_objects",
    ),
    "a truncated file": (
        loads_damaged(lambda data: data[: len(data) // 2]), DamagedFileError, "m.weights.h5", "truncated",
    ),
    "no HDF5 file": (loads_damaged(lambda _: b"hello" * 99), OSError, "not an HDF5 file", "model.save"),
    "no file": (
        lambda _, folder: keras.models.load_model(folder / "none.h5"), FileNotFoundError, "none.h5",
    ),
    "a folder": (lambda _, folder: keras.models.load_model(folder), FileNotFoundError, "is a folder"),
    "no folder": (
        lambda m, folder: m.save(folder / "no" / "m.keras"), FileNotFoundError, "folder", "m.keras",
    ),
    "another suffix": (lambda m, folder: m.save(folder / "m.foo"), ValueError, "m.foo", "ends in", ".h5"),
    "another suffix of weights": (
        lambda m, folder: m.save_weights(folder / "m.foo"), ValueError, ".weights.h5", "m.foo",
    ),
}  # fmt: skip


# --- The tests ----------------------------------------------------------------------------------------


def state_of(layer):
    """Everything that a refused use must leave alone."""
    if not layer._tfkit.initialized:
        return None
    below = tracking.all_layers(layer)
    optimizer = getattr(layer, "optimizer", None)
    return SimpleNamespace(
        weights=[(id(w), w.numpy().tobytes()) for w in layer.weights],
        built=[(each.name, each.built, each.get_build_config()) for each in below],
        steps=optimizer and (id(optimizer), int(optimizer.iterations), len(optimizer.variables)),
        compiled=layer._tfkit_settings and layer._tfkit_settings.arguments(),
        losses=len(layer.losses),
    )


def refuse(bad, exception, *pieces):
    with pytest.raises(exception) as caught:
        bad()
    message = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])
    missing = [piece for piece in pieces if piece not in message]
    assert not missing, message
    # The message itself, and not TensorFlow's trace, nor arrays, around it.
    assert len(re.sub(r"'\[.*?\]'", "", message)) < 1500


@pytest.mark.parametrize("case", [*CALLS, *TRAINING, *MODELS])
def test_bad_uses_are_refused_and_change_nothing(case):
    make, bad, exception, *pieces = {**CALLS, **TRAINING, **MODELS}[case]
    subject = make()
    before = state_of(subject)
    refuse(lambda: bad(subject), exception, *pieces)
    assert state_of(subject) == before


@pytest.mark.parametrize("case", MAKING)
def test_bad_arguments_are_refused(case):
    bad, exception, *pieces = MAKING[case]
    refuse(bad, exception, *pieces)


@pytest.mark.parametrize("case", FILES)
def test_bad_files_are_refused_and_nothing_is_left_over(case, tmp_path):
    bad, exception, *pieces = FILES[case]
    model = compiled()
    model.save_weights(tmp_path / "saved.weights.h5")
    before = state_of(model)
    refuse(lambda: bad(model, tmp_path), exception, *pieces)
    assert state_of(model) == before
    # What the case itself has put there, and no temporary file.
    left = {path.name for path in tmp_path.iterdir()}
    assert left <= {"saved.weights.h5", "m.weights.h5", "u.h5"}


def test_after_a_refused_first_call_the_right_one_builds():
    """The layers before the refused one do not keep the sizes of the refused input."""
    net = keras.Sequential([layers.Dense(3), layers.Reshape((3, 1)), layers.Conv2D(2, 2)])
    with pytest.raises(ValueError, match="min_ndim=4"):
        net(ones(2, 5))
    assert [layer.built for layer in net.layers] == [
        False,
        True,
        False,
    ]  # A `Reshape` has no weights.
    assert net.weights == []
    net.pop()
    assert net(ones(2, 4)).shape == (2, 3, 1)
    assert net.layers[0].kernel.shape == (4, 3)


def test_two_weights_of_one_name_are_two_weights(tmp_path):
    """As in Keras, labels may repeat; files and messages number them."""

    class Twice(layers.Layer):
        def __init__(self):
            super().__init__()
            for value in ("zeros", "ones"):
                self.add_weight(shape=(2,), name="w", initializer=value)

        def call(self, x):
            return x

    assert list(tracking.named_weights(Twice())) == ["w", "w_1"]


def test_the_summary_of_an_unbuilt_model_says_so(capsys):
    inside(layers.Dense(2)).summary()
    assert "0 (0.00 B)" in capsys.readouterr().out


def test_more_steps_than_data_end_with_the_data():
    model = sequential()
    model.compile("sgd", "mse")
    model.fit(dataset(), steps_per_epoch=3, verbose=0)
    assert int(model.optimizer.iterations) == 3


def test_errors_of_a_users_call_say_which_layer():
    class Divides(layers.Layer):
        def call(self, x):
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError) as caught:
        inside(Divides())(X)
    assert caught.value.__notes__ == [f"Raised in the call of layer '{PATH}' (of type Divides)."]
