"""Makes the files of Keras 2 beside it. Needs the package `tf_keras`; run once, the files are committed.

What the models predict for the inputs that `inputs()` of the tests gives, and their loss in further
training, stand in attributes.
"""

from pathlib import Path

import h5py
import numpy as np
import tf_keras as keras

HERE = Path(__file__).parent
layers = keras.layers
X = np.random.default_rng(0).normal(size=(8, 4, 6)).astype("float32")


def note(path, **values):
    with h5py.File(HERE / path, "a") as file:
        file.attrs.update(values)


def save_model(path, model):
    """Whole models, never trained: biases and moving averages are drawn, so that none is zero."""
    draws = np.random.default_rng(1)
    model.set_weights([draws.uniform(0.1, 0.5, w.shape) for w in model.get_weights()])
    model.save(HERE / path, include_optimizer=False)
    outputs = model.predict([X] * len(model.inputs), verbose=0)
    note(path, test_output=outputs)


a, b = keras.Input((4, 6), name="a"), keras.Input((4, 6), name="b")
inner = keras.Sequential([layers.Dense(3, input_shape=(4, 6)), layers.BatchNormalization()])
inner.add(layers.Dense(6, activation="relu"))
graph = keras.Model(b, layers.Dense(6, name="in_graph")(b))
shared = layers.Dense(6, name="shared")
h = layers.Add()([inner(shared(shared(a))), graph(graph(b))])
save_model("keras2_nested.h5", keras.Model([a, b], h))

h = layers.Bidirectional(layers.LSTM(2, return_sequences=True))(a)
save_model("keras2_recurrent.h5", keras.Model(a, layers.RNN([layers.GRUCell(2)])(h)))

h = layers.MultiHeadAttention(2, 3, name="attention")(a, b)
save_model("keras2_attention.h5", keras.Model([a, b], layers.LeakyReLU(0.2)(h)))

OPTIMIZERS = {
    "adam": keras.optimizers.Adam(1e-2),
    "sgd": keras.optimizers.SGD(1e-2),
    "old_adam": keras.optimizers.legacy.Adam(1e-2),
}
x, y = X[:, 0], [X[:, 0, :2], X[:, 0, :1]]
for name, optimizer in OPTIMIZERS.items():
    keras.utils.set_random_seed(1)
    a = keras.Input((6,), name="a")
    model = keras.Model(a, [layers.Dense(2, name="p")(a), layers.Dense(1, name="q")(a)])
    model.compile(optimizer, ["mse", keras.losses.MeanAbsoluteError()], metrics=[["mae"], ["mse"]])
    model.fit(x, y, epochs=2, batch_size=4, shuffle=False, verbose=0)
    path = f"keras2_{name}.h5"
    model.save(HERE / path)
    history = model.fit(x, y, epochs=2, batch_size=4, shuffle=False, verbose=0).history
    note(path, test_loss=history["loss"], test_mae=history["p_mae"])
model.save_weights(HERE / "keras2_weights.h5")
note("keras2_weights.h5", test_output=model.predict(x, verbose=0)[0])
