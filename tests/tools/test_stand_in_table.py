"""The names in `keras.src` that libraries import: each row of the table beside Keras's own."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras.src.backend.common.masking import get_keras_mask as mask_in_keras
from keras.src.backend.common.variables import standardize_shape as shape_in_keras
from keras.src.saving.saving_lib import H5IOStore as StoreInKeras
from keras.src.trainers.data_adapters import data_adapter_utils

import tfkit
from tfkit.src.files.interop.stand_in import table


def served(name):
    return table.named(name, tfkit)


@pytest.mark.parametrize("name", table.NAMES)
def test_keras_has_the_name_at_its_place(name):
    row = table.NAMES[name]
    assert row.users
    assert served(name) is not None
    assert hasattr(keras.src, row.place)


@pytest.mark.parametrize("name", table.MEMBERS)
def test_keras_has_the_member(name):
    """And a subclass may set it, as in Keras."""
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    holder = model._functional if name == "_nodes_by_depth" else model
    assert hasattr(holder, name)
    row = table.MEMBERS[name]
    assert row.users

    class Held(tfkit.Sequential):
        member = row.what

    ours = Held([tfkit.Input((3,)), tfkit.layers.Dense(2)])
    assert ours.member is not None
    ours.member = 3
    assert ours.member == 3


def test_what_a_library_gives_a_layer_is_held():
    class Held(tfkit.layers.Layer):
        _metrics = table.MEMBERS["_metrics"].what
        _tracker = table.MEMBERS["_tracker"].what

        def call(self, x):
            return x

    for base in (Held, keras.layers.Layer):
        layer, library = base(), tfkit if base is Held else keras
        layer._metrics.append(library.metrics.Mean(name="seen"))
        assert [it.name for it in layer.metrics] == ["seen"]
        parts = [library.layers.Dense(2, name=name) for name in ("one", "two")]
        for part in parts:
            part.build((None, 3))
            assert layer._tracker.track(part) is part
        assert len(layer.weights) == 4 if base is Held else len(layer._layers) == 2


@pytest.mark.parametrize("way", ["unlock", "locked"])
def test_parts_of_a_built_layer_can_be_replaced(way):
    """As programs do that put a low-rank sum in the place of a projection."""

    class Ours(tfkit.layers.MultiHeadAttention):
        _tracker = table.MEMBERS["_tracker"].what

    for library, kind in ((tfkit, Ours), (keras, keras.layers.MultiHeadAttention)):
        layer, x = kind(2, 3), np.ones((1, 4, 6), "float32")
        layer(x, x)
        if way == "unlock":
            layer._tracker.unlock()
        else:
            layer._tracker.locked = False
        layer._query_dense = library.layers.EinsumDense("abc,cde->abde", (None, 2, 3), name="query")
        layer._tracker.lock("built")
        assert layer(x, x).shape == (1, 4, 6)
        held = {id(weight) for weight in layer.weights}
        assert {id(weight) for weight in layer._query_dense.weights} < held


def test_classes_are_served_where_keras_has_them():
    for place, (_, users) in table.CLASSES.items():
        assert hasattr(keras.src, place)
        assert users
    assert table.class_behind("activations.activations", "ReLU", tfkit).__name__ == "ReLU"
    assert table.class_behind("ops.nn", "Relu", tfkit).__name__ == "Relu"
    assert table.class_behind("ops.nn", "NoSuchOp", tfkit) is None
    assert table.class_behind("layers.core", "Add", tfkit) is None
    assert table.class_behind("activations", "ReLU", tfkit)(max_value=1.0)(3.0) == 1.0


def test_bases_of_layers():
    layers = tfkit.layers
    assert isinstance(layers.Conv1D(1, 1), served("BaseConv"))
    assert isinstance(layers.MaxPooling2D(), served("BasePooling"))
    assert isinstance(layers.GlobalAveragePooling1D(), served("BaseGlobalPooling"))
    assert issubclass(layers.Add, served("Merge"))
    assert not isinstance(layers.Dense(1), served("BaseConv"))


def dropping_cell(keras, base):
    class Cell(base, keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.state_size = self.output_size = 40
            self.dropout, self.recurrent_dropout = 0.5, 0.25
            self.seed_generator = keras.random.SeedGenerator(3)

        def call(self, inputs, states, training=False):
            if training:
                inputs = inputs * self.get_dropout_mask(inputs)
                return inputs, [states[0] + self.get_recurrent_dropout_mask(states[0])]
            return inputs, [states[0]]

    return keras.layers.RNN(Cell(), return_sequences=True, return_state=True)


@pytest.mark.parametrize("compiled", [False, True])
def test_masks_of_cells_are_the_same_in_all_steps(compiled):
    layer = dropping_cell(tfkit, served("DropoutRNNCell"))
    call = tf.function(layer) if compiled else layer
    x = np.ones((2, 5, 40), "float32")
    outputs, state = (np.asarray(each) for each in call(x, training=True))
    assert set(outputs.ravel()) == {0.0, 2.0}
    assert (outputs == outputs[:, :1]).all()
    np.testing.assert_allclose(np.unique(state), [0, 5 / 0.75], rtol=1e-6)
    assert (np.asarray(call(x, training=True)[0]) != outputs).any()
    assert (np.asarray(call(x)[0]) == 1).all()


def test_masks_of_cells_have_the_values_of_keras():
    layer = dropping_cell(keras, keras.src.layers.rnn.dropout_rnn_cell.DropoutRNNCell)
    outputs, state = layer(np.ones((2, 5, 40), "float32"), training=True)
    assert set(np.asarray(outputs).ravel()) == {0.0, 2.0}
    np.testing.assert_allclose(np.unique(state), [0, 5 / 0.75], rtol=1e-6)


def test_an_activation_that_is_added_is_found_by_its_name():
    try:
        served("ALL_OBJECTS_DICT")["tanh_of_ncps"] = lambda x: 2.0 * tf.tanh(x)
        layer = tfkit.layers.Activation("tanh_of_ncps")
        np.testing.assert_allclose(layer(np.ones((1, 1), "float32")), [[2 * np.tanh(1.0)]], 1e-6)
        assert served("ALL_OBJECTS_DICT")["relu"] is tfkit.activations.relu
    finally:
        tfkit.saving.get_custom_objects().pop("tanh_of_ncps")
        del served("ALL_OBJECTS_DICT")["tanh_of_ncps"]


@pytest.mark.parametrize(
    "shape",
    [(1, None), [2, 3], (), None, (-1,), ("a",), (2.0,), 3, (np.int32(2), tf.constant(3), 4)],
)
def test_shapes_are_those_of_keras_or_refused(shape):
    try:
        expected = shape_in_keras(shape)
    except ValueError:
        with pytest.raises(ValueError, match=r"Received: shape="):
            served("standardize_shape")(shape)
    else:
        assert served("standardize_shape")(shape) == expected


@pytest.mark.parametrize("y", [[0, 1, 5], [[0], [1]], [[1.0, 0], [0, 1]], [0.0, 2.0]])
def test_weights_of_classes_are_those_of_keras(y):
    weights = {0: 2.0, 1: 3.0, 2: 0.5}
    function = data_adapter_utils.class_weight_to_sample_weights
    expected = function(np.array(y), {**weights, 5: 1.0})
    found = served("class_weight_to_sample_weights")(np.array(y), weights)
    np.testing.assert_array_equal(found, expected)
    traced = tf.function(lambda y: served("class_weight_to_sample_weights")(y, weights))
    np.testing.assert_array_equal(traced(tf.constant(y)), expected)


def test_masks_are_read_and_set():
    x = tfkit.layers.Embedding(3, 2, mask_zero=True)(np.array([[1, 0]]))
    np.testing.assert_array_equal(served("get_keras_mask")(x), [[True, False]])
    y = tf.ones((1, 2))
    assert served("get_keras_mask")(y) is None
    served("set_keras_mask")(y, tf.constant([[True, True]]))
    assert mask_in_keras(y) is served("get_keras_mask")(y) is not None


def test_specs_of_a_function():
    spec = served("compute_output_spec")(lambda x: tfkit.ops.sum(x, axis=1), tfkit.Input((4, 5)))
    assert spec.shape == (None, 5)
    assert served("any_symbolic_tensors")((spec,))
    assert not served("in_tf_graph")()
    assert served("standardize_data_format")(None) == "channels_last"
    assert served("no_automatic_dependency_tracking")(len) is len
    assert served("in_grain_data_pipeline")() is False
    assert served("smart_resize") is tfkit.preprocessing.image.smart_resize


@tfkit.saving.register_keras_serializable("stand_in")
class NotesTheMode(tfkit.layers.Layer):
    modes = []

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.modes.append(served("in_safe_mode")())

    def call(self, x):
        return x


def test_objects_of_a_file_are_made_in_safe_mode(tmp_path):
    NotesTheMode.modes.clear()
    model = tfkit.Sequential([tfkit.Input((1,)), NotesTheMode()])
    model.save(tmp_path / "m.keras")
    tfkit.models.load_model(tmp_path / "m.keras")
    assert NotesTheMode.modes == [None, True]
    with served("SafeModeScope")(True):
        assert served("in_safe_mode")()
    with pytest.raises(ValueError, match="safe_mode=False"), served("SafeModeScope")(False):
        pass


@pytest.mark.parametrize("writer", [StoreInKeras, table.NAMES["H5IOStore"].what])
@pytest.mark.parametrize("reader", [StoreInKeras, table.NAMES["H5IOStore"].what])
def test_stores_of_either_are_read_by_both(writer, reader, tmp_path):
    values = tf.constant([1.0, 2.5], "bfloat16").numpy()
    store = writer(str(tmp_path / "a.h5"), mode="w")
    store.make("lora")["rank"] = np.array(4)
    store.make("lora/1")["a"] = values
    store.close()
    store = reader(str(tmp_path / "a.h5"), mode="r")
    assert int(store.get("lora")["rank"][()]) == 4
    np.testing.assert_array_equal(np.asarray(store.get("lora/1")["a"]), values)
    assert not len(store.get("nothing"))
    store.close()
    with pytest.raises(ValueError, match="no archives"):
        served("H5IOStore")(tmp_path / "a.h5", archive=object())
