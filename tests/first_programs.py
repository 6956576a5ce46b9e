"""Ten first programs, which `test_quiet.py` runs: they print nothing on the standard error stream."""

import tfkit as keras  # isort: skip, TensorFlow's lines are withheld where tfkit imports it.

import multiprocessing

import numpy as np
import tensorflow as tf

from tfkit import layers

X = np.random.default_rng(0).random((64, 8), dtype="float32")
Y = (X.sum(axis=1) > 4).astype("int32")


def mlp():
    model = keras.Sequential(
        [layers.Dense(4, "relu"), layers.BatchNormalization(), layers.Dropout(0.5), layers.Dense(2)]
    )
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def images():
    shape = (12, 12, 1)
    model = keras.Sequential(
        [
            keras.Input(shape),
            layers.Conv2D(4, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(2, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"], jit_compile=True)
    model.fit(np.zeros((32, *shape)), Y[:32], validation_split=0.25, verbose=0)


def words():
    vectorize = layers.TextVectorization(max_tokens=20, output_sequence_length=4)
    vectorize.adapt(["a b c", "b c d"])
    model = keras.Sequential(
        [
            keras.Input((), dtype="string"),
            vectorize,
            layers.Embedding(20, 4, mask_zero=True),
            layers.LSTM(3),
            layers.Dense(1),
        ]
    )
    model.compile("rmsprop", "mse")
    model.fit(np.array(["a b", "c d"] * 8, object), np.ones(16), verbose=0)


def datasets():
    data = tf.data.Dataset.from_tensor_slices((X, Y)).shuffle(64).batch(16)
    model = mlp()
    model.fit(data, epochs=2, validation_data=data, verbose=0)
    model.fit(data.repeat(), steps_per_epoch=3, verbose=0)
    model.fit(iter(list(data)), verbose=0)


def many_steps():
    mlp().fit(np.repeat(X, 100, axis=0), np.repeat(Y, 100), batch_size=8, epochs=2, verbose=0)


def files():
    model = mlp()
    model.fit(X, Y, verbose=0)
    for path in ("model.h5", "model.keras"):
        model.save(path)
        keras.models.load_model(path).predict(X, verbose=0)


def exports():
    model = mlp()
    model.fit(X, Y, verbose=0)
    keras.export.to_serving(model, "models", name="first", warmup=X[:4])
    model.export("folder", verbose=False)
    tf.saved_model.load("folder")
    model.export("model.tflite", format="litert", verbose=False)


def own_step():
    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(1)

        def call(self, inputs):
            return self.dense(inputs)

        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((self(x, training=True) - y) ** 2)
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply(gradients, self.trainable_variables)
            return {"loss": loss}

    model = Own()
    model.compile("adam")
    model.fit(X, X[:, :1], verbose=0)


def callbacks():
    after = [
        keras.callbacks.EarlyStopping("loss"),
        keras.callbacks.ModelCheckpoint("checkpoint.keras"),
        keras.callbacks.TensorBoard("logs"),
    ]
    mlp().fit(X, Y, epochs=2, verbose=0, callbacks=after)


def ones():
    keras.ops.ones(1)


def processes():
    for method in ("spawn", "fork"):
        process = multiprocessing.get_context(method).Process(target=ones)
        process.start()
        process.join()


if __name__ == "__main__":
    for program in (
        *(processes, images, words, datasets, many_steps),
        *(files, exports, own_step, callbacks, ones),
    ):
        program()
