"""A correct program as people write it. It is checked and never run."""

from typing import Any

import numpy as np
import tensorflow as tf

import tfkit as keras


@keras.saving.register_keras_serializable("typed")
class Scale(keras.layers.Layer):
    def __init__(self, factor: float = 2.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.factor = factor

    def build(self, input_shape: tuple[int, ...]) -> None:
        self.w = self.add_weight(shape=(input_shape[-1],), initializer="ones", name="w")

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        return inputs * self.w * self.factor

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "factor": self.factor}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "Scale":
        return cls(config["factor"])


class Pair(keras.layers.Layer):
    def call(self, left: Any, right: Any, training: bool | None = None, mask: Any = None) -> Any:
        return left + right

    def compute_output_shape(self, left_shape: Any, right_shape: Any) -> Any:
        return left_shape


class Encoder(keras.Model):
    def __init__(self, width: int, latent: int) -> None:
        super().__init__()
        self.body = keras.Sequential([keras.layers.Dense(width, "relu"), keras.layers.Dropout(0.1)])
        self.mean = keras.layers.Dense(latent)
        self.tracker = keras.metrics.Mean(name="kl")

    def call(self, x: tf.Tensor, training: bool = False) -> tuple[tf.Tensor, tf.Tensor]:
        hidden = self.body(x, training=training)
        return self.mean(hidden), hidden

    @property
    def metrics(self) -> list[keras.metrics.Metric]:
        return [self.tracker]

    def train_step(self, data: Any) -> dict[str, Any]:
        x, _ = data
        with tf.GradientTape() as tape:
            mean, _hidden = self(x, training=True)
            loss = tf.reduce_mean(mean**2)
        gradients = tape.gradient(loss, self.trainable_variables)
        assert self.optimizer is not None
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        self.tracker.update_state(loss)
        return {"kl": self.tracker.result()}


class Worst(keras.losses.Loss):
    def call(self, y_true: tf.Tensor, y_pred: tf.Tensor) -> tf.Tensor:
        return tf.reduce_max(tf.abs(y_true - y_pred), axis=-1)


class Count(keras.metrics.Metric):
    def __init__(self, name: str = "count", **kwargs: Any) -> None:
        super().__init__(name=name, **kwargs)
        self.total = self.add_weight(name="total", initializer="zeros")

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        self.total.assign_add(1.0)

    def result(self) -> Any:
        return self.total


class Report(keras.callbacks.Callback):
    def set_model(self, model: keras.Model) -> None:
        super().set_model(model)
        print(model.name)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        print(epoch, (logs or {})["loss"], self.model.name)


def build(width: int = 8) -> keras.Model:
    inputs = keras.Input(shape=(4,), name="features")
    hidden = keras.layers.Dense(width, activation="relu")(inputs)
    hidden = keras.layers.BatchNormalization()(Scale(1.5)(hidden))
    hidden = Pair()(hidden, hidden)
    return keras.Model(inputs, keras.layers.Dense(1)(hidden), name="net")


x, y = np.ones((64, 4), "float32"), np.ones((64, 1), "float32")
model = build()
keras.layers.LSTM(8, "tanh", return_sequences=True, unit_forget_bias=False, name="lstm")
keras.layers.GRU(8, dropout=0.1, reset_after=False, kernel_regularizer="l2", dtype="float32")
keras.optimizers.AdamW(1e-3, 1e-2, 0.9, clipnorm=1.0, use_ema=True, name="adamw")
schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.9)
model.compile(keras.optimizers.SGD(schedule, momentum=0.9), loss=Worst(), metrics=["mae", Count()])
stop = keras.callbacks.EarlyStopping(patience=3)
history = model.fit(x, y, epochs=2, validation_data=(x, y), callbacks=[stop, Report()])
losses: list[float] = history.history["loss"]
rows: np.ndarray = model.predict(x)
print(rows.shape, rows.mean(), rows[0], losses[-1])
scores: dict[str, float] = model.evaluate(x, y, return_dict=True)
model.save("net.keras")
loaded: keras.Model = keras.models.load_model("net.keras")
loaded.summary()
encoder = Encoder(8, 2)
encoder.compile("adam")
encoder.fit(x, y, verbose=0)
images = keras.layers.Conv2D(8, 3, padding="same", activation=tf.nn.relu)(tf.ones((1, 8, 8, 3)))
tokens = keras.layers.LSTM(4, return_sequences=True)(tf.ones((2, 3, 4)))
print(images.shape, tokens.shape, keras.ops.softmax(tokens))
keras.layers.Bidirectional(
    keras.layers.LSTM(8), backward_layer=keras.layers.GRU(8, go_backwards=True)
)
units: int = keras.layers.Dense.from_config({"units": 8}).units
copy = keras.models.clone_model(encoder)
copy.compile({"class_name": "SGD", "config": {}})
keras.callbacks.CallbackList([Report()], model=copy).on_train_begin()
