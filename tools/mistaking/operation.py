"""Programs with one mistake each, of people who are in a hurry: data, weights, steps and files that do not fit.

`cases` describes their form.
"""

# ruff: noqa: E501

_CLASSES = """
def classes(loss, **options):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
    model.compile("sgd", loss, **options)
    return model
labels = np.arange(64) % 3
"""

_TWO = """
def two(**options):
    a, b = keras.Input((4,), name="a"), keras.Input((4,), name="b")
    model = keras.Model([a, b], keras.layers.Dense(1)(keras.layers.Add()([a, b])))
    model.compile("sgd", "mse", **options)
    return model
"""

_STEPS = """
class Own(keras.Sequential):
    pass
def own():
    model = Own([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model
"""

OPERATION: dict[str, str] = {
    # Data
    "two inputs in one array of pairs": _TWO
    + "two().predict(np.stack([x, x], 1), verbose=0)  # here",
    "two inputs in one array of two": _TWO + "two().fit(np.stack([x, x]), y, verbose=0)  # here",
    "two inputs of other lengths": _TWO + "two().predict([x, x[:32]], verbose=0)  # here",
    "two inputs without targets in a dataset": _TWO
    + "two().fit(tf.data.Dataset.from_tensor_slices((x, x)).batch(8), verbose=0)  # here",
    "symbolic tensors as data": "mlp().fit(keras.Input((4,)), keras.Input((1,)), verbose=0)  # here",
    "a vector of labels for three outputs": _CLASSES
    + "classes('mse').fit(x, labels, verbose=0)  # here",
    "a column of labels for binary crossentropy": _CLASSES
    + "classes('binary_crossentropy').fit(x, labels[:, None], verbose=0)  # here",
    "labels that are NaN": _CLASSES
    + "classes('sparse_categorical_crossentropy').fit(x, np.full(64, np.nan), verbose=0)  # here",
    "labels that are transposed": "mlp().fit(x, y.T, verbose=0)  # here",
    "weights that are a list of floats": "mlp().fit(x, y, sample_weight=[1.0] * 64, verbose=0)  # here",
    "weights that are a number": "mlp().fit(x, y, sample_weight=2.0, verbose=0)  # here",
    "weights that are texts": "mlp().fit(x, y, sample_weight=np.array(['a'] * 64), verbose=0)  # here",
    "weights by the name of no output": "mlp().fit(x, y, sample_weight={'out': np.ones(64)}, verbose=0)  # here",
    "weights that are transposed": "mlp().fit(x, y, sample_weight=np.ones((1, 64)), verbose=0)  # here",
    "weights of two columns": "mlp().fit(x, y, sample_weight=np.ones((64, 2)), verbose=0)  # here",
    "weights of steps that are one too few": (
        "model = keras.Sequential([keras.Input((5, 2)), keras.layers.Dense(1)])\nmodel.compile('sgd', 'mse')\n"
        "model.fit(np.ones((8, 5, 2)), np.ones((8, 5, 1)), sample_weight=np.ones((8, 4)), verbose=0)  # here"
    ),
    "a class weight that is a list": _CLASSES
    + "classes('sparse_categorical_crossentropy').fit(x, labels, class_weight={0: [1.0]}, verbose=0)  # here",
    "no rows to predict": "mlp().predict(x[:0], verbose=0)  # here",
    "no batches to predict": "mlp().predict(tf.data.Dataset.from_tensor_slices(x[:0]).batch(8), verbose=0)  # here",
    "a PyDataset of length zero": (
        "class Data(keras.utils.PyDataset):\n    def __len__(self):\n        return 0\n"
        "    def __getitem__(self, index):\n        return x, y\nmlp().fit(Data(), verbose=0)  # here"
    ),
    "a PyDataset of length below zero": (
        "class Data(keras.utils.PyDataset):\n    def __len__(self):\n        return -1\n"
        "    def __getitem__(self, index):\n        return x, y\nmlp().fit(Data(), verbose=0)  # here"
    ),
    "a PyDataset that is longer than its list": (
        "class Data(keras.utils.PyDataset):\n    def __len__(self):\n        return 9\n    def __getitem__(self, index):\n"
        "        return [(x, y), (x, y)][index]  # here\nmlp().fit(Data(), shuffle=False, verbose=0)  # here"
    ),
    # Numbers of steps
    "steps_per_epoch that is a float": "mlp().fit(x, y, steps_per_epoch=1.5, verbose=0)  # here",
    "steps_per_epoch that is a text": "mlp().fit(x, y, steps_per_epoch='3', verbose=0)  # here",
    "steps_per_epoch below zero": "mlp().fit(x, y, steps_per_epoch=-1, verbose=0)  # here",
    "steps below zero": "mlp().predict(x, steps=-1, verbose=0)  # here",
    "a validation every zero epochs": "mlp().fit(x, y, validation_data=(x, y), validation_freq=0, verbose=0)  # here",
    "a validation_freq that is a float": "mlp().fit(x, y, validation_data=(x, y), validation_freq=2.5, verbose=0)  # here",
    "a validation_split that is a text": "mlp().fit(x, y, validation_split='0.2', verbose=0)  # here",
    "a validation_split of one row": "mlp().fit(x[:1], y[:1], validation_split=0.5, verbose=0)  # here",
    "a batch_size below zero": "mlp().predict(x, batch_size=-3, verbose=0)  # here",
    # Optimizers, losses and steps
    "a layer added after a fit": (
        "model = mlp()\nmodel.fit(x, y, verbose=0)\nmodel.add(keras.layers.Dense(1))\n"
        "model.optimizer.apply_gradients([(tf.zeros((1, 1)), model.layers[-1].kernel)])  # here"
    ),
    "a loss that returns a dict": (
        "def loss(y_true, y_pred):\n    return {'loss': keras.ops.mean(y_pred)}\nmlp(loss).fit(x, y, verbose=0)  # here"
    ),
    "a loss that returns a truth value": (
        "def loss(y_true, y_pred):\n    return keras.ops.mean(y_pred) > 0\nmlp(loss).fit(x, y, verbose=0)  # here"
    ),
    "a log that is a text": _STEPS
    + (
        "Own.train_step = lambda self, data: {'loss': tf.reduce_mean(self(data[0])), 'note': 'fine'}\n"
        "own().fit(x, y, verbose=0)  # here"
    ),
    "a test_step that returns nothing": _STEPS
    + "Own.test_step = lambda self, data: None\nown().evaluate(x, y, verbose=0)  # here",
    "a predict_step that returns nothing": _STEPS
    + "Own.predict_step = lambda self, data: None\nown().predict(x, verbose=0)  # here",
    "callbacks with a None": "mlp().fit(x, y, callbacks=[None], verbose=0)  # here",
    "callbacks that are a word": "mlp().fit(x, y, callbacks='early', verbose=0)  # here",
    "a log file in no folder": "mlp().fit(x, y, callbacks=[keras.callbacks.CSVLogger('/no/such/log.csv')], verbose=0)  # here",
    "a schedule that is a number": "mlp().fit(x, y, callbacks=[keras.callbacks.LearningRateScheduler(0.1)], verbose=0)  # here",
    # Layers for data
    "a lookup that has not seen data": "keras.layers.StringLookup()(np.array(['a']))  # here",
    "a text layer that has not seen data": "keras.layers.TextVectorization()(np.array(['a']))  # here",
    "boundaries that are not there": "keras.layers.Discretization(num_bins=3)(x)  # here",
    "adapt with a mean": "keras.layers.Normalization(mean=1.0, variance=2.0).adapt(x)  # here",
    "adapt to other widths": (
        "layer = keras.layers.Normalization()\nlayer.adapt(x)\nlayer.adapt(x[:, :2])  # here"
    ),
    "adapt to nothing": "keras.layers.Normalization().adapt([])  # here",
    "an axis that is a float": "keras.layers.Normalization(axis=1.0)  # here",
    "words twice in a vocabulary": "keras.layers.TextVectorization(vocabulary=['a', 'a'])  # here",
    "weights of integers of another width": (
        "keras.layers.CategoryEncoding(3, output_mode='count')(np.array([[1, 1]]), count_weights=np.array([[1.0, 2.0, 3.0]]))  # here"
    ),
    "crossed columns of other lengths": (
        "keras.layers.HashedCrossing(5)((np.array(['a']), np.array(['b', 'c'])))  # here"
    ),
    "numbers for a StringLookup": "keras.layers.StringLookup(vocabulary=['a'])(np.array([1]))  # here",
    # Weights and files
    "complex values in too few weights": "mlp().set_weights([np.ones((4, 8)) * 1j])  # here",
    "weights that are None": "mlp().set_weights(None)  # here",
    "weights of a model with another layer": (
        "mlp().save_weights('more.weights.h5')\n"
        "keras.Sequential([keras.Input((4,)), keras.layers.BatchNormalization(), keras.layers.Dense(8), keras.layers.Dense(1)]).load_weights('more.weights.h5')  # here"
    ),
    "weights without the bias": (
        "mlp().save_weights('bias.weights.h5')\n"
        "keras.Sequential([keras.Input((4,)), keras.layers.Dense(8, use_bias=False), keras.layers.Dense(1)]).load_weights('bias.weights.h5')  # here"
    ),
    "a name with a slash": "keras.layers.Dense(2, name='a/b')  # here",
    "a name that is a number": "keras.layers.Dense(2, name=3)  # here",
    "a file in a folder of the system": "mlp().save('/proc/model.keras')  # here",
    "a file where a folder is": "import os\nos.makedirs('folder.keras')\nmlp().save('folder.keras')  # here",
    "a file that fills the disk": (
        "import resource, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nlimits = resource.getrlimit(resource.RLIMIT_FSIZE)\n"
        "model = keras.Sequential([keras.Input((400,)), keras.layers.Dense(400)])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100000, limits[1]))\n"
        "try:\n    model.save('large.keras')  # here\nfinally:\n    resource.setrlimit(resource.RLIMIT_FSIZE, limits)"
    ),
    # Types and sizes
    "a seed of a hundred bits": "keras.layers.Dropout(0.5, seed=2**100)  # here",
    "a dropout without a rate": "keras.layers.Dropout(None)  # here",
    "a floatx that is none": "keras.config.set_floatx('float33')  # here",
    "a policy of 64 bits that is mixed": "keras.layers.Dense(2, dtype='mixed_float64')  # here",
    "a layer larger than any machine": "keras.layers.Dense(2**40)(x)  # here",
    "a crop of all rows": "keras.layers.Cropping1D(40)(x[None])  # here",
    "an axis that a concatenation has not": "keras.layers.Concatenate(axis=-4)([x, x])  # here",
    "two unknown sizes in Reshape": "keras.layers.Reshape((-1, -1))(x)  # here",
    "LoRA before build": "keras.layers.Dense(8).enable_lora(2)  # here",
    "LoRA twice": (
        "layer = keras.layers.Dense(8)\nlayer.build((None, 8))\nlayer.enable_lora(2)\nlayer.enable_lora(2)  # here"
    ),
    "a quantization of what is quantized": (
        "model = mlp()\nmodel.quantize('int8')\nmodel.quantize('int4')  # here"
    ),
    "a padding of words": "keras.utils.pad_sequences([[1]], value='x')  # here",
    "a part of a dataset above one": "keras.utils.split_dataset(x, left_size=1.5)  # here",
    "a series that ends before it begins": (
        "keras.utils.timeseries_dataset_from_array(x, y, 5, start_index=60, end_index=10)  # here"
    ),
}
