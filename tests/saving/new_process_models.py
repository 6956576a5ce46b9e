"""Subclassed models whose layers are made in `__init__` only; no `build`, no `get_config`."""

import numpy as np

import tfkit
from tfkit import layers

X = np.random.default_rng(0).normal(size=(6, 4)).astype("float32")

register = tfkit.saving.register_keras_serializable("new_process")


@register
class Block(layers.Layer):
    """Has no weights of its own."""

    def __init__(self, units, rate=0.0):
        super().__init__()
        self.first = layers.Dense(2 * units, activation="relu")
        self.second = layers.Dense(units)
        self.dropout = layers.Dropout(rate)

    def call(self, x):
        return self.dropout(self.second(self.first(x)))


@register
class OfParts(tfkit.Model):
    """Layers inside of layers, and a normalization with statistics."""

    def __init__(self, units):
        super().__init__()
        self.block = Block(units, rate=0.5)
        self.norm = layers.BatchNormalization()
        self.head = layers.Dense(units)

    def call(self, x):
        return self.head(self.norm(self.block(x)))


@register
class OfList(tfkit.Model):
    """Three layers of one shape in a list: only their places tell them apart."""

    def __init__(self, units):
        super().__init__()
        self.blocks = [layers.Dense(4, activation="tanh") for _ in range(3)]
        self.head = layers.Dense(units)

    def call(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)


@register
class OfDict(tfkit.Model):
    """Two layers of one shape in a dict: only their keys tell them apart."""

    def __init__(self, units):
        super().__init__()
        self.heads = {"plus": layers.Dense(units), "minus": layers.Dense(units)}

    def call(self, x):
        return self.heads["plus"](x) - 2.0 * self.heads["minus"](x)


@register
class OfShared(tfkit.Model):
    """One layer under two names, called twice."""

    def __init__(self, units):
        super().__init__()
        self.one = layers.Dense(4, activation="tanh")
        self.other = self.one
        self.head = layers.Dense(units)

    def call(self, x):
        return self.head(self.other(self.one(x)))


CLASSES = (OfParts, OfList, OfDict, OfShared)
