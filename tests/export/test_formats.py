"""StableHLO, LiteRT and ONNX files, run by those who read them."""

import functools
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.compiler.tf2xla.ops import gen_xla_ops

import tfkit
from tfkit import layers
from tfkit.src.export import formats


@pytest.fixture(scope="module")
def model():
    """Convolution, batch normalization, attention and an exact GELU."""
    x = tfkit.Input((8, 3), name="x")
    hidden = layers.BatchNormalization()(layers.Conv1D(4, 3, activation="gelu")(x))
    hidden = layers.MultiHeadAttention(2, 2)(hidden, hidden)
    hidden = layers.Dropout(0.5)(layers.GlobalAveragePooling1D()(hidden))
    model = tfkit.Model(x, layers.Dense(2, activation="softmax", name="y")(hidden))
    model.compile("sgd", "mse")
    model.fit(np.random.rand(8, 8, 3), np.random.rand(8, 2), verbose=0)
    return model


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(7, 8, 3)).astype("float32")


@pytest.fixture(scope="module")
def recurrent():
    """Loops: of a trace, and of a user's `tf.while_loop`."""
    x = tfkit.Input((8, 3), name="x")
    hidden = layers.GRU(3)(layers.LSTM(4, return_sequences=True)(x))
    halved = layers.Lambda(
        lambda x: tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x / 2), (0, x))[1]
    )(hidden)
    return tfkit.Model(x, layers.Dense(2, name="y")(halved))


@pytest.mark.parametrize("kind", ["model", "recurrent"])
def test_stablehlo_text_is_run_by_xla(kind, rows, tmp_path, request):
    model = request.getfixturevalue(kind)
    file = tmp_path / "model.mlir"
    model.export(
        file, format="stablehlo", verbose=False, input_signature=[tf.TensorSpec([7, 8, 3])]
    )
    text = file.read_text()
    assert "func.func @main(%arg0: tensor<7x8x3xf32>" in text

    @tf.function(jit_compile=True)
    def run(x):
        options = {"platforms": ["CPU"], "dim_args_spec": [], "function_list": []}
        options |= {"disabled_checks": [], "has_token_input_output": False}
        return gen_xla_ops.xla_call_module([x], 9, text, [[7, 2]], [tf.float32], **options)

    np.testing.assert_allclose(run(tf.constant(rows))[0], model(rows), rtol=1e-5, atol=1e-5)


def test_stablehlo_has_one_row_unless_asked(model, tmp_path, capsys):
    model.export(tmp_path / "model.mlir", format="stablehlo")
    assert "func.func @main(%arg0: tensor<1x8x3xf32>" in (tmp_path / "model.mlir").read_text()
    assert capsys.readouterr().out == f"Saved artifact at '{tmp_path / 'model.mlir'}'.\n"


def test_arguments_of_stablehlo_come_in_the_order_of_the_model(tmp_path):
    inputs = [tfkit.Input((2,), name="z"), tfkit.Input((3,), name="a")]
    outputs = [layers.Dense(5, name="y")(inputs[0]), layers.Dense(4, name="b")(inputs[1])]
    tfkit.Model(inputs, outputs).export(tmp_path / "model.mlir", format="stablehlo", verbose=False)
    text = (tmp_path / "model.mlir").read_text()
    (line,) = (line for line in text.splitlines() if "func.func @main" in line)
    assert re.findall(r"tensor<1x(\d)xf32>", line) == ["2", "3", "5", "4"]


def test_litert_is_run_by_its_interpreter(model, rows, tmp_path):
    interpreter = pytest.importorskip("ai_edge_litert.interpreter")
    file = tmp_path / "model.tflite"
    model.export(file, format="litert", verbose=False)
    loaded = interpreter.Interpreter(model_path=str(file))
    run = loaded.get_signature_runner("serving_default")
    for size in (1, 7):
        found = run(x=rows[:size])
        np.testing.assert_allclose(found["y"], model(rows[:size]), rtol=1e-5, atol=1e-5)


def recurrent_model(layer, steps=None, batch_size=None):
    x = tfkit.Input((steps, 3), batch_size=batch_size, name="x")
    return tfkit.Model(x, layers.Dense(2, name="y")(layer(layers.Masking()(x))))


RECURRENT = {
    "LSTM": lambda: recurrent_model(layers.LSTM(4)),
    "LSTM of five steps": lambda: recurrent_model(layers.LSTM(4), 5),
    "GRU": lambda: recurrent_model(layers.GRU(4, return_sequences=True)),
    "unrolled GRU": lambda: recurrent_model(layers.GRU(4, unroll=True), 5),
    "SimpleRNN": lambda: recurrent_model(layers.SimpleRNN(4, recurrent_dropout=0.5)),
    "cells": lambda: recurrent_model(layers.RNN([layers.LSTMCell(3), layers.GRUCell(4)]), 5),
    "Bidirectional": lambda: recurrent_model(
        layers.Bidirectional(layers.LSTM(4, return_sequences=True))
    ),
    "stateful": lambda: recurrent_model(layers.LSTM(4, stateful=True), None, 2),
    "stateful Bidirectional": lambda: recurrent_model(
        layers.Bidirectional(layers.GRU(4, stateful=True, unroll=True)), 5, 2
    ),
}


@pytest.mark.parametrize("kind", RECURRENT)
def test_litert_runs_recurrent_models(kind, tmp_path):
    """For batches and times of any size, masked; a stateful one goes on from where the last run ended."""
    interpreter = pytest.importorskip("ai_edge_litert.interpreter")
    model, file = RECURRENT[kind](), tmp_path / "model.tflite"
    batch_size, steps, _ = model.inputs[0].shape
    random = np.random.default_rng(0)
    shapes = [(batch_size or rows, steps or rows + 2, 3) for rows in (1, 3)]
    batches = [random.normal(size=shape).astype("float32") for shape in shapes]
    for batch in batches:
        batch[:, -1] = 0
    model(batches[0])
    model.export(file, format="litert", verbose=False)
    loaded = interpreter.Interpreter(model_path=str(file))
    run = loaded.get_signature_runner("serving_default")
    for batch in batches:
        np.testing.assert_allclose(run(x=batch)["y"], model(batch), rtol=1e-5, atol=1e-5)
    if batch_size is not None:
        with pytest.raises(RuntimeError, match="failed to prepare"):
            run(x=batches[0][:1])


def test_litert_says_which_option_helps(tmp_path):
    class Collected(tfkit.Model):
        def call(self, x):
            array = tf.TensorArray(x.dtype, 5, element_shape=[None, 3])
            body = lambda step, array: (step + 1, array.write(step, x[:, step]))  # noqa: E731
            return tf.while_loop(lambda step, _: step < 5, body, (0, array))[1].stack()

    class Inverse(tfkit.Model):
        def call(self, x):
            return tf.linalg.inv(x)

    file = tmp_path / "model.tflite"
    collected, inverse = Collected(), Inverse()
    collected(np.ones((2, 5, 3)))
    inverse(np.eye(2)[None])
    message = r"loop with a `tf.TensorArray`.*`enable_select_tf_ops=True`.*`unroll=True`"
    with pytest.raises(RuntimeError, match=message):
        collected.export(file, format="litert")
    with pytest.raises(RuntimeError, match=r"MatrixInverse\..*`enable_select_tf_ops=True`"):
        inverse.export(file, format="litert")
    half = tfkit.Sequential([tfkit.Input((3,)), layers.Dense(2, dtype="float16")])
    with pytest.raises(RuntimeError, match=r"MatMul in float16 or bfloat16\. .*dtype='float32'"):
        half.export(file, format="litert")
    assert not list(tmp_path.iterdir())
    collected.export(file, format="litert", verbose=False, enable_select_tf_ops=True)
    assert b"FlexTensorListSetItem" in file.read_bytes()


def test_litert_takes_options_of_the_converter(model, tmp_path):
    quantized = tmp_path / "small.tflite"
    wide = tfkit.Sequential([tfkit.Input((300,)), layers.Dense(300)])
    wide.export(quantized, format="litert", verbose=False, optimizations=[tf.lite.Optimize.DEFAULT])
    assert quantized.stat().st_size < 300 * 300 * 2
    with pytest.raises(TypeError, match="has no attribute 'optimisations'"):
        model.export(tmp_path / "m.tflite", format="litert", optimisations=[])
    with pytest.raises(ValueError, match=r"ends in '\.tflite'"):
        model.export(tmp_path / "m", format="litert")


def test_litert_with_operations_of_tensorflow(tmp_path):
    class Inverse(tfkit.Model):
        def call(self, x):
            return tf.linalg.inv(x)

    inverse = Inverse()
    inverse(np.eye(2)[None])
    file = tmp_path / "inverse.tflite"
    inverse.export(file, format="litert", verbose=False, enable_select_tf_ops=True)
    assert b"FlexMatrixInverse" in file.read_bytes()


def test_onnx_is_run_by_its_runtime(model, rows, tmp_path):
    pytest.importorskip("tf2onnx")
    runtime = pytest.importorskip("onnxruntime")
    file = tmp_path / "model.onnx"
    model.export(file, format="onnx", verbose=False)
    producer = pytest.importorskip("onnx").load(file)
    assert (producer.producer_name, producer.producer_version) == ("tfkit", tfkit.__version__)
    session = runtime.InferenceSession(file)
    assert [node.name for node in session.get_inputs()] == ["x"]
    for size in (1, 7):
        (found,) = session.run(["y"], {"x": rows[:size]})
        np.testing.assert_allclose(found, model(rows[:size]), rtol=1e-5, atol=1e-5)


def test_openvino_runs_what_was_verified(model, rows, tmp_path):
    openvino = pytest.importorskip("openvino", reason="`pip install openvino`")
    model.export(tmp_path / "model.xml", format="openvino", verbose=False)
    options = {"INFERENCE_PRECISION_HINT": "f32"}
    run = openvino.Core().compile_model(str(tmp_path / "model.xml"), "CPU", options)
    for size in (1, 7):
        found = run({"x": rows[:size]})["y"]
        np.testing.assert_allclose(found, model(rows[:size]), rtol=1e-5, atol=1e-5)


def test_openvino_says_what_it_takes(model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(ValueError, match=r"ends in '.xml'. Received: 'model'"):
        model.export("model", format="openvino")
    with pytest.raises(ImportError, match="pip install openvino"):
        model.export(tmp_path / "model.xml", format="openvino")
    assert not list(tmp_path.iterdir())


def test_onnx_has_what_it_lacks_as_functions(tmp_path):
    """The exact GELU, SELU and CELU, and the order of numbers, need operations that are not ONNX's."""
    pytest.importorskip("tf2onnx")
    runtime = pytest.importorskip("onnxruntime")
    numbers = [-np.inf, -3e38, -20, -1.5, -1, -0.9, -1e-3, -1e-30, -1e-40, -0.0, 0.0, 1e-45, 1e-38]
    numbers += [2.0**-126, 1e-6, 0.3, 0.99999994, 1, 1.9999999, 2, 50, 3e38, np.inf, np.nan]
    found_by = {
        "erfc": tf.math.erfc, "expm1": tf.math.expm1, "log1p": tf.math.log1p, "selu": tfkit.ops.selu,
        "bits": functools.partial(tf.bitcast, type=tf.int32), "argsort": tfkit.ops.argsort,
        "argmax": functools.partial(tfkit.ops.argmax, axis=-1), "signbit": tfkit.ops.signbit,
    }  # fmt: skip

    class Found(layers.Layer):
        def call(self, x):
            return {name: function(x) for name, function in found_by.items()}

    x = tfkit.Input((len(numbers),))
    tfkit.Model(x, Found()(x)).export(tmp_path / "model.onnx", format="onnx", verbose=False)
    session = runtime.InferenceSession(tmp_path / "model.onnx")
    rows = np.array(
        [numbers, numbers[::-1], np.random.default_rng(0).permutation(numbers)], "float32"
    )
    names = [output.name for output in session.get_outputs()]
    results = session.run(None, {session.get_inputs()[0].name: rows})
    expected = Found()(tf.constant(rows))
    assert sorted(names) == sorted(expected)
    for name, result in zip(names, results, strict=True):
        exact = result.dtype.kind in "ib"
        np.testing.assert_allclose(
            result,
            expected[name],
            rtol=0 if exact else 3e-7,
            atol=0 if exact else 1e-7,
            err_msg=name,
        )


def test_inputs_of_onnx_come_in_the_order_of_the_model(tmp_path):
    pytest.importorskip("tf2onnx")
    runtime = pytest.importorskip("onnxruntime")
    inputs = [tfkit.Input((2,), name="z"), tfkit.Input((3,), name="a")]
    model = tfkit.Model(inputs, layers.Concatenate()(inputs))
    model.export(tmp_path / "model.onnx", format="onnx", verbose=False)
    session = runtime.InferenceSession(tmp_path / "model.onnx")
    assert [(each.name, each.shape[1]) for each in session.get_inputs()] == [("z", 2), ("a", 3)]
    ones, zeros = np.ones((1, 2), "float32"), np.zeros((1, 3), "float32")
    (result,) = session.run(None, {"z": ones, "a": zeros})
    assert result.tolist() == [[1, 1, 0, 0, 0]]


def test_onnx_says_what_it_cannot(tmp_path, monkeypatch):
    worker = tmp_path / "worker.py"
    worker.write_text("raise SystemExit('No module named tf2onnx')")
    monkeypatch.setattr(formats, "_ONNX_WORKER", worker)
    model = tfkit.Sequential([tfkit.Input((2,)), layers.Dense(1)])
    with pytest.raises(
        ImportError, match=r"to ONNX: No module named tf2onnx\..*pip install tf2onnx onnx"
    ):
        model.export(tmp_path / "model.onnx", format="onnx")
    assert [path.name for path in tmp_path.iterdir()] == ["worker.py"]


@pytest.mark.parametrize(
    ("name", "format", "expected"),
    [
        ("m", None, "tf_saved_model"),
        ("m.v1.2", None, "tf_saved_model"),
        ("m.onnx", None, "onnx"),
        ("m.ONNX", None, "onnx"),
        ("m.tflite", None, "litert"),
        ("m.tflite", "tflite", "litert"),
        ("m.xml", None, "openvino"),
        ("m.pt2", None, "torch"),
        ("m.mlir", None, "stablehlo"),
        ("m.mlir", "stablehlo", "stablehlo"),
        ("m.txt", "stablehlo", "stablehlo"),
        ("m", "onnx", "onnx"),
        ("m.onnx/", None, "onnx"),
    ],
)
def test_the_extension_says_the_format(name, format, expected):
    assert formats.format_of(name, format) == expected
    assert formats.format_of(Path(name), format) == expected


@pytest.mark.parametrize("format", ["tf_saved_model", "litert", "tflite", "stablehlo"])
def test_a_format_that_the_extension_contradicts_is_refused(format, model, tmp_path):
    sentence = "The extension '.onnx' means the format 'onnx'. Received: format='" + format
    with pytest.raises(ValueError, match=re.escape(sentence)):
        model.export(tmp_path / "m.onnx", format=format)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("name", ["m.h5", "m.keras", "m.weights.h5", "m.safetensors"])
def test_extensions_of_saved_files_are_refused(name, model, tmp_path):
    with pytest.raises(
        ValueError, match=r"files that `model.save\(\)` writes, which are not exports"
    ):
        model.export(tmp_path / name)
    assert not [*tmp_path.iterdir()]


def test_an_export_follows_its_extension(model, tmp_path):
    model.export(tmp_path / "m.tflite", verbose=False)
    assert (tmp_path / "m.tflite").read_bytes()[4:8] == b"TFL3"
    model.export(tmp_path / "n.tflite", format="tflite", verbose=False)
    assert (tmp_path / "n.tflite").is_file()
    model.export(tmp_path / "m.mlir", verbose=False)
    assert "stablehlo" in (tmp_path / "m.mlir").read_text()
    model.export(tmp_path / "m", verbose=False)
    assert (tmp_path / "m" / "saved_model.pb").is_file()


def test_unknown_formats_and_options_are_refused(model, tmp_path):
    with pytest.raises(ValueError, match="Unrecognized format='h5'"):
        model.export(tmp_path / "m", format="h5")
    with pytest.raises(TypeError, match="optimise"):
        model.export(tmp_path / "m", optimise=True)
