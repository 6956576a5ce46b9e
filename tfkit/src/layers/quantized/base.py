"""The base of layers whose weights can be quantized."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, ClassVar

import tensorflow as tf

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.registry import dtype_policies, quantized_policies
from tfkit.src.base.registry import tables as registry
from tfkit.src.base.registry.dtype_policies import DTypePolicy
from tfkit.src.base.registry.quantized_policies import Int4DTypePolicy
from tfkit.src.layers.adaptations import noted
from tfkit.src.layers.changes import changing_weights
from tfkit.src.layers.checks import check
from tfkit.src.layers.lora import Adaptable, adapted
from tfkit.src.layers.quantized.float8 import Float8Product, add_scales
from tfkit.src.layers.quantized.products import IntegerProduct, LowRankLookup, Product
from tfkit.src.layers.quantized.tables import Int4, Int8, Table
from tfkit.src.weights.quantizers import configs, lookup


class Quantizable(Adaptable):
    """The base of layers that can be quantized: they describe their weights as `_tfkit_tables`.

    They call `_tfkit_take_quantization` in the constructor, and `_tfkit_add_main` in `build`, which makes the
    main weight. `call` computes with the function that `_tfkit_product` or `_tfkit_lookup` returns.
    """

    _tfkit_modes: ClassVar[tuple[str, ...]] = ("int8", "int4")

    quantization_config: Any = None
    _tfkit_float_shape: tuple[int, ...] | None = None

    def _tfkit_tables(self) -> list[Table]:
        """Returns the weights that become integers, with the shapes that they have as floats."""
        raise NotImplementedError

    # --- Quantizing ---------------------------------------------------------------------------------

    @shortened
    def quantize(
        self, mode: str | None = None, type_check: bool = True, config: Any = None
    ) -> None:
        """Replaces the main weights by integers, or makes the layer train in 8-bit floats.

        An optimizer that was built before is for other weights: compile the model again, or quantize the
        layer by `model.quantize`.

        Args:
            mode: `"int8"`, `"int4"` or, for `Dense` and `EinsumDense`, `"float8"`; `None` for the mode of
                `config`.
            type_check: whether to refuse classes that extend one of tfkit's, whose `call` may use the floats.
                Default: `True`.
            config: a `tfkit.quantizers.QuantizationConfig`; `None` for the mode's own.

        Raises:
            ValueError: for any other mode, before the layer is built, and if it is quantized already.
            NotImplementedError: for a class that extends one of tfkit's, and for a mode that the layer does
                not have.

        Example:
            >>> layer = tfkit.layers.Dense(2)
            >>> layer.build((None, 3))
            >>> layer.quantize("int8")
            >>> [(weight.label, weight.dtype.name) for weight in layer.weights]
            [('bias', 'float32'), ('kernel', 'int8'), ('kernel_scale', 'float32')]
        """
        config = self._tfkit_checked_quantization(mode, type_check, config)
        block_size = getattr(config, "block_size", None)
        # A class that extends this one may have made the weight in its own `build`.
        self._tfkit_float_shape = tuple(vars(self)[self._tfkit_main].shape)
        policy = quantized_policies.quantized(self.dtype_policy.of(self), config.mode, block_size)
        with changing_weights(self):
            if config.mode == "float8":
                add_scales(self, quantized_policies.HISTORY_LENGTH)
                self._dtype_policy = policy
            else:
                scheme = Int8(config) if config.mode == "int8" else Int4(config, block_size)
                values = [
                    (table, scheme.quantized(table, tf.convert_to_tensor(vars(self)[table.name])))
                    for table in self._tfkit_tables()
                ]
                for table, value in values:
                    delattr(self, table.name)
                    scheme.add(self, table, value)
                self._dtype_policy = policy
            self.quantization_config = config

    @property
    def dtype_policy(self) -> DTypePolicy:
        """The dtypes of computations and weights; setting a quantized one quantizes a built layer."""
        return self._dtype_policy

    @dtype_policy.setter
    def dtype_policy(self, value: Any) -> None:
        policy = dtype_policies.get(value)
        mode = policy.quantization_mode
        if not self.built or mode == self.quantization_mode:
            self._dtype_policy = policy
            return
        if mode is None:
            raise ValueError(
                f"Layer {self._tfkit.title} stays quantized, with dtype_policy='{self.dtype_policy.name}'. "
                f"Received: dtype_policy='{policy.name}'. Make a new layer."
            )
        sizes = {"block_size": policy.block_size} if isinstance(policy, Int4DTypePolicy) else {}
        self.quantize(mode, config=configs.Int4QuantizationConfig(**sizes) if sizes else None)
        # The name `int4_from_float32` does not say that there are groups.
        if sizes or mode != "int4":
            self._dtype_policy = policy

    @property
    def inputs_quantizer(self) -> Any:
        """The quantizer of the inputs of a quantized layer; `None` if they stay floats."""
        scheme = self._tfkit_scheme()
        if scheme is None:
            raise AttributeError(
                f"Layer {self._tfkit.title} has no `inputs_quantizer`: it is not quantized to integers."
            )
        return scheme.activation_quantizer

    def _tfkit_checked_quantization(
        self, mode: str | None, type_check: bool, config: Any
    ) -> configs.QuantizationConfig:
        """Returns the configuration of a quantization that the layer can do."""
        config = configs.resolved(mode, config)
        inherited = type_check and not registry.is_builtin(type(self))
        if inherited or config.mode not in self._tfkit_modes:
            why = (
                "its `call` may use the floats. Pass `type_check=False` if it does not"
                if inherited
                else f"it has the modes {self._tfkit_modes}"
            )
            raise NotImplementedError(
                f"Layer {type(self).__name__} does not have a `quantize` method implemented for mode "
                f"'{config.mode}': {why}."
            )
        if not self.built:
            raise ValueError(
                f"Cannot quantize a layer that isn't yet built: {self._tfkit.title}. Build it, or call it on "
                "some data, first."
            )
        if self.quantization_mode is not None:
            raise ValueError(
                f"Layer {self._tfkit.title} is already quantized with dtype_policy="
                f"'{self.dtype_policy.name}'. Received: mode={config.mode}"
            )
        return config

    # --- Building -----------------------------------------------------------------------------------

    def _tfkit_take_quantization(self, config: Any) -> None:
        """Keeps the constructor's configuration of the quantization that the dtype policy requests."""
        config = lookup.get(config) if isinstance(config, dict) else config
        holds = config is None or isinstance(config, configs.QuantizationConfig)
        check(self, holds, "quantization_config", "None or a QuantizationConfig", config)
        mode = self.quantization_mode
        holds = config is None or mode in (None, config.mode)
        check(self, holds, "quantization_config", f"one of the mode of dtype, '{mode}'", config)
        self.quantization_config = config

    def _tfkit_adaptation(self) -> dict[str, Any]:
        found = super()._tfkit_adaptation()
        if self.quantization_mode is None:
            return found
        kinds = {"dtype": self.dtype_policy, "quantization_config": self.quantization_config}
        return {**found, **kinds}

    def _tfkit_add_main(self, shape: Any, initializer: Any = None) -> None:
        """Makes the main weight in `build`: floats, or integers where the dtype policy says so.

        Args:
            shape: its shape as floats.
            initializer: its initial value; `None` for the constructor's initializer.
        """
        main = self._tfkit_main
        self._tfkit_float_shape = tuple(shape)
        entry = noted(self)
        if "dtype" in entry:
            self._dtype_policy = entry["dtype"]
            self._tfkit_take_quantization(entry.get("quantization_config"))
        scheme = self._tfkit_scheme()
        if scheme is not None:
            scheme.add(self, self._tfkit_table(main))
            return
        if self._tfkit_is_float8:
            policy: Any = self.dtype_policy.of(self)
            add_scales(self, policy.amax_history_length)
        weight = self.add_weight(
            name=main,
            shape=shape,
            initializer=initializer or getattr(self, f"{main}_initializer"),
            regularizer=getattr(self, f"{main}_regularizer"),
            constraint=getattr(self, f"{main}_constraint"),
        )
        setattr(self, main, weight)

    # --- Computing ----------------------------------------------------------------------------------

    def _tfkit_scheme(self) -> Int8 | Int4 | None:
        """Returns how the layer's weights are integers; `None` if they are floats."""
        mode = self.quantization_mode
        if mode not in ("int8", "int4"):
            return None
        config = self.quantization_config
        if mode == "int8":
            return Int8(config)
        default = getattr(config, "block_size", None)
        return Int4(config, getattr(self.dtype_policy.of(self), "block_size", default))

    @property
    def _tfkit_is_float8(self) -> bool:
        return self.quantization_mode == "float8" and "float8" in self._tfkit_modes

    def _tfkit_table(self, name: str) -> Table:
        return next(table for table in self._tfkit_tables() if table.name == name)

    def _tfkit_product(
        self, multiply: Product, training: Any = None, name: str | None = None
    ) -> tuple[Product, Any]:
        """Returns what makes the product of inputs and a weight, and the form of the weight that it needs.

        Without quantization these are `multiply` and the weight, which with LoRA is the sum.

        Args:
            multiply: returns the product of inputs and a weight, both floats.
            training: whether the layer is trained.
            name: attribute of the weight; `None` for the main weight.
        """
        name = name or self._tfkit_main
        scheme = self._tfkit_scheme()
        if scheme is not None:
            table = self._tfkit_table(name)
            return IntegerProduct(self, scheme, table, multiply), scheme.factor(vars(self), table)
        if self._tfkit_is_float8:
            return Float8Product(self, multiply, training), getattr(self, name)
        return multiply, getattr(self, name)

    def _tfkit_lookup(self) -> tuple[Product, Any]:
        """Returns what looks rows up in the main weight, as `tf.nn.embedding_lookup` does, and the weight."""
        scheme = self._tfkit_scheme()
        # The attribute of a subclass may be a property.
        weight = vars(self).get(self._tfkit_main)
        weight = getattr(self, self._tfkit_main) if weight is None else weight
        lookup: Any = tf.nn.embedding_lookup
        if scheme is not None:
            table = self._tfkit_table(self._tfkit_main)
            lookup = functools.partial(scheme.rows, vars(self), table)
        return (LowRankLookup(lookup, *self._tfkit_lora()) if self.lora_enabled else lookup), weight

    def _tfkit_low_rank(self, inputs: tf.Tensor, multiply: Product) -> tf.Tensor:
        """Returns what LoRA adds to a product."""
        a, b, scale = self._tfkit_lora()
        return multiply(
            inputs, scale * tf.tensordot(tf.convert_to_tensor(a), tf.convert_to_tensor(b), 1)
        )

    def _tfkit_added(self, bias: Any) -> Any:
        """Returns the bias as it is added: in `float8` it has the digits of `bfloat16`, as in Keras."""
        if not self._tfkit_is_float8:
            return bias
        return tf.cast(tf.cast(bias, tf.bfloat16), self.compute_dtype)

    def _tfkit_summed_inputs(self, inputs: tf.Tensor) -> tuple[int, ...]:
        """Returns the axes of the inputs over which the product sums."""
        return (-1,)

    def _tfkit_scale_of_outputs(self, scale: tf.Tensor) -> tf.Tensor:
        """Returns the scale of inputs, of size 1 along summed axes, in a shape that broadcasts to outputs."""
        return scale

    def _tfkit_main_value(self, weight: Any) -> Any:
        """Returns the main weight as an attribute shows it: 4-bit integers in their own shape."""
        scheme = self._tfkit_scheme()
        if scheme is None:
            return super()._tfkit_main_value(weight)
        table = self._tfkit_table(self._tfkit_main)
        if self.lora_enabled:
            return adapted(scheme.floats(vars(self), table), *self._tfkit_lora())
        return weight if isinstance(scheme, Int8) else scheme.integers(vars(self), table)

    def _tfkit_main_shape(self) -> list[int]:
        """Returns the shape of the main weight as floats."""
        return list(self._tfkit_float_shape or super()._tfkit_main_shape())

    def _tfkit_parts_of_main(self) -> list[str]:
        """Returns the attributes of the variables that the main weight consists of."""
        parts = super()._tfkit_parts_of_main()
        if self._tfkit_scheme() is None:
            return parts
        name = self._tfkit_main
        others = (f"{name}_scale", f"{name}_zero", "g_idx")
        return parts + [other for other in others if other in vars(self)]

    def _tfkit_sum(self, own: Mapping[str, Any], a: Any, b: Any, scale: float) -> dict[str, Any]:
        """Returns the variables of the main weight plus `scale * a @ b`, by attribute."""
        scheme = self._tfkit_scheme()
        if scheme is None:
            return super()._tfkit_sum(own, a, b, scale)
        table = self._tfkit_table(self._tfkit_main)
        return scheme.quantized(table, adapted(scheme.floats(own, table), a, b, scale))
