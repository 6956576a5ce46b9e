"""What libraries do in subclasses of Keras's layers: the same as in Keras, and with the same numbers."""

import keras
import numpy as np
import pytest
from keras.src.layers.convolutional.base_conv import BaseConv as ConvInKeras
from keras.src.layers.merging.base_merge import Merge as MergeInKeras

import tfkit
from tfkit.src.files.interop.stand_in import table

ROWS = np.random.default_rng(0).normal(size=(2, 5, 4)).astype("float32")
BOTH = (keras, tfkit)


def merge_of(framework):
    return MergeInKeras if framework is keras else table.named("Merge", tfkit)


def same(make, *inputs):
    """Compares what a function of the framework makes of the inputs."""
    results = []
    for framework in BOTH:
        framework.utils.set_random_seed(3)
        results.append(np.asarray(make(framework)(*inputs)))
    np.testing.assert_allclose(results[1], results[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["Merge", "Add", "Subtract", "Average"])
def test_a_merging_layer_with_a_function_of_its_own(name):
    def make(framework):
        base = merge_of(framework) if name == "Merge" else getattr(framework.layers, name)

        class Weighted(base):
            def _merge_function(self, inputs):
                return inputs[0] + 3.0 * inputs[1]

        return Weighted()

    same(make, [ROWS, ROWS[:, :1]])


def test_a_base_of_merging_layers_before_the_layer():
    """A mixin over `Merge` calls the layer that comes next: also `Dot` and `Concatenate`."""

    def make(framework, name):
        class Doubled(merge_of(framework)):
            def call(self, inputs):
                return super().call([2.0 * x for x in inputs])

        class Layer(Doubled, getattr(framework.layers, name)):
            pass

        return Layer(axes=-1) if name == "Dot" else Layer()

    for name in ("Dot", "Concatenate", "Multiply", "Maximum"):
        same(lambda framework, name=name: make(framework, name), [ROWS, ROWS])


# Layers whose output shapes libraries ask for in `build`, to build what follows in `call`.
ASKED = {
    "Activation": ("tanh",),
    "ReLU": (),
    "Softmax": (),
    "Dropout": (0.0,),
    "Dense": (3,),
    "EinsumDense": ("abc,cd->abd", (None, 3)),
    "Conv1D": (3, 2),
    "DepthwiseConv1D": (2,),
    "BatchNormalization": (),
    "LayerNormalization": (),
    "UnitNormalization": (),
    "MaxPooling1D": (2,),
    "GlobalAveragePooling1D": (),
    "Reshape": ((20,),),
    "Permute": ((2, 1),),
    "ZeroPadding1D": (1,),
    "UpSampling1D": (2,),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_layer_asks_for_its_output_shape_while_it_is_built(name):
    """And builds the layer that its `call` applies afterwards; nothing is built twice."""

    def make(framework):
        class Followed(getattr(framework.layers, name)):
            def __init__(self, *args):
                super().__init__(*args)
                self.after = framework.layers.Dense(2)
                self.built = False

            def build(self, input_shape):
                super().build(input_shape)
                self.shape_after = self.compute_output_shape(input_shape)
                assert not self.after.built
                self.after.build(self.shape_after)

            def call(self, inputs, **options):
                outputs = super().call(inputs, **options)
                shape = self.after.kernel.shape if self.after.built else None
                assert shape is None or shape[0] == outputs.shape[-1]
                return outputs if shape is None else self.after(outputs)

        layer = Followed(*ASKED[name])
        return layer

    same(make, ROWS)


def test_attention_asks_for_its_axes_before_it_is_built():
    for axes in (None, 1, (1, 2)):
        found = [
            framework.layers.MultiHeadAttention(2, 3, attention_axes=axes)._attention_axes
            for framework in BOTH
        ]
        assert found[0] == found[1]


@pytest.mark.parametrize("name", ["SimpleRNN", "LSTM", "GRU"])
def test_a_recurrent_layer_with_a_cell_of_its_own(name):
    """The subclass calls the constructor of `RNN`, above that of `LSTM`."""

    def make(framework):
        base = getattr(framework.layers, name)

        class Own(base):
            def __init__(self, units, **options):
                cell = getattr(framework.layers, f"{name}Cell")(units)
                super(base, self).__init__(cell, **options)
                self.use_cudnn = False  # `call` of Keras reads it.

        return Own(3, return_sequences=True)

    same(make, ROWS)


@pytest.mark.parametrize("name", ["SimpleRNNCell", "LSTMCell", "GRUCell"])
@pytest.mark.parametrize("implementation", [1, 2])
def test_masks_of_a_cell_for_a_step_of_its_own(name, implementation):
    found = []
    for framework in BOTH:
        options = {} if name == "SimpleRNNCell" else {"implementation": implementation}
        cell = getattr(framework.layers, name)(3, dropout=0.5, recurrent_dropout=0.25, **options)
        x, state = framework.ops.ones((2, 40)), framework.ops.ones((2, 40))
        masks = [cell.get_dropout_mask(x), cell.get_recurrent_dropout_mask(state)]
        each = framework.tree.flatten(masks)
        found.append((len(each), [sorted(set(np.asarray(it).ravel().tolist())) for it in each]))
        plain = getattr(framework.layers, name)(3)
        assert plain.get_dropout_mask(x) is None
    assert found[0][0] == found[1][0]
    np.testing.assert_allclose(found[1][1], found[0][1], rtol=1e-6)


@pytest.mark.parametrize("framework", BOTH)
def test_a_weight_gets_another_name(framework):
    layer = framework.layers.Dense(2)
    layer.build((None, 3))
    layer.kernel._name = "my_kernel"
    assert layer.kernel.name == "my_kernel"
    layer.kernel._path = layer.kernel._path.replace("/kernel", "/my_kernel")
    assert layer.kernel.path.endswith("/my_kernel")


def test_a_convolution_over_the_base_class(tmp_path):
    """The subclass passes its rank; its configuration has the arguments of the base class."""
    bases = {keras: ConvInKeras, tfkit: table.named("BaseConv", tfkit)}
    made = []

    def make(framework):
        class Scaled(bases[framework]):
            def __init__(self, filters, kernel_size, scale=2.0, **options):
                options = {**options, "filters": filters, "kernel_size": kernel_size}
                super().__init__(rank=1, **options)
                self.scale = scale

            def call(self, inputs):
                return self.scale * super().call(inputs)

            def get_config(self):
                return {**super().get_config(), "scale": self.scale}

        layer = Scaled(3, 2, activation="relu", scale=3.0)
        again = Scaled.from_config(layer.get_config())
        made.append(layer.get_config())
        assert (again.scale, again.filters, tuple(again.kernel_size)) == (3.0, 3, (2,))
        return layer

    same(make, ROWS)
    assert "rank" not in made[1]
    assert made[0].keys() >= {"filters", "kernel_size", "strides"} <= made[1].keys()
    with pytest.raises(ValueError, match="rank"):
        tfkit.layers.Conv2D(3, 2, rank=1)


def test_attention_that_declares_its_output_shape_by_the_query_alone(tmp_path):
    """The inherited formula does not call the layer, whose parts were built for other values."""

    def make(framework):
        class Fused(framework.layers.MultiHeadAttention):
            def build(self, query_shape, value_shape=None, key_shape=None):
                super().build(query_shape, value_shape or query_shape, key_shape)

            def compute_output_spec(self, query, value=None, key=None, **kwargs):
                return super().compute_output_spec(query=query, value=value, key=key, **kwargs)

            def compute_output_shape(self, query_shape, value_shape, key_shape=None):
                return super().compute_output_shape(query_shape, query_shape, None)

        inputs = [framework.Input((4, width)) for width in (3, 5)]
        model = framework.Model(inputs, Fused(1, 8)(*inputs))
        if framework is keras:
            return model
        model.save(tmp_path / "model.keras")
        return tfkit.models.load_model(tmp_path / "model.keras", custom_objects={"Fused": Fused})

    same(make, [ROWS[:, :4, :3], np.ones((2, 4, 5), "float32")])


def test_attention_declares_its_output_shape_without_a_call():
    shapes = (2, 4, 6), (2, 3, 9)
    for framework in BOTH:
        layer = framework.layers.MultiHeadAttention(2, 3, output_shape=(5, 7))
        layer.build((None, 4, 8), (None, 3, 8))
        assert tuple(layer.compute_output_shape(*shapes)) == (2, 4, 5, 7)
        with pytest.raises(ValueError, match="must be equal"):
            layer.compute_output_shape(*shapes, (2, 5, 9))
