"""The parts of a step as functions of JAX: traced by TensorFlow, converted, differentiated by JAX.

A training step has three parts. The first is the model with its loss; JAX differentiates it. The second is
the update of the optimizer, traced as a function of gradients. The third updates the metrics. Each is a pure
function of a batch and of the values of variables by path.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import tensorflow as tf

from tfkit.src.core.tracking import named_state
from tfkit.src.engine.autograph import convert
from tfkit.src.export.convert.graph import SEED
from tfkit.src.export.convert.interpreter import ConversionError, Interpreter
from tfkit.src.export.convert.reader import read
from tfkit.src.symbolic.masking import set_mask
from tfkit.src.training.data import unpack_x_y_sample_weight
from tfkit.src.training.jax.layouts import Layouts, framework_of
from tfkit.src.training.model_steps import is_overridden, without_results
from tfkit.src.training.running_steps import checked_results, governed
from tfkit.src.training.step import trace_once
from tfkit.src.weights.random import SeedGenerator

if TYPE_CHECKING:
    from tfkit.src.training.trainer import Trainer

Arrays = dict[str, Any]


def check_convertible(model: Trainer, trace: Any) -> None:
    """Raises an error for a batch, or outputs, that JAX cannot hold.

    Raises:
        ValueError: for strings, ragged and sparse tensors.
    """
    for what, specs in (("batches", trace.specs), ("outputs", tf.nest.flatten(trace.outputs))):
        for spec in specs:
            if isinstance(spec, tf.TensorSpec) and spec.dtype not in (tf.string, tf.variant):
                continue
            kind = (
                "strings" if getattr(spec, "dtype", None) == tf.string else spec.value_type.__name__
            )
            raise ValueError(
                f"`engine='jax'` computes with dense tensors of numbers. The {what} of model '{model.name}' "
                f"have: {kind}. Convert them before the model, in `dataset.map()`, or pass "
                "`engine='tensorflow'` to `compile()`."
            )


class _Parts:
    """The common base of the parts of a step.

    Args:
        model: the model.
        layouts: where the values are on several devices; `None` for one device.

    Attributes:
        variables: the variables that the parts read or write, by path.
        written: the paths of those that are written.
    """

    def __init__(self, model: Trainer, layouts: Layouts | None) -> None:
        self._layouts = layouts
        self.variables: dict[str, tf.Variable] = {}
        self.written: set[str] = set()
        self._model = model
        self._paths = {id(variable): path for path, variable in named_state(model).items()}
        self._trained = {id(variable) for variable in model.trainable_weights}

    def converted(self, function: Any) -> Interpreter:
        """Returns a traced function as one of JAX; notes its variables.

        Raises:
            ConversionError: if it has a part that JAX cannot compute.
        """
        try:
            graph = read(function, self._path_of, lambda it: id(it) in self._trained)
            interpreter = Interpreter(graph, framework_of(self._layouts), self._model.name)
        except (ConversionError, ValueError) as error:
            raise ConversionError(
                f"`engine='jax'` cannot run model '{self._model.name}'. {error} Or pass "
                "`engine='tensorflow'` to `compile()`."
            ) from None
        self.written |= graph.written()
        if graph.main.draws:
            self.variables.setdefault(SEED, SeedGenerator().state)
        return interpreter

    def results_of(self, trace: Any) -> tuple[Interpreter, Any] | None:
        """Returns the results of metrics after the last step as a function, with their names.

        `None` if there are no metrics.
        """
        finish = trace_once(lambda: tf.nest.map_structure(tf.convert_to_tensor, trace.finish()), [])
        names = finish.structured_outputs
        return (self.converted(finish), names) if names else None

    def _path_of(self, variable: tf.Variable) -> str:
        path = self._paths.get(id(variable))
        if path is None:
            slot = getattr(variable, "slot", None)
            path = f"other/{getattr(variable, 'path', variable.name)}"
            if slot is not None and id(slot.weight) in self._paths:
                path = f"optimizer/{self._paths[id(slot.weight)]}/{slot.name}"
            while path in self.variables:
                path += "_"
            self._paths[id(variable)] = path
        self.variables[path] = variable
        return path

    def prepare(self, batch: Callable[[], list[Any]]) -> None:
        """Does what has to be known of a batch before the first step, whose form `batch` returns."""

    def forms(self) -> Arrays:
        """Returns the forms of the values of all variables."""
        return {path: _form(it.shape, it.dtype) for path, it in self.variables.items()}


class EvaluationParts(_Parts):
    """An evaluation or prediction step: one part, without a gradient."""

    def __init__(self, model: Trainer, trace: Any, mode: str, layouts: Layouts | None) -> None:
        super().__init__(model, layouts)
        self._run = self.converted(trace.function)
        self.logs = trace.outputs
        self.finish = self.results_of(trace) if mode != "predict" else None

    def step(self, values: Arrays, batch: list[Any]) -> tuple[Arrays, list[Any]]:
        """Returns the values after a step, and its results as a flat list."""
        values = dict(values)
        return values, self._run(batch, values)


class TrainingParts(_Parts):
    """A training step: loss, update, metrics."""

    def __init__(self, model: Trainer, trace: Any, layouts: Layouts | None = None) -> None:
        super().__init__(model, layouts)
        self._outputs = trace.outputs
        self._forward = self.converted(trace.function)
        self._after_forward = set(self.written)
        weights = [] if model.optimizer is None else model.trainable_weights
        self._weights = {self._path_of(it): it for it in weights}
        self._connected: set[str] | None = None
        self._update: Any = None
        specs = [*tf.nest.flatten(trace.outputs), *trace.specs]
        with trace.watch:
            measure = trace_once(governed(model, self._measuring(trace)), specs)
        self._measure = self.converted(measure)
        self.logs = measure.structured_outputs
        self.finish = self.results_of(trace)

    def prepare(self, batch: Callable[[], list[Any]]) -> None:
        """Makes the update, which has gradients of the weights that the loss depends on.

        Args:
            batch: function that returns the first batch, or its form: a step may accept some sizes only.
        """
        if self._connected is not None:
            return
        self._connected = self._find_connected(batch()) if self._weights else set()
        if self._weights:
            specs = [
                tf.TensorSpec(it.shape, it.dtype)
                for path, it in self._weights.items()
                if path in self._connected
            ]
            updating = governed(self._model, self._updating)
            self._update = self.converted(trace_once(updating, specs))

    def _updating(self, *gradients: tf.Tensor) -> tf.Tensor:
        optimizer, given = self._model.optimizer, iter(gradients)
        assert self._connected is not None
        assert optimizer is not None  # Or else nothing would be updated.
        # As a gradient tape does, `None` for a weight that the loss does not depend on.
        pairs = [
            (next(given) if path in self._connected else None, weight)
            for path, weight in self._weights.items()
        ]
        optimizer.apply_gradients(pairs)
        return tf.constant(0)

    def _measuring(self, trace: Any) -> Callable[..., dict[str, Any]]:
        model = self._model
        own = is_overridden(model, "compute_metrics", "get_metrics_result")
        compute_metrics = convert(model.compute_metrics) if own else model.compute_metrics

        def measuring(*tensors: tf.Tensor) -> dict[str, Any]:
            count = len(tf.nest.flatten(trace.outputs))
            kept = tf.nest.pack_sequence_as(trace.outputs, tensors[:count])
            data = tf.nest.pack_sequence_as(trace.batch, tensors[count:])
            flat = tf.nest.flatten(kept["outputs"])
            for place, mask in kept["masks"].items():
                set_mask(flat[int(place)], mask)
            return governed(model, measured)(kept["loss"], kept["outputs"], data)

        def measured(loss: tf.Tensor, y_pred: Any, data: Any) -> dict[str, Any]:
            x, y, sample_weight = unpack_x_y_sample_weight(data)
            model._tfkit_loss_tracker.add(loss, x, y_pred)
            if own:
                logs = compute_metrics(x, y, y_pred, sample_weight)
                checked: dict[str, Any] = checked_results(
                    model, "train", logs, "`compute_metrics()`"
                )
                return tf.nest.map_structure(tf.convert_to_tensor, dict(checked))
            with without_results(model):
                compute_metrics(x, y, y_pred, sample_weight)
            return {}

        return measuring

    def _find_connected(self, batch: list[Any]) -> set[str]:
        """Returns the paths of the weights that the loss depends on."""
        found: set[str] = set()

        def of(weights: Arrays, others: Arrays, batch: list[Any]) -> Any:
            watched = {path: _watched(it, path, found) for path, it in weights.items()}
            return self._loss(watched, others, batch)[0]

        forms = self.forms()
        weights = {path: forms.pop(path) for path in self._weights}
        jax.eval_shape(jax.grad(of), weights, forms, batch)
        return found

    def _loss(self, weights: Arrays, others: Arrays, batch: list[Any]) -> tuple[Any, Any]:
        """Returns the scaled loss; the results of the first part, and the values that it has written."""
        values = {**others, **weights}
        results = self._forward(batch, values)
        scaled = tf.nest.pack_sequence_as(self._outputs, results)["scaled"]
        # The gradient of several losses is that of their sum, as in TensorFlow.
        return jnp.sum(scaled), (results, {path: values[path] for path in self._after_forward})

    def step(self, values: Arrays, batch: list[Any]) -> tuple[Arrays, list[Any]]:
        """Returns the values after a step, and its logs as a flat list."""
        assert self._connected is not None  # `prepare` was called.
        weights = {path: values[path] for path in self._connected}
        others = {path: it for path, it in values.items() if path not in weights}
        loss = jax.value_and_grad(self._loss, has_aux=True)
        (_, (results, after)), gradients = loss(weights, others, batch)
        values = {**values, **after}
        if self._layouts is not None:
            # Or else the layouts of slots would decide how the gradients are computed.
            gradients = self._layouts.pinned(gradients, self.variables)
        if self._update is not None:
            given = [gradients[path] for path in self._weights if path in self._connected]
            self._update(given, values)
        logs = self._measure([*results, *batch], values)
        return values, logs


def _watched(array: Any, path: str, found: set[str]) -> Any:
    """Returns an array itself; adds its path to `found` when a gradient with respect to it is computed."""

    @jax.custom_vjp
    def same(array: Any) -> Any:
        return array

    def backward(_: None, gradient: Any) -> tuple[Any]:
        # JAX calls it only if the loss depends on the array.
        found.add(path)
        return (gradient,)

    same.defvjp(lambda array: (array, None), backward)
    return same(array)


def _form(shape: Any, dtype: tf.DType) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(
        tuple(shape), jax.dtypes.canonicalize_dtype(dtype.base_dtype.as_numpy_dtype)
    )
