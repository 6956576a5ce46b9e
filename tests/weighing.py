"""Data, weights and masks for all metrics and losses, and what a weighted result must be.

A sample of weight 2 is the sample twice, and a sample of weight 0, or a masked one, is not there at all. So
the truth is the same metric or loss, without weights, of repeated rows: no formula is written a second time.
"""

import numpy as np
import tensorflow as tf

random = np.random.RandomState(3)
ROWS, STEPS, SIZE = 6, 3, 4
# Of rows and of steps: zero, one and more.
ROW_WEIGHTS = np.array([2, 0, 1, 3, 0, 1])
STEP_WEIGHTS = np.array([[1, 0, 2], [0, 0, 0], [1, 1, 1], [3, 0, 0], [0, 1, 2], [2, 1, 0]])
ROW_MASK = np.array([1, 1, 0, 1, 0, 1], bool)
STEP_MASK = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 1], [0, 1, 1], [0, 0, 0], [1, 0, 1]], bool)


def one_hot(classes, size=SIZE):
    return np.eye(size, dtype="float32")[classes]


def softmax(scores):
    return (np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)).astype("float32")


def floats(*shape):
    return random.normal(size=shape).astype("float32")


def pair(kind, *shape):
    """Returns targets and predictions whose first axes are `shape`."""
    ids = random.randint(0, SIZE, shape)
    return {
        "numbers": lambda: (floats(*shape, SIZE), floats(*shape, SIZE)),
        "positive": lambda: (abs(floats(*shape, SIZE)) + 0.1, abs(floats(*shape, SIZE)) + 0.1),
        "signs": lambda: (np.sign(floats(*shape, SIZE)), floats(*shape, SIZE)),
        "labels": lambda: (
            random.randint(0, 2, (*shape, SIZE)).astype("float32"),
            random.rand(*shape, SIZE).astype("float32"),
        ),
        "classes": lambda: (one_hot(ids), softmax(floats(*shape, SIZE))),
        "sparse": lambda: (ids, softmax(floats(*shape, SIZE))),
        "binary": lambda: (random.randint(0, 2, shape), random.rand(*shape).astype("float32")),
        "ids": lambda: (ids, random.randint(0, SIZE, shape)),
        "embeddings": lambda: (ids % 2, tf.math.l2_normalize(floats(*shape, SIZE), -1).numpy()),
    }[kind]()


def repeated(array, counts):
    """Returns each row as often as `counts` says; the axes of `counts` become one."""
    array = np.asarray(array)
    flat = array.reshape(-1, *array.shape[np.ndim(counts) :])
    return np.repeat(flat, np.ravel(counts).astype(int), axis=0)


def masked(y_pred, mask):
    """Returns predictions that carry a mask."""
    y_pred = tf.identity(y_pred)
    if mask is not None:
        y_pred._keras_mask = tf.constant(mask)
    return y_pred


# Name: (what is passed, how often each row counts). With `SEQUENCES`, rows are the steps of samples.
PER_ROW = {
    "rows": (ROW_WEIGHTS, ROW_WEIGHTS),
    "column": (ROW_WEIGHTS[:, None].astype("float32"), ROW_WEIGHTS),
    "list": (ROW_WEIGHTS.tolist(), ROW_WEIGHTS),
    "float64": (ROW_WEIGHTS.astype("float64"), ROW_WEIGHTS),
    "float16": (ROW_WEIGHTS.astype("float16"), ROW_WEIGHTS),
    "bool": (ROW_WEIGHTS > 0, ROW_WEIGHTS > 0),
    "scalar": (2, np.full(ROWS, 2)),
    "one": ([2], np.full(ROWS, 2)),
    "zero": (np.zeros(ROWS, int), np.zeros(ROWS)),
}
PER_STEP = {
    "rows": (ROW_WEIGHTS, np.tile(ROW_WEIGHTS[:, None], STEPS)),
    "column": (ROW_WEIGHTS[:, None], np.tile(ROW_WEIGHTS[:, None], STEPS)),
    "steps": (STEP_WEIGHTS, STEP_WEIGHTS),
    "steps_column": (STEP_WEIGHTS[..., None], STEP_WEIGHTS),
    "list": (STEP_WEIGHTS.tolist(), STEP_WEIGHTS),
    "bool": (STEP_WEIGHTS > 0, STEP_WEIGHTS > 0),
    "scalar": (2, np.full((ROWS, STEPS), 2)),
    "zero": (np.zeros((ROWS, STEPS), int), np.zeros((ROWS, STEPS))),
}
