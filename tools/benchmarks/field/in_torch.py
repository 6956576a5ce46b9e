"""The works in PyTorch by hand, as they are or by `torch.compile`."""

import functools
import time

import numpy as np
import torch
from torch import nn

from benchmarks.timing import seconds

IMPORTED = time.perf_counter()
BATCH_SIZE = 32  # the default of `predict`


def perceptron(features, units):
    return nn.Sequential(
        nn.Linear(features, units),
        nn.ReLU(),
        nn.Linear(units, units),
        nn.ReLU(),
        nn.Linear(units, 10),
    )


class Turned(nn.Module):
    """Images with channels last as PyTorch's layers take them."""

    def forward(self, x):
        return x.permute(0, 3, 1, 2)


def cnn():
    def block(channels, filters):
        return [nn.Conv2d(channels, filters, 3), nn.ReLU(), nn.MaxPool2d(2)]

    return nn.Sequential(Turned(), *block(1, 32), *block(32, 64), nn.Flatten(), nn.Linear(1600, 10))


class Resnet(nn.Module):
    def __init__(self):
        super().__init__()

        def convolution(channels):
            convolution = nn.Conv2d(channels, 32, 3, padding="same", bias=False)
            return nn.Sequential(convolution, nn.BatchNorm2d(32, 1e-3, 0.01))

        self.stem = nn.Sequential(Turned(), convolution(3), nn.ReLU())
        self.blocks = nn.ModuleList(
            nn.Sequential(convolution(32), nn.ReLU(), convolution(32)) for _ in range(3)
        )
        self.last = nn.Linear(32, 10)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = torch.relu(x + block(x))
        return self.last(x.mean((2, 3)))


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.cell, self.last = kind(32, 64, batch_first=True), nn.Linear(64, 10)

    def forward(self, x):
        return self.last(self.cell(x)[0][:, -1])


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LayerNorm(128, 1e-3), nn.LayerNorm(128, 1e-3)
        self.inputs, self.outputs = nn.Linear(128, 384), nn.Linear(128, 128)
        self.wide, self.narrow = nn.Linear(128, 512), nn.Linear(512, 128)

    def forward(self, x):
        parts = self.inputs(self.first(x)).unflatten(-1, (3, 4, 32)).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(*parts.unbind())
        x = x + self.outputs(mixed.transpose(1, 2).flatten(2))
        return x + self.narrow(nn.functional.gelu(self.wide(self.second(x))))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks, self.last = nn.Sequential(Block(), Block()), nn.Linear(128, 10)

    def forward(self, x):
        return self.last(self.blocks(x).mean(1))


class Vae(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(784, 64), nn.ReLU())
        self.mean, self.log_var = nn.Linear(64, 32), nn.Linear(64, 32)
        decoder = [nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 784), nn.Sigmoid()]
        self.decoder = nn.Sequential(*decoder)

    def forward(self, x):
        return self.parts(x)[0]

    def parts(self, x):
        """Returns the output, and the divergence of the distribution of the code from a normal one."""
        hidden = self.encoder(x)
        mean, log_var = self.mean(hidden), self.log_var(hidden)
        z = mean + torch.exp(0.5 * log_var) * torch.randn_like(mean)
        divergence = -0.5 * (log_var - mean.square() - log_var.exp() + 1).mean()
        return self.decoder(z), divergence


NETWORKS = {
    "mlp": functools.partial(perceptron, 16, 32),
    "wide": functools.partial(perceptron, 784, 256),
    "cnn": cnn,
    "resnet": Resnet,
    "lstm": functools.partial(Recurrent, nn.LSTM),
    "gru": functools.partial(Recurrent, nn.GRU),
    "transformer": Transformer,
    "embedding": lambda: nn.Sequential(nn.Embedding(50000, 32), nn.Flatten(), nn.Linear(640, 10)),
    "vae": Vae,
}


class Trained:
    imported = IMPORTED

    def __init__(self, work, name):
        self.batch_size, self.num_rows = work.batch_size, work.num_rows
        self.x, self.y = (torch.from_numpy(each) for each in work.data())
        self.model = NETWORKS[work.name]()
        self.is_vae = work.name == "vae"
        self.optimizer = torch.optim.Adam(self.model.parameters(), fused=True)
        compiled = torch.compile if name == "torch-compile" else lambda function: function
        self.loss, self.compute = compiled(self._loss), compiled(self.model)

    as_input = staticmethod(torch.from_numpy)

    def call(self, x):
        with torch.inference_mode():
            return self.compute(x)

    def epoch(self):
        return seconds(self._train)

    def warm_up(self):
        self.epoch()

    def predict(self, x):
        batches = torch.from_numpy(x).split(max(BATCH_SIZE, 64 if len(x) == 64 else 0))
        with torch.inference_mode():
            outputs = [self.compute(batch) for batch in batches]
        return np.asarray(outputs[0] if len(outputs) == 1 else torch.cat(outputs))

    def _train(self):
        self.model.train()
        for rows in torch.randperm(self.num_rows).split(self.batch_size):
            self.optimizer.zero_grad()
            self.loss(self.x[rows], self.y[rows]).backward()
            self.optimizer.step()
        self.model.eval()

    def _loss(self, x, y):
        if self.is_vae:
            outputs, divergence = self.model.parts(x)
            return nn.functional.mse_loss(outputs, y) + divergence
        return nn.functional.cross_entropy(self.model(x), y)
