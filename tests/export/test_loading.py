"""Exported models as layers again; and SavedModels that would do more than compute, refused."""

import os
import shutil

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

import tfkit
from tests.export.test_serving import WORDS, Tagger
from tfkit import layers
from tfkit.saving import LoadError


def trained():
    x = tfkit.Input((4,), name="x")
    hidden = layers.BatchNormalization()(layers.Dense(8, activation="relu")(x))
    frozen = layers.Dense(5, name="frozen")
    model = tfkit.Model(x, layers.Dense(1, name="y")(frozen(hidden)))
    frozen.trainable = False
    return model


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(16, 4)).astype("float32")


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    model = trained()
    folder = tmp_path_factory.mktemp("trained") / "model"
    model.export(folder, verbose=False)
    return model, folder


def test_a_layer_with_the_weights_and_outputs_of_the_model(exported, rows):
    model, folder = exported
    layer = tfkit.export.load(folder)
    np.testing.assert_allclose(layer(rows), model(rows), atol=1e-6)
    assert len(layer.weights) == len(model.weights)
    assert len(layer.trainable_weights) == len(model.trainable_weights) == 6
    for mine, its in zip(layer.trainable_weights, model.trainable_weights, strict=True):
        assert mine.shape == its.shape
    np.testing.assert_allclose(layer(rows.astype("float64")), model(rows), atol=1e-6)


def test_it_is_trained_in_a_model_and_exported_again(exported, rows, tmp_path):
    _, folder = exported
    layer = tfkit.layers.TFSMLayer(folder)
    frozen = [weight.numpy() for weight in layer.non_trainable_weights]
    x = tfkit.Input((4,), name="x")
    model = tfkit.Model(x, layers.Activation("tanh", name="z")(layer(x)))
    model.compile(tfkit.optimizers.SGD(0.1), "mse")
    losses = model.fit(rows, np.ones((16, 1)), epochs=3, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    for weight, before in zip(layer.non_trainable_weights, frozen, strict=True):
        np.testing.assert_array_equal(weight, before)
    model.export(tmp_path / "again", verbose=False)
    again = tfkit.export.load(tmp_path / "again")
    np.testing.assert_allclose(again(rows), model(rows), atol=1e-6)
    layer.weights[0].assign(tf.zeros_like(layer.weights[0]))
    assert not np.allclose(again(rows), model(rows))
    model.save_weights(tmp_path / "m.weights.h5")
    before = again(rows)
    with pytest.raises(TypeError, match="has no configuration"):
        model.save(tmp_path / "m.h5")
    model.load_weights(tmp_path / "m.weights.h5")
    np.testing.assert_array_equal(again(rows), before)


@pytest.fixture(scope="module")
def tagger(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tagger")
    (folder / "words.txt").write_text("yes\nno\n")
    model = Tagger(str(folder / "words.txt"))
    sample = {"words": WORDS, "weights": np.ones((2, 1), "float32")}
    expected = model(**sample)
    model.export(folder / "model", verbose=False)
    os.remove(folder / "words.txt")
    return folder / "model", sample, expected


def test_vocabularies_and_several_arguments_go_through_two_exports(tagger, tmp_path):
    folder, sample, expected = tagger
    layer = tfkit.export.load(folder)
    np.testing.assert_allclose(layer(**sample), expected, atol=1e-6)
    archive = tfkit.export.ExportArchive()
    archive.track_and_add_endpoint("serve", layer)
    archive.write_out(tmp_path / "again", verbose=False)
    again = tfkit.export.load(tmp_path / "again")
    np.testing.assert_allclose(again(*sample.values()), expected, atol=1e-6)
    assert archive.endpoints["serve"].inputs == ["words", "weights"]


def test_other_endpoints(tagger):
    folder, _, _ = tagger
    layer = tfkit.export.load(folder, endpoint="embed")
    assert layer(tf.constant(WORDS)).shape == (2, 3)
    assert [weight.shape for weight in layer.weights] == [(4, 3)]
    with pytest.raises(ValueError, match="endpoint 'x' is not in the SavedModel"):
        tfkit.export.load(folder, endpoint="x")
    both = layers.TFSMLayer(folder, "embed", call_training_endpoint="embed")
    assert both(tf.constant(WORDS), training=True).shape == (2, 3)


def test_a_training_endpoint_with_an_argument_of_another_name(tmp_path):
    model = tfkit.Sequential([tfkit.Input((2,)), layers.Dense(1)])
    archive = tfkit.export.ExportArchive()
    archive.track(model)
    spec = [tf.TensorSpec((None, 2), tf.float32)]
    archive.add_endpoint("serve", model.call, input_signature=spec)
    archive.add_endpoint("train", lambda x: model.call(x) + 1, input_signature=spec)
    archive.write_out(tmp_path / "model", verbose=False)
    layer = layers.TFSMLayer(tmp_path / "model", "serve", call_training_endpoint="train")
    x = tf.ones((3, 2))
    np.testing.assert_allclose(layer(x, training=True), layer(x) + 1, rtol=1e-6)


def test_a_savedmodel_of_plain_tensorflow(tmp_path):
    module = tf.Module()
    module.v = tf.Variable(2.0)
    module.f = tf.function(
        lambda x: {"twice": x * module.v}, input_signature=[tf.TensorSpec([None], name="x")]
    )
    tf.saved_model.save(module, str(tmp_path), signatures=module.f)
    layer = tfkit.export.load(tmp_path)
    assert layer(np.ones(2))["twice"].numpy().tolist() == [2, 2]
    assert len(layer.trainable_weights) == 1


@pytest.mark.parametrize("frozen", [False, True])
def test_its_weights_are_variables_of_tfkit(exported, rows, frozen):
    layer = tfkit.export.load(exported[1])
    layer.trainable = not frozen
    assert all(isinstance(weight, tfkit.Variable) for weight in layer.weights)
    assert len(layer.trainable_weights) == (0 if frozen else 6)
    kernel = layer.weights[0]
    assert kernel.path.endswith(kernel.name)
    kernel.assign(np.ones(kernel.shape, "float64"))  # Cast, as Keras does.
    np.testing.assert_array_equal(kernel.value, np.ones(kernel.shape))
    layer(rows)
    with tf.GradientTape() as tape:
        output = tf.reduce_sum(layer(rows, training=True) ** 2)
    assert tape.gradient(output, layer.weights[0]) is not None


# --- What is refused ----------------------------------------------------------------------------------


def reads(path):
    return lambda x: x + tf.strings.length(tf.io.read_file(path))


def writes(path):
    def function(x):
        tf.io.write_file(path, "written")
        return x

    return function


def in_a_branch(path):
    def function(x):
        return tf.cond(tf.size(x) > 1, lambda: reads(path)(x), lambda: x)

    return function


def in_a_loop(path):
    return lambda x: tf.while_loop(lambda y: tf.size(y) < 0, lambda y: (reads(path)(y),), [x])[0]


def table_of(path):
    def function(x):
        initializer = tf.lookup.TextFileInitializer(
            path, tf.string, 0, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER
        )
        del initializer
        table = tf.raw_ops.AnonymousHashTable(key_dtype=tf.string, value_dtype=tf.int64)
        tf.raw_ops.InitializeTableFromTextFileV2(
            table_handle=table, filename=path, key_index=-2, value_index=-1
        )
        return x

    return function


def saves(path):
    def function(x):
        tf.raw_ops.SaveV2(prefix=path, tensor_names=["x"], shape_and_slices=[""], tensors=[x])
        return x

    return function


def prints(path):
    def function(x):
        tf.print(x, output_stream=f"file://{path}")
        return x

    return function


def restores(path):
    return lambda x: (
        x
        + tf.raw_ops.RestoreV2(
            prefix=path, tensor_names=["x"], shape_and_slices=[""], dtypes=[tf.int32]
        )[0]
    )


ATTACKS = {
    "ReadFile": reads,
    "WriteFile": writes,
    "MatchingFiles": lambda path: lambda x: x + tf.size(tf.io.matching_files(path)),
    "EagerPyFunc": lambda path: lambda x: tf.py_function(lambda y: y, [x], tf.int32),
    "PyFunc": lambda path: lambda x: tf.numpy_function(lambda y: y, [x], tf.int32),
    "PrintV2": prints,
    "SaveV2": saves,
    "RestoreV2": restores,
    "TextLineDataset": lambda path: (
        lambda x: x + tf.cast(tf.data.TextLineDataset(path).cardinality(), tf.int32)
    ),
    "branch": in_a_branch,
    "loop": in_a_loop,
    "table": table_of,
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_operations_on_files_and_python_are_refused(attack, tmp_path):
    target = tmp_path / "target"
    module = tf.Module()
    module.serve = tf.function(
        ATTACKS[attack](str(target)),
        input_signature=[tf.TensorSpec([None], tf.int32)],
        autograph=False,
    )
    tf.saved_model.save(module, str(tmp_path / "m"), signatures=module.serve)
    with pytest.raises(LoadError, match=r"refused because of .* pass `trusted=True`"):
        tfkit.export.load(tmp_path / "m")
    assert not target.exists()
    if attack == "WriteFile":
        tfkit.export.load(tmp_path / "m", trusted=True)(np.ones(1, "int32"))
        assert target.read_text() == "written"


@pytest.fixture
def copy(tagger, tmp_path):
    shutil.copytree(tagger[0], tmp_path / "m")
    return tmp_path / "m"


def edit(folder, change):
    model = SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    change(model)
    (folder / "saved_model.pb").write_bytes(model.SerializeToString())


def test_assets_outside_of_the_folder_are_refused(copy):
    def escape(model):
        model.meta_graphs[0].asset_file_def[0].filename = "../../secret"

    edit(copy, escape)
    with pytest.raises(LoadError, match=r"an asset outside of its folder: '\.\./\.\./secret'"):
        tfkit.export.load(copy)


def test_links_are_refused(copy):
    os.symlink("/etc/hostname", copy / "assets" / "more")
    with pytest.raises(LoadError, match="a link"):
        tfkit.export.load(copy)


@pytest.mark.parametrize("place", ["saved_model.pb", "variables/variables.index", "assets/more"])
def test_pipes_are_refused(copy, place):
    """To read one would wait for somebody who writes to it."""
    (copy / place).unlink(missing_ok=True)
    os.mkfifo(copy / place)
    with pytest.raises(LoadError, match="a pipe, or the like"):
        tfkit.export.load(copy)


@pytest.mark.parametrize("kept", [0, 0.5, 0.9])
@pytest.mark.parametrize("file", ["variables.index", "variables.data-00000-of-00001"])
def test_a_folder_that_was_not_copied_whole(copy, file, kept):
    path = copy / "variables" / file
    os.truncate(path, int(path.stat().st_size * kept))
    with pytest.raises(LoadError, match=f"SavedModel '{copy}' .* damaged or missing.* Copy"):
        tfkit.export.load(copy)


def test_a_vocabulary_that_is_no_asset_is_refused(copy):
    """The path that the initializer captures is made a constant of the graph."""

    def redirect(model):
        for node in model.meta_graphs[0].object_graph_def.nodes:
            if node.WhichOneof("kind") == "asset":
                node.constant.operation = "Const"

    edit(copy, redirect)
    with pytest.raises(LoadError, match="a table reads a file that is not an asset"):
        tfkit.export.load(copy)


def test_main_graph_is_looked_at_too(copy):
    edit(copy, lambda model: model.meta_graphs[0].graph_def.node.add(name="r", op="ReadFile"))
    with pytest.raises(LoadError, match="the operation ReadFile in the main graph"):
        tfkit.export.load(copy)


def test_a_function_that_is_called_like_an_operation_is_looked_at_too(copy):
    def call_the_saver(model):
        functions = model.meta_graphs[0].graph_def.library.function
        (saver,) = (
            each.signature.name for each in functions if "traced_save" in each.signature.name
        )
        caller = next(each for each in functions if "signature_wrapper" in each.signature.name)
        caller.node_def.add(name="quiet", op=saver)

    edit(copy, call_the_saver)
    with pytest.raises(LoadError, match=r"the operation \w+ in __inference__traced_save"):
        tfkit.export.load(copy)


def traced_save(model):
    functions = model.meta_graphs[0].graph_def.library.function
    return next(it.signature.name for it in functions if "traced_save" in it.signature.name)


def as_a_bare_function(model):
    node = model.meta_graphs[0].object_graph_def.nodes.add()
    node.bare_concrete_function.concrete_function_name = traced_save(model)


def as_a_function_of_an_object(model):
    node = model.meta_graphs[0].object_graph_def.nodes.add()
    node.function.concrete_functions.append(traced_save(model))


def as_a_gradient(model):
    library = model.meta_graphs[0].graph_def.library
    library.gradient.add(function_name="f", gradient_func=traced_save(model))


def as_a_registered_gradient(model):
    library = model.meta_graphs[0].graph_def.library
    library.registered_gradients.add(gradient_func=traced_save(model), registered_op_type="Add")


def as_another_form(model):
    """TensorFlow's optimizer puts functions that say to do the same in each other's place."""
    functions = model.meta_graphs[0].graph_def.library.function
    next(it for it in functions if "traced_save" in it.signature.name).attr[
        "api_implements"
    ].s = b"f"


def as_a_signature(model):
    graph = model.meta_graphs[0]
    node = graph.graph_def.node.add(name="quiet", op="StatefulPartitionedCall")
    node.attr["f"].func.name = traced_save(model)
    graph.signature_def["serving_default"].outputs["quiet"].name = "quiet:0"


def without_a_saver(model):
    model.meta_graphs[0].ClearField("saver_def")


@pytest.mark.parametrize(
    "change",
    [
        as_a_bare_function,
        as_a_function_of_an_object,
        as_a_gradient,
        as_a_registered_gradient,
        as_another_form,
        as_a_signature,
        without_a_saver,
    ],
)
def test_a_function_that_saves_is_the_savers_alone(change, copy):
    edit(copy, change)
    with pytest.raises(LoadError, match=r"the operation \w+ in __inference__traced_(save|restore)"):
        tfkit.export.load(copy)


@pytest.mark.parametrize(
    "operation",
    ["StoreMinibatchStatisticsInFdo", "QueueDequeueV2", "SleepOp", "Barrier", "NoSuchOperation"],
)
def test_operations_with_a_state_are_refused_unless_they_are_known(operation, copy):
    def add(model):
        model.meta_graphs[0].graph_def.library.function[0].node_def.add(name="x", op=operation)

    edit(copy, add)
    with pytest.raises(LoadError, match=f"the operation {operation} in"):
        tfkit.export.load(copy)


def test_models_of_tensorflow_1_are_refused(copy):
    edit(copy, lambda model: model.meta_graphs[0].ClearField("object_graph_def"))
    with pytest.raises(LoadError, match="TensorFlow 1"):
        tfkit.export.load(copy)


def test_what_is_no_savedmodel_is_said_so(copy, tmp_path):
    (copy / "saved_model.pb").write_bytes(b"\xff" * 9)
    for folder in (copy, tmp_path / "nothing"):
        with pytest.raises(LoadError, match="is not a SavedModel, or is damaged"):
            tfkit.export.load(folder)
