"""More programs with one mistake each, of the everyday kind; `cases` describes their form."""

# ruff: noqa: E501

_CLASSES = """
def classes(loss, activation="softmax", units=3, **options):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(units, activation=activation)])
    model.compile("sgd", loss, **options)
    return model
labels = np.arange(64) % 3
"""

_TWO = """
def two(**options):
    a = keras.Input((4,), name="a")
    outputs = {"price": keras.layers.Dense(1, name="price")(a), "kind": keras.layers.Dense(3, name="kind")(a)}
    model = keras.Model(a, outputs)
    model.compile("sgd", **options)
    return model
"""

_OWN_LAYER = """
class Own(keras.layers.Layer):
    def __init__(self, units=2, **kwargs):
        super().__init__(**kwargs)
        self.units = units
"""

EVERYDAY: dict[str, str] = {
    # Labels and losses
    "class ids for binary crossentropy": _CLASSES
    + "classes('binary_crossentropy').fit(x, labels, verbose=0)  # here",
    "one-hot labels of too few classes": _CLASSES
    + "classes('categorical_crossentropy').fit(x, np.eye(2)[labels % 2], verbose=0)  # here",
    "labels that begin at one": _CLASSES
    + "classes('sparse_categorical_crossentropy').fit(x, labels + 1, verbose=0)  # here",
    "labels below zero": _CLASSES
    + "classes('sparse_categorical_crossentropy').fit(x, labels - 1, verbose=0)  # here",
    "labels with a time axis too many": _CLASSES
    + "classes('sparse_categorical_crossentropy').fit(x, np.stack([labels] * 5, 1), verbose=0)  # here",
    "labels that are a list of strings": _CLASSES
    + "classes('sparse_categorical_crossentropy').fit(x, ['cat', 'dog'] * 32, verbose=0)  # here",
    "labels that are a set": "mlp().fit(x, {1.0, 2.0}, verbose=0)  # here",
    "a loss function that is called": "mlp(keras.losses.mean_squared_error()).fit(x, y, verbose=0)  # here",
    "a loss with one argument": (
        "def loss(y_pred):\n    return tf.reduce_mean(y_pred)\nmlp(loss).fit(x, y, verbose=0)  # here"
    ),
    "a loss as a metric class name": "mlp(metrics=['RootMeanSquared']).fit(x, y, verbose=0)  # here",
    "a metric of another library": (
        "def r2(y_true, y_pred):\n    return 1 - np.sum((y_true.numpy() - y_pred.numpy()) ** 2)  # here\n"
        "mlp(metrics=[r2]).fit(x, y, verbose=0)  # here"
    ),
    "metrics that are a number": "mlp(metrics=[0.5]).fit(x, y, verbose=0)  # here",
    "loss_weights without a list of losses": "mlp(loss_weights=[0.5, 0.5]).fit(x, y, verbose=0)  # here",
    "a wrong reduction": "keras.losses.MeanSquaredError(reduction='average')  # here",
    "wrong names of the outputs in y": _TWO
    + "two(loss={'price': 'mse', 'kind': 'mse'}).fit(x, {'price': y, 'sort': y}, verbose=0)  # here",
    "one y for two outputs": _TWO
    + "two(loss={'price': 'mse', 'kind': 'mse'}).fit(x, y, verbose=0)  # here",
    "a misspelled output in metrics": _TWO
    + "two(loss={'price': 'mse', 'kind': 'mse'}, metrics={'prise': ['mae']}).fit(x, {'price': y, 'kind': np.zeros((64, 3))}, verbose=0)  # here",
    "class_weight without a class": _CLASSES
    + "classes('sparse_categorical_crossentropy').fit(x, labels, class_weight={'cat': 1.0}, verbose=0)  # here",
    "class_weight that is a list": _CLASSES
    + "classes('sparse_categorical_crossentropy').fit(x, labels, class_weight=[1.0, 2.0, 3.0], verbose=0)  # here",
    "class_weight of several outputs": _TWO
    + "two(loss={'price': 'mse', 'kind': 'mse'}).fit(x, {'price': y, 'kind': np.zeros((64, 3))}, class_weight={0: 1.0}, verbose=0)  # here",
    # Optimizers
    "a learning rate that is a string": "keras.optimizers.Adam(learning_rate='0.001')  # here",
    "an old argument of an optimizer": "keras.optimizers.Adam(lr=0.001)  # here",
    "an optimizer of another model": (
        "optimizer = keras.optimizers.Adam()\nfirst, second = mlp(), mlp()\n"
        "first.compile(optimizer, 'mse')\nfirst.fit(x, y, verbose=0)\n"
        "second.compile(optimizer, 'mse')\nsecond.fit(x, y, verbose=0)  # here"
    ),
    "no gradients": (
        "model = mlp()\nwith tf.GradientTape() as tape:\n    loss = tf.constant(1.0)\n"
        "grads = tape.gradient(loss, model.trainable_variables)\n"
        "model.optimizer.apply_gradients(zip(grads, model.trainable_variables))  # here"
    ),
    "gradients and variables not zipped": (
        "model = mlp()\nwith tf.GradientTape() as tape:\n    loss = tf.reduce_mean(model(x))\n"
        "grads = tape.gradient(loss, model.trainable_variables)\n"
        "model.optimizer.apply_gradients(grads, model.trainable_variables)  # here"
    ),
    "a learning rate set on a schedule": (
        "rate = keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.9)\n"
        "optimizer = keras.optimizers.SGD(rate)\noptimizer.learning_rate = 0.5  # here"
    ),
    "clipnorm and clipvalue": "keras.optimizers.SGD(clipnorm=1.0, clipvalue=0.5)  # here",
    # compile, fit, evaluate, predict
    "evaluate without compile": (
        "model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])\nmodel.evaluate(x, y, verbose=0)  # here"
    ),
    "epochs that are a float": "mlp().fit(x, y, epochs=2.5, verbose=0)  # here",
    "epochs that are a string": "mlp().fit(x, y, epochs='10', verbose=0)  # here",
    "batch_size of zero": "mlp().fit(x, y, batch_size=0, verbose=0)  # here",
    "batch_size that is a float": "mlp().fit(x, y, batch_size=32 / 2, verbose=0)  # here",
    "a misspelled argument of fit": "mlp().fit(x, y, epoch=3, verbose=0)  # here",
    "nb_epoch": "mlp().fit(x, y, nb_epoch=3, verbose=0)  # here",
    "validation_data that is a dict": "mlp().fit(x, y, validation_data={'x': x, 'y': y}, verbose=0)  # here",
    "x and y in one tuple": "mlp().fit((x, y), verbose=0)  # here",
    "x that is a scalar": "mlp().fit(5, 6, verbose=0)  # here",
    "x that is a file name": "mlp().fit('data.csv', y, verbose=0)  # here",
    "a data frame with a text column": (
        "import pandas as pd\ntable = pd.DataFrame({'a': [1.0] * 8, 'b': ['x'] * 8, 'c': [2.0] * 8, 'd': [3.0] * 8})\n"
        "mlp().fit(table, y[:8], verbose=0)  # here"
    ),
    "inputs of a wrong name": (
        "a, b = keras.Input((4,), name='a'), keras.Input((4,), name='b')\n"
        "model = keras.Model({'a': a, 'b': b}, keras.layers.Dense(1)(keras.layers.Add()([a, b])))\n"
        "model.compile('sgd', 'mse')\nmodel.fit({'a': x, 'c': x}, y, verbose=0)  # here"
    ),
    "three inputs for two": (
        "a, b = keras.Input((4,)), keras.Input((4,))\nmodel = keras.Model([a, b], keras.layers.Add()([a, b]))\n"
        "model.predict([x, x, x], verbose=0)  # here"
    ),
    "a generator without steps that is empty": (
        "def batches():\n    return\n    yield x, y\nmlp().fit(batches(), verbose=0)  # here"
    ),
    "a generator function that is not called": (
        "def batches():\n    yield x, y\nmlp().fit(batches, verbose=0)  # here"
    ),
    "a generator of rows": (
        "def rows():\n    for row, target in zip(x, y):\n        yield row, target\nmlp().fit(rows(), verbose=0)  # here"
    ),
    "a PyDataset without a length": (
        "class Data(keras.utils.PyDataset):\n    def __getitem__(self, index):\n        return x, y\n"
        "mlp().fit(Data(), verbose=0)  # here"
    ),
    "train_on_batch of another width": "mlp().train_on_batch(x[:, :2], y)  # here",
    "predict before build": (
        "model = keras.Sequential([keras.layers.Dense(1)])\nmodel.summary()\nmodel.get_weights()[0]  # here"
    ),
    # Callbacks
    "EarlyStopping with a wrong argument": "keras.callbacks.EarlyStopping(metric='val_loss')  # here",
    "EarlyStopping that cannot know a direction": (
        "mlp().fit(x, y, callbacks=[keras.callbacks.EarlyStopping('score')], verbose=0)  # here"
    ),
    "ModelCheckpoint with a wrong ending": "keras.callbacks.ModelCheckpoint('best.pt')  # here",
    "ModelCheckpoint of weights with a wrong ending": (
        "keras.callbacks.ModelCheckpoint('best.keras', save_weights_only=True)  # here"
    ),
    "ModelCheckpoint with an unknown key": (
        "mlp().fit(x, y, callbacks=[keras.callbacks.ModelCheckpoint('{val_acc:.2f}.keras')], verbose=0)  # here"
    ),
    "a schedule that returns a string": (
        "mlp().fit(x, y, callbacks=[keras.callbacks.LearningRateScheduler(lambda epoch: '0.1')], verbose=0)  # here"
    ),
    "a factor above one": "keras.callbacks.ReduceLROnPlateau(factor=2.0)  # here",
    "a hook without its arguments": (
        "class Own(keras.callbacks.Callback):\n    def on_epoch_end(self):\n        pass\n"
        "mlp().fit(x, y, callbacks=[Own()], verbose=0)  # here"
    ),
    "a callback that forgets the model": (
        "class Own(keras.callbacks.Callback):\n    def on_train_begin(self, logs=None):\n"
        "        self.model.optimizer.lr_now.assign(0.1)  # here\nmlp().fit(x, y, callbacks=[Own()], verbose=0)  # here"
    ),
    "a misspelled hook of LambdaCallback": "keras.callbacks.LambdaCallback(on_epoch_finish=print)  # here",
    "CSVLogger without a name": "keras.callbacks.CSVLogger()  # here",
    # Layers of the user
    "a layer without super().__init__ and with sublayers": (
        "class Own(keras.layers.Layer):\n    def __init__(self):\n        self.dense = keras.layers.Dense(2)\n"
        "    def call(self, inputs):\n        return self.dense(inputs)\nOwn()(x)  # here"
    ),
    "a model without super().__init__": (
        "class Own(keras.Model):\n    def __init__(self):\n        self.dense = keras.layers.Dense(2)\n"
        "    def call(self, inputs):\n        return self.dense(inputs)\n"
        "model = Own()\nmodel.compile('sgd', 'mse')  # here\nmodel.fit(x, y, verbose=0)"
    ),
    "a get_config that forgets an argument": _OWN_LAYER.replace("units=2", "units")
    + (
        "    def call(self, inputs):\n        return inputs\n"
        "    def get_config(self):\n        return super(Own, self).get_config() if False else {'name': self.name}\n"
        "Own.from_config(Own(3).get_config())  # here"
    ),
    "a get_config with unknown keys": _OWN_LAYER
    + (
        "    def get_config(self):\n        return {**super().get_config(), 'width': 3}\n"
        "Own.from_config(Own().get_config())  # here"
    ),
    "add_weight without a shape that is right": _OWN_LAYER
    + (
        "    def build(self, input_shape):\n        self.w = self.add_weight(shape=(input_shape, self.units))  # here\n"
        "    def call(self, inputs):\n        return inputs @ self.w\nOwn()(x)  # here"
    ),
    "add_weight with an unknown initializer": _OWN_LAYER
    + (
        "    def build(self, input_shape):\n        self.w = self.add_weight(shape=(4, 2), initializer='random')  # here\n"
        "    def call(self, inputs):\n        return inputs @ self.w\nOwn()(x)  # here"
    ),
    "a weight that build does not make": _OWN_LAYER
    + "    def call(self, inputs):\n        return inputs @ self.w  # here\nOwn()(x)  # here",
    "float64 times float32 in call": _OWN_LAYER
    + (
        "    def call(self, inputs):\n        return inputs * tf.constant(2.0, 'float64')  # here\n"
        "keras.Sequential([keras.Input((4,)), Own()])  # here"
    ),
    "an integer divided by a float in call": _OWN_LAYER
    + (
        "    def call(self, inputs):\n        return tf.cast(inputs, 'int32') * 0.5  # here\nOwn()(x)  # here"
    ),
    "a call without inputs": _OWN_LAYER
    + "    def call(self):\n        return 1.0\nOwn()(x)  # here",
    "NumPy in call": _OWN_LAYER
    + (
        "    def call(self, inputs):\n        return inputs * np.mean(inputs.numpy())  # here\n"
        "model = keras.Sequential([Own(), keras.layers.Dense(1)])\nmodel.compile('sgd', 'mse')\n"
        "model.fit(x, y, verbose=0)  # here"
    ),
    "a Lambda that fails": (
        "keras.Sequential([keras.Input((4,)), keras.layers.Lambda(lambda t: t.nothing)])  # here"
    ),
    "a Lambda with a wrong axis": (
        "keras.Sequential([keras.Input((4,)), keras.layers.Lambda(lambda t: keras.ops.sum(t, axis=3))])  # here"
    ),
    "a Lambda that is loaded": (
        "model = keras.Sequential([keras.Input((4,)), keras.layers.Lambda(lambda t: t + 1)])\n"
        "model.save('lambda.keras')  # here\nkeras.models.load_model('lambda.keras')"
    ),
    "a Lambda without a function": "keras.layers.Lambda('relu')(x)  # here",
    # Layers and shapes
    "Input without a tuple": "keras.Input(4)  # here",
    "Input with the batch in its shape": (
        "model = keras.Sequential([keras.Input((64, 4)), keras.layers.Dense(1)])\nmodel.predict(x, verbose=0)  # here"
    ),
    "Dense after an image without Flatten": _CLASSES
    + (
        "model = keras.Sequential([keras.Input((8, 8, 1)), keras.layers.Dense(3)])\nmodel.compile('sgd', 'sparse_categorical_crossentropy')\n"
        "model.fit(np.zeros((6, 8, 8, 1)), np.zeros((6,)), verbose=0)  # here"
    ),
    "a kernel_size of three numbers": "keras.layers.Conv2D(4, (3, 3, 3))  # here",
    "strides of zero": "keras.layers.Conv2D(4, 3, strides=0)  # here",
    "an unknown padding": "keras.layers.Conv2D(4, 3, padding='full')  # here",
    "filters that are no number": "keras.layers.Conv2D('32', 3)  # here",
    "channels that groups do not divide": "keras.layers.Conv2D(4, 3, groups=3)(np.zeros((1, 8, 8, 4)))  # here",
    "an Embedding of floats below zero": (
        "keras.layers.Embedding(10, 4)(np.array([[-1, 2]]))  # here"
    ),
    "stacked LSTM without return_sequences": (
        "keras.Sequential([keras.Input((5, 3)), keras.layers.LSTM(4), keras.layers.LSTM(4)])  # here"
    ),
    "a stateful LSTM without a batch size": (
        "model = keras.Sequential([keras.Input((5, 3)), keras.layers.LSTM(4, stateful=True)])  # here"
    ),
    "BatchNormalization on a wrong axis": "keras.layers.BatchNormalization(axis=3)(x)  # here",
    "an unknown regularizer": "keras.layers.Dense(2, kernel_regularizer='l3')  # here",
    "a Bidirectional of a Dense": "keras.layers.Bidirectional(keras.layers.Dense(2))  # here",
    "a layer called on a list of numbers of other lengths": "keras.layers.Dense(2)([[1.0, 2.0], [3.0]])  # here",
    "a layer called without arguments": "keras.layers.Dense(2)()  # here",
    "Sequential with a tensor": "keras.Sequential([keras.layers.Dense(2)(keras.Input((4,)))])  # here",
    "Sequential.add of nothing": "keras.Sequential().add(None)  # here",
    "pop of an empty model": "keras.Sequential().pop()  # here",
    "Model of a layer": "keras.Model(keras.layers.Dense(2), keras.layers.Dense(1))  # here",
    "Model without outputs": "keras.Model(inputs=keras.Input((4,)))  # here",
    "layers that are called on a Python function": "keras.layers.Dense(2)(lambda: x)  # here",
    # Files
    "load_model with safe_mode and no class": (
        "class Own(keras.Model):\n    def __init__(self, units):\n        super().__init__()\n"
        "        self.dense = keras.layers.Dense(units)\n    def call(self, inputs):\n        return self.dense(inputs)\n"
        "model = Own(2)\nmodel(x)\nmodel.save('own.keras')\ndel Own\nkeras.models.load_model('own.keras')  # here"
    ),
    "load_weights of a model file ending": "mlp().load_weights('weights.txt')  # here",
    "load_weights before build": (
        "mlp().save_weights('b.weights.h5')\n"
        "keras.Sequential([keras.layers.Dense(8), keras.layers.Dense(1)]).load_weights('b.weights.h5')  # here"
    ),
    "load_weights of fewer layers": (
        "mlp().save_weights('c.weights.h5')\n"
        "keras.Sequential([keras.Input((4,)), keras.layers.Dense(8)]).load_weights('c.weights.h5')  # here"
    ),
    "save_weights with a wrong ending": "mlp().save_weights('weights.h5')  # here",
    "save to a folder that is not there": "mlp().save('no/such/folder/model.keras')  # here",
    "load_model of a folder": (
        "import os\nos.makedirs('folder', exist_ok=True)\nkeras.models.load_model('folder')  # here"
    ),
    "load_model of a weights file": (
        "mlp().save_weights('d.weights.h5')\nkeras.models.load_model('d.weights.h5')  # here"
    ),
    "save of a model that is a dict": "keras.models.save_model({'a': 1}, 'm.keras')  # here",
    # Ops and utilities
    "a mixed policy that is not there": "keras.mixed_precision.set_global_policy('mixed_float8')  # here",
    "ops.where of three shapes": "keras.ops.where(x > 0, x, np.zeros((3, 3)))  # here",
    "transpose of wrong axes": "keras.ops.transpose(x, (0, 2))  # here",
    "expand_dims too far": "keras.ops.expand_dims(x, 5)  # here",
    "einsum with a wrong equation": "keras.ops.einsum('ij,jk->ik', x, x)  # here",
    "argmax of an axis that is a name": "keras.ops.argmax(x, axis='last')  # here",
    "item assignment on a tensor": "keras.ops.zeros((3,))[0] = 1.0  # here",
    "item assignment on a symbolic tensor": "keras.Input((4,))[0] = 1.0  # here",
    "len of a symbolic tensor": "len(keras.Input((4,)))  # here",
    "float of a symbolic tensor": "float(keras.Input((4,)))  # here",
    "a loop over a symbolic tensor": "for row in keras.Input((4,)):  # here\n    pass",
    "pad_sequences of numbers": "keras.utils.pad_sequences([1, 2, 3])  # here",
    "a seed that is a string": "keras.utils.set_random_seed('one')  # here",
    "set_weights with a layer's name": "mlp().get_layer(index=7)  # here",
    "weights of another dtype by a name": "mlp().layers[0].kernel.assign('zeros')  # here",
}
