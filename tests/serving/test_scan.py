"""What TensorFlow's C library would run of a SavedModel, and which files it would touch."""

import shutil

import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from tfkit.src.files.saving.errors import LoadError
from tfkit.src.outer.serving import scan
from tfkit.src.outer.serving.servable import Servable


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A model with a variable and a table that reads its vocabulary from an asset."""
    folder = tmp_path_factory.mktemp("scan")
    vocabulary = folder / "words.txt"
    vocabulary.write_text("yes\nno\n")
    module = tf.Module()
    initializer = tf.lookup.TextFileInitializer(
        str(vocabulary), tf.string, 0, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER
    )
    module.table = tf.lookup.StaticHashTable(initializer, -1)
    module.scale = tf.Variable(2, dtype=tf.int64)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="words")])
    def serve(words):
        return {"ids": module.table.lookup(words) * module.scale}

    tf.saved_model.save(module, str(folder / "model"), signatures=serve)
    return folder / "model"


def changed(exported, target, change):
    shutil.copytree(exported, target)
    file = target / "saved_model.pb"
    model = saved_model_pb2.SavedModel.FromString(file.read_bytes())
    change(model.meta_graphs[0])
    file.write_bytes(model.SerializeToString())
    return str(target)


def test_an_honest_model_is_served(exported):
    servable = Servable(exported, "scan", 1)
    words = {"words": tf.constant(["no", "what"]).numpy()}
    assert servable.run("serving_default", words)["ids"].tolist() == [2, -2]
    servable.close()


def add_signature(graph, source, target):
    """A signature that feeds `source` and asks for `target`."""
    signature = graph.signature_def["attack"]
    signature.inputs["x"].name, signature.inputs["x"].dtype = source, 7
    signature.outputs["y"].name, signature.outputs["y"].dtype = target, 7


def write_where_a_request_says(graph):
    saver = graph.saver_def
    add_signature(graph, saver.filename_tensor_name, saver.save_tensor_name)


def read_where_a_request_says(graph):
    saver = graph.saver_def
    add_signature(graph, saver.filename_tensor_name, saver.restore_op_name + ":0")


def write_through_a_control_input(graph):
    node = graph.graph_def.node.add(name="quiet", op="NoOp")
    node.input.append("^" + graph.saver_def.save_tensor_name.partition(":")[0])
    add_signature(graph, graph.saver_def.filename_tensor_name, "quiet:0")


def write_when_loaded(graph):
    name = graph.saver_def.save_tensor_name.partition(":")[0]
    graph.collection_def["legacy_init_op"].node_list.value.append(name)


def write_when_restored(graph):
    graph.saver_def.restore_op_name = graph.saver_def.save_tensor_name.partition(":")[0]


def restore_another_file(graph):
    name = graph.saver_def.restore_op_name
    node = next(node for node in graph.graph_def.node if node.name == name)
    other = graph.graph_def.node.add(name="other", op="Const")
    other.attr["dtype"].type = 7
    other.attr["value"].tensor.CopyFrom(tf.make_tensor_proto("/etc/passwd"))
    node.input[0] = "other"


def vocabulary_is_no_asset(graph):
    del graph.asset_file_def[:]


def vocabulary_where_a_request_says(graph):
    asset = graph.asset_file_def[0].tensor_info.name
    add_signature(graph, asset, graph.signature_def["serving_default"].outputs["ids"].name)


def node_named(graph, name):
    return next(node for node in graph.graph_def.node if node.name == name)


def asset_variable(graph):
    """The operation that assigns the path of the asset to a variable."""
    asset = graph.asset_file_def[0].tensor_info.name.partition(":")[0]
    (found,) = (each for each in graph.graph_def.node if list(each.input[1:2]) == [asset])
    return found


def vocabulary_from_a_variable_with_another_path(graph):
    other = graph.graph_def.node.add(name="other", op="Const")
    other.attr["dtype"].type = 7
    other.attr["value"].tensor.CopyFrom(tf.make_tensor_proto("/etc/passwd"))
    assign = graph.graph_def.node.add(name="again", op="AssignVariableOp")
    assign.input.extend([asset_variable(graph).input[0], "other"])
    assign.attr["dtype"].type = 7


def vocabulary_from_a_variable_with_two_handles(graph):
    handle = node_named(graph, asset_variable(graph).input[0])
    twin = graph.graph_def.node.add()
    twin.CopyFrom(handle)
    twin.name = "twin"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (write_where_a_request_says, "the operation (MergeV2Checkpoints|SaveV2|ShardedFilename)"),
        (read_where_a_request_says, "the operation RestoreV2"),
        (write_through_a_control_input, "the operation (MergeV2|SaveV2|Sharded)"),
        (write_when_loaded, "the operation (MergeV2|SaveV2|Sharded)"),
        (write_when_restored, "the operation (MergeV2|RestoreV2|SaveV2|Sharded)"),
        (restore_another_file, "the operation RestoreV2"),
        (vocabulary_is_no_asset, "a table reads a file that is not an asset"),
        (vocabulary_from_a_variable_with_another_path, "a table reads a file that is not an asset"),
        (vocabulary_from_a_variable_with_two_handles, "a table reads a file that is not an asset"),
        (vocabulary_where_a_request_says, "a table reads a file that is not an asset"),
    ],
)
def test_models_that_touch_other_files_are_refused(exported, tmp_path, change, message):
    folder = changed(exported, tmp_path / "model", change)
    with pytest.raises(LoadError, match=message):
        scan.meta_graph_of(folder)
    assert scan.meta_graph_of(folder, trusted=True).signature_def


def no_tag(graph):
    graph.meta_info_def.tags[:] = ["train"]


def test_a_model_without_the_tag_serve(exported, tmp_path):
    with pytest.raises(LoadError, match="no graph with the tag 'serve'"):
        scan.meta_graph_of(changed(exported, tmp_path / "model", no_tag))
