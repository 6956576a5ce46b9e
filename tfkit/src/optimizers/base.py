"""The base class of all optimizers: learning rate, slots, and the phases of one update."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, TypeAlias

import tensorflow as tf

from tfkit.src.base import context, execution, watching
from tfkit.src.base.errors.tracebacks import shorten, shortened
from tfkit.src.base.names import explain_missing
from tfkit.src.base.nests import brief
from tfkit.src.base.registry.constructors import attributes, known_arguments
from tfkit.src.base.registry.serialization import (
    check_kind,
    deserialize_keras_object,
    serialize_keras_object,
)
from tfkit.src.base.registry.tables import is_builtin
from tfkit.src.engine import replicas
from tfkit.src.optimizers import averages, checks, compiling, copies, distribution, stateless
from tfkit.src.optimizers.direct_updates import DirectUpdates
from tfkit.src.optimizers.exclusions import Exclusions
from tfkit.src.optimizers.gradients import (
    clip_by_global_norm,
    clip_by_norm,
    clip_by_value,
    dense,
    divide,
    drop_missing,
)
from tfkit.src.optimizers.overwriting import is_overwritten, overwrite, unless_overwriting
from tfkit.src.optimizers.schedules.adopted import as_schedule
from tfkit.src.optimizers.schedules.base import LearningRateSchedule
from tfkit.src.optimizers.slots import SlotOwner, constant
from tfkit.src.weights.variables.name_scope import variable_path
from tfkit.src.weights.variables.operators import Value

LearningRate: TypeAlias = float | LearningRateSchedule | Callable[[], Any]


class _Untracked:
    """References to the model in a plain object, which `tf.Module` does not search."""

    def __init__(self) -> None:
        self.variables: list[tf.Variable] = []
        # By identity: variables cannot be hashed, since `==` on them returns a tensor.
        self.index_of: dict[int, int] = {}
        self.exclusions = Exclusions()
        self.owners: weakref.WeakSet[Any] = weakref.WeakSet()
        self.direct = DirectUpdates()


@explain_missing
class Optimizer(SlotOwner):
    """The base of optimizers: updates variables by their gradients.

    A subclass makes its variables in `build(variables)`, and changes one variable in
    `update_step(gradient, variable, learning_rate)`. Functions called from there must be TensorFlow
    operations, because the update runs inside compiled programs. `apply(gradients, variables)`
    makes an update.

    Args:
        learning_rate: step size: a float, a `LearningRateSchedule`, or a function without arguments
            that returns a float.
        weight_decay: factor of decoupled weight decay: each update also subtracts
            `learning_rate * weight_decay * w` from a variable `w`; `None` for no decay.
        clipnorm: largest norm of a gradient; a gradient with a larger norm is scaled down to it.
            `None` for no limit.
        clipvalue: limit of the entries of gradients, which are clipped to
            `[-clipvalue, clipvalue]`; `None` for no limit.
        global_clipnorm: largest norm of all gradients together, which are scaled down to it.
            `None` for no limit.
        use_ema: whether to keep an exponential moving average of each variable. Default: `False`.
        ema_momentum: share of the old average in the new one, from 0 to 1. Default: `0.99`.
        ema_overwrite_frequency: number of updates after which variables are set to their averages,
            each time; `None` for only once, in `finalize_variable_values()`, at the end of `fit`.
        loss_scale_factor: factor by which `scale_loss()` multiplies the loss and `apply()` divides
            gradients, against underflow in 16 bits; `None` for 1.
        gradient_accumulation_steps: number of calls of `apply()`, at least 2, whose gradients are
            averaged for one update; `None` for an update in each call.
        name: name of the optimizer; `None` for one that is made from the class's name.

    Raises:
        ValueError: if the learning rate is not a float, if more than one way of clipping is given,
            if a number is out of range, or if an argument is unknown.

    Example:
        >>> class Halving(Optimizer):
        ...     def update_step(self, gradient, variable, learning_rate):
        ...         self.assign_sub(variable, gradient * learning_rate)
        >>> w = tf.Variable([1.0, 2.0])
        >>> Halving(0.5).apply([w.read_value()], [w])
        >>> w.numpy()
        array([0.5, 1. ], dtype=float32)
    """

    # The arguments that an optimizer of tfkit has besides the shared ones.
    _tfkit_own_arguments: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        learning_rate: LearningRate,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        use_ema: bool = False,
        ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None,
        loss_scale_factor: float | None = None,
        gradient_accumulation_steps: int | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        checks.check_unknown(type(self).__name__, kwargs, known_arguments(type(self)))
        checks.check_clipping(clipnorm, clipvalue, global_clipnorm)
        checks.check_accumulation(gradient_accumulation_steps)
        if use_ema:
            checks.check_ema(ema_momentum, ema_overwrite_frequency)
        super().__init__(name)
        self.weight_decay = weight_decay
        self.clipnorm = clipnorm
        self.clipvalue = clipvalue
        self.global_clipnorm = global_clipnorm
        self.use_ema = use_ema
        self.ema_momentum = ema_momentum
        self.ema_overwrite_frequency = ema_overwrite_frequency
        self.loss_scale_factor = loss_scale_factor
        self.gradient_accumulation_steps = gradient_accumulation_steps
        self.built = False
        self._tfkit_untracked = _Untracked()
        self._iterations = self.add_variable(
            (), dtype="int64", aggregation="only_first_replica", name="iteration"
        )
        check_kind(learning_rate, "optimizers.schedules")
        checks.check_value("learning_rate", learning_rate)
        learning_rate = as_schedule(learning_rate)
        self._learning_rate: Any = learning_rate
        if not _is_function(learning_rate):
            if not isinstance(learning_rate, float):
                raise ValueError(
                    "`learning_rate` must be a float, a LearningRateSchedule, or a function "
                    f"without arguments or of the step. Received: learning_rate={brief(learning_rate)} "
                    f"(of type {type(learning_rate).__module__}.{type(learning_rate).__name__})"
                )
            self._learning_rate = self.add_variable(
                (),
                initializer=constant(learning_rate),
                aggregation="only_first_replica",
                name="learning_rate",
            )

    # --- State ------------------------------------------------------------------------------------

    @property
    def iterations(self) -> Any:
        """The number of updates so far; calls of `apply()` that only accumulate do not count."""
        if self.gradient_accumulation_steps:
            return self._iterations // self.gradient_accumulation_steps
        return self._iterations

    def _get_current_learning_rate(self) -> Any:
        """Returns the learning rate of the next update; subclasses may override it, as in Keras."""
        if isinstance(self._learning_rate, LearningRateSchedule):
            # A schedule whose attributes change makes steps that contain it stale.
            watching.note(self._learning_rate)
            # `_iterations` also counts calls that only accumulate
            # gradients: Keras's schedules see these, too.
            return self._learning_rate(self._iterations)
        if isinstance(self._learning_rate, tf.Variable):
            return self._learning_rate
        return self._learning_rate()

    @property
    def learning_rate(self) -> Any:
        """The present learning rate. Assigning a float changes it for compiled programs, too."""
        return self._get_current_learning_rate()

    @learning_rate.setter
    def learning_rate(self, learning_rate: LearningRate) -> None:
        before = self._learning_rate
        learning_rate = as_schedule(learning_rate)
        if _is_function(learning_rate):
            self._learning_rate = learning_rate
            # A rate that is computed has no variable: the old one must not be saved any more.
            self._tfkit_own_variables = [v for v in self._tfkit_own_variables if v is not before]
        elif isinstance(before, tf.Variable):
            before.assign(learning_rate)
        else:
            raise TypeError(
                f"The learning rate of optimizer '{self.name}' comes from {before!r}, so a number "
                f"cannot be assigned to it. Received: {learning_rate!r}. Make the optimizer with a "
                "float as `learning_rate`, or assign a schedule."
            )

    @shortened
    def build(self, variables: Sequence[tf.Variable]) -> None:
        """Makes the slots for `variables`, the only ones that this optimizer can update.

        Args:
            variables: trainable variables of a model.

        Example:
            >>> weight = tfkit.Variable([1.0, 2.0])
            >>> optimizer = tfkit.optimizers.Adam()
            >>> optimizer.build([weight])
            >>> len(optimizer.variables)
            4
        """
        checks.check_variables(variables)
        if self.use_ema:
            self._model_variables_moving_average = self.add_optimizer_variables(
                variables, "average"
            )
        if self.gradient_accumulation_steps:
            self._accumulated_gradients = [
                self.add_variable_from_reference(it, "gradient_accumulator") for it in variables
            ]
        self._tfkit_untracked.variables = list(variables)
        self._tfkit_untracked.index_of = {distribution.key(v): i for i, v in enumerate(variables)}
        self._tfkit_untracked.exclusions.learn(variables)
        self.built = True

    def belongs_to(self, settings: Any) -> None:
        """Registers a model that is trained with this optimizer.

        Args:
            settings: the arguments of the model's `compile`; it is read where the optimizer updates.
        """
        self._tfkit_untracked.owners.add(settings)

    def _tfkit_parts(self) -> list[Any]:
        """Returns the objects whose attributes `build` changes."""
        untracked = self._tfkit_untracked
        return [self, self._tfkit_restored, untracked, untracked.exclusions]

    def leaves(self, settings: Any) -> None:
        """Unregisters a model that is trained with a different optimizer from now on."""
        self._tfkit_untracked.owners.discard(settings)

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets an attribute; compiled steps that contain the old one are traced again."""
        # A class of the user may give these names another meaning.
        if type(self).__module__.startswith("tfkit."):
            try:
                checks.check_value(name, value)
                if name == "lr":
                    raise AttributeError(
                        f"Attribute `lr` of {type(self).__name__} is called `learning_rate`. "
                        f"Received: lr={brief(value)}"
                    )
            except (AttributeError, ValueError) as error:
                shorten(error)
                raise
        super().__setattr__(name, value)
        is_property = isinstance(getattr(type(self), name, None), property)
        # A property's setter assigns to a variable, or sets an attribute that comes here again.
        if "_tfkit_untracked" in vars(self) and not is_property:
            self._tfkit_untracked.direct.forget()
            for settings in self._tfkit_untracked.owners:
                settings.version += 1

    # --- One update -------------------------------------------------------------------------------

    def apply_gradients(self, grads_and_vars: Iterable[tuple[Any, tf.Variable]]) -> tf.Variable:
        """Calls `apply` with pairs of gradient and variable; returns `iterations`.

        Example:
            >>> weight = tfkit.Variable([1.0, 2.0])
            >>> optimizer = tfkit.optimizers.SGD(learning_rate=0.5)
            >>> _ = optimizer.apply_gradients([(tf.constant([1.0, 1.0]), weight)])
            >>> weight.numpy()
            array([0.5, 1.5], dtype=float32)
        """
        try:
            pairs = checks.checked_pairs(grads_and_vars)
            self.apply([gradient for gradient, _ in pairs], [variable for _, variable in pairs])
        except BaseException as error:
            shorten(error)
            raise
        return self._iterations

    def apply(
        self, grads: Sequence[Any], trainable_variables: Sequence[tf.Variable] | None = None
    ) -> None:
        """Updates the variables by their gradients.

        Args:
            grads: one gradient for each variable: a tensor, a `tf.IndexedSlices`, or `None`.
            trainable_variables: the variables; `None` for the variables of `build`.

        Raises:
            ValueError: when the numbers of gradients and variables differ, when a variable was not
                passed to `build`, and when all gradients are `None`.

        Example:
            >>> weight = tfkit.Variable([1.0, 2.0])
            >>> tfkit.optimizers.SGD(learning_rate=0.5).apply([tf.constant([1.0, 1.0])], [weight])
            >>> weight.numpy()
            array([0.5, 1.5], dtype=float32)
        """
        if isinstance(grads, str) or not hasattr(grads, "__len__"):
            raise ValueError(f"Expected a list of gradients. Received: {brief(grads)}")
        # A model without trainable weights still trains: it updates metrics and state.
        if len(grads) == 0:
            return
        try:
            gradients, variables = self._tfkit_pairs(grads, trainable_variables)
            if self._tfkit_untracked.direct.run(self, gradients, variables):
                return
            # First summed over the replicas: limits of norms are for the gradients of the whole batch.
            gradients = distribution.all_reduce_sum(gradients)
            # Before clipping, whose limits are for gradients of the real loss.
            gradients = self._tfkit_unscaled(gradients, variables)
            gradients = self._tfkit_clipped_unless_accumulating(gradients, variables)
            if replicas.is_one_of_several():
                distribution.merge(self._tfkit_run_phases, gradients, variables)
                return
            # The body of `_tfkit_run_phases`, without an additional frame around the formula.
            for phase in self._tfkit_phases():
                phase(gradients, variables)
        except BaseException as error:
            shorten(error)
            raise

    def update_step(self, gradient: Any, variable: tf.Variable, learning_rate: Any) -> None:
        """Updates one variable and its slots; each optimizer overrides it.

        Args:
            gradient: a tensor or a `tf.IndexedSlices`.
            variable: the variable to update.
            learning_rate: a scalar.

        Example:
            >>> class SignDescent(tfkit.optimizers.Optimizer):
            ...     def update_step(self, gradient, variable, learning_rate):
            ...         self.assign_sub(variable, learning_rate * tf.sign(gradient))
            >>> weight = tfkit.Variable([1.0, 2.0])
            >>> SignDescent(0.5).apply([tf.constant([3.0, -7.0])], [weight])
            >>> weight.numpy()
            array([0.5, 2.5], dtype=float32)
        """
        raise NotImplementedError(
            f"{type(self).__name__} must define `update_step(self, gradient, variable, learning_rate)`."
        )

    def assign(self, variable: tf.Variable, value: Any) -> None:
        """Sets a variable from inside `update_step`; for `IndexedSlices`, only their rows.

        Example:
            >>> weight = tfkit.Variable([1.0, 2.0])
            >>> tfkit.optimizers.SGD().assign(weight, [3.0, 4.0])
            >>> weight.numpy()
            array([3., 4.], dtype=float32)
        """
        value = tf.cast(value, variable.dtype)
        if isinstance(value, tf.IndexedSlices):
            variable.scatter_update(value)
        else:
            variable.assign(value)

    def assign_add(self, variable: tf.Variable, value: Any) -> None:
        """Adds to a variable from inside `update_step`.

        Example:
            >>> weight = tfkit.Variable([1.0, 2.0])
            >>> tfkit.optimizers.SGD().assign_add(weight, [1.0, 1.0])
            >>> weight.numpy()
            array([2., 3.], dtype=float32)
        """
        value = tf.cast(value, variable.dtype)
        if isinstance(value, tf.IndexedSlices):
            variable.scatter_add(value)
        else:
            variable.assign_add(value)

    def assign_sub(self, variable: tf.Variable, value: Any) -> None:
        """Subtracts from a variable from inside `update_step`.

        Example:
            >>> weight = tfkit.Variable([1.0, 2.0])
            >>> tfkit.optimizers.SGD().assign_sub(weight, [1.0, 1.0])
            >>> weight.numpy()
            array([0., 1.], dtype=float32)
        """
        value = tf.cast(value, variable.dtype)
        if isinstance(value, tf.IndexedSlices):
            variable.scatter_sub(value)
        else:
            variable.assign_sub(value)

    def _tfkit_pairs(
        self, grads: Sequence[Any], trainable_variables: Sequence[tf.Variable] | None
    ) -> tuple[list[Any], list[tf.Variable]]:
        """Returns the checked gradients with their variables; builds the optimizer if necessary."""
        # Inside a model's step: a change of this optimizer must let the step be traced again.
        if execution.governing() is not None:
            self.belongs_to(execution.governing())
        if trainable_variables is None:
            if not self.built:
                raise ValueError(
                    f"Optimizer '{self.name}' does not know its variables yet. Call "
                    "`optimizer.build(trainable_variables)`, or pass them to `apply()`."
                )
            variables = self._tfkit_untracked.variables
        else:
            variables = list(trainable_variables)
            others = [v for v in variables if not hasattr(v, "assign")]
            if others:
                raise TypeError(
                    "Expected pairs of a gradient and a variable, in this order. Received in place of a "
                    f"variable: {brief(others[0])}"
                )
        names = [variable_path(v) for v in variables]
        checks.check_gradients(grads, variables, names)
        for variable, name in zip(variables, names, strict=True):
            if self.built and distribution.key(variable) not in self._tfkit_untracked.index_of:
                raise ValueError(
                    f"Unknown variable '{name}' of shape {variable.shape}: "
                    f"optimizer '{self.name}' was built for others. Make a new optimizer for a new set of "
                    "variables; after layers of a model were added or unfrozen, compile it with the new one."
                )
        pairs = drop_missing(grads, variables, names)
        # After the checks: a refused call builds nothing.
        if not self.built:
            self.build(variables)
        return pairs

    def _tfkit_unscaled(self, gradients: list[Any], variables: list[tf.Variable]) -> list[Any]:
        """Returns gradients of the unscaled loss, from gradients of the loss that `scale_loss` has scaled."""
        scale = self.loss_scale_factor
        if scale is None:
            return gradients
        return unless_overwriting(lambda kept: divide(kept, scale), gradients, variables)

    def _tfkit_clipped_unless_accumulating(
        self, gradients: list[Any], variables: list[tf.Variable]
    ) -> list[Any]:
        """Clips the gradients of each call; with accumulation, their mean is clipped instead."""
        if self.gradient_accumulation_steps:
            return gradients
        return unless_overwriting(self._clip_gradients, gradients, variables)

    def _clip_gradients(self, gradients: list[Any]) -> list[Any]:
        if self.clipnorm:
            return clip_by_norm(gradients, self.clipnorm)
        if self.global_clipnorm:
            return clip_by_global_norm(gradients, self.global_clipnorm)
        if self.clipvalue:
            return clip_by_value(gradients, self.clipvalue)
        return gradients

    def _tfkit_phases(self) -> tuple[Callable[[list[Any], list[tf.Variable]], None], ...]:
        """Returns the phases of a call after its gradients are ready, which can change all copies."""
        # The two ways are chosen when the step is traced: neither costs the other an operation.
        update = (
            self._tfkit_accumulate
            if self.gradient_accumulation_steps
            else self._tfkit_update_variables
        )
        return update, self._tfkit_finish

    def _tfkit_run_phases(self, gradients: list[Any], variables: list[tf.Variable]) -> None:
        for phase in self._tfkit_phases():
            phase(gradients, variables)

    def _tfkit_update_variables(self, gradients: list[Any], variables: list[tf.Variable]) -> None:
        """Makes one update: runs the formula in `update_step` for each variable."""
        # Variables of float8 scales: their "gradients" are new values.
        gradients, variables = overwrite(self.assign, gradients, variables)
        if not variables:
            return
        learning_rate = tf.convert_to_tensor(self.learning_rate)
        with context.within(update_values={}):
            self._tfkit_before_updates()
            # A copy is updated on its own device; one XLA program has one device.
            on_copies = tf.distribute.has_strategy() or replicas.are_on_servers()
            if not on_copies and self._tfkit_may_use_xla() and compiling.pays(gradients, variables):
                compiling.update(self._tfkit_decay_and_update, gradients, variables, learning_rate)
                return
            # Before the formula, as in Keras: the step is computed from the decayed weights.
            self._apply_weight_decay(variables)
            for gradient, variable in zip(gradients, variables, strict=True):
                if on_copies:
                    distribution.update(variable, self._tfkit_update_copy, gradient, learning_rate)
                else:
                    self.update_step(gradient, variable, learning_rate)

    def _tfkit_update_copy(
        self, variable: tf.Variable, gradient: Any, learning_rate: tf.Tensor
    ) -> None:
        self.update_step(gradient, variable, learning_rate)

    def _tfkit_decay_and_update(
        self, variable: tf.Variable, gradient: Any, learning_rate: tf.Tensor
    ) -> None:
        """Runs the body of the loop in XLA."""
        self._tfkit_decay(variable, learning_rate)
        self.update_step(gradient, variable, learning_rate)

    def _apply_weight_decay(self, variables: Sequence[tf.Variable]) -> None:
        """Moves variables towards zero, by their weight decay; subclasses may override it, as in Keras."""
        decaying = [it for it in variables if self._tfkit_weight_decay_of(it) is not None]
        if decaying:
            learning_rate = tf.convert_to_tensor(self.learning_rate)
            for variable in decaying:
                distribution.update(variable, self._tfkit_decay, learning_rate)

    def _tfkit_decay(self, variable: tf.Variable, learning_rate: tf.Tensor) -> None:
        """Moves a variable towards zero, by its weight decay."""
        weight_decay = self._tfkit_weight_decay_of(variable)
        if weight_decay is not None:
            rate = tf.cast(learning_rate, variable.dtype) * tf.cast(weight_decay, variable.dtype)
            variable.assign_sub(variable * rate)

    def _tfkit_finish(self, gradients: list[Any], variables: list[tf.Variable]) -> None:
        """Moves averages, applies constraints, and counts the call."""
        if self.use_ema:
            self._tfkit_update_averages()
        for variable in variables:
            # After the update: a constraint is for the value that the next step reads.
            if getattr(variable, "constraint", None) is not None:
                watching.note(variable.constraint)
                distribution.update(variable, _constrain, variable.constraint)
        # Last, because all formulas read the number of the step in progress.
        self._iterations.assign_add(1)

    def _tfkit_accumulate(self, gradients: list[Any], variables: list[tf.Variable]) -> None:
        """Adds to the accumulators; when they are full, updates by their mean and empties them.

        For gradients that overwrite their variable, the largest values are kept instead.
        """
        num_steps = self.gradient_accumulation_steps
        accumulators = [self._accumulated_gradients[self._get_variable_index(v)] for v in variables]
        for accumulator, gradient, variable in zip(accumulators, gradients, variables, strict=True):
            accumulate = _assign_maximum if is_overwritten(variable) else self.assign_add
            distribution.update(accumulator, accumulate, gradient)

        def update() -> None:
            values = [tf.convert_to_tensor(accumulator) for accumulator in accumulators]
            means = unless_overwriting(
                lambda sums: self._clip_gradients([it / num_steps for it in sums]),
                values,
                variables,
            )
            self._tfkit_update_variables(means, variables)
            for accumulator in self._accumulated_gradients:
                # All accumulators, also of variables without a gradient in this call.
                accumulator.assign(tf.zeros_like(accumulator))

        # `_iterations` counts calls here, and `iterations` counts updates.
        tf.cond((self._iterations + 1) % num_steps == 0, update, lambda: None)

    def _tfkit_may_use_xla(self) -> bool:
        """Whether XLA may compile large updates in a step that it does not compile as a whole."""
        return is_builtin(type(self)) and execution.may_use_xla(self._tfkit_untracked.owners)

    def _tfkit_before_updates(self) -> None:
        """Updates what all variables share, once before the first of them."""

    def _tfkit_step_number(self, dtype: Any) -> tf.Tensor:
        """Returns the number of this update, from 1, as a scalar of `dtype`."""
        return self._tfkit_once("step", dtype, lambda dtype: tf.cast(self.iterations + 1, dtype))

    def _tfkit_once(self, name: str, dtype: Any, compute: Callable[[Any], Any]) -> Any:
        """Returns `compute(dtype)`, computed once in an update, for all variables of that dtype.

        Otherwise a third of the operations of Adam's update would be repeated for each variable.
        """
        values = context.current().update_values
        if values is None:
            return compute(dtype)
        key = id(self), name, dtype
        if key not in values:
            values[key] = compute(dtype)
        return values[key]

    # --- Weight decay and moving averages ---------------------------------------------------------

    def exclude_from_weight_decay(
        self, var_list: Sequence[tf.Variable] | None = None, var_names: Sequence[str] | None = None
    ) -> None:
        """Excludes variables from weight decay; it must be called before `build`.

        A second call replaces the first one. After `build` it may only repeat it, as code does that runs on
        each replica of a strategy.

        Args:
            var_list: variables.
            var_names: regular expressions; a variable whose path contains one is spared, such as
                `"bias"` or the name of a layer.

        Raises:
            ValueError: after `build`, when compiled programs may have the decay in them.

        Example:
            >>> weight = tfkit.Variable([1.0, 2.0])
            >>> optimizer = tfkit.optimizers.SGD(learning_rate=1.0, weight_decay=0.5)
            >>> optimizer.exclude_from_weight_decay(var_list=[weight])
            >>> optimizer.apply([tf.zeros(2)], [weight])
            >>> weight.numpy()
            array([1., 2.], dtype=float32)
        """
        exclusions = self._tfkit_untracked.exclusions
        if self.built and not exclusions.are(var_list or (), var_names or ()):
            raise ValueError(
                f"Optimizer '{self.name}' is built already. Call `exclude_from_weight_decay()` "
                "before the first training step."
            )
        exclusions.set(var_list or (), var_names or ())

    def _tfkit_weight_decay_of(self, variable: tf.Variable) -> float | None:
        """Returns the weight decay of one variable; `None` if it has none."""
        return self.weight_decay if self._use_weight_decay(variable) else None

    def _use_weight_decay(self, variable: tf.Variable) -> bool:
        """Whether a variable decays; subclasses may override it, as in Keras."""
        return not self._tfkit_untracked.exclusions.has(variable)

    def _tfkit_averaged(self) -> list[tuple[tf.Variable, tf.Variable]]:
        """Returns the variables with their averages; none before `build`, or without `use_ema`."""
        if not (self.built and self.use_ema):
            return []
        slots = zip(
            self._tfkit_untracked.variables, self._model_variables_moving_average, strict=True
        )
        return [(variable, average) for variable, average in slots if average is not None]

    def _tfkit_update_averages(self) -> None:
        """Moves the averages, without memory in the first step, and overwrites variables if due."""
        iterations = tf.convert_to_tensor(self.iterations)
        pairs, frequency = self._tfkit_averaged(), self.ema_overwrite_frequency
        averages.move(pairs, self.ema_momentum, iterations)
        if frequency:
            tf.cond(
                (iterations + 1) % frequency == 0,
                lambda: averages.overwrite(pairs),
                lambda: None,
            )

    def finalize_variable_values(self, var_list: Sequence[tf.Variable]) -> None:
        """Sets variables to their moving averages, if `use_ema`, at the end of training.

        Args:
            var_list: the model's trainable variables.

        Example:
            >>> weight = tfkit.Variable([0.0])
            >>> optimizer = tfkit.optimizers.SGD(1.0, use_ema=True, ema_momentum=0.5)
            >>> for _ in range(2):
            ...     optimizer.apply([tf.constant([-1.0])], [weight])
            >>> optimizer.finalize_variable_values([weight])
            >>> weight.numpy()
            array([1.5], dtype=float32)
        """
        # A model without trainable weights has no averages either.
        if self.use_ema and len(var_list):
            slots = self._model_variables_moving_average
            pairs = [(it, slots[self._get_variable_index(it)]) for it in var_list]
            averages.overwrite([pair for pair in pairs if pair[1] is not None])

    # --- Loss scaling, pure updates, configuration ------------------------------------------------

    def scale_loss(self, loss: Any) -> Any:
        """Returns the loss times `loss_scale_factor`; gradients must be taken of this value.

        Example:
            >>> optimizer = tfkit.optimizers.SGD(loss_scale_factor=8.0)
            >>> float(optimizer.scale_loss(tf.constant(0.5)))
            4.0
        """
        return loss if self.loss_scale_factor is None else loss * self.loss_scale_factor

    def stateless_apply(
        self,
        optimizer_variables: Sequence[Any],
        grads: Sequence[Any],
        trainable_variables: Sequence[Any],
    ) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
        """Computes `apply` as a function of values, without changing any variable.

        Args:
            optimizer_variables: a value for each of `variables`.
            grads: one gradient for each trainable variable.
            trainable_variables: a value for each variable of `build`.

        Returns:
            New values of the trainable variables, and new values of the optimizer's variables.

        Raises:
            ValueError: before `build`, and when a list has a different length.

        Example:
            >>> weight = tfkit.Variable([1.0, 2.0])
            >>> optimizer = tfkit.optimizers.SGD(learning_rate=0.5)
            >>> optimizer.build([weight])
            >>> new, _ = optimizer.stateless_apply(optimizer.variables, [tf.ones(2)], [weight])
            >>> new[0].numpy(), weight.numpy()
            (array([0.5, 1.5], dtype=float32), array([1., 2.], dtype=float32))
        """
        return stateless.apply(self, optimizer_variables, grads, trainable_variables)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments, as data; the learning rate is the present one.

        Example:
            >>> config = tfkit.optimizers.SGD(learning_rate=0.5, momentum=0.75).get_config()
            >>> config["learning_rate"], config["momentum"]
            (0.5, 0.75)
        """
        rate = self._learning_rate
        is_number = isinstance(rate, tf.Variable)
        return {
            "name": self.name,
            "learning_rate": float(rate.numpy()) if is_number else serialize_keras_object(rate),
            **attributes(self, "weight_decay", "clipnorm", "global_clipnorm", "clipvalue"),
            **attributes(self, "use_ema", "ema_momentum", "ema_overwrite_frequency"),
            **attributes(self, "loss_scale_factor", "gradient_accumulation_steps"),
            **attributes(self, *self._tfkit_own_arguments),
        }

    def __reduce__(self) -> tuple[Any, ...]:
        """Returns what `pickle` and `copy` need: the configuration and values.

        The slots of the copy are made when it learns its weights, in `build` or with the first update, and
        get the values then.
        """
        return copies.from_state, (copies.state_of(self),)

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None
    ) -> Optimizer:
        """Returns the optimizer that `get_config` describes, with fresh state.

        Example:
            >>> config = tfkit.optimizers.SGD(learning_rate=0.5, momentum=0.75).get_config()
            >>> tfkit.optimizers.SGD.from_config(config).momentum
            0.75
        """
        rate = config.get("learning_rate")
        if isinstance(rate, dict):
            config = {**config, "learning_rate": deserialize_keras_object(rate, custom_objects)}
        return cls(**config)

    def _get_variable_index(self, variable: tf.Variable) -> int:
        """Returns the position of `variable` in the list passed to `build`, which identifies its slots."""
        return self._tfkit_untracked.index_of[distribution.key(variable)]


def _is_function(learning_rate: Any) -> bool:
    """Whether a learning rate is computed; a variable's `value`, although callable, is a number."""
    return callable(learning_rate) and not isinstance(learning_rate, Value)


def _assign_maximum(variable: tf.Variable, value: Any) -> None:
    variable.assign(tf.maximum(variable, tf.cast(dense(value), variable.dtype)))


def _constrain(variable: tf.Variable, constraint: Callable[[Any], Any]) -> None:
    variable.assign(constraint(variable))
