"""What direct calls do with Python's objects, four times in a row, as in Keras."""

import collections
import os
import random
import time
from random import random as drawn

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfkit

X = tf.ones((1, 2))
FACTOR = 1.0
SETTINGS = {"factor": 1.0}
generator = np.random.default_rng(0)


class Holder:
    """A plain object."""

    factor = 0.0

    def __init__(self):
        self.number = 0.0


def count(holder):
    holder.number += 1
    return holder.number


def draw():
    return random.random()


HOLDER = Holder()


def count_global(self, x):
    global FACTOR
    FACTOR += 1
    return x * FACTOR


def append(self, x):
    self.items.append(1.0)
    return x * sum(self.items)


def put(self, x):
    self.settings["calls"] = self.settings.get("calls", 0) + 1
    return x * self.settings["calls"]


def push(self, x):
    self.last.appendleft(self.last[0] + 1)
    return x * self.last[0]


def add_to_array(self, x):
    self.array[0] += 1
    return x * self.array[0]


def in_dict(self, x):
    self.__dict__["plain"] = self.plain + 1
    return x * self.plain


def read_file(self, x):
    with open(__file__) as file:
        return x * len(file.read()) * next(self.numbers)


def fail_the_third_time(self, x):
    if count(self.holder) == 3:
        raise KeyError("third")
    return x


# Those that differ each time in a way that does not depend on the library.
COUNTS = {
    "append": append,
    "put": put,
    "push": push,
    "an array": add_to_array,
    "an array's value": lambda self, x: x * self.array[1],
    "an object": lambda self, x: x * count(self.holder),
    "a global object": lambda self, x: x * count(HOLDER),
    "a global": count_global,
    "a global that changes": lambda self, x: x * FACTOR,
    "a global dict": lambda self, x: x * SETTINGS["factor"],
    "a class": lambda self, x: x * self.of_class[0],
    "a method": lambda self, x: self.scaled(x),
    "a property": lambda self, x: x * self.first,
    "a comprehension": lambda self, x: x * sum([self.items[0] for _ in range(2)]),
    "the environment": lambda self, x: x * float(os.environ["TFKIT_TEST_FACTOR"]),
    "an iterator": lambda self, x: x * next(self.numbers),
    "an error": fail_the_third_time,
    "its dict": in_dict,
    "a file": read_file,
    "a mode": lambda self, x: x * (1 + tf.executing_eagerly()),
}
DRAWS = {
    "random": lambda self, x: x + random.random(),
    "from random": lambda self, x: x + drawn(),
    "np.random": lambda self, x: x + np.random.rand(),
    "a generator": lambda self, x: x + generator.random(),
    "its generator": lambda self, x: x + self.generator.random(),
    "a function": lambda self, x: x + draw(),
    "the clock": lambda self, x: x + time.perf_counter_ns() % 1_000_003,
}


def layer_of(library, body):
    class Effects(library.layers.Layer):
        of_class = [1.0]

        def __init__(self):
            super().__init__()
            self.items, self.settings, self.last = [1.0], {}, collections.deque([0.0])
            self.array, self.holder = np.zeros(2, "float32"), Holder()
            self.numbers, self.generator = iter(range(9)), np.random.default_rng(1)
            self.plain = 0

        @property
        def first(self):
            return self.items[0]

        def scaled(self, x):
            return x * self.items[0]

        def call(self, x):
            return body(self, x)

    return Effects()


def results(library, body, monkeypatch):
    """Returns what four calls return, between which everything is changed that a call may read."""
    monkeypatch.setitem(globals(), "FACTOR", 1.0)
    HOLDER.number = 0.0
    layer, found = layer_of(library, body), []
    for index in range(4):
        monkeypatch.setenv("TFKIT_TEST_FACTOR", str(index))
        SETTINGS["factor"] = float(index)
        layer.items[0] = layer.of_class[0] = layer.array[1] = float(index)
        try:
            found.append(float(layer(X)[0, 0]))
        except KeyError as error:
            found.append(type(error))
        globals()["FACTOR"] += 1
    return found


@pytest.mark.parametrize("name", COUNTS)
def test_effects_happen_in_each_call(name, monkeypatch):
    ours, theirs = [results(it, COUNTS[name], monkeypatch) for it in (tfkit, keras)]
    assert ours == theirs


@pytest.mark.parametrize("name", DRAWS)
def test_draws_differ_in_each_call(name, monkeypatch):
    assert len(set(results(tfkit, DRAWS[name], monkeypatch))) == 4


def test_prints_are_seen_each_time(capsys):
    def say(self, x):
        print("called")
        return x

    layer = layer_of(tfkit, say)
    for _ in range(4):
        layer(X)
    assert capsys.readouterr().out == 4 * "called\n"


def test_calls_that_read_what_stays_the_same_are_compiled():
    ran = []
    note = ran.append  # Not looked into, unlike a list.
    size, table = 2.0, np.arange(3.0)

    def body(self, x):
        note(1)
        return x * size * table[1] * self.items[0] * FACTOR * np.pi * self.scaled(x)

    layer = layer_of(tfkit, body)
    for _ in range(5):
        layer(X)
    assert len(ran) == 2
    layer.items.append(2.0)  # Once eagerly, with the new values; then a trace for them.
    for _ in range(3):
        layer(X)
    assert len(ran) == 4
    layer.array[0] = 7  # Not read.
    layer(X)
    assert len(ran) == 4


def test_what_inner_layers_read_counts():
    model = tfkit.Sequential([tfkit.layers.Dense(2), layer_of(tfkit, DRAWS["random"])])
    assert len({float(model(X)[0, 0]) for _ in range(4)}) == 4
    activated = tfkit.layers.Dense(2, activation=lambda x: x + random.random())
    assert len({float(activated(X)[0, 0]) for _ in range(4)}) == 4
