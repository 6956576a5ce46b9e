"""A convolutional network that recognizes handwritten digits: functional API, `fit`, `evaluate`."""

from __future__ import annotations

import argparse

import numpy as np
from matplotlib import pyplot

import tfkit as keras


def build_model() -> keras.Model:
    inputs = keras.Input((28, 28, 1), name="image")
    x = keras.layers.Conv2D(32, 3, activation="relu")(inputs)
    x = keras.layers.MaxPooling2D()(x)
    x = keras.layers.Conv2D(64, 3, activation="relu")(x)
    x = keras.layers.MaxPooling2D()(x)
    x = keras.layers.Dropout(0.25)(keras.layers.Flatten()(x))
    outputs = keras.layers.Dense(10, activation="softmax", name="digit")(x)
    model = keras.Model(inputs, outputs, name="cnn")
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def draw_confusion(path: str, truth: np.ndarray, answers: np.ndarray) -> None:
    """Draws the confusion matrix: how often each digit was predicted as which."""
    counts = np.zeros((10, 10), int)
    np.add.at(counts, (truth, answers), 1)
    figure, axis = pyplot.subplots(figsize=(5, 5), layout="constrained")
    axis.imshow(np.sqrt(counts), cmap="Blues")
    for (row, column), count in np.ndenumerate(counts):
        axis.text(
            column,
            row,
            count or "",
            ha="center",
            va="center",
            fontsize=8,
            color="black" if row != column else "white",
        )
    axis.set(xticks=range(10), yticks=range(10), xlabel="predicted digit", ylabel="true digit")
    figure.savefig(path, dpi=80)


def main(arguments: list[str] | None = None) -> float:
    """Trains the network and returns its accuracy on the test digits."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--limit", type=int, help="train on the first LIMIT digits only")
    parser.add_argument("--picture", default="cnn_mnist.png", help="file to draw")
    options = parser.parse_args(arguments)
    (x_train, y_train), (x_test, y_test) = keras.datasets.mnist.load_data()
    x_train, y_train = x_train[: options.limit, ..., None] / 255.0, y_train[: options.limit]
    x_test = x_test[..., None] / 255.0
    keras.utils.set_random_seed(0)
    model = build_model()
    model.summary()
    model.fit(x_train, y_train, batch_size=options.batch_size, epochs=options.epochs)
    _, accuracy = model.evaluate(x_test, y_test, batch_size=500)
    print(f"Accuracy on unseen digits: {accuracy:.2%}")
    draw_confusion(options.picture, y_test, model.predict(x_test, verbose=0).argmax(-1))
    print(f"Picture: {options.picture}")
    return accuracy


if __name__ == "__main__":
    main()
