"""Segments disks in noisy images that also contain rectangles, with a small U-Net.

    python segmentation_unet.py --epochs 6

Reference: Ronneberger, Fischer, Brox (2015), "U-Net: convolutional networks for biomedical image
segmentation".
"""

import argparse

import numpy as np
from matplotlib import pyplot

import tfkit as keras
from tfkit import layers

SIZE = 32


def make_images(count, seed=0):
    """Returns grayscale images with a disk and a rectangle, and masks of the disks."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[:SIZE, :SIZE]
    images = rng.normal(scale=0.15, size=(count, SIZE, SIZE))
    masks = np.zeros((count, SIZE, SIZE))
    for image, mask in zip(images, masks, strict=True):
        top, left = rng.integers(0, SIZE - 10, 2)
        image[top : top + rng.integers(5, 10), left : left + rng.integers(5, 10)] += 0.8
        y, x, radius = *rng.integers(6, SIZE - 6, 2), rng.integers(3, 7)
        mask[(rows - y) ** 2 + (columns - x) ** 2 <= radius**2] = 1
        image[mask > 0] = 0.8 + rng.normal(scale=0.15, size=int(mask.sum()))
    return images[..., None].astype("float32"), masks[..., None].astype("float32")


def block(x, filters):
    for _ in range(2):
        x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
        x = layers.BatchNormalization(momentum=0.9)(x)
        x = layers.ReLU()(x)
    return x


def build_model(filters=(8, 16, 32)):
    x = inputs = keras.Input((SIZE, SIZE, 1))
    seen = []
    for number in filters[:-1]:
        x = block(x, number)
        seen.append(x)
        x = layers.MaxPooling2D()(x)
    x = block(x, filters[-1])
    for number, before in zip(reversed(filters[:-1]), reversed(seen), strict=True):
        x = layers.Conv2DTranspose(number, 2, strides=2)(x)
        x = block(layers.Concatenate()([x, before]), number)
    return keras.Model(inputs, layers.Conv2D(1, 1, activation="sigmoid")(x))


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--images", type=int, default=1500)
    parser.add_argument("--picture", default="segmentation_unet.png", help="file to draw")
    options = parser.parse_args(argv)

    keras.utils.set_random_seed(0)
    x, y = make_images(options.images)
    x_test, y_test = make_images(200, seed=1)
    model = build_model()
    model.compile(
        keras.optimizers.Adam(3e-3),
        loss="binary_crossentropy",
        metrics=[keras.metrics.BinaryIoU(target_class_ids=[1], threshold=0.5, name="iou")],
    )
    model.fit(x, y, batch_size=32, epochs=options.epochs, verbose=2)
    _, iou = model.evaluate(x_test, y_test, verbose=0)
    print(f"Intersection over union of the disks: {iou:.3f}")
    shown = [x_test[:8], y_test[:8], model.predict(x_test[:8], verbose=0)]
    grid = np.vstack(
        [np.hstack(list(row[..., 0])) for row in shown]
    )  # images, true masks, predictions
    pyplot.imsave(options.picture, grid.repeat(3, 0).repeat(3, 1), cmap="gray", vmin=0, vmax=1)
    print(f"Picture: {options.picture}")
    return iou


if __name__ == "__main__":
    main()
