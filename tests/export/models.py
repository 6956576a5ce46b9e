"""Twenty models of all kinds, with inputs of seven rows and the dtypes of the signature that they should get.

Inputs and outputs are in the order of `tf.nest.flatten`, which sorts the keys of dicts.
"""

import numpy as np
import tensorflow as tf

import tfkit
from tfkit import layers

ROWS = 7


def floats(*shape):
    return np.random.uniform(-1, 1, (ROWS, *shape)).astype("float32")


def integers(dtype, *shape, high=9):
    return np.random.randint(1, high, (ROWS, *shape)).astype(dtype)


def strings(*shape):
    return np.random.choice(np.array(["red", "green", "blue", "möve"], object), (ROWS, *shape))


def words_table():
    initializer = tf.lookup.KeyValueTensorInitializer(
        ["red", "green", "blue"], tf.constant([1, 2, 3], tf.int64)
    )
    return tf.lookup.StaticHashTable(initializer, 0)


def functional():
    x = tfkit.Input((4,), name="x")
    hidden = layers.Dense(8, activation="relu")(x)
    model = tfkit.Model(x, layers.Dense(3, name="scores")(hidden))
    return model, floats(4), {"x": "float32"}, {"scores": "float32"}


def sequential():
    model = tfkit.Sequential([tfkit.Input((4,), name="rows"), layers.Dense(2, name="head")])
    return model, floats(4), {"rows": "float32"}, {"head": "float32"}


def sequential_without_input():
    model = tfkit.Sequential([layers.Embedding(9, 4), layers.GlobalAveragePooling1D(name="mean")])
    return model, integers("int32", 5), {"inputs": "int32"}, {"mean": "float32"}


class Subclassed(tfkit.Model):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(3)

    def call(self, features):
        return tf.nn.softmax(self.dense(features))


def subclassed():
    return Subclassed(), floats(4), {"features": "float32"}, {"output_0": "float32"}


def three_inputs_and_outputs():
    inputs = [tfkit.Input((size,), name=name) for size, name in ((2, "a"), (3, "b"), (4, "c"))]
    outputs = [layers.Dense(2, name=f"out_{tensor.name}")(tensor) for tensor in inputs]
    dtypes = {f"out_{name}": "float32" for name in "abc"}
    given = [floats(2), floats(3), floats(4)]
    return tfkit.Model(inputs, outputs), given, dict.fromkeys("abc", "float32"), dtypes


def functional_dicts():
    inputs = {name: tfkit.Input((3,), name=name) for name in ("left", "right", "middle")}
    total = layers.Add()(list(inputs.values()))
    model = tfkit.Model(inputs, {"total": total, "twice": total * 2, "left": inputs["left"]})
    given = {name: floats(3) for name in inputs}
    outputs = dict.fromkeys(("left", "total", "twice"), "float32")
    return model, given, dict.fromkeys(inputs, "float32"), outputs


class ThreeArguments(tfkit.Model):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(2)

    def call(self, query, keys, scale=None, training=False):
        assert not training
        joined = self.dense(tf.concat([query, keys], -1))
        return joined * scale, joined, tf.shape(keys)[:1]


def three_arguments():
    given = {"query": floats(2), "keys": floats(3), "scale": floats(1)}
    outputs = {"output_0": "float32", "output_1": "float32"}
    return ThreeArguments(), given, dict.fromkeys(given, "float32"), outputs | {"output_2": "int32"}


class Nested(tfkit.Model):
    def __init__(self):
        super().__init__()
        self.embedding = layers.Embedding(9, 3)
        self.dense = layers.Dense(2)

    def call(self, inputs):
        user, (price, tags) = inputs["user"], inputs["item"]["parts"]
        vector = self.embedding(user["id"]) + self.dense(price)[:, :1]
        return {"user": {"vector": vector}, "item": [price, (tags,)], "known": user["known"]}


def nested():
    user = {"id": integers("int64"), "known": np.random.rand(ROWS) > 0.5}
    given = {"user": user, "item": {"parts": (floats(4), strings(2))}}
    inputs = {"parts_0": "float32", "parts_1": "string", "id": "int64", "known": "bool"}
    outputs = {"item_0": "float32", "item_1": "string", "known": "bool", "vector": "float32"}
    return Nested(), given, inputs, outputs


class WithTable(tfkit.Model):
    """The table is no attribute of a module: it is found by what the trace reads."""

    def __init__(self):
        super().__init__()
        table = words_table()
        self.embedding = layers.Embedding(9, 3)
        self.find = lambda words: table.lookup(words)

    def call(self, words):
        return self.embedding(self.find(words))


def lookup_table():
    return WithTable(), strings(3), {"words": "string"}, {"output_0": "float32"}


class TableInLayer(layers.Layer):
    def __init__(self):
        super().__init__()
        self.table = words_table()

    def call(self, inputs):
        return self.table.lookup(inputs)


def table_in_functional():
    words = tfkit.Input((2,), dtype="string", name="words")
    model = tfkit.Model(words, layers.Embedding(9, 3, name="vectors")(TableInLayer()(words)))
    return model, strings(2), {"words": "string"}, {"vectors": "float32"}


def masked_lstm():
    ids = tfkit.Input((None,), dtype="int32", name="ids")
    x = layers.Embedding(9, 4, mask_zero=True)(ids)
    x = layers.Bidirectional(layers.LSTM(3, return_sequences=True))(x)
    model = tfkit.Model(ids, layers.GRU(2, name="state")(x))
    given = integers("int32", 6)
    given[:, 3:] *= np.random.rand(ROWS, 3) > 0.5
    return model, given, {"ids": "int32"}, {"state": "float32"}


def batch_normalization():
    image = tfkit.Input((8, 8, 3), name="image")
    x = layers.Conv2D(4, 3, use_bias=False)(image)
    x = layers.BatchNormalization()(x)
    x = layers.GlobalAveragePooling2D()(layers.MaxPooling2D()(layers.ReLU()(x)))
    model = tfkit.Model(image, layers.Dense(2, name="scores")(x))
    model.compile("sgd", "mse")
    model.fit(floats(8, 8, 3), floats(2), verbose=0)
    return model, floats(8, 8, 3), {"image": "float32"}, {"scores": "float32"}


def dropout():
    stack = [tfkit.Input((4,)), layers.Dense(8), layers.Dropout(0.5), layers.GaussianNoise(1.0)]
    model = tfkit.Sequential([*stack, layers.Dense(2, name="head")])
    model.compile("adam", "mse", metrics=["mae"])
    model.fit(floats(4), floats(2), verbose=0)
    return model, floats(4), {model.inputs[0].name: "float32"}, {"head": "float32"}


def half_precision():
    x = tfkit.Input((4,), dtype="float16", name="x")
    model = tfkit.Model(x, layers.Dense(3, dtype="float16", name="y")(x))
    return model, floats(4).astype("float16"), {"x": "float16"}, {"y": "float16"}


class Mixed(tfkit.Model):
    def __init__(self):
        super().__init__(dtype="mixed_float16")
        self.dense = layers.Dense(3, dtype="mixed_float16")

    def call(self, x):
        return self.dense(x)


def mixed_precision():
    return Mixed(), floats(4), {"x": "float32"}, {"output_0": "float16"}


class Flags(tfkit.Model):
    def call(self, flags, counts):
        return {"any": tf.reduce_any(flags, 1), "sum": tf.reduce_sum(counts, 1)}


def booleans():
    given = {"flags": np.random.rand(ROWS, 3) > 0.5, "counts": integers("uint8", 2, high=90)}
    return Flags(), given, {"flags": "bool", "counts": "uint8"}, {"any": "bool", "sum": "uint8"}


class Attention(tfkit.Model):
    def __init__(self):
        super().__init__()
        self.embedding = layers.Embedding(9, 8)
        self.attention = layers.MultiHeadAttention(2, 4)
        self.norm = layers.LayerNormalization()

    def call(self, token_ids, attention_mask=None):
        x = self.embedding(token_ids)
        mask = None if attention_mask is None else attention_mask[:, tf.newaxis, :]
        x = self.norm(x + self.attention(x, x, attention_mask=mask))
        return {"vectors": x, "pooled": tf.reduce_mean(x, 1)}


def variable_length():
    """Called with two lengths, and with a mask that the caller passes."""
    model = Attention()
    for length in (3, 6):
        given = {
            "token_ids": integers("int64", length),
            "attention_mask": np.random.rand(ROWS, length) > 0.2,
        }
        model(**given)
    outputs = dict.fromkeys(("pooled", "vectors"), "float32")
    return model, given, {"token_ids": "int64", "attention_mask": "bool"}, outputs


def text_lengths():
    class Lengths(tfkit.Model):
        def call(self, text):
            return tf.strings.length(text), tf.strings.upper(text)

    return Lengths(), strings(), {"text": "string"}, {"output_0": "int32", "output_1": "string"}


class Steps(tfkit.Model):
    """`if` and `for` on tensors, in eager mode."""

    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(4)

    def call(self, x, steps):
        for _ in tf.range(tf.reduce_max(tf.concat([steps, [0]], 0))):
            if tf.reduce_sum(x) > 0:
                x = self.dense(x)
            else:
                x = -x
        return x


def control_flow():
    given = {"x": floats(4), "steps": integers("int32", high=4)}
    return Steps(), given, {"x": "float32", "steps": "int32"}, {"output_0": "float32"}


def model_in_model():
    inner = tfkit.Sequential([layers.Dense(4), layers.LayerNormalization()])
    x = tfkit.Input((3,), name="x")
    shared = inner(x)
    model = tfkit.Model(x, layers.Concatenate(name="both")([inner(shared[:, :3]), shared]))
    return model, floats(3), {"x": "float32"}, {"both": "float32"}


MODELS = [
    functional, sequential, sequential_without_input, subclassed, three_inputs_and_outputs,
    functional_dicts, three_arguments, nested, lookup_table, table_in_functional, masked_lstm,
    batch_normalization, dropout, half_precision, mixed_precision, booleans, variable_length,
    text_lengths, control_flow, model_in_model,
]  # fmt: skip
