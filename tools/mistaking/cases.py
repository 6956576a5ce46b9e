"""Programs with one mistake each.

They find `np`, `tf`, `keras`, 64 rows of four numbers `x`, targets `y`, and `mlp()`, a compiled model for
them. A line that ends in `# here` must be shown by the traceback. What never enters the framework, such as a
function in a pipeline of TensorFlow's that is made and not used, is not among them.
"""

# ruff: noqa: E501

from mistaking.beginners import BEGINNERS
from mistaking.everyday import EVERYDAY
from mistaking.operation import OPERATION
from mistaking.workflow import WORKFLOW

PREFACE = """
import numpy as np, tensorflow as tf
x = np.random.RandomState(0).rand(64, 4).astype("float32")
y = x.sum(axis=1, keepdims=True)
def mlp(loss="mse", **options):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
    model.compile("sgd", loss, **options)
    return model
def subclassed(call, **options):
    class Mine(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(1)
    Mine.call = call
    model = Mine()
    model.compile("sgd", "mse", **options)
    return model
"""

_LAYER_CALL = """
class Mine(keras.layers.Layer):
    def call(self, inputs):
        {line}  # here
"""

_MODEL = """
def call(self, inputs):
    {line}
"""


def _in_call(line: str, use: str) -> str:
    return _MODEL.format(line=line) + f"model = subclassed(call)\n{use}\n"


MISTAKES: dict[str, str] = {
    # Data that does not fit
    "wrong input width in fit": "mlp().fit(x[:, :3], y, verbose=0)  # here",
    "wrong input width in predict": "mlp().predict(x[:, :3], verbose=0)  # here",
    "wrong input width in a call": "mlp()(x[:, :3])  # here",
    "wrong input width after a fit": (
        "model = mlp()\nmodel.fit(x, y, verbose=0)\nmodel.fit(x[:, :3], y, verbose=0)  # here"
    ),
    "wrong width of a subclassed model": _in_call(
        "return self.dense(inputs)",
        "model.fit(x, y, verbose=0)\nmodel.fit(x[:, :3], y, verbose=0)  # here",
    ),
    "wrong rank": "mlp().fit(x[:, :, None, None], y, verbose=0)  # here",
    "images without channels": (
        "model = keras.Sequential([keras.layers.Conv2D(4, 3), keras.layers.Flatten(), keras.layers.Dense(1)])\n"
        "model.compile('sgd', 'mse')\n"
        "model.fit(np.zeros((8, 28, 28)), np.zeros((8, 1)), verbose=0)  # here"
    ),
    "an LSTM without a time axis": "keras.layers.LSTM(4)(x)  # here",
    "strings as inputs": "mlp().fit(np.array([['a', 'b', 'c', 'd']] * 8), y[:8], verbose=0)  # here",
    "objects as inputs": "mlp().fit(np.array([[1, None, 'a', {}]] * 8, dtype=object), y[:8], verbose=0)  # here",
    "ragged lists": "mlp().fit([[1.0, 2.0], [3.0]], [1.0, 2.0], verbose=0)  # here",
    "a list of lists of other width": "mlp().predict([[1.0, 2.0, 3.0]], verbose=0)  # here",
    "fewer labels than rows": "mlp().fit(x, y[:32], verbose=0)  # here",
    "labels of another width": (
        "model = keras.Sequential([keras.layers.Dense(2)])\nmodel.compile('sgd', 'mse')\n"
        "model.fit(x, np.zeros((64, 3)), verbose=0)  # here"
    ),
    "labels that are None": "mlp().fit(x, verbose=0)  # here",
    "class labels for categorical crossentropy": (
        "model = keras.Sequential([keras.layers.Dense(3, activation='softmax')])\n"
        "model.compile('sgd', 'categorical_crossentropy')\n"
        "model.fit(x, np.zeros((64,), 'int32'), verbose=0)  # here"
    ),
    "one-hot labels for sparse crossentropy": (
        "model = keras.Sequential([keras.layers.Dense(3, activation='softmax')])\n"
        "model.compile('sgd', 'sparse_categorical_crossentropy')\n"
        "model.fit(x, np.zeros((64, 3), 'int32'), verbose=0)  # here"
    ),
    "a label out of range": (
        "model = keras.Sequential([keras.layers.Dense(3, activation='softmax')])\n"
        "model.compile('sgd', 'sparse_categorical_crossentropy')\n"
        "model.fit(x, np.full((64,), 7), verbose=0)  # here"
    ),
    "string labels": "mlp().fit(x, np.array(['cat'] * 64), verbose=0)  # here",
    "a token out of range": (
        "model = keras.Sequential([keras.layers.Embedding(4, 2), keras.layers.Flatten(), keras.layers.Dense(1)])\n"
        "model.compile('sgd', 'mse')\n"
        "model.fit(np.full((8, 3), 9), np.zeros((8, 1)), verbose=0)  # here"
    ),
    "predict of a word": "mlp().predict('hello')  # here",
    "predict of None": "mlp().predict(None)  # here",
    "predict of one row": "mlp().predict(x[0], verbose=0)  # here",
    "no rows": "mlp().fit(x[:0], y[:0], verbose=0)  # here",
    "validation_data is x": "mlp().fit(x, y, validation_data=x, verbose=0)  # here",
    "validation_data of another width": (
        "mlp().fit(x, y, validation_data=(x[:, :3], y), verbose=0)  # here"
    ),
    "validation_split with a dataset": (
        "data = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)\n"
        "mlp().fit(data, validation_split=0.2, verbose=0)  # here"
    ),
    "validation_split of one": "mlp().fit(x, y, validation_split=1.0, verbose=0)  # here",
    "y with a dataset": (
        "data = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)\n"
        "mlp().fit(data, y, verbose=0)  # here"
    ),
    "a dataset without batches": (
        "data = tf.data.Dataset.from_tensor_slices((x, y))\nmlp().fit(data, verbose=0)  # here"
    ),
    "sample_weight of another length": (
        "mlp().fit(x, y, sample_weight=np.ones(3), verbose=0)  # here"
    ),
    # Data from the user's code
    "a generator that gives bare x": (
        "def batches():\n    while True:\n        yield x[:8]\n"
        "mlp().fit(batches(), steps_per_epoch=2, verbose=0)  # here"
    ),
    "a generator that gives four things": (
        "def batches():\n    while True:\n        yield x[:8], y[:8], None, 1\n"
        "mlp().fit(batches(), steps_per_epoch=2, verbose=0)  # here"
    ),
    "a generator that fails at first": (
        "def batches():\n    yield x[:8], y[7:8] + undefined  # here\n"
        "mlp().fit(batches(), steps_per_epoch=2, verbose=0)"
    ),
    "a generator that fails later": (
        "def batches():\n    for index in range(10):\n        yield x[:8] / (1 // (5 - index)), y[:8]  # here\n"
        "mlp().fit(batches(), steps_per_epoch=9, verbose=0)  # here"
    ),
    "a generator that changes its widths": (
        "def batches():\n    for width in (4, 4, 4, 3, 4):\n        yield x[:8, :width], y[:8]\n"
        "mlp().fit(batches(), steps_per_epoch=5, verbose=0)  # here"
    ),
    "a PyDataset that fails": (
        "class Data(keras.utils.PyDataset):\n    def __len__(self):\n        return 9\n"
        "    def __getitem__(self, index):\n"
        "        return x[: 8 // (5 - index)], y[: 8 // (5 - index)]  # here\n"
        "mlp().fit(Data(), verbose=0, shuffle=False)  # here"
    ),
    "a pipeline that fails while it runs": (
        "data = tf.data.Dataset.from_tensor_slices((x, y))\n"
        "data = data.map(lambda r, l: (tf.debugging.check_numerics(r / 0.0, 'bad row'), l)).batch(8)\n"
        "mlp().fit(data, verbose=0)  # here"
    ),
    # compile
    "no compile": (
        "model = keras.Sequential([keras.layers.Dense(1)])\nmodel.fit(x, y, verbose=0)  # here"
    ),
    "compile without a loss": (
        "model = keras.Sequential([keras.layers.Dense(1)])\nmodel.compile('sgd')\n"
        "model.fit(x, y, verbose=0)  # here"
    ),
    "an unknown loss": "mlp('mean_square_error').fit(x, y, verbose=0)  # here",
    "an unknown optimizer": "mlp().compile('adamm', 'mse')  # here",
    "an unknown metric": "mlp(metrics=['acuracy']).fit(x, y, verbose=0)  # here",
    "losses for outputs that are not there": (
        "model = mlp()\nmodel.compile('sgd', {'a': 'mse', 'b': 'mae'})\nmodel.fit(x, y, verbose=0)  # here"
    ),
    "an unknown argument of compile": "mlp(metric=['mae'])  # here",
    # Layers
    "an unknown layer argument": "keras.layers.Dense(8, activaton='relu')  # here",
    "an unknown activation": "keras.layers.Dense(8, activation='rleu')  # here",
    "units that are a string": "keras.layers.Dense('8')  # here",
    "units that are negative": "keras.layers.Dense(-1)  # here",
    "a rate above one": "keras.layers.Dropout(1.5)  # here",
    "Concatenate of one tensor": "keras.layers.Concatenate()(tf.zeros((2, 3)))  # here",
    "Concatenate of other shapes": (
        "keras.layers.Concatenate()([tf.zeros((2, 3)), tf.zeros((3, 3))])  # here"
    ),
    "Add of other shapes": "keras.layers.Add()([keras.Input((3,)), keras.Input((4,))])  # here",
    "a kernel larger than its input": "keras.layers.Conv2D(4, 5)(keras.Input((3, 3, 1)))  # here",
    "a kernel larger than its data": "keras.layers.Conv2D(4, 5)(np.zeros((1, 3, 3, 1), 'float32'))  # here",
    "poolings that leave nothing": (
        "keras.Sequential([keras.Input((4, 4, 1)), *[keras.layers.MaxPooling2D() for _ in range(3)]])  # here"
    ),
    "Reshape that does not fit": "keras.layers.Reshape((3, 3))(keras.Input((4,)))  # here",
    "a list of layers in Dense": "keras.layers.Dense(1)([x, x])  # here",
    "a layer instead of a tensor": "keras.layers.Dense(1)(keras.layers.Dense(2))  # here",
    "a layer without parentheses": "keras.Sequential([keras.layers.Flatten, keras.layers.Dense(1)])  # here",
    "attention without a value": "keras.layers.MultiHeadAttention(2, 2)(tf.zeros((1, 2, 4)))  # here",
    "no super().__init__()": (
        "class Mine(keras.layers.Layer):\n    def __init__(self):\n        self.units = 3\nMine()(x)  # here"
    ),
    "a name twice": (
        "a = keras.Input((4,))\nb = keras.layers.Dense(1, name='d')(a)\n"
        "keras.Model(a, keras.layers.Dense(1, name='d')(b))  # here"
    ),
    # The functional API
    "outputs that the inputs do not lead to": (
        "a, b = keras.Input((4,)), keras.Input((4,))\n"
        "keras.Model(a, keras.layers.Dense(1)(b))  # here"
    ),
    "inputs that are an array": "keras.Model(x, keras.layers.Dense(1)(keras.Input((4,))))  # here",
    "NumPy on a symbolic tensor": "np.sum(keras.Input((4,)))  # here",
    "a symbolic tensor in an if": "if keras.Input((4,))[0, 0] > 1:  # here\n    pass",
    "two inputs, one given": (
        "a, b = keras.Input((4,)), keras.Input((4,))\n"
        "model = keras.Model([a, b], keras.layers.Add()([a, b]))\nmodel.compile('sgd', 'mse')\n"
        "model.fit(x, y, verbose=0)  # here"
    ),
    "a dict without a key": (
        "a, b = keras.Input((4,), name='a'), keras.Input((4,), name='b')\n"
        "model = keras.Model({'a': a, 'b': b}, keras.layers.Add()([a, b]))\n"
        "model.predict({'a': x}, verbose=0)  # here"
    ),
    # The user's own code
    "an undefined attribute in call": _in_call(
        "return self.dens(inputs)  # here", "model.fit(x, y, verbose=0)"
    ),
    "an undefined attribute in call, predict": _in_call(
        "return self.dens(inputs)  # here", "model.predict(x, verbose=0)"
    ),
    "an undefined attribute in call, eagerly": _in_call(
        "return self.dens(inputs)  # here", "model(x)  # here"
    ),
    "an error in an if of call": _in_call(
        "return self.dense(inputs / undefined) if self.built else self.dense(inputs[:, None][:, 0, 5])  # here",
        "model.fit(x, y, verbose=0)  # here",
    ),
    "an own exception in call": (
        "class Unfit(Exception):\n    def __init__(self, a, b):\n        super().__init__(f'{a} {b}')\n"
        "def call(self, inputs):\n    if inputs.shape[-1] == 4:\n        raise Unfit(1, 2)  # here\n"
        "    return self.dense(inputs)\nsubclassed(call).fit(x, y, verbose=0)  # here"
    ),
    "an error in a layer of a layer": (
        "class Inner(keras.layers.Layer):\n    def call(self, inputs):\n"
        "        return tf.matmul(inputs, tf.ones((7, 7)))  # here\n"
        "class Outer(keras.layers.Layer):\n    def __init__(self):\n        super().__init__()\n"
        "        self.inner = Inner()\n    def call(self, inputs):\n        return self.inner(inputs)  # here\n"
        "Outer()(x)  # here"
    ),
    "an error in a layer of a layer, in fit": (
        "class Inner(keras.layers.Layer):\n    def call(self, inputs):\n"
        "        return tf.matmul(inputs, tf.ones((7, 7)))  # here\n"
        "class Outer(keras.layers.Layer):\n    def __init__(self):\n        super().__init__()\n"
        "        self.inner = Inner()\n    def call(self, inputs):\n        return self.inner(inputs)  # here\n"
        "model = keras.Sequential([Outer(), keras.layers.Dense(1)])\nmodel.compile('sgd', 'mse')\n"
        "model.fit(x, y, verbose=0)  # here"
    ),
    "an error while call runs": _in_call(
        "return self.dense(tf.gather(inputs, tf.cast(inputs[:, 0] + 90, 'int32'), axis=0))  # here",
        "model.fit(x, y, verbose=0)  # here",
    ),
    "an error while call runs, predict": _in_call(
        "return self.dense(tf.gather(inputs, tf.cast(inputs[:, 0] + 90, 'int32'), axis=0))  # here",
        "model.predict(x, verbose=0)  # here",
    ),
    "an error while call runs, eagerly": _in_call(
        "return self.dense(tf.gather(inputs, tf.cast(inputs[:, 0] + 90, 'int32'), axis=0))  # here",
        "model(x)  # here",
    ),
    "an error in a loop of call while it runs": (
        "def call(self, inputs):\n    for step in keras.ops.arange(3):\n"
        "        inputs = inputs + tf.gather(inputs, [99 + step])  # here\n    return self.dense(inputs)\n"
        "subclassed(call).fit(x, y, verbose=0)  # here"
    ),
    "a fixed batch in call": _in_call(
        "return self.dense(tf.reshape(inputs, (16, 4)))  # here",
        "model.fit(x, y, verbose=0)  # here",
    ),
    "a fixed batch in call, the last is smaller": _in_call(
        "return self.dense(tf.concat([inputs, tf.ones((32, 4))], 1))  # here",
        "model.fit(x[:40], y[:40], verbose=0)  # here",
    ),
    "a loss that fails": (
        "def loss(y_true, y_pred):\n    return y_true.nothing  # here\nmlp(loss).fit(x, y, verbose=0)  # here"
    ),
    "a loss that fails while it runs": (
        "def loss(y_true, y_pred):\n    return tf.gather(y_pred, tf.cast(y_true + 90, 'int32'))  # here\n"
        "mlp(loss).fit(x, y, verbose=0)  # here"
    ),
    "a loss that gives None": (
        "def loss(y_true, y_pred):\n    tf.square(y_true - y_pred)\nmlp(loss).fit(x, y, verbose=0)  # here"
    ),
    "a loss by NumPy": (
        "def loss(y_true, y_pred):\n    return np.mean(np.square(y_true - y_pred))  # here\n"
        "mlp(loss).fit(x, y, verbose=0)  # here"
    ),
    "a loss without gradients": (
        "def loss(y_true, y_pred):\n    return tf.cast(tf.argmax(y_pred, -1), 'float32')\n"
        "mlp(loss).fit(x, y, verbose=0)"
    ),
    "a metric that fails": (
        "def measure(y_true, y_pred):\n    return y_pred + undefined  # here\n"
        "mlp(metrics=[measure]).fit(x, y, verbose=0)  # here"
    ),
    "a metric class that fails": (
        "class Mine(keras.metrics.Metric):\n    def update_state(self, y_true, y_pred, sample_weight=None):\n"
        "        self.total.assign_add(1.0)  # here\n    def result(self):\n        return 0.0\n"
        "mlp(metrics=[Mine()]).fit(x, y, verbose=0)  # here"
    ),
    "a train_step that returns nothing": (
        "class Mine(keras.Model):\n    def __init__(self):\n        super().__init__()\n"
        "        self.dense = keras.layers.Dense(1)\n    def call(self, inputs):\n        return self.dense(inputs)\n"
        "    def train_step(self, data):\n        self(data[0])\n"
        "model = Mine()\nmodel.compile('sgd', 'mse')\nmodel.fit(x, y, verbose=0)  # here"
    ),
    "a train_step that fails": (
        "class Mine(keras.Model):\n    def __init__(self):\n        super().__init__()\n"
        "        self.dense = keras.layers.Dense(1)\n    def call(self, inputs):\n        return self.dense(inputs)\n"
        "    def train_step(self, data):\n        x, y, z = data  # here\n"
        "model = Mine()\nmodel.compile('sgd', 'mse')\nmodel.fit(x, y, verbose=0)  # here"
    ),
    "a call that returns nothing": _in_call(
        "self.dense(inputs)", "model.fit(x, y, verbose=0)  # here"
    ),
    "a model without call": (
        "class Mine(keras.Model):\n    pass\nmodel = Mine()\nmodel.compile('sgd', 'mse')\n"
        "model.fit(x, y, verbose=0)  # here"
    ),
    "a callback that fails": (
        "class Mine(keras.callbacks.Callback):\n    def on_epoch_end(self, epoch, logs=None):\n"
        "        print(logs['val_loss'])  # here\nmlp().fit(x, y, callbacks=[Mine()], verbose=0)  # here"
    ),
    "a callback of another kind": "mlp().fit(x, y, callbacks=[print], verbose=0)  # here",
    "a callback that is a class": (
        "mlp().fit(x, y, callbacks=[keras.callbacks.EarlyStopping], verbose=0)  # here"
    ),
    "a schedule that fails": (
        "def schedule(epoch):\n    return 0.1 / epoch  # here\n"
        "mlp().fit(x, y, callbacks=[keras.callbacks.LearningRateScheduler(schedule)], verbose=0)  # here"
    ),
    "an error with a cause of the user's": (
        "def call(self, inputs):\n    try:\n        inputs.nothing  # here\n"
        "    except AttributeError as error:\n        raise RuntimeError('not so') from error  # here\n"
        "subclassed(call).fit(x, y, verbose=0)  # here"
    ),
    "a gradient of nothing": (
        "optimizer = keras.optimizers.SGD()\nv = tf.Variable(1.0)\n"
        "optimizer.apply_gradients([(None, v)])  # here"
    ),
    # Files
    "load of a missing file": "keras.models.load_model('no_such_model.keras')  # here",
    "load of a file that is no model": (
        "open('text.keras', 'w').write('no model')\nkeras.models.load_model('text.keras')  # here"
    ),
    "load of missing weights": "mlp().load_weights('no_such.weights.h5')  # here",
    "a wrong file name": "mlp().save('model.txt')  # here",
    "weights of another model": (
        "mlp().save_weights('a.weights.h5')\n"
        "keras.Sequential([keras.Input((4,)), keras.layers.Dense(7), keras.layers.Dense(1)])"
        ".load_weights('a.weights.h5')  # here"
    ),
    "set_weights of other shapes": "mlp().set_weights([np.zeros((3, 3))] * 4)  # here",
    "set_weights of too few": "mlp().layers[0].set_weights([np.zeros((4, 8))])  # here",
    "a custom layer that is not registered": (
        "class Mine(keras.layers.Layer):\n    def call(self, inputs):\n        return inputs\n"
        "keras.Sequential([keras.Input((4,)), Mine()]).save('mine.keras')\n"
        "keras.models.load_model('mine.keras')  # here"
    ),
    "a layer by an unknown name": "mlp().get_layer('dense_one')  # here",
    "NaN in the activations": (
        "class Checked(keras.layers.Layer):\n    def call(self, inputs):\n"
        "        return tf.debugging.check_numerics(inputs, 'not a number')  # here\n"
        "model = keras.Sequential([Checked(), keras.layers.Dense(1)])\nmodel.compile('sgd', 'mse')\n"
        "model.fit(x * np.nan, y, verbose=0)  # here"
    ),
    "count_params of a layer that is not built": "keras.layers.Dense(1).count_params()  # here",
    # Ops
    "matmul of other shapes": "keras.ops.matmul(x, x)  # here",
    "reshape of another size": "keras.ops.reshape(x, (3, 3))  # here",
    "a sum over an axis that is not there": "keras.ops.sum(x, axis=5)  # here",
    "a mix of dtypes": "tf.constant([1]) + keras.ops.cast(x, 'float32')  # here",
    "concatenate of other shapes": "keras.ops.concatenate([x, y], axis=0)  # here",
    # Names
    "a name that is not there": "keras.layers.Dence(1)  # here",
    "labels in to_categorical": "keras.utils.to_categorical([1, 5], num_classes=3)  # here",
    # The user stops it
    "Ctrl-C in fit": (
        "class Stop(keras.callbacks.Callback):\n    def on_epoch_end(self, epoch, logs=None):\n"
        "        import signal\n"
        "        signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "        signal.raise_signal(signal.SIGINT)\n"
        "mlp().fit(x, y, epochs=3, callbacks=[Stop()], verbose=0)  # here"
    ),
    **EVERYDAY,
    **WORKFLOW,
    **OPERATION,
    **BEGINNERS,
}
