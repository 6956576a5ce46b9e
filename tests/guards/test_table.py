"""The table names each operation that XLA compiles once, and makes one function of equal ones."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework import kernels

from tfkit.src.engine.guards import CHECKS, UNGUARDED, kind_of
from tfkit.src.engine.guards.harmless import HARMLESS
from tfkit.src.engine.guards.predicates import predicate_of


def compiled_by_xla():
    tf.function(lambda: tf.constant(0), jit_compile=True)()  # Kernels are registered then.
    found = kernels.get_all_registered_kernels().kernel
    return {kernel.op for kernel in found if kernel.device_type == "XLA_CPU_JIT"}


def test_each_operation_that_xla_compiles_stands_in_one_place():
    """Another TensorFlow may have others: `docs/design/0004-guards.md` says what to do then."""
    places = [set(CHECKS), set(UNGUARDED), set(HARMLESS)]
    known = set.union(*places)
    assert known == compiled_by_xla()
    assert len(known) == sum(map(len, places))


def test_an_operation_is_guarded_harmless_or_unguarded():
    assert kind_of("GatherV2") == "guarded"
    assert kind_of("MatMul") == "harmless"
    assert kind_of("StackPopV2") == "unguarded"
    assert kind_of("OperationOfAThirdParty") == "unguarded"


def test_what_is_said_completes_a_sentence():
    for says in [*(check.says for check in CHECKS.values()), *UNGUARDED.values()]:
        assert says[0].islower() or says.startswith(("NaN", "input_", "iou_"))
        assert not says.endswith(".")


def nodes(body, *specs):
    def call(*tensors):
        result = body(*tensors)
        return None if isinstance(result, tf.Operation) else result

    graph = tf.function(call, autograph=False).get_concrete_function(*specs).graph
    return [op for op in graph.get_operations() if op.type in CHECKS]


VECTOR, WHOLE, ONE = tf.TensorSpec([3]), tf.TensorSpec([3], tf.int32), tf.TensorSpec([], tf.int32)


@pytest.mark.parametrize(
    ("expected", "body", "specs"),
    [
        (True, lambda x: x[-1], [VECTOR]),
        (True, lambda x: x[5:], [VECTOR]),
        (False, lambda x, i: x[i], [VECTOR, ONE]),
        (True, lambda x: tf.slice(x, [1], [2]), [VECTOR]),
        (False, lambda x, i: tf.slice(x, [i], [2]), [VECTOR, ONE]),
        (True, lambda x: x // 2, [WHOLE]),
        (True, lambda x: x % [1, -2, 3], [WHOLE]),
        (False, lambda x: x % [1, 0, 3], [WHOLE]),
        (False, lambda x, i: x % i, [WHOLE, ONE]),
        (True, lambda x: x // 0.0, [VECTOR]),
        (True, lambda x: tf.pow(x, 2), [WHOLE]),
        (True, lambda x: tf.pow(x, -2.0), [VECTOR]),
        (False, lambda x: tf.pow(x, [0, 1, -2]), [WHOLE]),
        (True, lambda x: tf.raw_ops.Assert(condition=True, data=[x]), [VECTOR]),
        (False, lambda x: tf.raw_ops.Assert(condition=False, data=[x]), [VECTOR]),
        (False, lambda x: tf.raw_ops.Assert(condition=x > 0, data=[x]), [tf.TensorSpec([])]),
        (True, lambda x: tf.math.invert_permutation(tf.constant([1, 0])), [VECTOR]),
        (True, lambda x: tf.linalg.band_part(x, -1, 0), [tf.TensorSpec([2, 2])]),
        (False, lambda x: tf.linalg.band_part(x, 1, 0), [tf.TensorSpec([2, 2])]),
        (True, lambda x: tf.random.uniform([2], 0, 5, tf.int32), [VECTOR]),
        (True, lambda x: tf.math.top_k(x, 2), [VECTOR]),
        (False, lambda x, i: tf.math.top_k(x, i), [VECTOR, ONE]),
        (False, lambda x: tf.gather(x, [7]), [VECTOR]),
    ],
)
def test_constants_settle_a_check(expected, body, specs):
    (op,) = nodes(body, *specs)
    constants = {
        place: tf.make_ndarray(x.op.get_attr("value"))
        for place, x in enumerate(op.inputs)
        if x.op.type == "Const"
    }
    assert CHECKS[op.type].settled(op.node_def.attr, constants) is expected


def predicate(op, constants=None, specs=None):
    specs = specs or [tf.TensorSpec(None, x.dtype) for x in op.inputs]
    outputs = [tf.TensorSpec(None, x.dtype) for x in op.outputs]
    return predicate_of(op.node_def, specs, outputs, constants)


def test_equal_operations_share_one_function():
    def function(axis, dtype="float32"):
        (op,) = nodes(lambda x, i: tf.gather(x, i, axis=axis), tf.TensorSpec([3, 4], dtype), WHOLE)
        return predicate(op)

    assert function(0) is function(1)
    assert function(0) is not function(0, "float64")
    with tf.Graph().as_default():
        assert function(0) is function(0)


def test_a_predicate_takes_only_what_it_must():
    (op,) = nodes(lambda x, i: tf.gather(x, i, axis=1), tf.TensorSpec([None, 4]), WHOLE)
    known = [tf.TensorSpec([None, 4]), WHOLE, ONE]
    assert predicate(op).places == [0, 1, 2]
    assert predicate(op, {2: np.array(1)}).places == [0, 1]
    assert predicate(op, {2: np.array(1)}, known).places == [1]
    assert predicate(op, {1: np.array([0, 3]), 2: np.array(1)}, known) is None
    assert predicate(op, {1: np.array([0, 4]), 2: np.array(1)}, known).places == []


@pytest.mark.parametrize("scale", [1e-30, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("rows", [2, 3, 5, 12])
def test_no_singular_matrix_is_taken_for_a_regular_one(rows, scale):
    """Of whole numbers and of lower rank: the kernel meets an exact zero in many of them, XLA in none."""
    draw = np.random.default_rng(0)
    low = draw.integers(-3, 4, (300, rows, rows - 1)) @ draw.integers(-3, 4, (300, rows - 1, rows))
    matrices = tf.constant(low * scale, tf.float32)
    (op,) = nodes(tf.linalg.inv, tf.TensorSpec([300, rows, rows]))
    accepts = predicate(op)

    @tf.function(jit_compile=True)
    def accepted(matrices):
        return tf.map_fn(lambda x: accepts([x, tf.linalg.inv(x)]), matrices, tf.bool)

    assert not np.any(accepted(matrices))
    regular = matrices + tf.eye(rows) * 8 * rows**2 * scale
    assert scale < 1e-20 or np.all(accepted(regular))
