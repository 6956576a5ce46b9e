"""A single sample without the axis of the batch is refused with the fix."""

import numpy as np
import pytest

import tfkit
from tfkit import layers

IMAGE = np.zeros((28, 28, 1), "float32")


def stack(shape, *inside):
    return tfkit.Sequential([tfkit.Input(shape), *inside, layers.Flatten(), layers.Dense(2)])


def functional():
    inputs = tfkit.Input((28, 28, 1))
    features = layers.Flatten()(layers.Conv2D(2, 3)(inputs))
    return tfkit.Model(inputs, layers.Dense(2)(features))


def without_input():
    model = tfkit.Sequential([layers.Conv2D(2, 3), layers.Flatten(), layers.Dense(2)])
    model(IMAGE[None])
    return model


class Subclass(tfkit.Model):
    def __init__(self):
        super().__init__()
        self.convolution, self.dense = layers.Conv2D(2, 3), layers.Dense(2)

    def call(self, inputs):
        return self.dense(layers.Flatten()(self.convolution(inputs)))


CASES = {
    "sequential": (lambda: stack((28, 28, 1), layers.Conv2D(2, 3)), IMAGE),
    "one channel": (lambda: stack((28, 28, 1), layers.Conv2D(2, 3)), IMAGE[..., 0]),
    "three channels": (lambda: stack((8, 8, 3), layers.Conv2D(2, 3)), np.zeros((8, 8, 3))),
    "functional": (functional, IMAGE),
    "without input": (without_input, IMAGE),
    "subclass": (Subclass, IMAGE),
    "dense": (lambda: stack((7,)), np.zeros(7)),
    "sequences": (lambda: stack((10, 7), layers.LSTM(2)), np.zeros((10, 7))),
    "ids": (lambda: stack((10,), layers.Embedding(5, 3)), np.zeros(10, int)),
}


@pytest.mark.parametrize("case", CASES)
def test_a_sample_alone_is_refused_with_the_fix(case):
    make, sample = CASES[case]
    model = make()
    model.compile("sgd", "mse")
    targets = np.zeros((len(sample), 2))
    for run in (
        lambda: model(sample),
        lambda: model.predict(sample, verbose=0),
        lambda: model.fit(sample, targets, verbose=0),
        lambda: model.train_on_batch(sample, targets),
    ):
        with pytest.raises(ValueError, match=r"add the batch axis: `images\[:1\]`"):
            run()
    assert model(sample[None] if case != "one channel" else sample[None, ..., None]).shape == (1, 2)


def test_images_without_their_only_channel_are_accepted_as_before():
    model = CASES["sequential"][0]()
    images = np.random.default_rng(0).normal(size=(3, 28, 28)).astype("float32")
    np.testing.assert_array_equal(model(images), model(images[..., None]))
