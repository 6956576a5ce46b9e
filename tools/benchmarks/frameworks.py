"""The measured frameworks: tfkit, its peers, and the kinds of tfkit's programs."""

import importlib
from dataclasses import dataclass


@dataclass(frozen=True)
class Framework:
    """One column of the table.

    Attributes:
        title: head of the column.
        module: the module to import as `keras`; `None` for programs written by hand.
        backend: the value of `KERAS_BACKEND`.
        needs: package that must be installed.
    """

    title: str
    module: str | None
    backend: str = "tensorflow"
    needs: str = "tensorflow"

    def load(self):
        """Returns the module with Keras's interface."""
        return importlib.import_module(self.module)


FRAMEWORKS = {
    "tfkit": Framework("tfkit", "tfkit"),
    "keras": Framework("Keras", "keras"),
    "plain": Framework("by hand", None),
    "keras-jax": Framework("Keras, JAX", "keras", "jax", "jax"),
    "keras-torch": Framework("Keras, PyTorch", "keras", "torch", "torch"),
}

DEFAULT_PEERS = ("keras", "plain")

# The kinds of tfkit's programs that `--kinds` compares; "auto" is the planner's choice.
KINDS = ("auto", "XLA loop", "XLA step in a graph loop", "graph loop")


def force(kind):
    """Makes tfkit run every step in one kind of program."""
    programs = importlib.import_module("tfkit.src.training.programs")
    planner = importlib.import_module("tfkit.src.training.planner")
    importlib.import_module("tfkit.src.base.settings").set_compile_after(0)
    programs.choose = lambda trace, jit_compile: planner.Plan(kind, "forced by the benchmark")
