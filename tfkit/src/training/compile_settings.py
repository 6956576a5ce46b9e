"""The arguments of `compile` in one object that all parts of training read."""

from __future__ import annotations

import dataclasses
import functools
import os
import weakref
from typing import Any

import tensorflow as tf

from tfkit.src.base import packages
from tfkit.src.base.errors.frames import warn
from tfkit.src.base.settings import positive_integer
from tfkit.src.core.layer import Layer
from tfkit.src.engine.guards.xla_call import XlaCall
from tfkit.src.optimizers.base import Optimizer
from tfkit.src.training.placement import distributions

ENGINES = ("tensorflow", "jax")
# What there is for users of Keras's other backends.
_INSTEAD = {
    "jax": "`compile(engine='jax')` trains a model on JAX, `interop.to_jax` converts a layer, and "
    "`layers.JaxLayer` holds a function of JAX.",
    "torch": "`interop.to_torch` converts a layer, and `layers.TorchModuleWrapper` holds a module of "
    "PyTorch.",
}


def jax_engine() -> Any:
    """Returns the module that makes steps for JAX.

    Raises:
        ImportError: without JAX.
    """
    module = "tfkit.src.training.jax.steps"
    return packages.imported(module, "`compile(engine='jax')`", "JAX", "'tfkit-dl[jax]'")


def warn_of_backend() -> None:
    """Warns, once, if `KERAS_BACKEND` names JAX or PyTorch."""
    backend = os.environ.get("KERAS_BACKEND")
    if backend in _INSTEAD:
        _warn_of(backend)


@functools.cache
def _warn_of(backend: str) -> None:
    warn(f"KERAS_BACKEND={backend} has no effect: tfkit runs on TensorFlow. {_INSTEAD[backend]}")


@dataclasses.dataclass(eq=False, kw_only=True)
class CompileSettings:
    """The checked arguments of `compile`; their defaults before `compile` is called.

    A model has one such object for its whole life. Nothing else keeps a copy of its contents, so
    a setting that is changed later reaches `fit`, direct calls, the optimizer and saved files alike.

    Attributes:
        version: a number that increases with each change that a traced training step would not see, such as a
            new `clipnorm` of the optimizer.

    Raises:
        ValueError: for settings that are wrong, or that contradict each other.
    """

    optimizer: Optimizer | None = None
    loss: Any = None
    loss_weights: Any = None
    metrics: Any = None
    weighted_metrics: Any = None
    run_eagerly: bool = False
    steps_per_execution: int | None = None
    jit_compile: bool | str = "auto"
    auto_scale_loss: bool = True
    engine: str = "tensorflow"
    version: int = dataclasses.field(default=0, init=False)
    # Not a setting: the strategy of `tf.distribute` in whose scope the model was made.
    strategy = None
    # Nor is the distribution in use when the model was made, or compiled.
    distribution = None
    # Not settings either: a weak reference to the model, and what its direct calls become in XLA.
    model = None
    xla_call = XlaCall

    def __post_init__(self) -> None:
        if self.jit_compile is None:  # The default of older versions of Keras.
            self.jit_compile = "auto"
        if not _is_one_of(self.jit_compile, (True, False, "auto")):
            raise ValueError(
                f"`jit_compile` must be True, False or 'auto'. Received: {self.jit_compile!r}"
            )
        if not _is_one_of(self.run_eagerly, (True, False, None)):
            raise ValueError(f"`run_eagerly` must be True or False. Received: {self.run_eagerly!r}")
        # Equal values, such as 1 and NumPy's booleans, differ as objects, so they are compared by identity.
        self.run_eagerly = bool(self.run_eagerly)
        if self.jit_compile != "auto":
            self.jit_compile = bool(self.jit_compile)
        if self.jit_compile is True and self.run_eagerly:
            raise ValueError("`jit_compile=True` and `run_eagerly=True` cannot be combined.")
        if self.engine not in ENGINES:
            raise ValueError(f"`engine` must be 'tensorflow' or 'jax'. Received: {self.engine!r}")
        if self.engine == "jax":
            for name, refused in (("run_eagerly", True), ("jit_compile", False)):
                if getattr(self, name) is refused:
                    raise ValueError(
                        f"`engine='jax'` always compiles programs, so it cannot be combined with "
                        f"`{name}={refused}`. Pass `engine='tensorflow'`, or leave `{name}` out."
                    )
        if self.steps_per_execution is not None:
            self.steps_per_execution = positive_integer(
                "steps_per_execution", self.steps_per_execution
            )

    @classmethod
    def of(cls, model: Layer) -> CompileSettings:
        """Returns the settings of a new model."""
        settings: Any = cls()
        settings.model = weakref.ref(model)
        settings.distribution = distributions.get()
        if tf.distribute.has_strategy():
            settings.strategy = tf.distribute.get_strategy()
        return settings

    def changed(self, **changes: Any) -> CompileSettings:
        """Returns a checked copy with some settings changed, for `take`."""
        return dataclasses.replace(self, **changes)

    def take(self, other: CompileSettings) -> None:
        """Replaces all settings with the settings of another object."""
        vars(self).update(vars(other), version=self.version + 1)

    def arguments(self) -> dict[str, Any]:
        """Returns the settings as arguments of `compile`."""
        return {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            # An override of `compile` need not know an engine that was not asked for.
            if field.init and (field.name, getattr(self, field.name)) != ("engine", "tensorflow")
        }


def _is_one_of(value: Any, choices: tuple[Any, ...]) -> bool:
    """Whether a single value equals one of the choices."""
    return getattr(value, "ndim", 0) == 0 and value in choices
