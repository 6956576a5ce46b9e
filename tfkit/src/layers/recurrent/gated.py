"""The common base of `SimpleRNN`, `LSTM` and `GRU`, and of their cells."""

from __future__ import annotations

import inspect
from typing import Any, Self

import tensorflow as tf

from tfkit.src.base.calls import CallFrame
from tfkit.src.base.names import to_snake_case
from tfkit.src.base.registry import constructors, dtype_policies
from tfkit.src.core.layer import Layer
from tfkit.src.engine import litert
from tfkit.src.layers.bias import add_bias
from tfkit.src.layers.checks import as_floats, check, check_positive_integer, check_rate
from tfkit.src.layers.parameters import WithBias, WithKernel, add_parameter, take_options
from tfkit.src.layers.recurrent.cell import Cell, is_unchanged
from tfkit.src.layers.recurrent.dropout_masks import DropoutRNNCell
from tfkit.src.layers.recurrent.loops import run_cell, run_gates
from tfkit.src.layers.recurrent.rnn import RNN
from tfkit.src.layers.recurrent.slopes import known
from tfkit.src.ops import activation_lookup as activations
from tfkit.src.symbolic.input_spec import InputSpec
from tfkit.src.symbolic.tensors import described, only_shapes_count
from tfkit.src.weights import random


def of_cell(name: str) -> Any:
    """Returns a property of a layer that reads the attribute of this name of its cell."""
    return property(lambda layer: getattr(layer.cell, name), doc=f"`{name}` of the cell.")


class MadeInOrder:
    """A layer whose constructor makes its initializers: the seeds that they draw depend on the order."""

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Returns a new layer with the arguments that `config` holds."""
        left = {name: it for name, it in config.items() if name.endswith("_initializer")}
        rest = {name: it for name, it in config.items() if name not in left}
        arguments = {**dtype_policies.constructor_arguments(rest), **left}
        made: Self = constructors.made_from(cls, {name: arguments[name] for name in config})
        return made


class GatedCell(MadeInOrder, Cell, DropoutRNNCell, WithBias, WithKernel):
    """The base of `SimpleRNNCell`, `LSTMCell` and `GRUCell`.

    It has concatenated weights for all gates, and dropout. A subclass defines its number of gates
    (`gate_count`), and how the next states follow from the projections `inputs @ kernel + bias` and
    `state @ recurrent_kernel` (`gates`).

    Args:
        units: positive integer, the size of the output and of each state.
        activation: name or function, for the output; `None` is the identity. Default: `"tanh"`.
        use_bias: whether to add a trained bias. Default: `True`.
        kernel_initializer: initial value of `kernel`, as a name, a configuration or an
            `Initializer`. Default: `"glorot_uniform"`.
        recurrent_initializer: initial value of `recurrent_kernel`. Default: `"orthogonal"`.
        bias_initializer: initial value of `bias`. Default: `"zeros"`.
        kernel_regularizer: penalty on `kernel` that is added to the loss, such as `"l2"` or a
            `Regularizer`; `None` for no penalty.
        recurrent_regularizer: penalty on `recurrent_kernel`; `None` for no penalty.
        bias_regularizer: penalty on `bias`; `None` for no penalty.
        kernel_constraint: function that projects `kernel` after each update, such as `MaxNorm(2)`;
            `None` for no constraint.
        recurrent_constraint: function that projects `recurrent_kernel` after each update; `None`
            for no constraint.
        bias_constraint: function that projects `bias` after each update; `None` for no constraint.
        dropout: share of the inputs that is dropped while training, from 0 to 1; the same entries
            in all steps. Default: `0.0`.
        recurrent_dropout: share of the state that is dropped while training, from 0 to 1; the same
            entries in all steps. Default: `0.0`.
        seed: integer that determines the dropped entries; `None` for a seed that is drawn when the layer
            is made.
        **kwargs: `implementation`, 1 to drop other inputs for each gate, 0 or 2 (the default) for the same;
            arguments of every layer.
    """

    gate_count = 1
    num_kept = 1
    additive = True  # Whether `gates` receives the sum of the two projections.
    # Drawn before the initializers' seeds, because the draws of a global seed depend on the order.
    draws_dropout_seed_first = False

    recurrent_initializer: Any
    recurrent_regularizer: Any
    recurrent_constraint: Any

    @constructors.named_after_class
    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        implementation = kwargs.pop("implementation", 2)
        check_positive_integer(self, units=units)
        check_rate(self, dropout=dropout, recurrent_dropout=recurrent_dropout)
        check(self, implementation in (0, 1, 2), "implementation", "0, 1 or 2", implementation)
        super().__init__(**kwargs)
        if self.draws_dropout_seed_first:
            self.seed_generator = random.SeedGenerator(seed)
        self.units = units
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        take_options(self, locals(), "kernel", "recurrent", "bias")
        self.dropout = dropout
        self.recurrent_dropout = recurrent_dropout
        # Recurrent dropout needs masks for each gate, as in Keras.
        self.implementation = 1 if recurrent_dropout else implementation
        # For subclasses that take the masks in a `call` of their own.
        many = self.gate_count > 1 and self.implementation == 1
        self.dropout_mask_count = self.gate_count if many else None
        self.seed = seed
        if not self.draws_dropout_seed_first:
            self.seed_generator = random.SeedGenerator(seed)

    @property
    def state_size(self) -> Any:
        """The size of the state; a list of sizes if there are several."""
        return self.units

    @property
    def output_size(self) -> int:
        """The size of the output."""
        return self.units

    def build(self, input_shape: Any) -> None:
        """Makes `kernel`, `recurrent_kernel` and `bias`, with the gates concatenated."""
        width = self.gate_count * self.units
        self.kernel = add_parameter(self, "kernel", (input_shape[-1], width))
        self.recurrent_kernel = add_parameter(
            self, "recurrent", (self.units, width), name="recurrent_kernel"
        )
        self.bias = add_bias(self, self._bias_shape(width), self._first_bias)

    def _bias_shape(self, width: int) -> tuple[int, ...]:
        return (width,)

    def _first_bias(self, shape: Any, dtype: Any = None) -> tf.Tensor:
        return self.bias_initializer(shape, dtype=dtype)

    def bound_step(self, batch_size: Any, training: Any) -> Any:
        """Returns a function that makes one step, with dropout masks drawn now."""
        input_masks, state_masks = self.draw_masks(batch_size, training)

        def step(inputs: tf.Tensor, states: Any) -> tuple[tf.Tensor, Any]:
            with self.entered(training):
                projected = self.project(tf.cast(inputs, self.compute_dtype), input_masks)
                output, new = self.step(projected, tf.nest.flatten(states), state_masks)
            return output, tf.nest.pack_sequence_as(states, new)

        return step

    def entered(self, training: Any) -> CallFrame:
        """Returns the context of a call, for loops that use the parts of the cell."""
        frame = CallFrame(self, training, self.compute_dtype)
        self._tfkit.begin_call(frame.number)
        return frame

    def step(
        self, projected: tf.Tensor, states: list[tf.Tensor], masks: Any
    ) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Computes one step from projected inputs: the output and the next states."""
        recurrent = self.project_state(states[0], masks)
        projections = [projected + recurrent] if self.additive else [projected, recurrent]
        gates = [gate for each in projections for gate in tf.split(each, self.gate_count, axis=-1)]
        states, _ = self.gates(gates, states)
        return states[0], states

    def gates(
        self, projections: list[tf.Tensor], states: list[tf.Tensor]
    ) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
        """Returns the next states, the output first; and `num_kept` tensors that `gates_gradient` needs.

        Args:
            projections: one tensor for each gate, the sums of the projections of inputs and state; unless
                `additive`, the projections of the inputs and then the projections of the state.
            states: the states before the step.
        """
        raise NotImplementedError

    def gates_gradient(
        self, kept: list[tf.Tensor], states: list[tf.Tensor], upstream: list[tf.Tensor]
    ) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
        """Returns the gradients of projections and states, from the gradients of the next states."""
        raise NotImplementedError

    def project(self, inputs: tf.Tensor, masks: Any = None) -> tf.Tensor:
        """Returns `inputs @ kernel + bias` of one step, `(batch, input_dim)`, or many, `(..., input_dim)`."""
        return self._with_bias(
            product(as_floats(self, inputs), self.kernel, masks), self.input_bias
        )

    def project_state(self, state: tf.Tensor, masks: Any = None) -> tf.Tensor:
        """Returns `state @ recurrent_kernel`, plus its bias if there is one."""
        return self._with_bias(product(state, self.recurrent_kernel, masks), self.recurrent_bias)

    def _with_bias(self, product: tf.Tensor, bias: Any) -> tf.Tensor:
        return product if bias is None else tf.nn.bias_add(product, bias)

    @property
    def input_bias(self) -> Any:
        """The bias of the inputs' projection."""
        return self.bias

    @property
    def recurrent_bias(self) -> Any:
        """The bias of the state's projection; `None` unless the cell has a separate one."""
        return None

    @property
    def fused(self) -> bool:
        """Whether the loop may be the one with its own gradient (`loops.run_gates`)."""
        return known(self.activation) and known(
            getattr(self, "recurrent_activation", self.activation)
        )

    def draw_masks(self, batch_size: Any, training: Any) -> tuple[Any, Any]:
        """Draws the factors of inputs and state: a tensor, or one per gate; `None` for no dropout."""
        if not training:
            return None, None
        return (
            self._draw(self.dropout, batch_size, self.kernel.shape[0]),
            self._draw(self.recurrent_dropout, batch_size, self.units),
        )

    def _draw(self, rate: float, batch_size: Any, size: int) -> Any:
        if rate == 0:
            return None
        ones = tf.ones((batch_size, size), self.compute_dtype)
        count = self.gate_count if self.implementation == 1 else 1
        masks = [random.dropout(ones, rate, seed=self.seed_generator) for _ in range(count)]
        return masks if count > 1 else masks[0]


def product(inputs: tf.Tensor, kernel: Any, masks: Any) -> tf.Tensor:
    """Returns `inputs @ kernel`; with several masks, each gate's part of `kernel` gets its own inputs."""
    if isinstance(masks, list):
        parts = tf.split(tf.convert_to_tensor(kernel), len(masks), axis=1)
        products = [product(inputs, part, mask) for part, mask in zip(parts, masks, strict=True)]
        return tf.concat(products, axis=-1)
    if masks is not None:
        inputs *= masks
    return tf.matmul(inputs, kernel) if inputs.shape.rank == 2 else tf.tensordot(inputs, kernel, 1)


def _arguments_of(cell_class: type[GatedCell]) -> set[str]:
    """Returns the names of the arguments of a cell's constructor, including those passed to its base."""
    cells = [each for each in cell_class.__mro__ if issubclass(each, GatedCell)]
    return {
        "implementation",
        *(name for each in cells for name in inspect.signature(each).parameters),
    }


class GatedRNN(MadeInOrder, RNN):
    """The common base of `SimpleRNN`, `LSTM` and `GRU`, which accept their cell's arguments.

    Args:
        cell_class: the class of the cell, which gets the options that its constructor names; or a cell.
        use_cudnn: `"auto"` or `False`; `None` for a layer without this argument. With `True` a call is
            refused, as tfkit has no cuDNN kernel.
        **options: options of the cell, of `RNN`, and of every layer; the cell gets `trainable` and `dtype`,
            too.
    """

    _tfkit_omitted_from_config = {"use_cudnn": "auto"}

    def __init__(self, cell_class: Any, use_cudnn: Any = None, **options: Any) -> None:
        if isinstance(cell_class, Layer):
            # A subclass of `LSTM` that calls the constructor above it, with a cell of its own, as in Keras.
            super().__init__(cell_class, **options)
            return
        holds = use_cudnn in (None, "auto", True, False)
        check(self, holds, "use_cudnn", '"auto", True or False', use_cudnn)
        own = {name: options.pop(name) for name in _arguments_of(cell_class) if name in options}
        both = {name: options[name] for name in ("trainable", "dtype") if name in options}
        cell = cell_class(**own, **both, name=to_snake_case(cell_class.__name__))
        super().__init__(cell, **options)
        self.input_spec = InputSpec(ndim=3)
        if use_cudnn is not None:
            self.use_cudnn = use_cudnn

    def build(self, sequences_shape: Any, initial_state_shape: Any = None) -> None:
        """Builds the cell."""
        super().build(sequences_shape, initial_state_shape)
        self.input_spec = InputSpec(ndim=3, axes={-1: sequences_shape[-1]})

    units = of_cell("units")
    activation = of_cell("activation")
    use_bias = of_cell("use_bias")
    kernel_initializer = of_cell("kernel_initializer")
    recurrent_initializer = of_cell("recurrent_initializer")
    bias_initializer = of_cell("bias_initializer")
    kernel_regularizer = of_cell("kernel_regularizer")
    recurrent_regularizer = of_cell("recurrent_regularizer")
    bias_regularizer = of_cell("bias_regularizer")
    kernel_constraint = of_cell("kernel_constraint")
    recurrent_constraint = of_cell("recurrent_constraint")
    bias_constraint = of_cell("bias_constraint")
    dropout = of_cell("dropout")
    recurrent_dropout = of_cell("recurrent_dropout")
    seed = of_cell("seed")
    implementation = of_cell("implementation")

    def inner_loop(
        self, inputs: tf.Tensor, states: list[Any], mask: Any, training: Any
    ) -> tuple[tf.Tensor, list[Any]]:
        """Returns the results of the loop: all inputs are projected before it, in one product."""
        cell = self.cell
        if getattr(self, "use_cudnn", None) is True:
            raise ValueError(
                f"Layer {self._tfkit.title} was made with use_cudnn=True, and "
                'tfkit has no cuDNN kernel of it. Expected "auto" or False: the loop is compiled instead.'
            )
        if not is_unchanged(cell):
            return super().inner_loop(inputs, states, mask, training)
        # Only shapes are wanted: no loop is traced.
        if only_shapes_count():
            batch = inputs.shape[1]
            final = [described([batch, *it.shape[1:]], it.dtype) for it in states]
            steps = inputs.shape[:1] if self.return_sequences else []
            return described([*steps, *final[0].shape], final[0].dtype), final
        with cell.entered(training):
            # The same masks for all steps (Gal and Ghahramani, 2016).
            input_masks, state_masks = cell.draw_masks(tf.shape(inputs)[1], training)
            projected = cell.project(inputs, input_masks)
            # The written-out gradient is for states without masks, and for some activations only.
            plain = self.unroll or litert.traced()
            if plain or state_masks is not None or not cell.fused:
                return run_cell(
                    lambda inputs, states: cell.step(inputs, states, state_masks),
                    projected,
                    states,
                    mask,
                    unroll=self.unroll,
                    zero_output_for_mask=self.zero_output_for_mask and bool(self.return_sequences),
                    all_outputs=bool(self.return_sequences),
                )
            outputs, final = run_gates(
                cell,
                projected,
                states,
                tf.convert_to_tensor(cell.recurrent_kernel),
                cell.recurrent_bias,
                mask,
                all_outputs=bool(self.return_sequences),
            )
            return self._masked(outputs, mask), final

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {**super().get_config(), "zero_output_for_mask": self.zero_output_for_mask}

    def _masked(self, outputs: tf.Tensor, mask: Any) -> tf.Tensor:
        """Returns the outputs of all steps, or the last one, with zeros where the mask requires them."""
        if mask is None:
            return outputs
        shown = mask
        if not (self.zero_output_for_mask and self.return_sequences):
            # Zero before the first unmasked step.
            shown = tf.cumsum(tf.cast(mask, tf.int32)) > 0
        if not self.return_sequences:
            shown = shown[-1]
        return tf.where(tf.expand_dims(shown, -1), outputs, tf.zeros_like(outputs))
