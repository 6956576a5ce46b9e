"""Each row of the table: TensorFlow's kernel on the CPU refuses the bad values, and the row foretells it."""

import numpy as np
import pytest
import tensorflow as tf

import tfkit
from tests.guards.cases import CASES, grid
from tfkit.src.engine.guards import CHECKS
from tfkit.src.engine.guards.predicates import predicate_of

# `TruncateDiv` and `TruncateMod` have no text of their own for a division by zero.
REFUSED = (tf.errors.InvalidArgumentError, tf.errors.InternalError)
# The kernel takes an index outside of its row to be in the next row, where there is one.
STRICTER = ("ResourceGather, batch",)
# The kernels refuse nothing; XLA's results are others.
OTHERWISE = ("LeftShift", "RightShift", "Igammac")


def specs_of(arguments):
    """What a trace is told of arguments: no size and no rank."""
    return [tf.TensorSpec(None, np.asarray(value).dtype) for value in arguments]


def accepted(case, arguments):
    """What the row says, compiled by XLA within a loop that hides that the arguments are constants."""
    name, (call, _, _) = case.partition(",")[0], CASES[case]

    def hidden(x, turn):
        return x | (turn > 5) if x.dtype.is_bool else x + tf.cast(turn, x.dtype)

    def body(turn, _, *arguments):
        call(*[hidden(x, turn) for x in arguments])
        operations = tf.compat.v1.get_default_graph().get_operations()
        (op, *others) = [op for op in operations if op.type == name]
        assert not others
        if settled(op):
            return turn + 1, True, *arguments
        tensors = [*op.inputs, *op.outputs]
        unknown = [tf.TensorSpec(None, tensor.dtype) for tensor in tensors]
        num_inputs = len(op.inputs)
        predicate = predicate_of(op.node_def, unknown[:num_inputs], unknown[num_inputs:])
        return turn + 1, predicate is None or predicate(tensors), *arguments

    def program(*arguments):
        start = (0, True, *arguments)
        return tf.while_loop(
            lambda turn, *_: turn < 1,
            body,
            start,
            shape_invariants=tf.nest.map_structure(lambda x: tf.TensorShape(None), start),
        )[1]

    compiled = tf.function(
        program, jit_compile=True, autograph=False, input_signature=specs_of(arguments)
    )
    return bool(compiled(*arguments))


def settled(op):
    constants = {
        place: tf.make_ndarray(x.op.get_attr("value"))
        for place, x in enumerate(op.inputs)
        if x.op.type == "Const"
    }
    return CHECKS[op.type].settled(op.node_def.attr, constants)


def run(case, arguments):
    """TensorFlow's kernel, with the result used: one that is not would not be computed."""

    def call(*tensors):
        result = CASES[case][0](*tensors)
        return None if isinstance(result, tf.Operation) else result

    function = tf.function(
        call, jit_compile=False, autograph=False, input_signature=specs_of(arguments)
    )
    return function(*arguments)


def test_every_row_has_a_case_of_each_kind():
    told = {name.partition(",")[0] for name, (_, good, bad) in CASES.items() if good and bad}
    assert told == set(CHECKS)


@pytest.mark.parametrize("case", CASES)
def test_the_kernel_accepts_what_the_row_accepts(case):
    for arguments in CASES[case][1]:
        run(case, arguments)
        assert accepted(case, arguments), arguments


# The row of the one makes XLA itself refuse, the other does so without it.
REFUSED_BY_XLA = {"BroadcastTo": "Incompatible shapes", "Einsum, ellipsis": "legalization failed"}


@pytest.mark.parametrize("case", CASES)
def test_the_kernel_refuses_what_the_row_refuses(case):
    for arguments in CASES[case][2]:
        if case not in (*STRICTER, *OTHERWISE):
            with pytest.raises(REFUSED):
                run(case, arguments)
        if case in REFUSED_BY_XLA:
            with pytest.raises(tf.errors.InvalidArgumentError, match=REFUSED_BY_XLA[case]):
                accepted(case, arguments)
        else:
            assert not accepted(case, arguments), arguments


@pytest.mark.parametrize("case", OTHERWISE)
def test_xla_gives_something_else(case):
    differing = 0
    for arguments in CASES[case][2]:
        compiled = tf.function(CASES[case][0], jit_compile=True, autograph=False)
        differing += not np.array_equal(
            run(case, arguments), compiled(*map(tf.constant, arguments))
        )
    assert differing


@pytest.mark.parametrize("begin", [3, 5, -5])
def test_a_range_that_xla_would_not_cut_off_is_left_to_the_kernel(begin):
    """XLA gives two elements from each, zeros among them. The kernel gives those that are there."""
    arguments = grid(3, 4), np.int32(begin)
    assert run("StridedSlice, range", arguments).shape[0] < 2
    assert not accepted("StridedSlice, range", arguments)


@pytest.mark.parametrize("entries", [(...,), (0, ...), (tf.newaxis, ...)], ids=str)
def test_an_end_that_is_a_size_is_known_when_xla_compiles(entries):
    """The predicate of shapes is then a constant of the program, whatever the slice looks like."""
    table = tf.reshape(tf.range(80.0), (2, 40))

    class Ends(tfkit.layers.Layer):
        def call(self, inputs):
            cut = table[(*entries, slice(None, tf.shape(inputs)[1]))]
            return inputs[:, -1] * tf.reduce_sum(cut)

    inputs = tfkit.Input((None, 3))
    model = tfkit.Model(inputs, Ends()(inputs))
    model.compile("sgd", "mse", jit_compile=True)
    rows = table[:1] if entries[0] == 0 else table
    error = float(tf.reduce_sum(rows[:, :5])) - 1
    x, y = np.ones((4, 5, 3)), np.ones((4, 3))
    assert model.evaluate(x, y, verbose=0) == pytest.approx(error**2)
