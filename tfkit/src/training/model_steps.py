"""The training, test and prediction steps with loss and metrics, which a subclass of `Model` may override."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import tensorflow as tf

from tfkit.src.base import context, execution
from tfkit.src.base.calls import current_frame
from tfkit.src.base.nests import brief
from tfkit.src.borrowed.private import VariableWatcher
from tfkit.src.core import hidden, tracking
from tfkit.src.core.layer import Layer
from tfkit.src.engine import replicas
from tfkit.src.metrics.base import Metric
from tfkit.src.training.compilation import Compiled
from tfkit.src.training.compiled_metrics import CompiledMetrics
from tfkit.src.training.data import unpack_x_y_sample_weight
from tfkit.src.weights.variables.operators import Value
from tfkit.src.weights.variables.together import computed_with, temporary_values


class _LossTrackerOfModel:
    """Reads the mean of the losses. It has no setter, so an attribute of a subclass takes its place."""

    def __get__(self, model: ModelSteps | None, owner: Any = None) -> Any:
        return self if model is None else model._tfkit_loss_tracker


class ModelSteps(Compiled):
    """The steps of training, evaluation and prediction, on one batch each.

    The steps can be copied into a subclass, to be changed there; they need
    `from tfkit.utils import unpack_x_y_sample_weight`.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Lets `train_step` call a `compute_loss` whose `training` has no default."""
        super().__init_subclass__(**kwargs)
        own = vars(cls).get("compute_loss")
        parameter = inspect.signature(own).parameters.get("training") if callable(own) else None
        if parameter is not None and parameter.default is parameter.empty:
            cls.compute_loss = _with_training(own)  # type: ignore[method-assign]

    # --- Steps, to override -------------------------------------------------------------------------

    # Steps that were copied from Keras call it by this name.
    _loss_tracker: Any = _LossTrackerOfModel()

    def train_step(self, data: Any) -> dict[str, Any]:
        """Makes one update from one batch; runs inside compiled programs.

        Args:
            data: the batch as it was passed to `fit`: `(x, y)`, `(x, y, sample_weight)`, or `x` itself where
                there is nothing else; `(x,)` where `x` is a list or a tuple, and from `train_on_batch(x)`.

        Returns:
            Logs: a dict from name to scalar tensor.

        Example:
            >>> class Timid(tfkit.Sequential):
            ...     def train_step(self, data):
            ...         x, y = data
            ...         return super().train_step((0.1 * x, y)) | {"scale": 0.1}
            >>> x = np.random.rand(8, 2)
            >>> model = Timid([tfkit.Input((2,)), tfkit.layers.Dense(1)])
            >>> model.compile("sgd", loss="mse")
            >>> sorted(model.fit(x, x.sum(axis=1), verbose=0).history)
            ['loss', 'scale']
        """
        x, y, sample_weight = unpack_x_y_sample_weight(data)
        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self.compute_loss(x, y, y_pred, sample_weight)
            scaled = loss if self.optimizer is None else self.optimizer.scale_loss(loss)
        weights = self.trainable_weights
        if weights and self.optimizer is not None:
            gradients = tape.gradient(scaled, weights)
            self.optimizer.apply_gradients(zip(gradients, weights, strict=True))
        self._tfkit_loss_tracker.add(loss, x, y_pred)
        return self.compute_metrics(x, y, y_pred, sample_weight)

    def test_step(self, data: Any) -> dict[str, Any]:
        """Returns the loss and metrics of one batch, without an update, like `train_step`.

        Example:
            >>> class Counted(tfkit.Sequential):
            ...     def test_step(self, data):
            ...         return super().test_step(data) | {"rows": tf.shape(data[0])[0]}
            >>> x = np.random.rand(8, 2)
            >>> model = Counted([tfkit.Input((2,)), tfkit.layers.Dense(1)])
            >>> model.compile("sgd", loss="mse")
            >>> int(model.evaluate(x, x.sum(axis=1), verbose=0, return_dict=True)["rows"])
            8
        """
        x, y, sample_weight = unpack_x_y_sample_weight(data)
        y_pred = self(x, training=False)
        loss = self._compute_loss(x, y, y_pred, sample_weight, training=False)
        self._tfkit_loss_tracker.add(loss, x, y_pred)
        return self.compute_metrics(x, y, y_pred, sample_weight)

    def predict_step(self, data: Any) -> Any:
        """Returns the outputs for one batch.

        Example:
            >>> class Rounded(tfkit.Sequential):
            ...     def predict_step(self, data):
            ...         return tf.round(super().predict_step(data))
            >>> model = Rounded(
            ...     [tfkit.Input((2,)), tfkit.layers.Dense(1, kernel_initializer="ones")]
            ... )
            >>> model.predict(np.array([[0.5, 0.7]]), verbose=0)
            array([[1.]], dtype=float32)
        """
        x, _, _ = unpack_x_y_sample_weight(data)
        return self(x, training=False)

    def _tfkit_call_in_phases(self, args: Any, kwargs: Any) -> Any:
        """Calls the model; in its own `train_step`, a variable that no training would change is an error."""
        # Not in an overridden step, which may train such a variable itself.
        is_trained = execution.governing_model() is self and current_frame() is None
        if not is_trained or not kwargs.get("training") or is_overridden(self, "train_step"):
            return super()._tfkit_call_in_phases(args, kwargs)
        # Not a second tape: TensorFlow would differentiate the loops inside written gradients.
        with VariableWatcher() as watcher:
            outputs = super()._tfkit_call_in_phases(args, kwargs)
        check_variables(self, watcher.watched_variables())
        return outputs

    # --- Loss -----------------------------------------------------------------------------------------

    def compute_loss(
        self,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: Any = None,
        training: bool = True,
    ) -> tf.Tensor:
        """Returns the total loss of a batch: the loss of `compile`, added losses and penalties.

        Raises:
            ValueError: if there is nothing to minimize.

        Example:
            >>> class Weighted(tfkit.Sequential):
            ...     def compute_loss(self, x, y, y_pred, sample_weight=None, training=True):
            ...         return 2 * tf.reduce_mean((y_pred - y) ** 2)
            >>> model = Weighted(
            ...     [tfkit.Input((1,)), tfkit.layers.Dense(1, kernel_initializer="ones")]
            ... )
            >>> model.compile("sgd")
            >>> model.evaluate(np.ones((4, 1)), np.zeros((4, 1)), verbose=0)
            2.0
        """
        del training  # The parameters are for overrides.
        if y_pred is None and self._tfkit_compiled_loss is not None:
            raise ValueError(
                f"Model '{self.name}' (of type {type(self).__name__}) returned None from its `call()`. "
                "Expected a tensor: end `call()` with `return`."
            )
        losses = []
        with tf.name_scope("loss"):
            if self._tfkit_compiled_loss is not None:
                for term in self._tfkit_compiled_loss.terms(y, y_pred, sample_weight):
                    loss = term.loss(term.y, term.y_pred, sample_weight=term.sample_weight)
                    losses.append(term.weighted(replicas.as_mean(loss)))
            penalties = self.losses
            if any(each is None for each in penalties):
                raise ValueError(
                    f"A regularizer or `add_loss()` in model '{self.name}' returned None. Expected a "
                    "scalar tensor: end the function with `return`."
                )
            losses += [
                replicas.as_mean(tf.cast(it, losses[0].dtype if losses else it.dtype))
                for it in penalties
            ]
            if losses:
                return losses[0] if len(losses) == 1 else tf.add_n(losses)
        if self._tfkit_compiled_loss is not None:
            raise ValueError(
                f"There are no targets for the loss of `compile()`. Received: x={brief(x)}, y=None. Pass "
                "targets as well: `fit(x, y)`, `validation_data=(x, y)`; generators, datasets and loaders "
                "give batches of `(x, y)`."
            )
        raise ValueError(
            "No loss to compute. Provide a `loss` argument in `compile()`, or add one with `add_loss` in "
            "a layer's `call()`."
        )

    def stateless_compute_loss(
        self,
        trainable_variables: Any,
        non_trainable_variables: Any,
        metrics_variables: Any,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: Any = None,
        training: bool = True,
    ) -> Any:
        """Computes `compute_loss` with the given values of the model's variables, and changes none of them.

        Args:
            trainable_variables: values of `trainable_variables`; gradients flow to them.
            non_trainable_variables: values of `non_trainable_variables`.
            metrics_variables: values of `metrics_variables`.
            x: inputs of the batch.
            y: targets; `None` for none.
            y_pred: outputs of the model for `x`.
            sample_weight: factors of the losses of rows; `None` for 1.
            training: whether it is for training. Default: `True`.

        Returns:
            The loss, and the new values of the three lists of variables.

        Example:
            >>> model = tfkit.Sequential(
            ...     [tfkit.Input((1,)), tfkit.layers.Dense(1, kernel_initializer="ones")]
            ... )
            >>> model.compile("sgd", loss="mse")
            >>> x, y = np.ones((4, 1), "float32"), np.zeros((4, 1), "float32")
            >>> values = [
            ...     model.trainable_variables,
            ...     model.non_trainable_variables,
            ...     model.metrics_variables,
            ... ]
            >>> loss, _ = model.stateless_compute_loss(*values, x=x, y=y, y_pred=model(x))
            >>> float(loss)
            1.0
        """
        metrics = self.metrics_variables

        def compute() -> dict[str, Any]:
            with temporary_values(metrics, metrics_variables, "metrics_variables"):
                loss = self._compute_loss(x, y, y_pred, sample_weight, training=training)
                return {"loss": loss, "metrics": [tf.identity(variable) for variable in metrics]}

        found = computed_with(self, compute, trainable_variables, non_trainable_variables)
        return found["loss"], (list(trainable_variables), found["state"], found["metrics"])

    @property
    def _compute_loss(self) -> Callable[..., tf.Tensor]:
        """`compute_loss` as a step calls it: an override for Keras before 3.5 does not accept `training`."""
        compute_loss = self.compute_loss
        if _takes_argument(compute_loss, "training"):
            return compute_loss
        return lambda *batch, training: compute_loss(*batch)

    @property
    def _tfkit_needs_targets(self) -> bool:
        """Whether an evaluation needs `y`: there is a loss of `compile`, and no method is overridden."""
        is_own = is_overridden(self, "compute_loss", "test_step")
        return self._tfkit_compiled_loss is not None and not is_own

    # --- Metrics -----------------------------------------------------------------------------------

    def compute_metrics(
        self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None
    ) -> dict[str, Any]:
        """Updates the metrics of `compile` with a batch, and returns the results so far.

        Example:
            >>> class Extended(tfkit.Sequential):
            ...     def compute_metrics(self, x, y, y_pred, sample_weight=None):
            ...         return super().compute_metrics(x, y, y_pred, sample_weight) | {
            ...             "largest": tf.reduce_max(y)
            ...         }
            >>> x = np.random.rand(8, 2)
            >>> model = Extended([tfkit.Input((2,)), tfkit.layers.Dense(1)])
            >>> model.compile("sgd", loss="mse")
            >>> float(
            ...     model.evaluate(x, np.full((8, 1), 3.0), verbose=0, return_dict=True)["largest"]
            ... )
            3.0
        """
        del x  # The parameter is for overrides.
        if self._tfkit_metrics is not None and y is not None:
            with tf.name_scope("metrics"):
                self._tfkit_metrics.update_state(y, y_pred, sample_weight)
        return self.get_metrics_result()

    def get_metrics_result(self) -> dict[str, Any]:
        """Returns the results of all metrics by name.

        Example:
            >>> model = tfkit.Sequential([tfkit.Input((2,)), tfkit.layers.Dense(1)])
            >>> model.compile("adam", loss="mse", metrics=["mae"])
            >>> x = np.random.rand(8, 2)
            >>> _ = model.test_on_batch(x, x.sum(axis=1))
            >>> sorted(model.get_metrics_result())
            ['loss', 'mae']
        """
        results: dict[str, Any] = {}
        if context.current().without_results is self:
            return results
        for metric in self.metrics:
            result = metric.result()
            results.update(result if isinstance(result, dict) else {metric.name: result})
        return results

    @property
    def metrics(self) -> list[Metric]:
        """The mean loss, the metrics of `compile` as one, the mean of each loss, and the layers' metrics."""
        found: list[Any] = [self._tfkit_loss_tracker, self._tfkit_metrics]
        if self._tfkit_compiled_loss is not None:
            found += self._tfkit_compiled_loss.metrics
        # The loss and metrics of a model inside this one are results of its own training.
        layers: list[Any] = [self]
        layers += [
            it for it in tracking.all_layers(self._tfkit.layer) if not isinstance(it, ModelSteps)
        ]
        for layer in layers:
            if layer is not self and layer._tfkit_overrides("metrics"):
                found += layer.metrics
            else:
                members = layer._tfkit_members()
                found += [member for _, member in members if isinstance(member, Metric)]
        return list({id(metric): metric for metric in found if metric is not None}.values())

    @property
    def metrics_names(self) -> list[str]:
        """The names of `metrics`."""
        return [metric.name for metric in self.metrics]

    def _tfkit_results(self, logs: dict[str, Any], return_dict: bool) -> Any:
        """Returns the dict, or its values: in the order of `metrics`, then those under other names."""
        if return_dict:
            return logs
        names: list[str] = []
        for metric in self.metrics:
            parts = metric.metrics if isinstance(metric, CompiledMetrics) else [metric]
            names += [part.name for part in parts]
        known = dict.fromkeys(name for name in names if name in logs)
        values = [logs[name] for name in [*known, *sorted(logs.keys() - known)]]
        return values[0] if len(values) == 1 else values

    def reset_metrics(self) -> None:
        """Resets all metrics to their initial state.

        Example:
            >>> model = tfkit.Sequential([tfkit.Input((2,)), tfkit.layers.Dense(1)])
            >>> model.compile("adam", loss="mse", metrics=["mae"])
            >>> _ = model.test_on_batch(np.ones((8, 2)), np.full((8, 1), 5.0))
            >>> model.reset_metrics()
            >>> float(model.get_metrics_result()["mae"])
            0.0
        """
        for metric in self.metrics:
            metric.reset_state()


def without_results(model: ModelSteps) -> contextlib.AbstractContextManager[None]:
    """Returns a context manager in which `get_metrics_result` computes nothing: steps only update metrics."""
    return context.within(without_results=model)


def is_overridden(model: ModelSteps, *methods: str) -> bool:
    """Whether a model, or its class, overrides a method of `ModelSteps`."""
    return any(
        getattr(getattr(model, name), "__func__", None) is not getattr(ModelSteps, name)
        for name in methods
    )


def _with_training(compute_loss: Any) -> Any:
    """Returns an override of `compute_loss` whose `training` is `True` unless it is passed."""

    signature = inspect.signature(compute_loss)

    @functools.wraps(compute_loss)
    def with_default(*args: Any, **named: Any) -> tf.Tensor:
        if "training" not in signature.bind_partial(*args, **named).arguments:
            named["training"] = True
        return compute_loss(*args, **named)

    return with_default


def _takes_argument(function: Callable[..., Any], name: str) -> bool:
    """Whether a function accepts a keyword argument of this name."""
    parameters = inspect.signature(function).parameters
    return name in parameters or any(it.kind is it.VAR_KEYWORD for it in parameters.values())


def check_variables(model: Layer, read: Iterable[tf.Variable]) -> None:
    """Raises an error for a trainable variable that a model's call reads, and no `weights` contain.

    Args:
        model: the model that is trained.
        read: the trainable variables that a tape has seen in the call.

    Raises:
        ValueError: with the name of the variable.
    """
    if tf.distribute.has_strategy():
        return  # The tape sees the variables of one replica, which the lists do not contain.
    listed = hidden.listed_in(model)
    for variable in read:
        variable = Value.owner(variable)  # A tape in the call may watch `weight.value`.
        if id(variable) not in listed and variable.dtype.is_floating:
            raise ValueError(
                f"The variable '{variable.name}' of shape {tuple(variable.shape)} is read in the `call()` of "
                f"model '{model.name}' and is trainable, but it is in no `weights`: it would be "
                f"neither trained nor saved. {hidden.HOLD}; or make it with `trainable=False`."
            )
