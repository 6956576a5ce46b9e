"""Classifies shifted and rotated digits after training on few images, with image augmentation.

    python image_augmentation.py --epochs 12

Prints the accuracy on shifted and rotated digits, with and without augmentation. The difference shows after
about ten epochs: after one, both models have learned too little.
"""

import argparse

import numpy as np
from matplotlib import pyplot

import tfkit as keras
from tfkit import layers


def build_model(augmented):
    """Returns a small convolutional network; the random layers act in training only."""
    changes = [
        layers.RandomRotation(0.08, fill_mode="constant"),
        layers.RandomTranslation(0.15, 0.15, fill_mode="constant"),
        layers.RandomZoom(0.1, fill_mode="constant"),
    ]
    return keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            layers.Rescaling(1 / 255),
            *(changes if augmented else []),
            layers.Conv2D(16, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(32, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dropout(0.3),
            layers.Dense(10, activation="softmax"),
        ]
    )


def moved(images):
    """Returns the images after random changes, which are the same in each call."""
    changes = keras.Sequential(
        [
            layers.RandomRotation(0.08, fill_mode="constant", seed=1),
            layers.RandomTranslation(0.15, 0.15, fill_mode="constant", seed=2),
        ]
    )
    return np.asarray(changes(images, training=True))


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--limit", type=int, default=2000)
    parser.add_argument("--picture", default="image_augmentation.png", help="file to draw")
    options = parser.parse_args(argv)

    (x, y), (x_test, y_test) = keras.datasets.mnist.load_data()
    x, y = x[: options.limit, ..., None].astype("float32"), y[: options.limit]
    x_test = moved(x_test[:2000, ..., None].astype("float32"))
    accuracies, answers = [], []
    for augmented in (False, True):
        keras.utils.set_random_seed(0)
        model = build_model(augmented)
        model.compile("adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
        model.fit(x, y, batch_size=32, epochs=options.epochs, verbose=2)
        _, accuracy = model.evaluate(x_test, y_test[:2000], verbose=0)
        accuracies.append(accuracy)
        answers.append(model.predict(x_test[:12], verbose=0).argmax(-1))
    plain, augmented = accuracies
    print(f"Accuracy on moved digits: {augmented:.3f} with augmentation, {plain:.3f} without")
    figure, axes = pyplot.subplots(2, 6, figsize=(8, 3.4), layout="constrained")
    figure.suptitle("predicted digit: without / with augmentation")
    for axis, image, *read in zip(axes.flat, x_test, *answers, strict=False):
        axis.imshow(image, cmap="gray")
        axis.set_title("{} / {}".format(*read))
        axis.axis("off")
    figure.savefig(options.picture, dpi=80)
    print(f"Picture: {options.picture}")
    return plain, augmented


if __name__ == "__main__":
    main()
