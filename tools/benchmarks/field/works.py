"""The trainings that are compared, and the frameworks that run them."""

import importlib
from dataclasses import dataclass

from benchmarks.workloads import TITLES

# Steps of an epoch: the slowest framework needs about a second for it.
STEPS = {
    "mlp": 800,
    "wide": 100,
    "cnn": 15,
    "resnet": 5,
    "lstm": 40,
    "gru": 40,
    "transformer": 8,
    "embedding": 80,
    "vae": 300,
}
NAMES = {name: TITLES[name] for name in STEPS}


@dataclass(frozen=True)
class Framework:
    """One column of the tables.

    Attributes:
        title: head of the column.
        module: the module of this package whose `Trained` runs it.
        peer: whether it runs in the environment of the peers, which has PyTorch and JAX.
        backend: the value of `KERAS_BACKEND`.
        packages: the packages whose versions are named.
    """

    title: str
    module: str
    peer: bool = False
    backend: str = "tensorflow"
    packages: tuple[str, ...] = ()


FRAMEWORKS = {
    "tfkit": Framework("tfkit", "with_keras", packages=("tfkit", "tensorflow")),
    "keras": Framework("Keras, TensorFlow", "with_keras", packages=("keras",)),
    "keras-jax": Framework("Keras, JAX", "with_keras", True, "jax", ("keras", "jax")),
    "keras-torch": Framework("Keras, PyTorch", "with_keras", True, "torch", ("keras", "torch")),
    "torch": Framework("PyTorch", "in_torch", True, packages=("torch",)),
    "torch-compile": Framework("torch.compile", "in_torch", True, packages=("torch",)),
    "jax": Framework("JAX, lax.scan", "in_jax", True, packages=("jax",)),
    "tensorflow": Framework("TensorFlow by hand", "in_tensorflow", packages=("tensorflow",)),
    "products": Framework("products alone", "products", packages=("numpy",)),
}


class Work:
    """One training.

    Args:
        name: a key of `STEPS`.
        quick: whether it is as short as possible.
    """

    def __init__(self, name, quick):
        self.name = name
        self.workload = importlib.import_module(f"benchmarks.workloads.{name}").WORKLOAD
        self.batch_size = self.workload.batch_size
        self.num_steps = 3 if quick else STEPS[name]
        self.num_rows = self.batch_size * self.num_steps
        self.most_rows = 100 if quick else 10_000

    def data(self):
        """Returns the inputs and targets of an epoch."""
        return self.workload.data(self.num_rows)

    def inputs(self, rows):
        """Returns inputs to predict for."""
        return self.workload.data(rows)[0]
