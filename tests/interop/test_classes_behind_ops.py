"""The classes behind ops, and the calls of a model that libraries read: beside Keras's own."""

import inspect

import keras
import numpy as np
import pytest
from keras.src.layers.attention import multi_head_attention
from keras.src.layers.core import einsum_dense
from keras.src.ops import image, linalg, math, nn, numpy, operation_utils
from keras.src.ops.operation import Operation

import tfkit
from tfkit.src.files.interop.stand_in import equations, graphs, table
from tfkit.src.ops import classes

ABSENT = {"SegmentReduction"}  # A base class.
CLASSES = {
    name: cls
    for module in (numpy, nn, image, linalg, math)
    for name, cls in vars(module).items()
    if isinstance(cls, type) and issubclass(cls, Operation) and cls.__module__ == module.__name__
}
X = np.random.default_rng(0).normal(size=(2, 4, 3)).astype("float32")


def names(function):
    parameters = inspect.signature(function).parameters.values()
    return [it.name for it in parameters if it.name not in ("self", "name", "kwargs")]


@pytest.mark.parametrize("name", sorted(set(CLASSES) - ABSENT))
def test_each_class_has_the_options_of_keras(name):
    cls = table.class_behind("ops.numpy", name, tfkit)
    expected = set(names(CLASSES[name].__init__)) - {
        "rms_scaling"
    }  # Older than `rms_normalization`.
    assert set(classes.options_of(cls.function).parameters) == expected


@pytest.mark.parametrize(
    ("name", "options", "arguments"),
    [
        ("Add", {}, (X, 2 * X)),
        ("Sum", {"axis": 1, "keepdims": True}, (X,)),
        ("Transpose", {"axes": (0, 2, 1)}, (X,)),
        ("Einsum", {"subscripts": "abc,abd->cd"}, (X, X)),
        ("Clip", {"x_min": -0.5, "x_max": 0.5}, (X,)),
        ("Pad", {"pad_width": ((0, 0), (1, 1), (0, 0))}, (X,)),
        ("Concatenate", {"axis": 1}, ([X, X],)),
        ("Average", {"axis": 0}, (X, np.abs(X))),
        ("ExtractPatches", {"size": 2}, (X[None],)),
    ],
)
def test_an_instance_computes_what_keras_computes(name, options, arguments):
    ours, theirs = table.class_behind("ops", name, tfkit)(**options), CLASSES[name](**options)
    np.testing.assert_allclose(ours(*arguments), theirs(*arguments), rtol=1e-6)
    for option, value in options.items():
        assert getattr(ours, option) == value
    assert isinstance(ours, tfkit.Operation)


def of_ops(keras):
    ops = keras.ops
    x, y = keras.Input((4, 3)), keras.Input((4, 3))
    z = ops.concatenate([x + y, x * 2.0, -y, x / 3.0, abs(y) - 1.0], axis=1)
    z = ops.transpose(z, (0, 2, 1))[:, :2] @ ops.reshape(ops.maximum(z, 0.0), (-1, 20, 3))
    z = ops.clip(z, x_min=-1.0, x_max=1.0)
    z = ops.einsum("abc,acd->abd", z, ops.swapaxes(z, 1, 2))
    z = keras.layers.Dense(3, name="dense")(ops.mean(z, axis=1, keepdims=True))
    return keras.Model([x, y], [ops.sum(z, axis=-1), ops.relu(z)])


def seen(model, nodes_by_depth):
    found = []
    for depth, nodes in sorted(nodes_by_depth.items(), reverse=True):
        for node in nodes:
            operation = node.operation
            keys = ("axis", "axes", "keepdims", "x_min", "x_max", "subscripts", "newshape", "units")
            options = {key: getattr(operation, key) for key in keys if hasattr(operation, key)}
            if isinstance(options.get("axis"), list) and len(options["axis"]) == 1:
                (options["axis"],) = options["axis"]  # Keras's reductions have a list.
            others = [arg for arg in node.arguments.args if isinstance(arg, (int, float))]
            count = len(node.arguments.keras_tensors)
            shapes = [tuple(tensor.shape) for tensor in node.outputs]
            name = type(operation).__name__
            found.append((depth, name, str(sorted(options.items())), others, count, shapes))
    return sorted(found, key=str)


def test_the_calls_of_a_model_are_those_of_keras():
    ours, theirs = of_ops(tfkit), of_ops(keras)
    expected = seen(theirs, theirs._nodes_by_depth)
    assert seen(ours, graphs.nodes_by_depth(ours)) == expected
    nodes = [node for nodes in graphs.nodes_by_depth(ours).values() for node in nodes]
    made = [tensor.name for node in nodes for tensor in node.outputs]
    assert len(set(made)) == len(made)


def test_a_converter_runs_the_calls_on_other_values():
    """Each call by its operation and arguments, on values by the name of the tensor: as converters do."""
    model = of_ops(tfkit)
    values = dict(zip([tensor.name for tensor in model.inputs], (X, 2 * X), strict=True))
    for _, nodes in sorted(graphs.nodes_by_depth(model).items(), reverse=True):
        for node in nodes:
            if not node.is_input:
                known = {id(tensor): values[tensor.name] for tensor in node.input_tensors}
                args, kwargs = node.arguments.fill_in(known)
                results = tfkit.tree.flatten(node.operation(*args, **kwargs))
                for tensor, result in zip(node.outputs, results, strict=True):
                    values[tensor.name] = result
    for tensor, expected in zip(model.outputs, model([X, 2 * X]), strict=True):
        np.testing.assert_allclose(values[tensor.name], expected, rtol=1e-5, atol=1e-6)


def test_a_sequential_model_is_read_as_a_functional_one():
    model = tfkit.Sequential([tfkit.layers.Dense(2, name="a"), tfkit.layers.ReLU()])
    assert graphs.functional(model) is None
    model.build((None, 3))
    inner = graphs.functional(model)
    assert [layer.name for layer in inner.layers[1:]] == [layer.name for layer in model.layers]
    np.testing.assert_array_equal(inner(X[0]), model(X[0]))
    assert not hasattr(model.layers[0], "_functional")


@pytest.mark.parametrize(
    ("equation", "bias", "inputs", "outputs"),
    [
        ("abc,cd->abd", "d", (None, 3, 4), (3, 8)),
        ("...x,xy->...y", "y", (None, 3, 4), 8),
        ("ab...,bc->ac...", "c", (None, 3, 4, 5), (8,)),
        ("abc,cd->abd", None, (None, None, 4), (None, 8)),
        ("abc,cde->abde", "d", (None, 3, 4), (3, 7, 8)),
    ],
)
def test_shapes_of_an_equation(equation, bias, inputs, outputs):
    expected = einsum_dense._analyze_einsum_string(equation, bias, inputs, outputs)
    assert equations._analyze_einsum_string(equation, bias, inputs, outputs) == expected
    layer = tfkit.layers.EinsumDense(equation, outputs, bias_axes=bias)
    assert list(layer.compute_output_shape(inputs)) == expected[2]


@pytest.mark.parametrize(
    ("equation", "shape"),
    [
        ("abc,cd->abd", (2, 3, 4)),
        ("abcd,cde->abe", (2, 3, 4, 5)),
        ("...x,xyz->...zy", (2, 3, 4)),
        ("ab...,bc->ac...", (2, 3, 4)),
        ("ab,bc->ca", (2, 3)),
        ("abc,dc->abd", (2, 3, 4)),
    ],
)
def test_scales_of_an_equation(equation, shape):
    """Axes of size 1 are alike: the scales that come out are compared, not the transpositions."""
    scales = []
    for function in (
        equations._analyze_quantization_info,
        einsum_dense._analyze_quantization_info,
    ):
        info = function(equation, shape)
        scale = np.arange(np.prod(shape), dtype="float32").reshape(shape)
        scale = scale.max(axis=tuple(info[0]), keepdims=True).transpose(info[2])
        for axis in info[4]:
            scale = np.expand_dims(scale, axis)
        scales.append((np.squeeze(scale, tuple(info[6])), info[8], info[0], info[1]))
    np.testing.assert_array_equal(scales[0][0], scales[1][0])
    assert scales[0][1:] == scales[1][1:]


@pytest.mark.parametrize(("rank", "axes"), [(4, (1,)), (5, (1, 2)), (5, (2,)), (6, (1, 3))])
def test_equations_of_attention(rank, axes):
    expected = multi_head_attention._build_attention_equation(rank, axes)
    assert equations._build_attention_equation(rank, axes) == expected


@pytest.mark.parametrize("counts", [(2, 1, 2), (1, 1, 2), (2, 2, 1), (3, 2, 2)])
def test_equations_of_projections(counts):
    expected = multi_head_attention._build_proj_equation(*counts)
    assert equations._build_proj_equation(*counts) == expected


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ((None, 8, 9, 3), {"kernel_size": (3, 2), "strides": 2, "padding": "same"}),
        ((None, None, 9, 3), {"kernel_size": (3, 2), "dilation_rate": (2, 1)}),
        ((None, 9, 3), {"kernel_size": (3,), "padding": "causal", "dilation_rate": 2}),
    ],
)
def test_shapes_of_convolutions(shape, options):
    expected = operation_utils.compute_conv_output_shape(shape, 5, **options)
    assert equations.compute_conv_output_shape(shape, 5, **options) == tuple(expected)


@pytest.mark.parametrize("layer", ["Dense", "Embedding", "Conv1D"])
def test_the_variable_itself_is_read_and_replaced(layer):
    arguments = {"Dense": (2,), "Embedding": (3, 2), "Conv1D": (2, 1)}[layer]
    layer = getattr(tfkit.layers, layer)(*arguments)
    assert not hasattr(layer, "_kernel")
    assert not hasattr(layer, "_embeddings")
    layer.build((None, 4, 3))
    name = "embeddings" if hasattr(layer, "embeddings") else "kernel"
    variable = getattr(layer, f"_{name}")
    assert variable is getattr(layer, name)
    layer.enable_lora(1)
    assert getattr(layer, f"_{name}") is variable
    assert getattr(layer, name) is not variable
    assert sum(weight is variable for weight in layer.weights) == 1
