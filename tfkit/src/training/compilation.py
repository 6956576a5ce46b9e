"""The method `compile`, and the attributes that read and change its settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import tensorflow as tf

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.registry.constructors import given
from tfkit.src.borrowed.private import is_op_determinism_enabled
from tfkit.src.core import tracking
from tfkit.src.core.layer import Layer
from tfkit.src.core.state import LayerState
from tfkit.src.engine.machine import device
from tfkit.src.metrics.reduction import Mean
from tfkit.src.optimizers import lookup as optimizers
from tfkit.src.optimizers.base import Optimizer
from tfkit.src.optimizers.loss_scale import LossScaleOptimizer
from tfkit.src.training import placement
from tfkit.src.training.cache import Programs
from tfkit.src.training.compile_settings import CompileSettings, warn_of_backend
from tfkit.src.training.compiled_loss import CompiledLoss
from tfkit.src.training.compiled_metrics import CompiledMetrics
from tfkit.src.training.counts import check_outside
from tfkit.src.training.data import batch_size_of
from tfkit.src.training.planner import Plans


class LossTracker(Mean):
    """The mean of the loss over an epoch, in which each row has the same weight."""

    def add(self, loss: tf.Tensor, *batch: Any) -> None:
        """Adds the loss of a batch, with the number of rows of the first tensor in `batch`."""
        self.update_state(loss, sample_weight=batch_size_of(batch))


if TYPE_CHECKING:
    from tfkit.src.training.model_steps import ModelSteps

# What `compile` accepts as an optimizer: an object, a name, a configuration.
OptimizerLike = Optimizer | str | dict[str, Any] | None


class Compiled(Layer):
    """A layer with the settings of its training.

    A setting may be changed by its attribute as well (`model.jit_compile = False`): it is checked as in
    `compile`, and earlier programs are no longer used.
    """

    # The settings that `compile` makes of its arguments.
    _tfkit_compiled_parts = ("_tfkit_compiled_loss", "_tfkit_metrics", "_tfkit_loss_tracker")

    compiled = False
    stop_training: bool  # Callbacks set this to `True` to end a `fit`,
    stop_evaluating: bool  # an `evaluate`,
    stop_predicting: bool  # or a `predict` after the step in progress.
    output_names: list[str] | None = None
    # The functions of steps, which `OlderNames` describes.
    train_function: Callable[[Any], Any] | None = None
    test_function: Callable[[Any], Any] | None = None
    predict_function: Callable[[Any], Any] | None = None
    _tfkit_own_settings = (
        "compiled",
        "history",
        "output_names",
        "stop_evaluating",
        "stop_predicting",
        "stop_training",
    )
    _tfkit: LayerState
    _tfkit_programs: Programs
    _tfkit_settings: CompileSettings
    _tfkit_compiled_loss: CompiledLoss | None = None
    _tfkit_own_loss: Any = None  # A loss that was set before `compile`.
    _tfkit_metrics: CompiledMetrics | None = None
    _tfkit_loss_tracker: Any = None  # A `LossTracker`, once the model is compiled.

    @shortened
    def compile(
        self,
        optimizer: OptimizerLike = "rmsprop",
        loss: Any = None,
        loss_weights: Any = None,
        metrics: Any = None,
        weighted_metrics: Any = None,
        run_eagerly: bool = False,
        steps_per_execution: int | None = None,
        jit_compile: bool | str | None = "auto",
        auto_scale_loss: bool = True,
        *,
        engine: str = "tensorflow",
    ) -> None:
        """Sets how the model is trained: optimizer, loss and metrics.

        Args:
            optimizer: name such as `"adam"`, or an `Optimizer`. Default: `"rmsprop"`.
            loss: name such as `"mse"`, function of targets and predictions, or `Loss`; with several
                outputs, a list or dict of these. `None` if all losses are
                from `add_loss` and regularizers. A model that was compiled before keeps its loss,
                unless calls of its layers add losses.
            loss_weights: list or dict of a factor for each output's loss; `None` for 1.
            metrics: list of names, functions or `Metric`s, which are computed without sample
                weights; with several outputs, a list or dict of lists. `"accuracy"` is the accuracy
                that fits the shapes. `None` for none, or for the same as before, if
                `weighted_metrics` are `None`, too; `[]` for none.
            weighted_metrics: the same, for metrics that take sample weights into account.
            run_eagerly: whether steps and direct calls run eagerly, to debug them. Default:
                `False`.
            steps_per_execution: number of steps that one program runs, and after which callbacks
                for batches are called; fewer where an epoch ends, or where a callback such as
                `ModelCheckpoint(save_freq=10)` has to be called. `None` if tfkit chooses.
            jit_compile: whether XLA compiles programs: `True` for programs that XLA compiles, or an
                error, `False` for none, and `"auto"` or `None` for those that it makes faster, or for none
                after `tf.config.experimental.enable_op_determinism()`; `model.plan` shows what was
                chosen, and why. Default: `"auto"`.
            auto_scale_loss: whether the optimizer of a model with the policy `"mixed_float16"` is
                wrapped in a `LossScaleOptimizer`. Default: `True`.
            engine: what runs `fit`, `evaluate`, `predict` and the methods for one batch: `"tensorflow"`, or
                `"jax"`, on JAX's default device. Default: `"tensorflow"`.

        Raises:
            ValueError: if a name is unknown; the model's settings are not changed.
            RuntimeError: if the constructor of the model's class did not call `super().__init__()`.

        Example:
            >>> model = tfkit.Sequential([tfkit.layers.Dense(1)])
            >>> model.compile(optimizer="adam", loss="mse", metrics=["mae"])
            >>> model.optimizer.name
            'adam'
        """
        self._tfkit.check_initialized()
        self._tfkit_compile(**given(locals()))

    def _tfkit_compile(
        self, optimizer: OptimizerLike, auto_scale_loss: bool, **settings: Any
    ) -> None:
        """Implements `compile`, which users may override. If an argument is refused, nothing changes."""
        if self.compiled:  # As in Keras, what is not given again stays.
            before = self._tfkit_settings
            # As in Keras's guide on subclassing, a loss that calls add is enough.
            adds_losses = any(layer._tfkit.losses for layer in tracking.all_layers(self))
            if settings["loss"] is None and not adds_losses:
                settings |= {"loss": before.loss, "loss_weights": before.loss_weights}
            if settings["metrics"] is None and settings["weighted_metrics"] is None:
                settings["metrics"] = before.metrics
                settings["weighted_metrics"] = before.weighted_metrics
        # Everything is made and checked first, and assigned at the end.
        checked = self._tfkit_settings.changed(auto_scale_loss=auto_scale_loss, **settings)
        in_tensorflow = checked.engine == "tensorflow"
        if in_tensorflow and checked.jit_compile == "auto" and is_op_determinism_enabled():
            checked.jit_compile = False  # As in Keras: XLA does not promise reproducible results.
        model = cast("ModelSteps", self)
        with placement.scope_of(model):
            found = self._tfkit_optimizer_for(optimizer, auto_scale_loss)
            compiled_loss = self._tfkit_loss_for(checked)
            compiled_metrics = None
            if checked.metrics is not None or checked.weighted_metrics is not None:
                compiled_metrics = CompiledMetrics(
                    checked.metrics, checked.weighted_metrics, self.output_names
                )
            loss_tracker = LossTracker(name="loss")
        placement.check_compiled(model, found, [checked.metrics, checked.weighted_metrics])
        self._tfkit_settings.take(checked)
        self.optimizer = found
        self._tfkit_compiled_loss = compiled_loss
        model._tfkit_set("_tfkit_metrics", compiled_metrics)
        model._tfkit_set("_tfkit_loss_tracker", loss_tracker)
        self.stop_training = False
        self.train_function = self.test_function = self.predict_function = None
        self.compiled = True
        self._tfkit_programs = Programs(self._tfkit_settings)
        if in_tensorflow:
            warn_of_backend()

    def _tfkit_check_compiled(self, method: str) -> None:
        check_outside(method)
        if not self.compiled:
            raise ValueError(
                f"You must call `compile()` before calling `{method}()`, to say with which optimizer "
                f"and loss: `model.compile(optimizer='adam', loss='mse')`. Model: '{self.name}'"
            )

    # --- Single settings ----------------------------------------------------------------------------

    def _tfkit_change(self, **changes: Any) -> None:
        """Changes settings, and drops the programs that were made with the old ones."""
        self._tfkit_settings.take(self._tfkit_settings.changed(**changes))
        self._tfkit_programs = Programs(self._tfkit_settings)

    @property
    def run_eagerly(self) -> bool:
        """Whether steps and direct calls of the model run eagerly."""
        return self._tfkit_settings.run_eagerly

    @run_eagerly.setter
    def run_eagerly(self, value: bool) -> None:
        self._tfkit_change(run_eagerly=value)

    @property
    def jit_compile(self) -> bool:
        """Whether `tf.function(..., jit_compile=model.jit_compile)` should use XLA.

        As in Keras, `compile(jit_compile="auto")` makes it true on a GPU or TPU only, without a strategy. For
        its own programs tfkit then chooses by the model: `model.plan` says how they run.
        """
        setting = self._tfkit_settings.jit_compile
        if setting == "auto":
            return device() != "CPU" and placement.strategy_of(cast("ModelSteps", self)) is None
        return bool(setting)

    @jit_compile.setter
    def jit_compile(self, value: bool | str) -> None:
        self._tfkit_change(jit_compile=value)

    @property
    def steps_per_execution(self) -> int:
        """The largest number of steps in one program, from the next `fit` on; 1 if tfkit chooses (`None`)."""
        return self._tfkit_settings.steps_per_execution or 1

    @steps_per_execution.setter
    def steps_per_execution(self, value: int | None) -> None:
        self._tfkit_change(steps_per_execution=value)

    @property
    def loss(self) -> Any:
        """The loss passed to `compile`. Setting it, or the loss weights, takes effect at once.

        What is set before `compile` is for the model's own use. It stays if no loss is compiled.
        """
        compiled = self._tfkit_settings.loss
        return self._tfkit_own_loss if compiled is None else compiled

    @loss.setter
    def loss(self, value: Any) -> None:
        if not self.compiled:
            self._tfkit_set("_tfkit_own_loss", value)
            return
        compiled_loss = self._tfkit_loss_for(self._tfkit_settings.changed(loss=value))
        self._tfkit_change(loss=value)
        self._tfkit_compiled_loss = compiled_loss

    @property
    def optimizer(self) -> Optimizer | None:
        """The optimizer; when it is set, by name or as an object, training begins with fresh slots.

        Raises:
            AttributeError: before `compile`.
        """
        if not self.compiled and self._tfkit_settings.optimizer is None:
            raise AttributeError(
                f"Model '{self.name}' has no optimizer yet. Call `compile(optimizer=...)` first."
            )
        return self._tfkit_settings.optimizer

    @optimizer.setter
    def optimizer(self, value: Any) -> None:
        found = self._tfkit_optimizer_for(value, self._tfkit_settings.auto_scale_loss)
        if found is not value:
            self.optimizer = found  # Set as an attribute, so that TensorFlow's checkpoints find it.
            return
        before = self._tfkit_settings.optimizer
        if before is not None:
            before.leaves(self._tfkit_settings)
        self._tfkit_change(optimizer=found)
        if found is not None:
            found.belongs_to(self._tfkit_settings)

    def _tfkit_optimizer_for(self, identifier: Any, auto_scale_loss: bool) -> Optimizer | None:
        found = optimizers.get(identifier)
        mixed = self.dtype_policy.name == "mixed_float16"
        if auto_scale_loss and mixed and not isinstance(found, LossScaleOptimizer | None):
            return LossScaleOptimizer(found, name="loss_scale_optimizer")
        return found

    def _tfkit_loss_for(self, settings: CompileSettings) -> CompiledLoss | None:
        if settings.loss is None:
            return None
        return CompiledLoss(settings.loss, settings.loss_weights, self.output_names)

    @property
    def plan(self) -> Plans:
        """The kind of program that each mode ran last, and why it was chosen; a dict that prints as lines."""
        return self._tfkit_programs.plans
