"""The steps of training, their loss and their metrics: what a subclass of `Model` may override."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from tfkit.src.base import execution, settings, watching
from tfkit.src.base.brief import brief
from tfkit.src.core import tracking
from tfkit.src.core.autograph import convert
from tfkit.src.core.typing import open_signature
from tfkit.src.errors.frames import warn
from tfkit.src.metrics.base import Metric
from tfkit.src.training.absent import with_none
from tfkit.src.training.compilation import Compiled
from tfkit.src.training.compiled_metrics import CompiledMetrics
from tfkit.src.training.data import batch_size_of, unpack_x_y_sample_weight
from tfkit.src.training.step import Step


class ModelSteps(Compiled):
    """One step of training, evaluation and prediction each, on one batch."""

    # --- Steps, to override -------------------------------------------------------------------------

    @open_signature
    def train_step(self, data: Any) -> dict[str, Any]:
        """Makes one update from one batch; runs inside compiled programs.

        Args:
            data: the batch as it was passed to `fit`: `(x, y)`, `(x, y, sample_weight)`, or `x` itself where
                there is nothing else; `(x,)` where `x` is a list or a tuple, and from `train_on_batch(x)`.

        Returns:
            Logs: a dict from name to scalar tensor.
        """
        return self._results(*self._update(data))

    def _update(self, data: Any) -> tuple[Any, Any, Any, Any]:
        x, y, sample_weight = unpack_x_y_sample_weight(data)
        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)  # type: ignore[operator]
            loss = self._loss_of(x, y, y_pred, sample_weight, training=True)
            scaled = self.optimizer.scale_loss(loss) if self.optimizer is not None else loss
        weights = self.trainable_weights  # type: ignore[attr-defined]
        if weights and self.optimizer is not None:
            gradients = tape.gradient(scaled, weights)
            self.optimizer.apply_gradients(zip(gradients, weights, strict=True))
        if not weights:
            name = self.name  # type: ignore[attr-defined]
            warn(
                f"The model '{name}' does not have any trainable weights: `fit` changes none. "
                "`layer.trainable = True` thaws a layer."
            )
        return x, y, y_pred, sample_weight

    @open_signature
    def test_step(self, data: Any) -> dict[str, Any]:
        """Returns the loss and metrics of one batch, without an update; as `train_step`."""
        return self._results(*self._measure(data))

    def _measure(self, data: Any) -> tuple[Any, Any, Any, Any]:
        x, y, sample_weight = unpack_x_y_sample_weight(data)
        y_pred = self(x, training=False)  # type: ignore[operator]
        self._loss_of(x, y, y_pred, sample_weight, training=False)
        return x, y, y_pred, sample_weight

    @open_signature
    def predict_step(self, data: Any) -> Any:
        """Returns the outputs for one batch."""
        x, _, _ = unpack_x_y_sample_weight(data)
        return self(x, training=False)  # type: ignore[operator]

    def _loss_of(
        self, x: Any, y: Any, y_pred: Any, sample_weight: Any, training: bool
    ) -> tf.Tensor:
        # Before Keras 3.5 an override had no `training`.
        mode = {"training": training} if takes_argument(self.compute_loss, "training") else {}
        with tf.name_scope("loss"):
            loss = self.compute_loss(x, y, y_pred, sample_weight, **mode)
        assert self._tfkit_loss_tracker is not None
        self._tfkit_loss_tracker.update_state(
            tf.stop_gradient(loss), sample_weight=batch_size_of(x if x is not None else y_pred)
        )
        return loss

    @open_signature
    def compute_loss(
        self,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: Any = None,
        training: bool = True,
    ) -> tf.Tensor:
        """Returns the total loss of a batch: that of `compile`, and what `add_loss` and regularizers add.

        Raises:
            ValueError: where there is nothing to minimize.
        """
        del training  # For overrides.
        if y_pred is None and self._compiled_loss is not None:
            raise ValueError(
                f"Model '{self.name}' (of type {type(self).__name__}) returned None from its `call()`. "  # type: ignore[attr-defined]
                "Expected a tensor: end `call()` with `return`."
            )
        terms = []
        if self._compiled_loss is not None:
            loss = self._compiled_loss(y, y_pred, sample_weight)
            if loss is not None:
                terms.append(loss)
        terms += [tf.cast(loss, terms[0].dtype if terms else loss.dtype) for loss in self.losses]  # type: ignore[attr-defined]
        if not terms and self._compiled_loss is not None:
            raise ValueError(
                f"There are no targets for the loss of `compile()`. Received: x={brief(x)}, y=None. Pass "
                "targets, too: `fit(x, y)`, `validation_data=(x, y)`; generators, datasets and loaders "
                "give batches of `(x, y)`."
            )
        if not terms:
            raise ValueError(
                "No loss to compute. Provide a `loss` argument in `compile()`, or add one with `add_loss` in "
                "a layer's `call()`."
            )
        return terms[0] if len(terms) == 1 else tf.add_n(terms)

    @open_signature
    def compute_metrics(
        self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None
    ) -> dict[str, Any]:
        """Feeds a batch to the metrics of `compile` and returns the results so far."""
        del x  # For overrides.
        self._feed_metrics(y, y_pred, sample_weight)
        return self.get_metrics_result()

    def _feed_metrics(self, y: Any, y_pred: Any, sample_weight: Any) -> None:
        if self._tfkit_metrics is not None and y is not None:
            with tf.name_scope("metrics"):
                self._tfkit_metrics.update_state(y, y_pred, sample_weight)

    def _results(self, x: Any, y: Any, y_pred: Any, sample_weight: Any) -> dict[str, Any]:
        return self.compute_metrics(x, y, y_pred, sample_weight)

    def get_metrics_result(self) -> dict[str, Any]:
        """Returns the results of all metrics by name."""
        results: dict[str, Any] = {}
        for metric in self.metrics:
            result = metric.result()
            results.update(result if isinstance(result, dict) else {metric.name: result})
        return results

    @property
    def _needs_targets(self) -> bool:
        """Whether an evaluation needs `y`: it has a loss of `compile`, and nothing of it is overridden."""
        names = ("compute_loss", "test_step")
        plain = all(getattr(type(self), name) is getattr(ModelSteps, name) for name in names)
        return plain and self._compiled_loss is not None

    # --- Metrics -----------------------------------------------------------------------------------

    @property
    def metrics(self) -> list[Metric]:
        """The mean loss, the metrics of `compile` as one, the mean of each loss, and the layers' own."""
        found: list[Any] = [self._tfkit_loss_tracker, self._tfkit_metrics]
        if self._compiled_loss is not None:
            found += self._compiled_loss.metrics
        # The loss and metrics of a model inside are results of its own training.
        layers: list[Any] = [self]
        layers += [it for it in tracking.all_layers(self) if not isinstance(it, ModelSteps)]
        for layer in layers:
            found += [member for _, member in layer._members() if isinstance(member, Metric)]
        return list({id(metric): metric for metric in found if metric is not None}.values())

    @property
    def metrics_names(self) -> list[str]:
        """The names of `metrics`."""
        return [metric.name for metric in self.metrics]

    def _in_order(self, logs: dict[str, Any]) -> list[Any]:
        """Results in the order of `metrics`; those under other names, such as an output's, come last."""
        names: list[str] = []
        for metric in self.metrics:
            parts = metric.metrics if isinstance(metric, CompiledMetrics) else [metric]
            names += [part.name for part in parts]
        known = dict.fromkeys(name for name in names if name in logs)
        return [logs[name] for name in [*known, *sorted(logs.keys() - known)]]

    def reset_metrics(self) -> None:
        """Sets all metrics back to where they began."""
        for metric in self.metrics:
            metric.reset_state()

    # --- Steps, as programs run them ----------------------------------------------------------------

    def _step_for(self, mode: str) -> tuple[Step, Callable[[], dict[str, Any]]]:
        """The step of a mode and the function of the logs after the last step; both follow the settings.

        Where nothing is overridden, results of metrics are computed once a program, not once a step.
        """
        if mode == "predict":
            return self._governed(self.predict_step), dict
        cls = type(self)
        plain = all(
            getattr(cls, name) is getattr(ModelSteps, name)
            for name in (f"{mode}_step", "compute_metrics", "get_metrics_result")
        )
        if not plain:
            step = self.train_step if mode == "train" else self.test_step
            return self._noting_metrics(lambda data: self._checked(convert(step)(data), step)), dict
        inner = self._update if mode == "train" else self._measure

        def plain_step(data: Any) -> dict[str, Any]:
            _, y, y_pred, sample_weight = inner(data)
            self._feed_metrics(y, y_pred, sample_weight)
            return {}

        return self._noting_metrics(plain_step), self._governed(self.get_metrics_result)

    def _checked(self, logs: Any, step: Callable[..., Any]) -> Any:
        """The logs of a step of the user's."""
        if not isinstance(logs, Mapping):
            raise ValueError(
                f"`{step.__name__}()` of {type(self).__name__} returned {brief(logs)}. Expected a dict of "
                "logs, each a tensor: end it with `return {'loss': loss}`, or with `return "
                "{metric.name: metric.result() for metric in self.metrics}`."
            )
        for name, value in logs.items():
            if value is None:
                raise ValueError(
                    f"`{step.__name__}()` of {type(self).__name__} returned None for the log {name!r}. "
                    "Expected a tensor or a number."
                )
        return logs

    def _governed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function` under the settings of this model."""

        def governed(*args: Any) -> Any:
            with execution.governed_by(self._tfkit_settings):
                return function(*map(with_none, args))

        return governed

    def _noting_metrics(self, step: Callable[..., Any]) -> Callable[..., Any]:
        """`step` under the settings of this model; a trace of it is stale when a metric has changed."""

        def noting(data: Any) -> Any:
            results = step(data)
            if watching.thread.watches:
                for metric in self.metrics:
                    metric.take_part()
            return results

        return self._governed(noting)

    def _runs_eagerly(self) -> bool:
        return self.run_eagerly or settings.functions_run_eagerly()


def takes_argument(function: Callable[..., Any], name: str) -> bool:
    """Whether a function takes a keyword argument of this name."""
    parameters = inspect.signature(function).parameters
    return name in parameters or any(it.kind is it.VAR_KEYWORD for it in parameters.values())
