"""Compares converted layers with plain PyTorch: `python -m tools.benchmarks.in_torch`.

Forward and gradient of four networks on one thread, in turns; the medians of CPU time and their ratios are
printed. With `KERAS_BACKEND=torch` and Keras installed, the same networks of Keras are timed too.
"""

import os
import statistics
import time

import numpy as np
import torch
from torch import nn

import tfkit
from tfkit import layers
from tools.benchmarks.networks import NETWORKS, made

ROUNDS, SECONDS = 7, 0.15


class Turned(nn.Module):
    """Images with channels last as PyTorch's layers take them."""

    def forward(self, x):
        return x.permute(0, 3, 1, 2)


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.last = nn.LSTM(32, 64, batch_first=True), nn.Linear(64, 10)

    def forward(self, x):
        return self.last(self.lstm(x)[0][:, -1])


class LstmByHand(nn.Module):
    """A loop over time, as a user writes it."""

    def __init__(self):
        super().__init__()
        self.inputs, self.last = nn.Linear(32, 256), nn.Linear(64, 10)
        self.recurrent = nn.Parameter(torch.randn(64, 256) * 0.1)

    def forward(self, x):
        h = c = x.new_zeros(x.shape[0], 64)
        for row in self.inputs(x).unbind(1):
            i, f, g, o = torch.addmm(row, h, self.recurrent).chunk(4, -1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return self.last(h)


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(64, 64) for _ in range(4))
        self.first, self.second = nn.LayerNorm(64, 1e-3), nn.LayerNorm(64, 1e-3)
        self.wide, self.narrow = nn.Linear(64, 256), nn.Linear(256, 64)

    def forward(self, x):
        q, k, v = (
            each(x).unflatten(-1, (4, 16)).transpose(1, 2) for each in (self.q, self.k, self.v)
        )
        mixed = torch.softmax(q @ k.mT / 4, -1) @ v
        y = self.first(x + self.o(mixed.transpose(1, 2).flatten(2)))
        return self.second(y + self.narrow(nn.functional.gelu(self.wide(y))))


def plain_mlp():
    def block(size):
        return [nn.Linear(size, 256), nn.GELU(), nn.LayerNorm(256, 1e-3)]

    return nn.Sequential(*block(784), *block(256), nn.Linear(256, 10))


def plain_cnn():
    def block(size, filters):
        return [nn.Conv2d(size, filters, 3), nn.ReLU(), nn.MaxPool2d(2)]

    return nn.Sequential(Turned(), *block(1, 16), *block(16, 32), nn.Flatten(), nn.Linear(800, 10))


PLAIN = {
    "MLP": {"plain": plain_mlp},
    "CNN": {"plain": plain_cnn},
    "LSTM": {"nn.LSTM": Lstm, "loop": LstmByHand},
    "transformer": {"plain": Transformer},
}


def forward(module, x):
    def run():
        with torch.no_grad():
            module(x)

    return run


def gradient(module, x):
    parameters = list(module.parameters())

    def run():
        for each in parameters:
            each.grad = None
        module(x).square().sum().backward()

    return run


def microseconds(run):
    runs, start = 0, time.process_time()
    while time.process_time() - start < SECONDS:
        run()
        runs += 1
    return (time.process_time() - start) / runs * 1e6


def compare(name):
    model, shape = made(name, tfkit, layers)
    x = np.random.default_rng(0).normal(size=shape).astype("float32")
    peers = {"converted": tfkit.interop.to_torch(model, x)}
    peers |= {peer: plain() for peer, plain in PLAIN[name].items()}
    if os.environ.get("KERAS_BACKEND") == "torch":
        import keras

        peers["Keras"] = made(name, keras, keras.layers)[0]
        peers["Keras"](torch.tensor(x))
    for kind in (forward, gradient):
        runs = [kind(module.eval(), torch.tensor(x)) for module in peers.values()]
        for run in runs:
            microseconds(run)
        turns = [[microseconds(run) for run in runs] for _ in range(ROUNDS)]
        for place, peer in enumerate(peers):
            middle = statistics.median(turn[place] for turn in turns)
            ratio = statistics.median(turn[0] / turn[place] for turn in turns)
            print(
                f"{name:12} {kind.__name__:9} {peer:10} {middle:8.0f} us, converted / it {ratio:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    torch.set_num_threads(1)
    for each in NETWORKS:
        compare(each)
