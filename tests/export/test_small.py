"""What is not in an export: optimizer, metrics, seeds, dropout; and frozen ones, and those for XLA."""

import collections

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

import tfkit
from tests.export.models import ROWS, WithTable, floats, masked_lstm, strings
from tfkit import layers
from tfkit.src.export.verification import run_elsewhere


class Coder(tfkit.Model):
    """Big enough that weights count for more than the graph."""

    def __init__(self):
        super().__init__()
        self.encoder = layers.Dense(300)
        self.dropout = layers.Dropout(0.5)
        self.decoder = layers.Dense(500)

    def call(self, x):
        self.add_loss(tf.reduce_sum(x))
        return self.decode(self.encode(x))

    @tfkit.export.endpoint
    def encode(self, x):
        return self.dropout(self.encoder(x))

    @tfkit.export.endpoint(input_signature=[tf.TensorSpec([None, 300], name="code")])
    def decode(self, code):
        return self.decoder(code)


def operations(folder, dtype=None):
    """How often each operation, of a dtype, stands in the functions that signatures call."""
    graph = SavedModel.FromString((folder / "saved_model.pb").read_bytes()).meta_graphs[0].graph_def
    return collections.Counter(
        node.op
        for function in graph.library.function
        if "traced" not in function.signature.name
        for node in function.node_def
        if dtype is None or node.attr["T"].type == dtype.as_datatype_enum
    )


@pytest.fixture(scope="module")
def coder(tmp_path_factory):
    model = Coder()
    model.compile("adam", "mse", metrics=["mae"])
    x = np.random.rand(8, 500).astype("float32")
    model.fit(x, x, verbose=0)
    folder = tmp_path_factory.mktemp("coder") / "model"
    model.export(folder, verbose=False)
    return model, folder, x


def test_files_are_hardly_larger_than_the_weights(coder):
    model, folder, _ = coder
    weights = sum(weight.numpy().nbytes for weight in model.weights)
    files = sum(path.stat().st_size for path in (folder / "variables").iterdir())
    graph = (folder / "saved_model.pb").stat().st_size
    assert files <= 1.05 * weights
    assert graph < 60_000
    assert files + graph <= 1.05 * weights + 60_000


def test_nothing_of_training_is_in_the_graph(coder):
    _, folder, _ = coder
    found = operations(folder)
    assert not [name for name in found if "Random" in name or "Assign" in name or "Select" in name]
    assert found["MatMul"] == 4  # serve has two, encode and decode one each


def test_an_old_export_is_replaced_and_nothing_else(coder, tmp_path):
    model, _, _ = coder
    for _ in range(2):
        model.export(tmp_path / "m", verbose=False)
        assert [path.name for path in tmp_path.iterdir()] == ["m"]
    (tmp_path / "m" / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="is not a SavedModel: it is not replaced"):
        model.export(tmp_path / "m", verbose=False)
    with pytest.raises(FileExistsError, match="is not replaced"):
        model.export(tmp_path / "m" / "notes.txt", verbose=False)
    with pytest.raises(ValueError, match="Expected a folder of this machine"):
        model.export("gs://bucket/model", verbose=False)
    assert (tmp_path / "m" / "notes.txt").read_text() == "mine"


def test_a_failed_export_leaves_the_old_one(coder, tmp_path, monkeypatch):
    model, _, x = coder
    model.export(tmp_path / "m", verbose=False)
    expected = tfkit.export.load(tmp_path / "m")(x)

    def fails(*arguments, **options):
        raise OSError("no space left")

    monkeypatch.setattr(tfkit.src.export.archive.tf.saved_model, "save", fails)
    with pytest.raises(OSError, match="no space"):
        model.export(tmp_path / "m", verbose=False)
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
    np.testing.assert_array_equal(tfkit.export.load(tmp_path / "m")(x), expected)


def convolutions():
    stack = [tfkit.Input((8, 8, 3), name="x")]
    for padding in ("same", "valid"):
        stack += [layers.Conv2D(4, 3, padding=padding, use_bias=False), layers.BatchNormalization()]
        stack += [layers.ReLU(), layers.Dropout(0.5)]
    model = tfkit.Sequential([*stack, layers.Flatten(), layers.Dense(2, name="y")])
    model.compile("sgd", "mse")
    model.fit(floats(8, 8, 3), floats(2), verbose=0)
    return model, floats(8, 8, 3)


@pytest.fixture(scope="module")
def frozen(tmp_path_factory):
    """Models with a loop, a table and batch normalization, frozen: folder, inputs, outputs."""
    base = tmp_path_factory.mktemp("frozen")
    loop, ids, *_ = masked_lstm()
    words = strings(3)
    built = {
        "loop": (loop, {"ids": ids}),
        "table": (WithTable(), {"words": words}),
        "normalization": (convolutions()[0], {"x": floats(8, 8, 3)}),
        "compiled": (
            tfkit.Sequential([tfkit.Input((4,), name="x"), layers.Dense(3)]),
            {"x": floats(4)},
        ),
    }
    for name, (model, inputs) in built.items():
        (array,) = inputs.values()
        expected = model(array).numpy()
        model.export(base / name, verbose=False, freeze=True, jit_compile=name == "compiled")
        built[name] = base / name, inputs, expected
    results = run_elsewhere([(folder, [("serve", inputs)]) for folder, inputs, _ in built.values()])
    return {
        name: (folder, expected, found)
        for (name, (folder, _, expected)), (found,) in zip(built.items(), results, strict=True)
    }


@pytest.mark.parametrize("name", ["loop", "table", "normalization", "compiled"])
def test_frozen_models_give_the_same_and_have_no_variables(frozen, name):
    folder, expected, found = frozen[name]
    assert not isinstance(found, str), found
    ((_, got),) = found.items()
    assert len(got) == ROWS
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)
    assert not {"VarHandleOp", "ReadVariableOp"} & operations(folder).keys()
    assert tf.train.list_variables(str(folder / "variables" / "variables")) == [
        ("_CHECKPOINTABLE_OBJECT_GRAPH", [])
    ]


def test_of_batch_normalization_a_product_and_a_sum_are_left(frozen):
    """They are not folded into the convolution: between them stands what makes no rows right with oneDNN."""
    found = operations(frozen["normalization"][0])
    assert found["Conv2D"] == 2
    assert not {"Rsqrt", "FusedBatchNormV3"} & found.keys()
    of_numbers = operations(frozen["normalization"][0], tf.float32)
    assert (of_numbers["Mul"], of_numbers["AddV2"], of_numbers["Sub"]) == (2, 2, 0)


def test_functions_for_xla_are_marked(frozen, coder, tmp_path):
    model, _, x = coder
    model.export(tmp_path / "m", verbose=False, jit_compile=True)
    ((found,),) = run_elsewhere([(tmp_path / "m", [("serve", {"x": x})])])
    np.testing.assert_allclose(found["output_0"], model(x), rtol=1e-5, atol=1e-5)
    for folder, compiled in ((tmp_path / "m", 1), (coder[1], 0)):
        graph = SavedModel.FromString((folder / "saved_model.pb").read_bytes()).meta_graphs[0]
        marked = [f for f in graph.graph_def.library.function if f.attr["_XlaMustCompile"].b]
        assert len(marked) == compiled


def test_an_endpoint_that_changes_variables_is_not_frozen(tmp_path):
    class Counting(tfkit.Model):
        def __init__(self):
            super().__init__()
            self.calls = self.add_weight(shape=(), initializer="zeros", trainable=False)

        def call(self, x):
            return x + self.calls.assign_add(1.0)

    model = Counting()
    model(np.ones((1, 2)))
    with pytest.raises(ValueError, match=r"Cannot freeze endpoint 'serve': .*AssignAddVariableOp"):
        model.export(tmp_path / "m", verbose=False, freeze=True)
    model.export(tmp_path / "m", verbose=False)


def test_what_follows_from_constants_is_computed_when_it_is_frozen(tmp_path):
    model = tfkit.Sequential(
        [
            tfkit.Input((4, 4, 3)),
            tfkit.layers.Conv2D(2, 3, use_bias=False),
            tfkit.layers.BatchNormalization(),
        ]
    )
    operations = []
    for freeze in (False, True):
        model.export(tmp_path / str(freeze), verbose=False, freeze=freeze)
        saved = SavedModel.FromString((tmp_path / str(freeze) / "saved_model.pb").read_bytes())
        library = saved.meta_graphs[0].graph_def.library.function
        operations.append({node.op for function in library for node in function.node_def})
    assert operations[0] >= {"Rsqrt", "Conv2D"}
    assert "Conv2D" in operations[1]
    assert not operations[1] & {"Rsqrt", "ReadVariableOp"}
