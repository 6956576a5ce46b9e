"""A dense layer whose sums are written as an Einstein summation."""

from __future__ import annotations

import functools
import re
from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.base.protocols import LayerOptions
from tfkit.src.layers.bias import plus_bias
from tfkit.src.layers.checks import as_floats, check, check_absent, is_integer
from tfkit.src.layers.lora import MainWeight, stored
from tfkit.src.layers.parameters import WithBias, WithKernel, add_parameter, take_options
from tfkit.src.layers.quantized.base import Quantizable
from tfkit.src.layers.quantized.tables import Table
from tfkit.src.ops import activation_lookup as activations
from tfkit.src.ops import kernels
from tfkit.src.symbolic.input_spec import InputSpec
from tfkit.src.weights import regularizers
from tfkit.src.weights.initializers.random import VarianceScaling

_EQUATION = re.compile(r"(\.\.\.)?([a-zA-Z]+)(\.\.\.)?,([a-zA-Z]+)->(\.\.\.)?([a-zA-Z]+)(\.\.\.)?")


class EinsumDense(Quantizable, WithBias, WithKernel):
    """A dense layer for any axes: `activation(einsum(equation, inputs, kernel) + bias)`.

    Args:
        equation: Einstein summation of inputs and kernel, such as `"abc,cd->abd"`; the first letter
            is the batch. `"...x,xy->...y"` leaves the axes before alone, `"ab...,bc->ac..."` the
            axes after.
        output_shape: sizes of the output's lettered axes without the batch, a tuple or one integer;
            `None` if the inputs have the size.
        activation: name of an activation such as `"relu"`, or a function of a tensor; `None` is the
            identity.
        bias_axes: letters of the output's axes along which the bias has entries, such as `"d"`;
            `None` for no bias.
        kernel_initializer: initial value of `kernel`, as a name, a configuration or an
            `Initializer`. Default: `"glorot_uniform"`.
        bias_initializer: initial value of `bias`. Default: `"zeros"`.
        kernel_regularizer: penalty on `kernel` that is added to the loss, such as `"l2"` or a
            `Regularizer`; `None` for no penalty.
        bias_regularizer: penalty on `bias`; `None` for no penalty.
        kernel_constraint: function that projects `kernel` after each update, such as `MaxNorm(2)`;
            `None` for no constraint.
        bias_constraint: function that projects `bias` after each update; `None` for no constraint.
        lora_rank: positive integer, to freeze `kernel` and train two small matrices whose product is
            added to it, as `enable_lora` does for a built layer; `None` for no LoRA.
        lora_alpha: number that scales the product, by `lora_alpha / lora_rank`; `None` for `lora_rank`.
        gptq_unpacked_column_size: not supported; must be `None`.
        quantization_config: a `tfkit.quantizers.QuantizationConfig` for a layer that is quantized from the
            beginning, by `dtype="int8_from_float32"`, or is saved; `None` for the default of its mode.
        **kwargs: options of every layer, which `Layer` describes: `name`, `trainable`, `dtype`,
            `autocast`, `activity_regularizer`.

    Input shape: Determined by `equation`.

    Output shape: Determined by `equation` and `output_shape`.

    Raises:
        ValueError: if the equation has a different form, or if equation, inputs' shape, `output_shape`
            and `bias_axes` do not fit together.

    Example:
        >>> layer = EinsumDense("abc,cd->abd", output_shape=(None, 8), bias_axes="d")
        >>> layer(tf.ones((2, 3, 4))).shape
        TensorShape([2, 3, 8])
    """

    kernel = MainWeight()
    _kernel = stored("kernel")
    _tfkit_modes = ("int8", "int4", "float8")
    _tfkit_omitted_from_config = {
        "lora_rank": None,
        "lora_alpha": None,
        "gptq_unpacked_column_size": None,
    }

    def __init__(
        self,
        equation: str,
        output_shape: Any,
        activation: Any = None,
        bias_axes: str | None = None,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        lora_rank: int | None = None,
        lora_alpha: float | None = None,
        gptq_unpacked_column_size: None = None,
        quantization_config: Any = None,
        **kwargs: Unpack[LayerOptions],
    ) -> None:
        forms = "an equation like 'ab,bc->ac', '...b,bc->...c' or 'ab...,bc->ac...'"
        match = _EQUATION.fullmatch(equation) if isinstance(equation, str) else None
        check(self, match is not None, "equation", forms, equation)
        check_absent(self, gptq_unpacked_column_size=gptq_unpacked_column_size)
        super().__init__(**kwargs)
        self.equation = equation
        single = is_integer(output_shape)
        sizes = (output_shape,) if single else output_shape
        self.partial_output_shape = tuple(None if size is None else int(size) for size in sizes)
        self.activation = activations.get(activation)
        self.bias_axes = bias_axes
        take_options(self, locals(), "kernel", "bias")
        self._tfkit_take_lora(lora_rank, lora_alpha)
        self._tfkit_take_quantization(quantization_config)

    def build(self, input_shape: Any) -> None:
        """Makes `kernel` and `bias`, with the sizes that follow from the equation."""
        sizes, kernel, outputs, num_after = self._sizes(tuple(input_shape))
        self.input_spec = InputSpec(ndim=len(input_shape))
        initializer = self.kernel_initializer
        if isinstance(initializer, VarianceScaling) and initializer.input_axes is None:
            # The inputs and outputs of the kernel follow from the equation, not from the order of its axes.
            initializer = type(initializer).from_config(
                {
                    **initializer.get_config(),
                    "seed": initializer.seed,
                    "input_axes": [i for i, letter in enumerate(kernel) if letter not in outputs],
                    "output_axes": [i for i, letter in enumerate(kernel) if letter in outputs],
                }
            )
        self._tfkit_add_main([sizes[letter] for letter in kernel], initializer)
        self.bias = None
        if self.bias_axes is not None:
            # From the first of its letters on: axes without a letter have size 1.
            first = min(outputs.index(letter) for letter in self.bias_axes)
            own = [sizes[c] if c in self.bias_axes else 1 for c in outputs[first:]]
            self.bias = add_parameter(self, "bias", own + [1] * num_after)
        self._tfkit_add_requested_lora()

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        config = {**super().get_config(), "output_shape": self.partial_output_shape}
        config["activity_regularizer"] = regularizers.serialize(self.activity_regularizer)
        return config

    def _sizes(self, input_shape: tuple[Any, ...]) -> tuple[dict[str, Any], str, str, int]:
        """Returns sizes of the letters, letters of kernel and outputs, and number of axes of a last `...`.

        Raises:
            ValueError: if equation, input shape and output shape do not fit together.
        """
        match = _EQUATION.fullmatch(self.equation)
        assert match is not None, "checked by the constructor"
        before, inputs, after, kernel, _, outputs, _ = match.groups()
        # The number of axes that `...` stands for.
        rest = len(input_shape) - len(inputs)
        fits = rest == 0 or (rest > 0 and (before or after))
        if fits and before:
            output_shape = input_shape[: max(rest, 1)] + self.partial_output_shape
            input_shape, output_shape = input_shape[rest:], output_shape[-len(outputs) :]
        else:
            output_shape = input_shape[:1] + self.partial_output_shape
        fits = fits and len(output_shape) == len(outputs)
        sizes = dict(zip(inputs, input_shape, strict=False))
        for letter, size in zip(outputs, output_shape, strict=False):
            known = sizes.get(letter)
            fits = fits and (None in (known, size) or known == size)
            sizes[letter] = known if size is None else size
        known_letters = all(letter in sizes for letter in kernel + (self.bias_axes or ""))
        if not fits or not known_letters or not set(self.bias_axes or "") <= set(outputs):
            raise ValueError(
                f"Layer {self._tfkit.title} cannot be built: the equation '{self.equation}' does not fit the "
                f"shapes. Received: inputs of shape {input_shape}, output_shape={self.partial_output_shape}, "
                f"bias_axes={self.bias_axes!r}. Expected one size in `output_shape` for each letter of the "
                "output but the batch, equal to the input's where they share the letter, and all letters of "
                "the kernel and of `bias_axes` among them."
            )
        return sizes, kernel, outputs, rest if after else 0

    def call(self, inputs: Any, training: Any = None) -> tf.Tensor:
        """Returns the outputs for `inputs`."""
        einsum = functools.partial(kernels.einsum, self.equation)
        product, kernel = self._tfkit_product(einsum, training)
        outputs = product(as_floats(self, inputs), kernel)
        if self.bias is not None:
            outputs = plus_bias(outputs, self._tfkit_added(self.bias))
        return self.activation(outputs)

    def compute_output_shape(self, input_shape: Any) -> tuple[int | None, ...]:
        """Returns the shape of the outputs, from the equation: a subclass may ask in `build`."""
        sizes, _, outputs, num_after = self._sizes(tuple(input_shape))
        lettered = [sizes[letter] for letter in outputs]
        num_dots = len(input_shape) - len(self.equation.split(",")[0].replace("...", ""))
        dots = list(
            input_shape[len(input_shape) - num_dots :] if num_after else input_shape[:num_dots]
        )
        return tuple(lettered + dots if num_after else dots + lettered)

    def _letters(self) -> tuple[tuple[str, str], str]:
        """Returns the letters of inputs and outputs, with digits for the axes of `...`, and of the kernel."""
        match = _EQUATION.fullmatch(self.equation)
        assert match is not None, "checked by the constructor"
        before, inputs, after, kernel, _, outputs, _ = match.groups()
        spec: InputSpec = self.input_spec
        rest = "".join(map(chr, range(ord("0"), ord("0") + (spec.ndim or 0) - len(inputs))))
        start, end = rest if before else "", rest if after else ""
        return (start + inputs + end, start + outputs + end), kernel

    def _tfkit_tables(self) -> list[Table]:
        """Returns `kernel`, which has a scale for each entry of an output that it determines."""
        (_, outputs), kernel = self._letters()
        shape = self._tfkit_float_shape or ()
        sizes = dict(zip(kernel, shape, strict=True))
        summed = tuple(axis for axis, letter in enumerate(kernel) if letter not in outputs)
        return [Table("kernel", shape, summed, tuple(sizes.get(letter, 1) for letter in outputs))]

    def _tfkit_summed_inputs(self, inputs: tf.Tensor) -> tuple[int, ...]:
        """Returns the axes of the inputs over which the product sums."""
        (letters, outputs), _ = self._letters()
        return tuple(axis for axis, letter in enumerate(letters) if letter not in outputs)

    def _tfkit_scale_of_outputs(self, scale: tf.Tensor) -> tf.Tensor:
        """Returns the scale of inputs with the axes of the outputs."""
        (letters, outputs), _ = self._letters()
        scale = tf.squeeze(scale, self._tfkit_summed_inputs(scale))
        kept = [letter for letter in letters if letter in outputs]
        scale = tf.transpose(scale, [kept.index(letter) for letter in outputs if letter in kept])
        for axis, letter in enumerate(outputs):
            if letter not in kept:
                scale = tf.expand_dims(scale, axis)
        return scale
