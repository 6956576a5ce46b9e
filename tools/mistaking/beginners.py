"""Programs with one mistake each, of people who come from Keras 2, PyTorch, NumPy or scikit-learn.

`cases` describes their form.
"""

# ruff: noqa: E501

_IMAGES = """
images, digits = np.zeros((8, 28, 28, 1), "float32"), np.zeros((8,), "int32")
model = keras.Sequential([keras.Input((28, 28, 1)), keras.layers.Conv2D(2, 3), keras.layers.Flatten(), keras.layers.Dense(10, activation="softmax")])
model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
"""

_CLASSES = """
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
model.compile("sgd", {loss!r}, metrics=["accuracy"])
"""

_SPARSE = _CLASSES.format(loss="sparse_categorical_crossentropy")
_ONE_HOT = _CLASSES.format(loss="categorical_crossentropy")

_TWO_OUTPUTS = """
a = keras.Input((4,), name="a")
two = keras.Model(a, {"p": keras.layers.Dense(1, name="p")(a), "q": keras.layers.Dense(1, name="q")(a)})
"""

_LAYER = "class Own(keras.layers.Layer):\n"

_MODEL = (
    "class Own(keras.Model):\n    def __init__(self):\n        super().__init__()\n        {line}\n"
    "    def call(self, inputs):\n        return inputs\n"
)

_TEXT = "words = np.array(['a cat sat', 'a dog ran'])\n"

BEGINNERS: dict[str, str] = {
    # Values that cannot be meant
    "a negative learning rate": "keras.optimizers.Adam(-0.1)  # here",
    "a negative learning rate of SGD": "keras.optimizers.SGD(learning_rate=-1e-3)  # here",
    "a learning rate that is NaN": "keras.optimizers.Adam(float('nan'))  # here",
    "a learning rate that is a list": "keras.optimizers.Adam([0.1, 0.01])  # here",
    "a learning rate of another library": (
        "class StepLR:\n    pass\nkeras.optimizers.SGD(StepLR())  # here"
    ),
    "a model's weights as learning rate": "keras.optimizers.SGD(mlp().trainable_variables)  # here",
    "a model's parameters in front": "keras.optimizers.Adam(mlp().parameters(), lr=1e-3)  # here",
    "a negative rate that is set": "model = mlp()\nmodel.optimizer.learning_rate = -0.1  # here",
    "a rate by its old name that is set": "model = mlp()\nmodel.optimizer.lr = 0.5  # here",
    "a rate by its old name that is read": "print(mlp().optimizer.lr)  # here",
    "beta_1 of nine": "keras.optimizers.Adam(beta_1=9)  # here",
    "beta_2 of one": "keras.optimizers.Adam(beta_2=1.0)  # here",
    "a negative beta": "keras.optimizers.Adam(beta_2=-0.9)  # here",
    "betas as in PyTorch": "keras.optimizers.Adam(betas=(0.9, 0.999))  # here",
    "eps as in PyTorch": "keras.optimizers.Adam(eps=1e-8)  # here",
    "a negative epsilon": "keras.optimizers.Adam(epsilon=-1e-7)  # here",
    "rho of ninety percent": "keras.optimizers.RMSprop(rho=90)  # here",
    "momentum of ninety percent": "keras.optimizers.SGD(momentum=90)  # here",
    "a negative weight decay": "keras.optimizers.AdamW(weight_decay=-0.01)  # here",
    "a negative clipnorm": "keras.optimizers.SGD(clipnorm=-1.0)  # here",
    "decay of a schedule that is negative": "keras.optimizers.schedules.ExponentialDecay(0.1, -100, 0.9)  # here",
    "nesterov as a string of an optimizer": "keras.optimizers.get('adam(0.01)')  # here",
    "an l2 below zero": "keras.regularizers.L2(-0.01)  # here",
    "an l2 that is a string": "keras.regularizers.L2('0.01')  # here",
    "a label of one half": _SPARSE + "model.fit(x, np.full((64,), 0.5), verbose=0)  # here",
    "labels that were divided by 255": _SPARSE
    + "model.fit(x, np.arange(64) % 3 / 255.0, verbose=0)  # here",
    "labels of one half in evaluate": _SPARSE
    + "model.evaluate(x, np.full((64,), 0.5), verbose=0)  # here",
    "labels of one half on a batch": _SPARSE
    + "model.train_on_batch(x, np.full((64,), 0.5))  # here",
    "a patience below zero": "keras.callbacks.EarlyStopping(patience=-1)  # here",
    "a rate of dropout in percent": "keras.layers.Dropout(50)  # here",
    "a rate of dropout that is a string": "keras.layers.Dropout('0.5')  # here",
    "a momentum of BatchNormalization in percent": "keras.layers.BatchNormalization(momentum=99)  # here",
    "a negative epsilon of BatchNormalization": "keras.layers.BatchNormalization(epsilon=-1e-3)  # here",
    "a negative delta of Huber": "keras.losses.Huber(delta=-1.0)  # here",
    "a huge epoch number to begin with": "mlp().fit(x, y, epochs=3, initial_epoch=5, verbose=0)  # here",
    "epochs of zero": "mlp().fit(x, y, epochs=-1, verbose=0)  # here",
    "an endless dataset": (
        "data = tf.data.Dataset.from_tensor_slices((x, y)).batch(8).repeat()\n"
        "mlp().fit(data, validation_split=0.1, verbose=0)  # here"
    ),
    # Layers: names of old, of PyTorch, and guesses
    "init of a Dense": "keras.layers.Dense(4, init='uniform')  # here",
    "output_dim of a Dense": "keras.layers.Dense(output_dim=4)  # here",
    "input_dim of a Dense in the middle": "keras.layers.Dense(4, input_size=3)  # here",
    "in_features and out_features": "keras.layers.Dense(in_features=4, out_features=2)  # here",
    "W_regularizer": "keras.layers.Dense(4, W_regularizer='l2')  # here",
    "b_regularizer": "keras.layers.Dense(4, b_regularizer='l2')  # here",
    "W_constraint": "keras.layers.Dense(4, W_constraint='non_neg')  # here",
    "border_mode": "keras.layers.Conv2D(4, 3, border_mode='same')  # here",
    "subsample": "keras.layers.Conv2D(4, 3, subsample=(2, 2))  # here",
    "nb_filter": "keras.layers.Conv2D(nb_filter=4, kernel_size=3)  # here",
    "dim_ordering": "keras.layers.Conv2D(4, 3, dim_ordering='tf')  # here",
    "nb_row and nb_col": "keras.layers.Conv2D(4, nb_row=3, nb_col=3)  # here",
    "filter_length": "keras.layers.Conv1D(4, filter_length=3)  # here",
    "Convolution2D with two sizes": "keras.layers.Convolution2D(4, 3, 3, 'valid', 'th')  # here",
    "out_channels": "keras.layers.Conv2D(in_channels=3, out_channels=8, kernel_size=3)  # here",
    "dilation": "keras.layers.Conv2D(8, 3, dilation=2)  # here",
    "a padding of one": "keras.layers.Conv2D(8, 3, padding=1)  # here",
    "num_embeddings": "keras.layers.Embedding(num_embeddings=10, embedding_dim=4)  # here",
    "input_length of an Embedding": "keras.layers.Embedding(10, 4, input_len=5)  # here",
    "hidden_size of an LSTM": "keras.layers.LSTM(hidden_size=4)  # here",
    "batch_first of an LSTM": "keras.layers.LSTM(4, batch_first=True)  # here",
    "inner_activation of an LSTM": "keras.layers.LSTM(4, inner_activation='sigmoid')  # here",
    "return_sequence of an LSTM": "keras.layers.LSTM(4, return_sequence=True)  # here",
    "dropout_W of an LSTM": "keras.layers.LSTM(4, dropout_W=0.5)  # here",
    "num_layers of an LSTM": "keras.layers.LSTM(4, num_layers=2)  # here",
    "p of Dropout": "keras.layers.Dropout(p=0.5)  # here",
    "num_features of BatchNormalization": "keras.layers.BatchNormalization(num_features=4)  # here",
    "eps of LayerNormalization": "keras.layers.LayerNormalization(eps=1e-5)  # here",
    "embed_dim of attention": "keras.layers.MultiHeadAttention(embed_dim=8, num_heads=2)  # here",
    "alpha of LeakyReLU in words": "keras.layers.LeakyReLU(negativ_slope=0.1)  # here",
    "merge": "keras.layers.Merge([mlp(), mlp()], mode='concat')  # here",
    "a lower-case merge": "keras.layers.merge([x, x], mode='sum')  # here",
    "AtrousConvolution2D": "keras.layers.AtrousConvolution2D(4, 3)  # here",
    "BatchNorm2d": "keras.layers.BatchNorm2d(4)  # here",
    "a lower-case dense": "keras.layers.dense(4)  # here",
    "a layer of nothing like it": "keras.layers.Dense(4, zzz=1)  # here",
    "Linear of PyTorch": "keras.nn.Linear(4, 2)  # here",
    "no_grad": "with keras.no_grad():  # here\n    pass",
    "cuda of a model": "mlp().cuda()  # here",
    "to of a model": "mlp().to('cuda')  # here",
    "state_dict": "mlp().state_dict()  # here",
    "load_state_dict": "mlp().load_state_dict({})  # here",
    "parameters": "list(mlp().parameters())  # here",
    "train of a model": "mlp().train()  # here",
    "eval of a model": "mlp().eval()  # here",
    "forward of a model": "mlp().forward(x)  # here",
    "zero_grad of an optimizer": "mlp().optimizer.zero_grad()  # here",
    "step of an optimizer": "mlp().optimizer.step()  # here",
    "backward of a loss": "keras.losses.MeanSquaredError()(y, y).backward()  # here",
    "detach of a tensor": "mlp()(x).detach()  # here",
    "view of a symbolic tensor": "keras.Input((4,)).view(-1)  # here",
    "permute of a symbolic tensor": "keras.Input((4, 3)).permute(0, 2, 1)  # here",
    "size of a symbolic tensor": "keras.Input((4, 3)).size(0)  # here",
    "numpy of a symbolic tensor": "keras.Input((4, 3)).numpy()  # here",
    "a forward in place of a call": (
        "class Own(keras.Model):\n    def __init__(self):\n        super().__init__()\n        self.dense = keras.layers.Dense(1)\n"
        "    def forward(self, inputs):\n        return self.dense(inputs)\n"
        "model = Own()\nmodel.compile('sgd', 'mse')\nmodel.fit(x, y, verbose=0)  # here"
    ),
    # scikit-learn
    "score of a model": "mlp().score(x, y)  # here",
    "predict_classes": "mlp().predict_classes(x)  # here",
    "predict_proba": "mlp().predict_proba(x)  # here",
    "transform of a scaler": "keras.layers.Normalization().fit_transform(x)  # here",
    "predict with labels": "mlp().predict(x, y)  # here",
    "evaluate of predictions by name": "mlp().evaluate(y_pred=x, y_true=y)  # here",
    "fit with max_iter": "mlp().fit(x, y, max_iter=3)  # here",
    "fit with X": "mlp().fit(X=x, y=y)  # here",
    "fit with eval_set": "mlp().fit(x, y, eval_set=[(x, y)])  # here",
    # Old methods and arguments of Keras
    "fit_generator": "mlp().fit_generator(iter([(x, y)]), steps_per_epoch=1)  # here",
    "evaluate_generator": "mlp().evaluate_generator(iter([(x, y)]), steps=1)  # here",
    "predict_generator": "mlp().predict_generator(iter([x]), steps=1)  # here",
    "samples_per_epoch": "mlp().fit(x, y, samples_per_epoch=64)  # here",
    "nb_val_samples": "mlp().fit(x, y, nb_val_samples=64)  # here",
    "show_accuracy": "mlp().fit(x, y, show_accuracy=True)  # here",
    "workers of fit": "mlp().fit(x, y, workers=4)  # here",
    "max_queue_size of fit": "mlp().fit(x, y, max_queue_size=4)  # here",
    "use_multiprocessing of fit": "mlp().fit(x, y, use_multiprocessing=True)  # here",
    "validation of fit": "mlp().fit(x, y, validation=(x, y))  # here",
    "batchsize of fit": "mlp().fit(x, y, batchsize=4)  # here",
    "class_mode of compile": "mlp(class_mode='binary')  # here",
    "metric names as the third argument": "mlp().compile('sgd', 'mse', ['mae'])  # here",
    "learning_rate of compile": "mlp(learning_rate=0.1)  # here",
    "lr of an optimizer": "keras.optimizers.Adam(lr=0.1)  # here",
    "schedule_decay of Nadam": "keras.optimizers.Nadam(schedule_decay=0.004)  # here",
    "input and output of a Model": (
        "i = keras.Input((4,))\nkeras.Model(input=i, output=keras.layers.Dense(1)(i))  # here"
    ),
    "input of a Model": (
        "i = keras.Input((4,))\nkeras.Model(i, output=keras.layers.Dense(1)(i))  # here"
    ),
    "val_acc of EarlyStopping": (
        "mlp(metrics=['accuracy']).fit(x, y, validation_split=0.1, callbacks=[keras.callbacks.EarlyStopping('val_acc')], verbose=0)  # here"
    ),
    "acc of ModelCheckpoint": (
        _IMAGES
        + "model.fit(images, digits, callbacks=[keras.callbacks.EarlyStopping('acc', mode='max', patience=1)], verbose=0)\n"
        "print(model.history.history['acc'])  # here"
    ),
    "epsilon of ReduceLROnPlateau": "keras.callbacks.ReduceLROnPlateau(epsilon=0.1)  # here",
    "period of ModelCheckpoint": "keras.callbacks.ModelCheckpoint('a.keras', period=2)  # here",
    "the history of accuracy by its old name": (
        "history = mlp(metrics=['accuracy']).fit(x, y, verbose=0)\nhistory.history['acc']  # here"
    ),
    "a validation loss that is not there": (
        "history = mlp().fit(x, y, verbose=0)\nhistory.history['val_loss']  # here"
    ),
    "np_utils": "keras.utils.np_utils.to_categorical([0, 1])  # here",
    "multi_gpu_model": "keras.utils.multi_gpu_model(mlp(), gpus=2)  # here",
    "load_model from the wrong module": "keras.load_model('a.keras')  # here",
    "Adam from the wrong module": "keras.Adam(0.1)  # here",
    "Dense from the wrong module": "keras.Dense(1)  # here",
    "Sequential with add of an Input": "keras.Sequential().add(keras.layers.Dense)  # here",
    "image_dim_ordering": "keras.backend.image_dim_ordering()  # here",
    "tf.Session": "keras.backend.set_session(None)  # here",
    "layers that are assigned": "mlp().layers = []  # here",
    "weights that are assigned": _MODEL.format(line="self.weights = 3  # here") + "Own()  # here",
    "losses that are assigned": _MODEL.format(line="self.losses = []  # here") + "Own()  # here",
    "metrics that are assigned": _MODEL.format(line="self.metrics = ['mae']  # here")
    + "Own()  # here",
    "inputs that are assigned": "keras.layers.Dense(2).input = 3  # here",
    "variables that are assigned": _MODEL.format(line="self.variables = []  # here")
    + "Own()  # here",
    "trainable_weights that are assigned": "mlp().trainable_weights = []  # here",
    # One image, one word, one row
    "one image without its batch axis": _IMAGES + "model.predict(images[0], verbose=0)  # here",
    "one image without its batch axis in a call": _IMAGES + "model(images[0])  # here",
    "one image without batch and channels": _IMAGES
    + "model.predict(images[0, :, :, 0], verbose=0)  # here",
    "images with channels first": _IMAGES
    + "model.predict(images.transpose(0, 3, 1, 2), verbose=0)  # here",
    "images with colours": _IMAGES + "model.predict(np.repeat(images, 3, -1), verbose=0)  # here",
    "flat images": _IMAGES + "model.predict(images.reshape(8, -1), verbose=0)  # here",
    "images of another size": _IMAGES + "model.predict(images[:, :20, :20], verbose=0)  # here",
    "a list of rows": "mlp().fit(list(x), y, verbose=0)  # here",
    "a list of numbers": "mlp().predict([1.0, 2.0, 3.0, 4.0], verbose=0)  # here",
    "one row as a tuple": "mlp().predict((1.0, 2.0, 3.0, 4.0), verbose=0)  # here",
    "a list of images": _IMAGES + "model.predict(list(images), verbose=0)  # here",
    "one number": "mlp().predict(3.0)  # here",
    "one row in a call": "mlp()(x[0])  # here",
    "labels before inputs": "mlp().fit(y, x, verbose=0)  # here",
    "one-hot labels in evaluate": _SPARSE
    + "model.evaluate(x, np.eye(3)[np.zeros(64, int)], verbose=0)  # here",
    "labels of four classes for three": _ONE_HOT
    + "model.fit(x, np.eye(4)[np.zeros(64, int)], verbose=0)  # here",
    "texts as labels of classes": _SPARSE + "model.fit(x, ['cat', 'dog'] * 32, verbose=0)  # here",
    "None as labels": _SPARSE + "model.fit(x, [None] * 64, verbose=0)  # here",
    "dates as inputs": "mlp().fit(np.full((64, 4), np.datetime64('2020-01-01')), y, verbose=0)  # here",
    "a function as inputs": "mlp().fit(lambda: x, y, verbose=0)  # here",
    "a model as inputs": "mlp().fit(mlp(), y, verbose=0)  # here",
    "a zip of rows": "mlp().fit(zip(x, y), verbose=0)  # here",
    "a path as inputs": "import pathlib\nmlp().fit(pathlib.Path('data.csv'), y, verbose=0)  # here",
    "a dict of columns": "mlp().fit({'a': x[:, 0], 'b': x[:, 1]}, y, verbose=0)  # here",
    "words in to_categorical": "keras.utils.to_categorical(['cat', 'dog'])  # here",
    "negative labels in to_categorical": "keras.utils.to_categorical([-7], 3)  # here",
    "fractions in to_categorical": "keras.utils.to_categorical([0.5, 1.5])  # here",
    "words in an Embedding": _TEXT + "keras.layers.Embedding(10, 2)(words)  # here",
    "words in a model of numbers": _TEXT
    + "keras.Sequential([keras.layers.Embedding(10, 2), keras.layers.Flatten(), keras.layers.Dense(1)]).predict(words, verbose=0)  # here",
    "a column of another library's table": (
        "class Column:\n    def __len__(self):\n        return 64\n    def __getitem__(self, i):\n        return [1.0, 2.0, 3.0, 4.0]\n"
        "mlp().fit(Column(), y, verbose=0)  # here"
    ),
    # Models
    "LSTM after LSTM": "keras.Sequential([keras.Input((5, 3)), keras.layers.LSTM(4), keras.layers.LSTM(4)])  # here",
    "GRU after Flatten": "keras.Sequential([keras.Input((5, 3)), keras.layers.Flatten(), keras.layers.GRU(4)])  # here",
    "Conv2D after Dense": "keras.Sequential([keras.Input((4,)), keras.layers.Dense(4), keras.layers.Conv2D(2, 3)])  # here",
    "Conv1D of images": "keras.layers.Conv1D(2, 3)(keras.Input((28, 28, 3)))  # here",
    "pooling of a vector": "keras.layers.MaxPooling2D()(keras.Input((4,)))  # here",
    "GlobalAveragePooling after Flatten": (
        "keras.layers.GlobalAveragePooling2D()(keras.layers.Flatten()(keras.Input((4, 4, 1))))  # here"
    ),
    "layers in a Sequential without a list": "keras.Sequential(keras.layers.Dense(1), keras.layers.Dense(2))  # here",
    "a None in a Sequential": "keras.Sequential([keras.layers.Dense(1), None])  # here",
    "a string in a Sequential": "keras.Sequential([keras.layers.Dense(1), 'relu'])  # here",
    "a missing comma": "keras.Sequential([keras.layers.Dense(1) (keras.layers.Dense(2))])  # here",
    "an Input in the middle": "keras.Sequential([keras.Input((4,)), keras.layers.Dense(1), keras.Input((3,))])  # here",
    "an Input that is a number": "keras.Input(4)  # here",
    "an Input of a string": "keras.Input('4')  # here",
    "an Input of floats": "keras.Input((4.0,))  # here",
    "an Input with a negative size": "keras.Input((-1, 4))  # here",
    "outputs in the place of inputs": (
        "i = keras.Input((4,))\nkeras.Model(keras.layers.Dense(1)(i), i)  # here"
    ),
    "a Model of a list of layers": "keras.Model([keras.layers.Dense(1), keras.layers.Dense(1)])  # here",
    "a Model of layers": "keras.Model(keras.layers.Dense(1), keras.layers.Dense(2))  # here",
    "a functional model without calls": (
        "i = keras.Input((4,))\nkeras.Model(i, keras.layers.Dense(1))  # here"
    ),
    "a layer's index beyond the end": "mlp().get_layer(index=9)  # here",
    "a layer's index beyond the list": "mlp().layers[9]  # here",
    "get_layer without a name": "mlp().get_layer()  # here",
    "get_layer with a number": "mlp().get_layer(1.5)  # here",
    "units of a float": "keras.layers.Dense(4.5)  # here",
    "units of None": "keras.layers.Dense(None)  # here",
    "no units": "keras.layers.Dense()  # here",
    "a tuple as units": "keras.layers.Dense((4, 2))  # here",
    "an activation as units": "keras.layers.Dense('relu')  # here",
    "an activation layer by a wrong name": "keras.layers.Activation('softmaxx')  # here",
    "an activation that is a number": "keras.layers.Dense(2, activation=3)  # here",
    "an initializer by a wrong name": "keras.layers.Dense(2, kernel_initializer='he_normall')  # here",
    "a constraint by a wrong name": "keras.layers.Dense(2, kernel_constraint='positive')  # here",
    "a dtype by a wrong name": "keras.layers.Dense(2, dtype='float23')  # here",
    "pool_size of zero": "keras.layers.MaxPooling2D(0)  # here",
    "an Embedding without a width": "keras.layers.Embedding(10)  # here",
    "an Embedding of a negative size": "keras.layers.Embedding(-1, 2)  # here",
    "heads of zero": "keras.layers.MultiHeadAttention(0, 2)  # here",
    "Bidirectional of units": "keras.layers.Bidirectional(4)  # here",
    "Bidirectional with a wrong merge_mode": "keras.layers.Bidirectional(keras.layers.LSTM(2), merge_mode='add')  # here",
    "TimeDistributed of a number": "keras.layers.TimeDistributed(3)  # here",
    "UpSampling by an unknown method": "keras.layers.UpSampling2D(interpolation='linear')  # here",
    "Reshape with an unknown size": "keras.layers.Reshape((-1, 3))(keras.Input((4,)))  # here",
    "Cropping without a tuple": "keras.layers.Cropping2D('1')  # here",
    # compile and fit
    "compile without arguments for an optimizer": "mlp().compile(keras.optimizers.Adam, 'mse').fit(x, y)  # here",
    "fit of compile": "mlp().compile('sgd', 'mse').fit(x, y)  # here",
    "a loss of another library": (
        "class CrossEntropyLoss:\n    pass\nmlp(CrossEntropyLoss()).fit(x, y, verbose=0)  # here"
    ),
    "a loss that is a number": "mlp(0.5).fit(x, y, verbose=0)  # here",
    "metrics of True": "mlp(metrics=True)  # here",
    "a misspelled metric": "mlp(metrics=['mean_abs_error']).fit(x, y, verbose=0)  # here",
    "a metric of sklearn": "mlp(metrics=['f1']).fit(x, y, verbose=0)  # here",
    "an optimizer of None": "mlp().compile(None, 'mse').fit(x, y)  # here",
    "an optimizer that is a number": "mlp().compile(0.1, 'mse')  # here",
    "an optimizer of another library": (
        "class Adam:\n    pass\nmlp().compile(Adam(), 'mse')  # here"
    ),
    "loss_weights that are strings": _TWO_OUTPUTS
    + "two.compile('sgd', 'mse', loss_weights={'p': '0.5', 'q': '1'})  # here\ntwo.fit(x, {'p': y, 'q': y}, verbose=0)",
    "loss_weights of a name that is not there": _TWO_OUTPUTS
    + "two.compile('sgd', {'p': 'mse', 'q': 'mse'}, loss_weights={'p': 1.0, 'z': 1.0})\ntwo.fit(x, {'p': y, 'q': y}, verbose=0)  # here",
    "a target that is missing": _TWO_OUTPUTS
    + "two.compile('sgd', {'p': 'mse', 'q': 'mse'})\ntwo.fit(x, {'p': y}, verbose=0)  # here",
    "a target of a name that is not there": _TWO_OUTPUTS
    + "two.compile('sgd', {'p': 'mse', 'q': 'mse'})\ntwo.fit(x, {'p': y, 'z': y}, verbose=0)  # here",
    "verbose in words": "mlp().fit(x, y, verbose='quiet')  # here",
    "validation_data of one array": "mlp().fit(x, y, validation_data=[x], verbose=0)  # here",
    "validation_data of three lengths": "mlp().fit(x, y, validation_data=(x, y[:3]), verbose=0)  # here",
    "validation_split in percent": "mlp().fit(x, y, validation_split=20, verbose=0)  # here",
    "validation_split below zero": "mlp().fit(x, y, validation_split=-0.2, verbose=0)  # here",
    "validation_split of a generator": "mlp().fit(iter([(x, y)]), validation_split=0.2, verbose=0)  # here",
    "y with a generator": "mlp().fit(iter([(x, y)]), y, verbose=0)  # here",
    "class_weight with names": _SPARSE
    + "model.fit(x, np.zeros(64, int), class_weight={'cat': 1.0}, verbose=0)  # here",
    "steps_per_epoch of too many": "mlp().fit(iter([(x, y)]), steps_per_epoch=0, verbose=0)  # here",
    "a generator function in place of its batches": (
        "def batches():\n    yield x, y\nmlp().predict(batches, verbose=0)  # here"
    ),
    "a generator that yields single rows": (
        "def batches():\n    for row, target in zip(x, y):\n        yield row, target\n"
        "mlp().fit(batches(), steps_per_epoch=2, verbose=0)  # here"
    ),
    "a generator that returns None": (
        "def batches():\n    while True:\n        yield None\n"
        "mlp().fit(batches(), steps_per_epoch=2, verbose=0)  # here"
    ),
    "a generator that yields words": (
        "def batches():\n    yield 'x', 'y'\nmlp().fit(batches(), verbose=0)  # here"
    ),
    "a generator of other lengths": (
        "def batches():\n    while True:\n        yield x[:8], y[:7]\n"
        "mlp().fit(batches(), steps_per_epoch=2, verbose=0)  # here"
    ),
    "a PyDataset whose items are rows": (
        "class Data(keras.utils.PyDataset):\n    def __len__(self):\n        return 64\n"
        "    def __getitem__(self, index):\n        return x[index], y[index]\n"
        "mlp().fit(Data(), verbose=0)  # here"
    ),
    "a PyDataset without items": (
        "class Data(keras.utils.PyDataset):\n    def __len__(self):\n        return 4\n"
        "mlp().fit(Data(), verbose=0)  # here"
    ),
    "a callback without its base class": (
        "class Own:\n    def on_epoch_end(self, epoch, logs=None):\n        pass\n"
        "mlp().fit(x, y, callbacks=[Own()], verbose=0)  # here"
    ),
    "a callback that sets a rate by its old name": (
        "class Own(keras.callbacks.Callback):\n    def on_epoch_end(self, epoch, logs=None):\n"
        "        self.model.optimizer.lr = 0.1  # here\nmlp().fit(x, y, callbacks=[Own()], verbose=0)  # here"
    ),
    "a callback that reads a rate by its old name": (
        "class Own(keras.callbacks.Callback):\n    def on_epoch_end(self, epoch, logs=None):\n"
        "        keras.backend.get_value(self.model.optimizer.lr)  # here\nmlp().fit(x, y, callbacks=[Own()], verbose=0)  # here"
    ),
    "a callback that reads its validation data": (
        "class Own(keras.callbacks.Callback):\n    def on_epoch_end(self, epoch, logs=None):\n"
        "        self.validation_data[0]  # here\nmlp().fit(x, y, callbacks=[Own()], verbose=0)  # here"
    ),
    "a schedule that is not called": "keras.callbacks.LearningRateScheduler(schedule=0.1)  # here",
    "a schedule that returns nothing": (
        "mlp().fit(x, y, callbacks=[keras.callbacks.LearningRateScheduler(lambda epoch: None)], verbose=0)  # here"
    ),
    "a checkpoint without a path": "keras.callbacks.ModelCheckpoint()  # here",
    "a callback class in a list of classes": "mlp().fit(x, y, callbacks=keras.callbacks.EarlyStopping, verbose=0)  # here",
    # Own layers
    "a layer whose build forgets the weight": (
        _LAYER
        + "    def __init__(self):\n        super().__init__()\n    def call(self, inputs):\n        return inputs @ self.kernel  # here\n"
        "Own()(x)  # here"
    ),
    "a layer with a misspelled call": (
        _LAYER + "    def cal(self, inputs):\n        return inputs\nOwn()(x)  # here"
    ),
    "a layer whose call lacks self": (
        _LAYER + "    def call(inputs):\n        return inputs\nOwn()(x)  # here"
    ),
    "a layer that is made without an argument": (
        _LAYER + "    def __init__(self, units):\n        super().__init__()\nOwn()  # here"
    ),
    "a shape as a list of strings for add_weight": (
        _LAYER
        + "    def build(self, input_shape):\n        self.w = self.add_weight(shape=('4', 2))  # here\n"
        "    def call(self, inputs):\n        return inputs\nOwn()(x)  # here"
    ),
    "a name in front of add_weight's shape": (
        _LAYER
        + "    def build(self, input_shape):\n        self.w = self.add_weight('kernel', (4, 2))  # here\n"
        "    def call(self, inputs):\n        return inputs\nOwn()(x)  # here"
    ),
    "an undefined name in call": (
        _LAYER
        + "    def call(self, inputs):\n        return K.sum(inputs)  # here\nOwn()(x)  # here"
    ),
    "a weight by a wrong shape in a product": (
        _LAYER
        + "    def build(self, input_shape):\n        self.w = self.add_weight(shape=(3, 2))\n"
        "    def call(self, inputs):\n        return keras.ops.matmul(inputs, self.w)  # here\nOwn()(x)  # here"
    ),
    "an if on a symbolic tensor": (
        _LAYER
        + "    def call(self, inputs):\n        return inputs if inputs.shape[0] > 3 else inputs  # here\n"
        "keras.Sequential([keras.Input((4,)), Own()])  # here"
    ),
    "get_weights with an index": "mlp().get_weights(0)  # here",
    "set_weights of one array": "mlp().set_weights(np.zeros((4, 8)))  # here",
    "set_weights without a bias": "keras.layers.Dense(2).set_weights([np.zeros((4, 2))])  # here",
    # Files
    "load_model of a misspelled path": "mlp().save('right.keras')\nkeras.models.load_model('rigth.keras')  # here",
    "load_model without an extension": "mlp().save('plain.keras')\nkeras.models.load_model('plain')  # here",
    "load_weights of a model": "mlp().load_weights(mlp())  # here",
    "save without a name": "mlp().save()  # here",
    "save to a number": "mlp().save(3)  # here",
    "save without an extension": "mlp().save('model')  # here",
    "save_weights to a .keras file": "mlp().save_weights('w.keras')  # here",
    "save_format": "mlp().save('m.tf', save_format='tf')  # here",
    "load_model of None": "keras.models.load_model(None)  # here",
    "load_model of a pickle": (
        "open('m.pkl', 'wb').write(b'\\x80\\x04.')\nkeras.models.load_model('m.pkl')  # here"
    ),
    "load_model of an empty file": "open('empty.keras', 'w')\nkeras.models.load_model('empty.keras')  # here",
    "export to an unknown format": "mlp().export('m', format='pickle')  # here",
    "model_from_json of a file name": "keras.models.model_from_json('model.json')  # here",
    "a summary of a layer": "keras.layers.Dense(1).summary()  # here",
    # Ops and tensors
    "NumPy's names of axes": "keras.ops.sum(x, dim=1)  # here",
    "keepdim": "keras.ops.sum(x, axis=1, keepdim=True)  # here",
    "cat": "keras.ops.cat([x, x])  # here",
    "unsqueeze": "keras.ops.unsqueeze(x, 0)  # here",
    "an op on another library's array": "keras.ops.sum('text')  # here",
    "an op of None": "keras.ops.exp(None)  # here",
    "one_hot without classes": "keras.ops.one_hot([0, 1])  # here",
    "random with a wrong shape": "keras.random.normal(3.5)  # here",
    "shuffle of a word": "keras.random.shuffle(None)  # here",
    "a split that is not even": "keras.ops.split(x, 3, axis=1)  # here",
    "pad_sequences of a flat list": "keras.utils.pad_sequences([1, 2, 3])  # here",
    "a softmax on an axis that is not there": "keras.layers.Softmax(axis=4)(x)  # here",
    "a seed of None twice": "keras.utils.set_random_seed('1')  # here",
    "a tensor in an if of the loss": (
        "def loss(y_true, y_pred):\n    return y_pred.numpy().mean()  # here\nmlp(loss).fit(x, y, verbose=0)  # here"
    ),
    "a loss with the wrong number of arguments": (
        "def loss(y_true, y_pred, alpha):\n    return alpha\nmlp(loss).fit(x, y, verbose=0)  # here"
    ),
    "a float in set_image_data_format": "keras.config.set_image_data_format('channels')  # here",
    "a policy by a wrong name": "keras.mixed_precision.set_global_policy('float16_mixed')  # here",
}
