"""Transfer learning: a network that was trained on some classes learns new ones from few images.

    python transfer_learning.py --epochs 4

A MobileNet learns the digits 0 to 4 and saves its weights. Frozen and without its classifier, it provides the
features from which a new classifier learns the digits 5 to 9, with 20 images of each. Prints the accuracy
with these features and with those of a network with random weights; after one epoch they differ little. For
photographs, `weights="imagenet"` loads published weights.
"""

import argparse
import tempfile

import numpy as np
from matplotlib import pyplot

import tfkit as keras
from tfkit import layers


def as_pictures(digits):
    """Returns digits in the form that MobileNet expects: 32 x 32 pixels, 3 channels, from -1 to 1."""
    pictures = np.pad(digits, ((0, 0), (2, 2), (2, 2)))[..., None].repeat(3, axis=-1)
    return keras.applications.mobilenet.preprocess_input(pictures)


def mobilenet(weights, **arguments):
    return keras.applications.MobileNet(
        input_shape=(32, 32, 3), alpha=0.25, weights=weights, **arguments
    )


def learn_first(x, y, epochs, path):
    """Trains the whole network, and saves its weights without the classifier's."""
    base = mobilenet(None, include_top=False, pooling="avg")
    model = keras.Sequential([base, layers.Dense(5, activation="softmax")])
    model.compile(
        keras.optimizers.Adam(3e-3), "sparse_categorical_crossentropy", metrics=["accuracy"]
    )
    model.fit(x, y, batch_size=32, epochs=epochs, verbose=2)
    base.save_weights(path)


def learn_from_few(x, y, weights):
    """Trains a classifier on the features of a frozen network."""
    base = mobilenet(weights, include_top=False, pooling="avg")
    base.trainable = False
    inputs = keras.Input((32, 32, 3))
    features = layers.LayerNormalization()(base(inputs, training=False))
    model = keras.Model(inputs, layers.Dense(5, activation="softmax")(features))
    model.compile(
        keras.optimizers.Adam(1e-2), "sparse_categorical_crossentropy", metrics=["accuracy"]
    )
    model.fit(x, y, batch_size=20, epochs=20, verbose=0)
    return model


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--limit", type=int, default=10000)
    parser.add_argument("--picture", default="transfer_learning.png", help="file to draw")
    options = parser.parse_args(argv)

    keras.utils.set_random_seed(0)
    (x, y), (x_test, y_test) = keras.datasets.mnist.load_data()
    x, y = as_pictures(x[: options.limit]), y[: options.limit]
    x_test, y_test = as_pictures(x_test[:2000]), y_test[:2000]
    few = np.concatenate([np.flatnonzero(y == digit)[:20] for digit in range(5, 10)])
    new = y_test >= 5

    accuracies, answers = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/digits.weights.h5"
        learn_first(x[y < 5], y[y < 5], options.epochs, path)
        for weights in (path, None):
            model = learn_from_few(x[few], y[few] - 5, weights)
            _, accuracy = model.evaluate(x_test[new], y_test[new] - 5, verbose=0)
            accuracies.append(accuracy)
            answers.append(model.predict(x_test[new], verbose=0).argmax(-1) + 5)
    learned, drawn = accuracies
    print(
        f"Accuracy on new digits: {learned:.3f} with trained features, {drawn:.3f} with random ones"
    )
    figure, axis = pyplot.subplots(figsize=(5, 3.2), layout="constrained")
    for shift, name, read in zip((-0.2, 0.2), ("trained", "random"), answers, strict=True):
        found = [np.mean(read[y_test[new] == digit] == digit) for digit in range(5, 10)]
        axis.bar(np.arange(5, 10) + shift, found, 0.4, label=f"{name} features")
    axis.set(xlabel="digit", ylabel="recall: share recognized")
    axis.legend()
    figure.savefig(options.picture, dpi=80)
    print(f"Picture: {options.picture}")
    return learned, drawn


if __name__ == "__main__":
    main()
