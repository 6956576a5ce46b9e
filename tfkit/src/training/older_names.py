"""Methods of models from before Keras 3 that Keras 3 still has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from tfkit.src.errors.frames import warn
from tfkit.src.training.model_steps import ModelSteps
from tfkit.src.training.running_steps import step_for

StepFunction = Callable[[Iterator[Any]], Any]


class OlderNames(ModelSteps):
    """`compiled_loss`, `make_train_function` and the like.

    Attributes:
        train_function: the result of `make_train_function`; `fit` does not use it.
        test_function: the result of `make_test_function`.
        predict_function: the result of `make_predict_function`.
    """

    train_function: StepFunction | None = None
    test_function: StepFunction | None = None
    predict_function: StepFunction | None = None

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
            "`model.compute_loss(x, y, y_pred, sample_weight, training)`.",
        )
        return self.compute_loss(None, y, y_pred, sample_weight)

    @property
    def compiled_metrics(self) -> Any:
        """The metrics of `compile` by their older interface; `None` before `compile`."""
        return OlderMetrics(self) if self.compiled else None

    def make_train_function(self, force: bool = False) -> StepFunction:
        """Returns a function that trains on a batch from an iterator, and returns the results so far.

        Args:
            force: whether it is made again if there is one already.
        """
        if self.train_function is None or force:
            self.train_function = self._tfkit_function_of("train")
        return self.train_function

    def make_test_function(self, force: bool = False) -> StepFunction:
        """Returns a function that evaluates a batch from an iterator, and returns the results so far."""
        if self.test_function is None or force:
            self.test_function = self._tfkit_function_of("test")
        return self.test_function

    def make_predict_function(self, force: bool = False) -> StepFunction:
        """Returns a function that takes a batch from an iterator, and returns the outputs for it."""
        if self.predict_function is None or force:
            self.predict_function = self._tfkit_function_of("predict")
        return self.predict_function

    def _tfkit_function_of(self, mode: str) -> StepFunction:
        def run(iterator: Iterator[Any]) -> Any:
            batch = tf.nest.map_structure(tf.convert_to_tensor, next(iterator))
            step = step_for(self, mode)
            if self._tfkit_programs.runs_eagerly:
                results = step.run(batch)
            else:
                trace = self._tfkit_programs.trace(mode, batch, step)
                results = trace.function(*tf.nest.flatten(batch))
            return results if mode == "predict" else {**results, **step.finish()}

        return run


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
            "`model.compute_metrics(x, y, y_pred, sample_weight)`.",
        )
        return self._model.compute_metrics(None, y, y_pred, sample_weight)

    def result(self) -> dict[str, Any]:
        """Returns the results of the metrics by name."""
        return self._model.get_metrics_result()

    def reset_state(self) -> None:
        """Resets the metrics to their initial state."""
        self._model.reset_metrics()
