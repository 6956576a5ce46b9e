"""Programs with one mistake each, of people who write layers, losses and loops of their own.

`cases` describes their form.
"""

# ruff: noqa: E501

_LAYER = """
class Own(keras.layers.Layer):
    def __init__(self, units=2, **kwargs):
        super().__init__(**kwargs)
        self.units = units
    def build(self, input_shape):
        self.w = self.add_weight(shape=(input_shape[-1], self.units), name="w")
"""

_FIT = """
model = keras.Sequential([keras.Input((4,)), Own(), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, y, verbose=0)
"""

_METRIC = """
class Own(keras.metrics.Metric):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.total = self.add_weight(name="total", initializer="zeros")
"""

_STEP = """
class Own(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(1)
    def call(self, inputs):
        return self.dense(inputs)
"""

_STEP_FIT = """
model = Own()
model.compile("sgd", "mse")
model.fit(x, y, verbose=0)  # here
"""

WORKFLOW: dict[str, str] = {
    # Layers of the user's
    "a matmul with the weight transposed": _LAYER
    + "    def call(self, inputs):\n        return keras.ops.matmul(self.w, inputs)  # here\n"
    + _FIT,
    "a bias of the inputs' width": _LAYER
    + "    def call(self, inputs):\n        return keras.ops.matmul(inputs, self.w) + keras.ops.ones((4,))  # here\n"
    + _FIT,
    "a call with an argument that nobody passes": _LAYER
    + "    def call(self, inputs, context):\n        return inputs @ self.w + context\n"
    + "keras.Sequential([keras.Input((4,)), Own()])  # here",
    "a misspelled argument of call": _LAYER
    + "    def call(self, inputs, training=None):\n        return inputs @ self.w\nOwn()(x, trainning=True)  # here",
    "a build without super that uses units too early": (
        "class Own(keras.layers.Layer):\n    def build(self, input_shape):\n"
        "        self.w = self.add_weight(shape=(input_shape[-1], self.units))  # here\n"
        "    def call(self, inputs):\n        return inputs @ self.w\nOwn()(x)  # here"
    ),
    "a build that needs two inputs": (
        "class Own(keras.layers.Layer):\n    def build(self, input_shape):\n"
        "        left, right = input_shape  # here\n        self.w = self.add_weight(shape=(left[-1], right[-1]))\n"
        "    def call(self, inputs):\n        return inputs[0] @ self.w\nOwn()(x[None])  # here"
    ),
    "an unknown keyword of a layer's base": _LAYER.replace(
        "**kwargs)", "kernel='he', **kwargs)", 1
    ).replace("super().__init__(**kwargs)", "super().__init__(kernel=kernel, **kwargs)  # here")
    + "Own()  # here",
    "add_weight without a shape in words": (
        "class Own(keras.layers.Layer):\n    def build(self, input_shape):\n"
        "        self.w = self.add_weight('kernel', (4, 2))  # here\n    def call(self, inputs):\n        return inputs @ self.w\nOwn()(x)  # here"
    ),
    "a weight replaced in call": _LAYER
    + "    def call(self, inputs):\n        self.w = self.w * 0.9  # here\n        return inputs @ self.w\n"
    + _FIT,
    "a weight changed in place": _LAYER
    + "    def call(self, inputs):\n        self.w[0] = 0.0  # here\n        return inputs @ self.w\n"
    + _FIT,
    "an assignment of another shape": "mlp().layers[0].kernel.assign(np.zeros((3, 3)))  # here",
    "inputs changed in place": _LAYER
    + "    def call(self, inputs):\n        inputs[:, 0] = 0.0  # here\n        return inputs @ self.w\n"
    + _FIT,
    "NumPy of a symbolic tensor in call": _LAYER
    + "    def call(self, inputs):\n        return inputs @ np.abs(np.asarray(inputs)).mean(0)[:, None]  # here\n"
    + _FIT,
    "an index by a float": _LAYER
    + "    def call(self, inputs):\n        return inputs[:, : 4 / 2]  # here\n"
    + _FIT,
    "a batch size that is None times two": _LAYER
    + "    def call(self, inputs):\n        return keras.ops.zeros((inputs.shape[0] * 2, 2))  # here\n"
    + "keras.Sequential([keras.Input((4,)), Own()])  # here",
    "a layer that returns a string": _LAYER
    + "    def call(self, inputs):\n        return 'done'\n"
    + "keras.Sequential([keras.Input((4,)), Own(), keras.layers.Dense(1)])  # here",
    "an integer input of a float layer's loss": (
        "inputs = keras.Input((4,), dtype='int32')\nmodel = keras.Model(inputs, inputs * 2)\nmodel.compile('sgd', 'mse')\n"
        "model.fit(x, y.astype(str), verbose=0)  # here"
    ),
    "a mask of another length": (
        "keras.layers.LSTM(4)(np.zeros((2, 5, 3), 'float32'), mask=np.ones((2, 4), bool))  # here"
    ),
    "a mask of another rank": (
        "keras.layers.MultiHeadAttention(2, 4)(np.zeros((2, 5, 8), 'float32'), np.zeros((2, 5, 8), 'float32'), attention_mask=np.ones((2, 3, 7), bool))  # here"
    ),
    "a mask that Attention cannot use": (
        "q = np.zeros((2, 5, 8), 'float32')\nkeras.layers.Attention()([q, q], mask=np.ones((2, 5), bool))  # here"
    ),
    "a regularizer that returns nothing": (
        "def nothing(weight):\n    pass\n"
        "model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, kernel_regularizer=nothing)])\n"
        "model.compile('sgd', 'mse')\nmodel.fit(x, y, verbose=0)  # here"
    ),
    "an initializer of another shape": (
        "def start(shape, dtype=None):\n    return np.zeros((2, 2), 'float32')\n"
        "keras.layers.Dense(3, kernel_initializer=start)(x)  # here"
    ),
    "an initializer with one argument": (
        "def start():\n    return 0.0\nkeras.layers.Dense(3, kernel_initializer=start)(x)  # here"
    ),
    "a layer used with another width the second time": (
        "shared = keras.layers.Dense(2)\nshared(keras.Input((4,)))\nshared(keras.Input((5,)))  # here"
    ),
    "a Dense on an unknown width": "keras.layers.Dense(2)(keras.Input((None,)))  # here",
    "Flatten into Dense of an unknown size": (
        "keras.Sequential([keras.Input((None, None, 3)), keras.layers.Flatten(), keras.layers.Dense(2)])  # here"
    ),
    "Dot of other shapes": (
        "keras.layers.Dot(axes=1)([keras.Input((3,)), keras.Input((4,))])  # here"
    ),
    "a Permute that leaves out an axis": "keras.layers.Permute((1, 3))(keras.Input((2, 3)))  # here",
    "RepeatVector of a sequence": "keras.layers.RepeatVector(3)(keras.Input((5, 2)))  # here",
    "TimeDistributed of rows": "keras.layers.TimeDistributed(keras.layers.Dense(2))(keras.Input((4,)))  # here",
    "heads that the width is not divided by": "keras.layers.GroupNormalization(groups=3)(keras.Input((8, 8, 4)))  # here",
    "states of a wrong number for an LSTM": (
        "keras.layers.LSTM(4)(np.zeros((2, 5, 3), 'float32'), initial_state=[np.zeros((2, 4), 'float32')])  # here"
    ),
    "cells that are no cells": "keras.layers.RNN(keras.layers.Dense(2))(np.zeros((2, 5, 3), 'float32'))  # here",
    # The functional API and subclassed models
    "a dict for a list of inputs": (
        "a, b = keras.Input((4,), name='a'), keras.Input((4,), name='b')\n"
        "model = keras.Model([a, b], keras.layers.Dense(1)(keras.layers.Add()([a, b])))\n"
        "model.compile('sgd', 'mse')\nmodel.fit({'left': x, 'right': x}, y, verbose=0)  # here"
    ),
    "TensorFlow's functions on other shapes": (
        "a, b = keras.Input((4,)), keras.Input((5,))\ntf.add(a, b)  # here"
    ),
    "an input that is used as an output of another": (
        "a = keras.Input((4,))\nhidden = keras.layers.Dense(2)(a)\nkeras.Model(hidden, keras.layers.Dense(1)(a))  # here"
    ),
    "get_layer of an output that is not there": "keras.Model(mlp().input, mlp().get_layer('pool').output)  # here",
    "the output of a layer that was not called": "keras.layers.Dense(1).output  # here",
    "the output of a model that is not built": "keras.Sequential([keras.layers.Dense(1)]).output  # here",
    "subclassed layers in a local list": (
        "class Own(keras.Model):\n    def __init__(self):\n        super().__init__()\n        self.blocks = {1: 'a'}\n"
        "    def call(self, inputs):\n        return self.blocks[2](inputs)  # here\n"
        "model = Own()\nmodel.compile('sgd', 'mse')\nmodel.fit(x, y, verbose=0)  # here"
    ),
    "summary of a model that is not built": (
        "class Own(keras.Model):\n    pass\nOwn().count_params()  # here"
    ),
    "weights of a model before it is built": (
        "model = keras.Sequential([keras.layers.Dense(1)])\nmodel.set_weights([np.zeros((4, 1)), np.zeros(1)])  # here"
    ),
    # Losses and metrics
    "a loss of all outputs for one": (
        "def loss(y_true, y_pred):\n    return keras.ops.mean(y_pred[1] - y_true[3000])  # here\n"
        "mlp(loss).fit(x, y, verbose=0)  # here"
    ),
    "float64 labels in a loss by hand": (
        "def loss(y_true, y_pred):\n    return tf.reduce_mean(tf.cast(y_true, 'float64') - y_pred)  # here\n"
        "mlp(loss).fit(x, y, verbose=0)  # here"
    ),
    "labels for CTC that are too long": (
        "keras.losses.CTC()(np.ones((2, 9), 'int32'), np.zeros((3, 5, 4), 'float32'))  # here"
    ),
    "a loss function with another order of names": "keras.losses.MeanSquaredError()(y_pred=y)  # here",
    "a metric with two predictions": (
        "keras.metrics.MeanSquaredError().update_state(np.zeros((3, 2)), np.zeros((4, 5)))  # here"
    ),
    "a metric called without labels": "keras.metrics.Accuracy().update_state(np.zeros(3))  # here",
    "result of a metric that has no result": _METRIC
    + "    def update_state(self, y_true, y_pred, sample_weight=None):\n        self.total.assign_add(1.0)\n"
    "mlp(metrics=[Own()]).fit(x, y, verbose=0)  # here",
    "a metric whose update is spelled otherwise": _METRIC
    + "    def update(self, y_true, y_pred, sample_weight=None):\n        pass\n    def result(self):\n        return self.total\n"
    "mlp(metrics=[Own()]).fit(x, y, verbose=0)  # here",
    "a metric with one argument": _METRIC
    + "    def update_state(self, y_pred):\n        self.total.assign_add(1.0)\n    def result(self):\n        return self.total\n"
    "mlp(metrics=[Own()]).fit(x, y, verbose=0)  # here",
    "MeanIoU without the number of classes": "keras.metrics.MeanIoU()  # here",
    "AUC with an unknown curve": "keras.metrics.AUC(curve='rocs')  # here",
    "Precision with a threshold of percent": "keras.metrics.Precision(thresholds=50)  # here",
    # Steps, tapes and tf.function
    "a train_step that forgets the tape": _STEP
    + (
        "    def train_step(self, data):\n        x, y = data\n        loss = tf.reduce_mean((self(x) - y) ** 2)\n"
        "        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))  # here\n"
        "        return {'loss': loss}\n"
    )
    + _STEP_FIT,
    "a train_step whose gradients are None": _STEP
    + (
        "    def train_step(self, data):\n        x, y = data\n        with tf.GradientTape() as tape:\n"
        "            prediction = self(x)\n        loss = tf.reduce_mean((prediction - y) ** 2)\n"
        "        grads = tape.gradient(loss, self.trainable_variables)\n"
        "        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))  # here\n"
        "        return {'loss': loss}\n"
    )
    + _STEP_FIT,
    "a train_step that calls numpy()": _STEP
    + "    def train_step(self, data):\n        return {'loss': float(self(data[0]).numpy().mean())}  # here\n"
    + _STEP_FIT,
    "a train_step that returns a tensor by no name": _STEP
    + "    def train_step(self, data):\n        return tf.reduce_mean(self(data[0]))\n"
    + _STEP_FIT,
    "a gradient of an integer": (
        "model = mlp()\nv = tf.Variable([1, 2])\nwith tf.GradientTape() as tape:\n    loss = tf.reduce_sum(v * 2)\n"
        "keras.optimizers.SGD().apply_gradients([(tape.gradient(loss, v), v)])  # here"
    ),
    "gradients of other shapes": (
        "keras.optimizers.Adam().apply_gradients([(tf.zeros((3,)), tf.Variable(tf.zeros((2,))))])  # here"
    ),
    "fewer gradients than variables": (
        "model = mlp()\noptimizer = keras.optimizers.Adam()\noptimizer.build(model.trainable_variables)\n"
        "optimizer.apply([tf.zeros((4, 8))])  # here"
    ),
    "a schedule without steps": "keras.optimizers.schedules.CosineDecay(0.1)  # here",
    "boundaries and values of one length": (
        "keras.optimizers.schedules.PiecewiseConstantDecay([10, 20], [0.1, 0.01])  # here"
    ),
    "ema_momentum above one": "keras.optimizers.SGD(use_ema=True, ema_momentum=1.5)  # here",
    # Data
    "a dataset of dicts with other keys": (
        "a = keras.Input((4,), name='features')\nmodel = keras.Model({'features': a}, keras.layers.Dense(1)(a))\nmodel.compile('sgd', 'mse')\n"
        "model.fit(tf.data.Dataset.from_tensor_slices(({'feature': x}, y)).batch(8), verbose=0)  # here"
    ),
    "a dataset of three columns": (
        "data = tf.data.Dataset.from_tensor_slices((x[:, 0], x[:, 1], x[:, 2], y)).batch(8)\nmlp().fit(data, verbose=0)  # here"
    ),
    "a dataset of rows that are not batched, with a convolution": (
        "data = tf.data.Dataset.from_tensor_slices((np.zeros((8, 8, 8, 3), 'float32'), np.zeros(8)))\n"
        "model = keras.Sequential([keras.layers.Conv2D(2, 3), keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(1)])\n"
        "model.compile('sgd', 'mse')\nmodel.fit(data, verbose=0)  # here"
    ),
    "a dataset without labels": (
        "mlp().fit(tf.data.Dataset.from_tensor_slices(x).batch(8), verbose=0)  # here"
    ),
    "a generator that yields lists": (
        "def batches():\n    while True:\n        yield [x[:8].tolist(), y[:4].tolist(), 'note']\n"
        "mlp().fit(batches(), steps_per_epoch=2, verbose=0)  # here"
    ),
    "sample weights as a third input": "mlp().fit([x, y, np.ones(64)], verbose=0)  # here",
    "class_weight as a string": (
        "model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, activation='softmax')])\n"
        "model.compile('sgd', 'sparse_categorical_crossentropy')\n"
        "model.fit(x, np.zeros(64), class_weight='balanced', verbose=0)  # here"
    ),
    "a timeseries with a negative stride": (
        "keras.utils.timeseries_dataset_from_array(x, y, sequence_length=5, sequence_stride=0)  # here"
    ),
    "images from a folder that is not there": "keras.utils.image_dataset_from_directory('no_such_folder')  # here",
    "images from a folder without images": (
        "import os\nos.makedirs('pictures/a', exist_ok=True)\nkeras.utils.image_dataset_from_directory('pictures')  # here"
    ),
    "Normalization without a mean": ("keras.layers.Normalization(mean=3.0)  # here"),
    "a lookup of other words": (
        "keras.layers.StringLookup(vocabulary=['a', 'b'], num_oov_indices=0)(np.array(['c']))  # here"
    ),
    "numbers for a TextVectorization": (
        "keras.layers.TextVectorization().adapt(np.array([1.0, 2.0]))  # here"
    ),
    # Callbacks
    "save_freq of words": "keras.callbacks.ModelCheckpoint('a.keras', save_freq='step')  # here",
    "a hook on batches that looks for a metric": (
        "class Own(keras.callbacks.Callback):\n    def on_train_batch_end(self, batch, logs=None):\n"
        "        self.seen = logs['accuracy']  # here\nmlp().fit(x, y, callbacks=[Own()], verbose=0)  # here"
    ),
    "BackupAndRestore without a folder": "keras.callbacks.BackupAndRestore('')  # here",
    # Files and configurations
    "a from_config that takes too much": _LAYER
    + (
        "    def call(self, inputs):\n        return inputs @ self.w\n"
        "    @classmethod\n    def from_config(cls, config):\n        return cls(config)\n"
        "    def get_config(self):\n        return {**super().get_config(), 'units': self.units}\n"
        "model = keras.Sequential([keras.Input((4,)), Own()])\nmodel.save('from_config.keras')\n"
        "keras.models.load_model('from_config.keras', custom_objects={'Own': Own})  # here"
    ),
    "a custom loss that is not passed": (
        "def own_loss(y_true, y_pred):\n    return keras.ops.mean(y_true - y_pred)\n"
        "model = mlp(own_loss)\nmodel.fit(x, y, verbose=0)\nmodel.save('loss.keras')\nkeras.models.load_model('loss.keras')  # here"
    ),
    "custom_objects that is a list": (
        "class Own(keras.layers.Layer):\n    def call(self, inputs):\n        return inputs\n"
        "keras.Sequential([keras.Input((4,)), Own()]).save('list.keras')\n"
        "keras.models.load_model('list.keras', custom_objects=[Own])  # here"
    ),
    "custom_objects of another class": (
        "class Own(keras.layers.Layer):\n    def call(self, inputs):\n        return inputs\n"
        "keras.Sequential([keras.Input((4,)), Own()]).save('other.keras')\n"
        "keras.models.load_model('other.keras', custom_objects={'Own': print})  # here"
    ),
    "a configuration of another layer": (
        "keras.layers.Conv2D.from_config(keras.layers.Dense(2).get_config())  # here"
    ),
    "a configuration that is no configuration": "keras.layers.deserialize({'name': 'Dense'})  # here",
    "weights of a wider model": (
        "mlp().save_weights('narrow.weights.h5')\n"
        "keras.Sequential([keras.Input((5,)), keras.layers.Dense(8), keras.layers.Dense(1)]).load_weights('narrow.weights.h5')  # here"
    ),
    "weights of deeper layers": (
        "mlp().save_weights('flat.weights.h5')\n"
        "keras.Sequential([keras.Input((4,)), keras.layers.Dense(8), keras.layers.Dense(8), keras.layers.Dense(1)]).load_weights('flat.weights.h5')  # here"
    ),
    "by_name of a file without names": (
        "mlp().save_weights('names.weights.h5')\nmlp().load_weights('names.weights.h5', by_name=True)  # here"
    ),
    "a file that is cut off": (
        "mlp().save('whole.keras')\ndata = open('whole.keras', 'rb').read()\nopen('cut.keras', 'wb').write(data[:2000])\n"
        "keras.models.load_model('cut.keras')  # here"
    ),
    "export of a model that is not built": (
        "keras.Sequential([keras.layers.Dense(1)]).export('export')  # here"
    ),
    "from_json of nothing": "keras.models.model_from_json('{}')  # here",
    # Names and arguments
    "a name of tf.keras.layers.experimental": "keras.layers.experimental.preprocessing.Rescaling(1.0)  # here",
    "a misspelled optimizer class": "keras.optimizers.Adm()  # here",
    "a misspelled op": "keras.ops.relu_(x)  # here",
    "a keyword of another library": "keras.layers.Linear(2)  # here",
    "a bias by another name": "keras.layers.Dense(2, bias=False)  # here",
    "channels by another name": "keras.layers.Conv2D(filters=2, kernel_size=3, stride=2)  # here",
    "an activation that is called": "keras.layers.Dense(2, activation=keras.activations.relu())  # here",
    "a tensor as the number of classes": "keras.ops.one_hot([0, 1], 'three')  # here",
    "an image without three axes": "keras.utils.array_to_img(np.zeros((3,)))  # here",
    "a device that is not there": "with keras.device('npu:0'):  # here\n    keras.ops.zeros(3) + 1",
}
