"""What TensorFlow's kernels on the CPU accept and refuse, for each row of the table of checks."""

import functools

import numpy as np
import tensorflow as tf

F32 = np.float32
RAW = tf.raw_ops
GRID = np.arange(12, dtype="float32").reshape(3, 4)
NAN, INF = np.float32("nan"), np.float32("inf")
KEY, COUNTER = np.uint64([1]), np.uint64([1, 2])
BOXES = np.float32([[0, 0, 1, 1], [0, 0, 1, 0.9]])


def ints(*values):
    return np.array(values, "int32")


def grid(*shape):
    return np.arange(np.prod(shape), dtype="float32").reshape(shape)


@functools.cache
def kept(shape, dtype):
    with tf.init_scope():
        return tf.Variable(np.ones(shape), dtype=dtype)


def variable(shape, dtype="float32"):
    return kept(tuple(shape), dtype).handle


def raw(name, *arguments, **constants):
    op = getattr(RAW, name)
    return lambda *given: op(**dict(zip(arguments, given, strict=True)), **constants)


def on_variable(name, shape, *arguments, **constants):
    dtype = "int32" if name.endswith("Div") else "float32"
    return lambda *given: raw(name, *arguments, resource=variable(shape, dtype), **constants)(
        *given
    )


def scatter(name):
    call = raw(name, "tensor", "indices", "updates")
    return lambda x, indices: call(x, indices, tf.gather_nd(x, indices * 0))


def scatter_into_variable(name):
    call = on_variable(f"ResourceScatter{name}", [3, 2], "indices", "updates")
    # Multiplication by constant ones would be optimized away.
    return lambda indices: call(indices, tf.fill(tf.concat([tf.shape(indices), [2]], 0), 3.0))


def scatter_nd_into_variable(name):
    op = getattr(RAW, f"ResourceScatterNd{name}")
    return lambda indices: op(
        ref=variable([3]), indices=indices, updates=tf.ones(tf.shape(indices)[:-1])
    )


def list_of(tensor):
    return RAW.TensorListFromTensor(tensor=tensor, element_shape=-1)


def reserved(length):
    return RAW.TensorListReserve(num_elements=length, element_shape=-1, element_dtype=tf.float32)


def stacked(handle, **options):
    return RAW.TensorListStack(
        input_handle=handle, element_shape=-1, element_dtype=tf.float32, **options
    )


def gathered(shape):
    return lambda indices: RAW.TensorListGather(
        input_handle=list_of(grid(3)),
        indices=indices,
        element_shape=shape,
        element_dtype=tf.float32,
    )


def sparse(shape, **options):
    return raw(
        "SparseToDense",
        "sparse_indices",
        output_shape=shape,
        sparse_values=7.0,
        default_value=0.0,
        **options,
    )


def einsum(equation):
    return lambda *operands: RAW.Einsum(inputs=operands, equation=equation)


def overlap(name, **options):
    scores, threshold = F32([0.5, 0.4]), F32(0.1)
    return raw(
        name,
        "iou_threshold",
        boxes=BOXES,
        scores=scores,
        max_output_size=2,
        score_threshold=threshold,
        **options,
    )


def slice_gradient(row, begin):
    """The gradient of `x[i, :]` of a matrix of four rows."""
    begin, zero = tf.concat([begin, [0]], 0), tf.constant([0])
    return RAW.StridedSliceGrad(
        shape=tf.concat([[4], tf.shape(row)], 0),
        begin=begin,
        end=begin + 1,
        strides=tf.concat([zero + 1, zero + 1], 0),
        dy=row,
        begin_mask=2,
        end_mask=2,
        shrink_axis_mask=1,
    )


INT32, INT64 = np.int32([]), np.int64([])
NO_PLACES = np.zeros((0, 2), "int32")
ZERO, HALF, UNIT = F32(0), F32(0.5), F32(1)
REGULAR, SINGULAR = F32([[2, 1], [1, 3]]), F32([[1, 2], [2, 4]])

# Good arguments, and bad ones, of operations that take the same.
GATHERED = (
    [(GRID, ints(0, 2)), (GRID, np.int64([[2], [1]])), (GRID, INT32)],
    [(GRID, ints(0, 3)), (GRID, ints(-1)), (GRID, np.int64(2**32)), (grid(0, 2), ints(0))],
)
PLACES = (
    [(GRID, ints([0, 3], [2, 0])), (GRID, np.int64([[2]])), (GRID, NO_PLACES)],
    [(GRID, ints([0, 4])), (GRID, ints([3, 0])), (GRID, ints([-1, 0])), (GRID, ints([3]))],
)
ROWS = (
    [(ints(0, 2),), (ints([1, 1], [2, 0]),), (INT32,)],
    [(ints(3),), (ints(0, -1),), (np.int64([2**32]),)],
)
ROWS_ND = [(ints([0], [2]),), (NO_PLACES[:, :1],)], [(ints([3]),), (np.int64([[-1]]),)]
SEGMENTS = (
    [(grid(3), ints(0, 1, 1)), (grid(2, 2), np.int64([-5, 1])), (grid(0, 2), INT32)],
    [(grid(3), ints(0, 1, 2)), (grid(2, 2), ints([0, 0], [9, 0]))],
)
DIVIDED = (
    [(ints(-(2**31), 7), ints(-1, 2)), (np.int64([[4]]), np.int64(255))],
    [(ints(1, 2), ints(1, 0)), (np.int64([[4]]), np.int64(0))],
)
COUNTED = [(ints(0, 1, 9),), (INT32,)], [(ints(0, -1),)]
BOUNDS = (
    [(np.int32(-1), np.int32(0)), (np.int64(3), np.int64(9))],
    [(np.int32(3), np.int32(3)), (np.int32(4), np.int32(3))],
)
ITEMS = [(np.int32(0),), (np.int32(2),)], [(np.int32(3),), (np.int32(-1),)]
NORMALS = (
    [(ZERO, UNIT, -UNIT, INF), (ZERO, HALF, HALF, UNIT)],
    [
        (ZERO, ZERO, -UNIT, UNIT),
        (ZERO, UNIT, UNIT, HALF),
        (ZERO, NAN, ZERO, UNIT),
        (ZERO, UNIT, NAN, UNIT),
        (ZERO, UNIT, -INF, INF),
    ],
)
OVERLAPS = [(ZERO,), (UNIT,)], [(F32(-0.1),), (F32(1.01),), (NAN,)]
CLASSES = [(grid(2, 1),)], [(grid(2, 0),)]
SORTED = [(grid(2, 3), grid(2, 5))], [(grid(1, 3), grid(2, 5))]
MATRICES = (
    [(REGULAR,), (np.stack([REGULAR, REGULAR * 1e30]).astype("float64"),), (grid(0, 0),)],
    [
        (SINGULAR,),
        (np.stack([REGULAR, SINGULAR]),),
        (REGULAR * 0,),
        (REGULAR * NAN,),
        (SINGULAR * F32(1e-30),),
    ],
)

# The operation, and what tells this case from others of it; how it is called; good arguments; bad ones.
CASES = {
    "Gather": (raw("Gather", "params", "indices"), *GATHERED),
    "GatherV2": (raw("GatherV2", "params", "indices", axis=0), *GATHERED),
    "GatherV2, axis -1": (
        lambda x, i: tf.gather(x, i, axis=-1),
        [(GRID, np.int16([3]))],
        [(GRID, ints(4)), (GRID, np.int16([-1]))],
    ),
    "GatherV2, batch": (
        lambda x, i: tf.gather(x, i, batch_dims=1),
        [(GRID, ints([0], [3], [1]))],
        [(GRID, ints([0], [4], [1]))],
    ),
    "GatherNd": (
        raw("GatherNd", "params", "indices"),
        PLACES[0],
        [*PLACES[1], (grid(3, 0), ints([1]))],
    ),
    "ResourceGather": (on_variable("ResourceGather", [3, 2], "indices", dtype=tf.float32), *ROWS),
    "ResourceGather, batch": (
        on_variable("ResourceGather", [2, 3], "indices", dtype=tf.float32, batch_dims=1),
        [(ints([0, 2], [1, 1]),)],
        [(ints([0, 0], [1, 3]),), (ints([-1, 0], [1, 0]),)],
    ),
    "ScatterNd": (
        lambda x, i: RAW.ScatterNd(indices=i, updates=tf.gather_nd(x, i * 0), shape=[3, 4]),
        *PLACES,
    ),
    "ResourceScatterDiv": (
        on_variable("ResourceScatterDiv", [3], "indices", "updates"),
        [(ints(2), ints(-1))],
        [(ints(3), ints(1)), (ints(0), ints(0))],
    ),
    "SparseSoftmaxCrossEntropyWithLogits": (
        raw("SparseSoftmaxCrossEntropyWithLogits", "features", "labels"),
        [(GRID, ints(0, 3, 1)), (grid(0, 4), INT64)],
        [(GRID, ints(0, 4, 1)), (GRID, np.int64([0, -1, 0]))],
    ),
    "SparseToDense": (
        sparse([3, 4]),
        [(ints([0, 3], [1, 0], [1, 1]),), (np.int64(NO_PLACES),)],
        [(ints([0, 4]),), (ints([1, 0], [0, 0]),), (ints([1, 1], [1, 1]),), (ints([-1, 0]),)],
    ),
    "SparseToDense, vector": (
        sparse([3]),
        [(ints(0, 2),), (np.int32(2),)],
        [(ints(2, 0),), (np.int32(3),)],
    ),
    "SparseToDense, any order": (
        sparse([3], validate_indices=False),
        [(ints(2, 0, 0),)],
        [(ints(0, 3),)],
    ),
    "Bincount": (raw("Bincount", "arr", size=3, weights=F32([])), *COUNTED),
    "DenseBincount": (
        raw("DenseBincount", "input", size=3, weights=F32([])),
        COUNTED[0],
        [*COUNTED[1], (ints([0], [-1]),)],
    ),
    "DynamicPartition": (
        raw("DynamicPartition", "data", "partitions", num_partitions=2),
        [(grid(3, 2), ints(0, 1, 1)), (grid(0), INT32)],
        [(grid(2), ints(0, 2)), (grid(2), ints(-1, 0))],
    ),
    "InvertPermutation": (
        raw("InvertPermutation", "x"),
        [(ints(2, 0, 1),), (INT32,)],
        [(ints(0, 0),), (ints(1, 2),), (np.int64([-1, 0]),), (ints(2, 2, 0),)],
    ),
    "ReverseSequence": (
        raw("ReverseSequence", "input", "seq_lengths", seq_dim=1),
        [(GRID, ints(0, 4, 1)), (grid(0, 4), INT64)],
        [(GRID, ints(0, 5, 1)), (GRID, ints(0, -1, 1))],
    ),
    "TensorListGetItem": (
        lambda i: RAW.TensorListGetItem(
            input_handle=list_of(grid(3, 2)), index=i, element_shape=-1, element_dtype=tf.float32
        ),
        *ITEMS,
    ),
    "TensorListSetItem": (
        lambda i: stacked(RAW.TensorListSetItem(input_handle=reserved(3), index=i, item=1.0)),
        *ITEMS,
    ),
    "TensorListGather": (gathered(-1), [(ints(0, 2, 2),)], [(ints(3),), (ints(0, -1),), (INT32,)]),
    "TensorListGather, shape": (gathered(INT32), [(INT32,)], [(ints(3),)]),
    "TensorListStack": (
        lambda x: stacked(list_of(x), num_elements=2),
        [(grid(2, 3),)],
        [(grid(3, 3),)],
    ),
    "TensorListStack, any": (lambda x: stacked(list_of(x)), [(grid(2, 3),)], [(grid(0, 3),)]),
    "TensorListFromTensor": (
        lambda x: RAW.TensorListGetItem(
            input_handle=RAW.TensorListFromTensor(tensor=x, element_shape=[-1, 2]),
            index=0,
            element_shape=-1,
            element_dtype=tf.float32,
        ),
        [(grid(3, 5, 2),)],
        [(grid(3, 5, 3),)],
    ),
    "TensorListSplit": (
        lambda x: stacked(
            RAW.TensorListSplit(tensor=x, element_shape=-1, lengths=np.int64([2, 2]))
        ),
        [(grid(4),)],
        [(grid(6),)],
    ),
    "Slice": (
        raw("Slice", "input", "begin", size=[1, 2]),
        [(GRID, ints(2, 2)), (GRID, np.int64([0, 0]))],
        [(GRID, ints(3, 0)), (GRID, ints(0, 3)), (GRID, ints(-1, 0)), (GRID, ints(2**31 - 1, 0))],
    ),
    "Slice, the rest": (
        raw("Slice", "input", "begin", size=[-1, 2]),
        [(GRID, ints(3, 0))],
        [(GRID, ints(4, 0))],
    ),
    "StridedSlice": (
        lambda x, i: x[i],
        [(GRID, np.int32(2)), (GRID, np.int64(-3))],
        [(GRID, np.int32(3)), (GRID, np.int64(-4))],
    ),
    "StridedSlice, column": (
        lambda x, i: x[1:, i],
        [(GRID, np.int32(3)), (GRID, np.int32(-4))],
        [(GRID, np.int32(4)), (GRID, np.int32(-5))],
    ),
    "StridedSlice, ellipsis": (
        lambda x, i: x[..., i, tf.newaxis],
        [(grid(2, 3, 4), np.int32(3))],
        [(grid(2, 3, 4), np.int32(4))],
    ),
    "StridedSlice, new axis": (
        lambda x, i: x[tf.newaxis, :, i],
        [(grid(2, 3, 4), np.int32(2))],
        [(grid(2, 3, 4), np.int32(3))],
    ),
    "StridedSlice, range": (
        lambda x, i: x[1, i : i + 2],
        [(GRID, np.int32(2)), (GRID, np.int32(-4))],
        [],  # TensorFlow's kernel cuts off: see `test_a_range_that_xla_would_not_cut_off`.
    ),
    "StridedSlice, all kinds": (
        lambda x, i: x[i, tf.newaxis, ..., :, i],
        [(grid(2, 3, 4, 5), np.int32(1)), (grid(2, 4, 5), np.int32(-2))],
        [(grid(2, 3, 4, 5), np.int32(2)), (grid(3, 4, 2), np.int32(2))],
    ),
    "StridedSlice, two masks": (
        raw(
            "StridedSlice", "input", "begin", end=[1], strides=[1], shrink_axis_mask=1, begin_mask=1
        ),
        [],
        [(GRID, ints(3))],
    ),
    "StridedSliceGrad": (
        slice_gradient,
        [(grid(3), ints(3)), (grid(3), ints(-4))],
        [(grid(3), ints(4)), (grid(3), ints(-5))],
    ),
    "MatrixBandPart": (
        raw("MatrixBandPart", "input", "num_lower", "num_upper"),
        [(GRID, np.int32(3), np.int32(-1)), (grid(2, 3, 4), np.int64(-9), np.int64(4))],
        [(GRID, np.int32(4), np.int32(0)), (GRID, np.int32(0), np.int32(5))],
    ),
    "BroadcastTo": (
        raw("BroadcastTo", "input", shape=[6, 4]),
        [(grid(6, 1),), (grid(4),), (UNIT,)],
        [(GRID,), (grid(2),)],
    ),
    "Einsum": (
        einsum("ab,bc->ac"),
        [(GRID, grid(4, 2)), (grid(0, 4), grid(4, 0))],
        [(GRID, grid(1, 2)), (grid(3, 1), grid(4, 2))],
    ),
    "Einsum, ellipsis": (
        einsum("...ab,...bc->...ac"),
        [(grid(2, 3, 4), grid(1, 4, 2))],
        [(grid(2, 3, 4), grid(2, 1, 2))],
    ),
    "Einsum, one operand": (einsum("aba->ab"), [(grid(2, 3, 2),)], [(grid(2, 3, 1),)]),
    "TopKV2": (
        raw("TopKV2", "input", "k"),
        [(GRID, np.int32(4)), (GRID, np.int32(0))],
        [(GRID, np.int32(5)), (GRID, np.int32(-1))],
    ),
    "LowerBound": (raw("LowerBound", "sorted_inputs", "values"), *SORTED),
    "UpperBound": (raw("UpperBound", "sorted_inputs", "values"), *SORTED),
    "Multinomial": (raw("Multinomial", "logits", num_samples=2), *CLASSES),
    "StatelessMultinomial": (
        raw("StatelessMultinomial", "logits", num_samples=2, seed=[1, 2]),
        *CLASSES,
    ),
    "Unique": (raw("Unique", "x"), [(grid(3),)], [(grid(0, 3),)]),
    "UniqueV2": (raw("UniqueV2", "x", axis=INT64), [(grid(3),)], [(grid(0, 3),)]),
    "UniqueV2, axis": (raw("UniqueV2", "x", axis=[1]), [(grid(2, 3),)], []),
    "Pow": (
        raw("Pow", "x", "y"),
        [(ints(2, 0), ints(3, 0)), (grid(2), F32([-1, -2]))],
        [(ints(1, 2), ints(-1, 0)), (np.int8([2]), np.int8(-1))],
    ),
    "Assert": (raw("Assert", "condition", data=["no"]), [(np.bool_(True),)], [(np.bool_(False),)]),
    "CheckNumerics": (
        raw("CheckNumerics", "tensor", message="no"),
        [(grid(2, 3),), (grid(0),), (np.float16([1]),)],
        [(grid(2) * NAN,), (F32([[1.0, INF]]),), (np.float64(-INF),)],
    ),
    **{
        name: (
            raw(name, "x", "y"),
            [(ints(5, -5), ints(0, 31)), (np.int8([1]), np.int8(7)), (np.uint8([4]), np.uint8(2))],
            [(ints(5, -5), ints(-1, 3)), (np.int8([1]), np.int8(8)), (ints(5), ints(32))],
        )
        for name in ("LeftShift", "RightShift")
    },
    "Igammac": (
        raw("Igammac", "a", "x"),
        [(F32([1, 2]), F32([0, 3]))],
        [(F32([-1, 2]), F32([1, 1])), (F32([1]), F32([-1])), (F32([NAN]), F32([1]))],
    ),
    "RandomUniformInt": (raw("RandomUniformInt", "minval", "maxval", shape=[2]), *BOUNDS),
    "StatelessRandomUniformInt": (
        raw("StatelessRandomUniformInt", "minval", "maxval", shape=[2], seed=[1, 2]),
        *BOUNDS,
    ),
    "StatelessRandomUniformIntV2": (
        raw(
            "StatelessRandomUniformIntV2",
            "minval",
            "maxval",
            shape=[2],
            key=KEY,
            counter=COUNTER,
            alg=1,
        ),
        *BOUNDS,
    ),
    "StatefulUniformInt": (
        lambda a, b: RAW.StatefulUniformInt(
            resource=variable([3], "int64"), algorithm=np.int64(1), shape=[2], minval=a, maxval=b
        ),
        *BOUNDS,
    ),
    "ParameterizedTruncatedNormal": (
        raw("ParameterizedTruncatedNormal", "means", "stdevs", "minvals", "maxvals", shape=[2, 3]),
        *NORMALS,
    ),
    "StatelessParameterizedTruncatedNormal": (
        lambda *four: RAW.StatelessParameterizedTruncatedNormal(
            shape=[2],
            seed=[1, 2],
            **dict(zip(("means", "stddevs", "minvals", "maxvals"), four, strict=True)),
        ),
        *NORMALS,
    ),
    "NonMaxSuppressionV3": (overlap("NonMaxSuppressionV3"), *OVERLAPS),
    "NonMaxSuppressionV4": (overlap("NonMaxSuppressionV4", pad_to_max_output_size=True), *OVERLAPS),
    "ResourceApplyProximalAdagrad": (
        lambda lr, l1, l2: RAW.ResourceApplyProximalAdagrad(
            var=variable([2]), accum=variable([2]), lr=lr, l1=l1, l2=l2, grad=[1.0, 2.0]
        ),
        [(UNIT, ZERO, ZERO)],
        [(ZERO, ZERO, ZERO), (UNIT, -UNIT, ZERO), (UNIT, ZERO, NAN)],
    ),
    "MatrixInverse": (raw("MatrixInverse", "input"), *MATRICES),
    "MatrixInverse, adjoint": (
        raw("MatrixInverse", "input", adjoint=True),
        [(F32([[2, 1], [0, 3]]),)],
        [(SINGULAR,)],
    ),
    "MatrixSolve": (lambda x: RAW.MatrixSolve(matrix=x, rhs=x), *MATRICES),
    "MatrixSolve, rows": (
        raw("MatrixSolve", "matrix", "rhs"),
        [(REGULAR, grid(2, 1))],
        [(F32([[2]]), grid(3, 1))],
    ),
    "SelfAdjointEigV2": (
        raw("SelfAdjointEigV2", "input"),
        [(REGULAR,), (SINGULAR[None],)],
        [(REGULAR * NAN,), (REGULAR * INF,)],
    ),
    **{
        name: (raw(name, "x", "y"), *DIVIDED)
        for name in ("Div", "FloorDiv", "FloorMod", "Mod", "TruncateDiv", "TruncateMod")
    },
    "FloorDiv, bytes": (
        raw("FloorDiv", "x", "y"),
        [(np.uint8([4]), np.uint8(255))],
        [(np.uint8([4]), np.uint8([[1], [0]]))],
    ),
    "FloorDiv, floats": (raw("FloorDiv", "x", "y"), [(grid(2), F32([0, 0]))], []),
    **{
        f"TensorScatter{name}": (scatter(f"TensorScatter{name}"), *PLACES)
        for name in ("Add", "Max", "Min", "Sub", "Update")
    },
    **{
        f"ResourceScatter{name}": (scatter_into_variable(name), *ROWS)
        for name in ("Add", "Max", "Min", "Mul", "Sub", "Update")
    },
    **{
        f"ResourceScatterNd{name}": (scatter_nd_into_variable(name), *ROWS_ND)
        for name in ("Add", "Sub", "Update")
    },
    **{
        name: (raw(name, "data", "segment_ids", num_segments=2), *SEGMENTS)
        for name in (f"UnsortedSegment{kind}" for kind in ("Max", "Min", "Prod", "Sum"))
    },
}
