"""Errors of kernels in words of layers and steps."""

import pytest
import tensorflow as tf

from tfkit import ops
from tfkit.src.base.errors import kernel_errors

Refused = tf.errors.InvalidArgumentError


def refused(message):
    return Refused(None, None, message)


def test_nodes_become_operations_and_what_is_known_is_added():
    names = {("f", "n3"): ("GatherV2", "emb/GatherV2", "step/call")}
    place = "\n\t [[{{function_node f}}{{node n3}}]] [Op:g]"
    message = "{{function_node g}} indices[1] = 9 is not in [0, 4)" + place
    error = kernel_errors.named(refused(message), lambda *place: names.get(place))
    assert isinstance(error, Refused)
    assert str(error) == (
        "indices[1] = 9 is not in [0, 4)\nRaised by the operation GatherV2 ('emb/GatherV2')."
    )
    assert kernel_errors.operations_of(error) == ["emb/GatherV2", "step/call"]
    error = kernel_errors.located(error, layer="model/emb", step=2)
    error = kernel_errors.located(error, method="fit", epoch=3, layer=None)
    assert kernel_errors.step_of(error) == 2
    assert str(error).splitlines()[1] == (
        "Raised by the operation GatherV2 of layer 'model/emb' ('emb/GatherV2'), "
        "in epoch 3, step 2 of `fit()`. The weights are those before that step."
    )


def test_the_lines_that_made_an_operation_are_left_out():
    message = (
        "Graph execution error:\n\nDetected at node a/b defined at (most recent call last):\n"
        '  File "x.py", line 1, in f\n\n  File "y.py", line 2, in g\n    return h\n\n'
        "division by zero\n\t [[{{node a/b}}]] [Op:__inference_f_1]"
    )
    error = kernel_errors.located(refused(message), layer="a")
    assert str(error) == "division by zero\nRaised by an operation of layer 'a' ('a/b')."


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ops.sum("text"), "The operation Sum expects one of float32, float64, int32, "),
        (
            lambda: ops.conv(tf.zeros([1, 3, 3, 1], "int8"), tf.zeros([1, 1, 1, 1], "int8")),
            "The operation Conv2D expects one of float16, bfloat16, float32, float64, int32. "
            "Received: int8\nReceived by `conv`: ",
        ),
    ],
)
def test_a_dtype_without_a_kernel_is_named_and_the_others_are_listed(call, message):
    with pytest.raises(Refused) as caught:
        call()
    assert caught.value.message.startswith(message)
    assert "NodeDef" not in caught.value.message


def test_what_other_processes_add_to_an_error_is_left_out():
    message = (
        "Graph execution error:\n\nDetected at node a/b defined at (most recent call last):\n"
        "<stack traces unavailable>\nDetected at node a/b defined at (most recent call last):\n"
        "<stack traces unavailable>\n2 root error(s) found.\n  (0) INVALID_ARGUMENT:   division by zero\n"
        "\t [[{{node a/b}}]]\n  (1) CANCELLED:  Function was cancelled\n"
        "Additional GRPC error information from remote target /job:worker/replica:0/task:0 /x:\n"
        ':UNKNOWN:Error received from peer  {grpc_message:"division by zero"} [Op:__inference_f_1]'
    )
    error = kernel_errors.located(refused(message), layer="a")
    assert str(error) == "division by zero\nRaised by an operation of layer 'a' ('a/b')."


def test_a_label_is_found_in_the_batch():
    message = "Received a label value of -1 which is outside the valid range of [0, 3).  "
    message += "Label values: 1 2 -1 0"
    assert "It is label 2 of the batch, counted from 0." in str(
        kernel_errors.named(refused(message))
    )


def test_what_xla_cannot_compile_has_no_step():
    message = "Input 1 to node `n1` with op Tile must be a compile-time constant.\n\ttf2xla conversion failed"
    error = kernel_errors.located(refused(message), step=1, method="fit", epoch=1)
    assert kernel_errors.is_of_compiler(error)
    assert str(error) == "Input 1 to node `n1` with op Tile must be a compile-time constant."
    assert not kernel_errors.is_of_compiler(refused("division by zero"))
