"""Methods of models from before Keras 3 that it still has, such as those that make functions of steps."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfkit.src.base.errors.frames import warn
from tfkit.src.training.model_steps import ModelSteps
from tfkit.src.training.running_steps import checked_results, runs_eagerly
from tfkit.src.training.step import Step


class StepFunction:
    """The default `train_function`, `test_function` or `predict_function` of a model: one step on one batch.

    Args:
        model: the model.
        mode: `"train"`, `"test"` or `"predict"`.
    """

    def __init__(self, model: OlderNames, mode: str) -> None:
        self._model = model
        self._mode = mode

    def __call__(self, data: Any) -> Any:
        """Returns the results of the step on the next batch of an iterator, or on the first one of a list."""
        batch = data[0] if isinstance(data, (list, tuple)) else next(data)
        batch = tf.nest.map_structure(tf.convert_to_tensor, batch)
        model, mode = self._model, self._mode
        if model._tfkit_settings.engine == "jax":
            raise ValueError(
                f"`{mode}_function` runs a step on TensorFlow, and model '{model.name}' was compiled with "
                f"`engine='jax'`. Call `{mode}_on_batch()` instead, or pass `engine='tensorflow'` to "
                "`compile()`."
            )
        step, programs = model._tfkit_own_step_for(mode), model._tfkit_programs
        if runs_eagerly(model):
            results = step.run(batch)
        else:
            trace = programs.trace(mode, batch, step)
            uses_xla = model._tfkit_settings.jit_compile is True
            run = trace.compiled if uses_xla else trace.function
            results = run(*tf.nest.flatten(batch))
        return results if mode == "predict" else {**results, **step.finish()}


class OlderNames(ModelSteps):
    """`compiled_loss`, `make_train_function` and the like.

    Attributes:
        train_function: the function that `fit` and `train_on_batch` call for each batch, if a subclass makes
            it or a program sets it. With the default, and with `None`, programs run many steps at once.
        test_function: the same for `evaluate`, `test_on_batch` and validation.
        predict_function: the same for `predict` and `predict_on_batch`.
    """

    @abc.abstractmethod
    def _tfkit_own_step_for(self, mode: str) -> Step:
        """Returns the step of a mode, as programs run it."""

    def compiled_loss(
        self, y: Any, y_pred: Any, sample_weight: Any = None, regularization_losses: Any = None
    ) -> tf.Tensor:
        """Returns the loss of `compile`, with a warning: `compute_loss` is the method to use.

        Args:
            y: targets.
            y_pred: outputs of the model.
            sample_weight: weights of the rows; default 1.
            regularization_losses: not used, as in Keras 3: `model.losses` are added in any case.
        """
        del regularization_losses
        warn(
            "`model.compiled_loss()` is deprecated. Use "
            "`model.compute_loss(x, y, y_pred, sample_weight, training)`."
        )
        return self.compute_loss(None, y, y_pred, sample_weight)

    @property
    def compiled_metrics(self) -> Any:
        """The metrics of `compile` by their older interface; `None` before `compile`."""
        return OlderMetrics(self) if self.compiled else None

    def make_train_function(self, force: bool = False) -> Callable[[Any], Any]:
        """Makes `train_function`, which trains on a batch from an iterator and returns the results so far.

        `fit` and `train_on_batch` call it first. An override sets `train_function`, or returns a function to
        be set: one over an iterator, which may call the function that `super()` has made. Training then
        calls it for each batch, and is slower than in programs of many steps.

        Args:
            force: whether it is made again if there is one already.
        """
        if self.train_function is None or force:
            self.train_function = StepFunction(self, "train")
        return self.train_function

    def make_test_function(self, force: bool = False) -> Callable[[Any], Any]:
        """Makes `test_function`, which evaluates a batch from an iterator and returns the results so far.

        An override is called by `evaluate`, validation and `test_on_batch`, as described in
        `make_train_function`.
        """
        if self.test_function is None or force:
            self.test_function = StepFunction(self, "test")
        return self.test_function

    def make_predict_function(self, force: bool = False) -> Callable[[Any], Any]:
        """Makes `predict_function`, which returns the outputs for the first batch of a list.

        An override is called by `predict` and `predict_on_batch`, as described in `make_train_function`.
        """
        if self.predict_function is None or force:
            self.predict_function = StepFunction(self, "predict")
        return self.predict_function

    def _tfkit_make_function(self, mode: str) -> None:
        """Lets a subclass make the function of a mode, at the start of `fit`, `evaluate`, `predict`."""
        name = f"make_{mode}_function"
        if getattr(type(self), name) is not getattr(OlderNames, name):
            made = getattr(self, name)()
            if made is not None:
                setattr(self, f"{mode}_function", made)

    def _tfkit_step_for(self, mode: str) -> Step:
        """Returns the step of a mode: the function that a subclass has made, or the one that programs use."""
        name = f"{mode}_function"
        function = getattr(self, name)
        if function is None or isinstance(function, StepFunction):
            return self._tfkit_own_step_for(mode)

        def run(batch: Any) -> Any:
            # TensorFlow's iterator, because a TensorFlow function with such an argument is traced only once.
            batches = [batch] if mode == "predict" else iter(tf.data.Dataset.from_tensors(batch))
            try:
                return checked_results(self, mode, function(batches), f"`{name}`")
            except (StopIteration, tf.errors.OutOfRangeError) as error:
                raise ValueError(
                    f"`{name}` of {type(self).__name__} asked for more batches than one. Expected a function "
                    "that calls `next(iterator)` once: each call makes one step."
                ) from error

        return Step(run, called_as_is=name)


class OlderMetrics:
    """`model.compiled_metrics`.

    Args:
        model: the model.
    """

    name = "compile_metrics"

    def __init__(self, model: ModelSteps) -> None:
        self._model = model

    def update_state(self, y: Any, y_pred: Any, sample_weight: Any = None) -> dict[str, Any]:
        """Adds a batch to the metrics, with a warning: `model.compute_metrics` is the method to use."""
        warn(
            "`model.compiled_metrics` is deprecated. Use "
            "`model.compute_metrics(x, y, y_pred, sample_weight)`."
        )
        return self._model.compute_metrics(None, y, y_pred, sample_weight)

    def result(self) -> dict[str, Any]:
        """Returns the results of the metrics by name."""
        return self._model.get_metrics_result()

    def reset_state(self) -> None:
        """Resets the metrics to their initial state."""
        self._model.reset_metrics()
