"""LoRA: a frozen weight that is adapted by the product of two small matrices (Hu et al., 2021)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import tensorflow as tf

from tfkit.src.base import budget
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.members import Alias
from tfkit.src.core.layer import Layer
from tfkit.src.layers.adaptations import noted
from tfkit.src.layers.changes import changing_weights
from tfkit.src.layers.checks import check, check_positive_integer


class MainWeight:
    """The attribute of the weight that LoRA adapts; with LoRA it is read as the sum.

    The variable itself stays in the layer's `__dict__`, where files, copies and lists of weights find it.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, layer: Adaptable | None, owner: type | None = None) -> Any:
        """Returns the variable, its sum with the product of the small matrices, or integers."""
        if layer is None:
            return self
        # Before `build`; an `AttributeError`, so that `hasattr` works.
        if self._name not in vars(layer):
            raise AttributeError(
                f"You must build the layer before accessing `{self._name}`.",
                name=self._name,
                obj=layer,
            )
        return layer._tfkit_main_value(vars(layer)[self._name])

    def __set__(self, layer: Adaptable, value: Any) -> None:
        """Keeps the variable."""
        vars(layer)[self._name] = value

    def __delete__(self, layer: Adaptable) -> None:
        """Removes the variable."""
        del vars(layer)[self._name]


def stored(name: str) -> Any:
    """Returns a property for the variable of a `MainWeight` itself, which subclasses for Keras read."""

    def read(layer: Adaptable) -> Any:
        if name not in vars(layer):
            raise AttributeError(f"You must build the layer before accessing `_{name}`.")
        return vars(layer)[name]

    def write(layer: Adaptable, value: Any) -> None:
        vars(layer)[name] = value

    return Alias(read, write)


class Adaptable(Layer):
    """The base of layers whose main weight LoRA can adapt; they name it, and make it a `MainWeight`.

    They call `_tfkit_take_lora` in the constructor, and `_tfkit_add_requested_lora` at the end of `build`.
    """

    _tfkit_main: ClassVar[str] = "kernel"
    _tfkit_kind_of_main: ClassVar[str] = "kernel"

    lora_rank: int | None = None
    lora_alpha: float | None = None
    lora_enabled = False
    add_weight: Callable[..., Any]

    @shortened
    def enable_lora(
        self,
        rank: int,
        lora_alpha: float | None = None,
        a_initializer: Any = "he_uniform",
        b_initializer: Any = "zeros",
    ) -> None:
        """Freezes the main weight, `kernel` or `embeddings`, and adds `lora_alpha / rank * a @ b` to it.

        `a` has the axes of the weight, with `rank` in place of the last one; `b` has shape
        `(rank, last)`. They are the weights `lora_kernel_a` and `lora_kernel_b` (`lora_embeddings_a`,
        `lora_embeddings_b`), and are trained in place of the large one. `kernel` then reads as the sum. An
        optimizer that was built before does not know them: compile the model again.

        Args:
            rank: positive integer, the number of columns of `a`.
            lora_alpha: number that scales the product, by `lora_alpha / rank`; `None` for `rank`.
            a_initializer: initial value of `a`, as a name, a configuration or an `Initializer`.
            b_initializer: initial value of `b`. With the zeros that are the default, the layer computes at
                first what it did before.

        Raises:
            ValueError: if the layer is not built, has LoRA already, or has a constraint on the weight, and
                for a rank that is not a positive integer.

        Reference:
            Hu et al., "LoRA: low-rank adaptation of large language models", 2021.

        Example:
            >>> layer = tfkit.layers.Dense(8)
            >>> layer.build((None, 16))
            >>> layer.enable_lora(2)
            >>> [(weight.label, tuple(weight.shape)) for weight in layer.trainable_weights]
            [('bias', (8,)), ('lora_kernel_a', (16, 2)), ('lora_kernel_b', (2, 8))]
        """
        check_positive_integer(self, rank=rank)
        _check_alpha(self, lora_alpha)
        _check_no_constraint(self)
        if not self.built:
            raise ValueError(
                f"Cannot enable lora on a layer that isn't yet built: {self._tfkit.title}. Build it, or pass "
                "`lora_rank` to the constructor."
            )
        if self.lora_enabled:
            raise ValueError(
                f"lora is already enabled in layer {self._tfkit.title}. This can only be done once per layer."
            )
        with changing_weights(self):
            self._tfkit_add_lora(rank, lora_alpha, a_initializer, b_initializer)

    def _tfkit_take_lora(self, rank: int | None, alpha: float | None) -> None:
        """Keeps the arguments of the constructor, for `build`; a rank of 0 means no LoRA."""
        if rank:
            check_positive_integer(self, lora_rank=rank)
            _check_no_constraint(self)
        _check_alpha(self, alpha)
        self.lora_rank, self.lora_alpha, self.lora_enabled = rank or None, alpha, False

    def _tfkit_adaptation(self) -> dict[str, Any]:
        """Returns what a layer that this one is a part of notes of it: what was changed later."""
        return (
            {"lora_rank": self.lora_rank, "lora_alpha": self.lora_alpha}
            if self.lora_enabled
            else {}
        )

    def _tfkit_add_requested_lora(self) -> None:
        """Adds the matrices of LoRA if the constructor was given a rank, or if they were added later."""
        entry = noted(self)
        if "lora_rank" in entry:
            self._tfkit_take_lora(entry["lora_rank"], entry.get("lora_alpha"))
        if self.lora_rank:
            self._tfkit_add_lora(self.lora_rank, self.lora_alpha, "he_uniform", "zeros")

    def _tfkit_add_lora(self, rank: int, alpha: float | None, a: Any, b: Any) -> None:
        main, rank = self._tfkit_main, int(rank)
        *sizes, last = self._tfkit_main_shape()
        for letter, shape, initializer in (("a", (*sizes, rank), a), ("b", (rank, last), b)):
            name = f"lora_{main}_{letter}"
            with budget.not_stored():  # Files of Keras hold only the sum.
                weight = self.add_weight(
                    name=name,
                    shape=shape,
                    initializer=initializer,
                    regularizer=getattr(self, f"{main}_regularizer"),
                )
            setattr(self, name, weight)
        # With `alpha` equal to the rank the product is added unscaled.
        self.lora_rank, self.lora_alpha = rank, rank if alpha is None else alpha
        self.lora_enabled = True
        # Only the two small matrices are trained.
        vars(self)[main].trainable = False

    def _tfkit_main_shape(self) -> list[int]:
        """Returns the shape of the main weight."""
        return vars(self)[self._tfkit_main].shape.as_list()

    def _tfkit_lora(self) -> tuple[Any, Any, float]:
        """Returns the two matrices of LoRA, and the number that scales their product."""
        a, b = (vars(self)[f"lora_{self._tfkit_main}_{letter}"] for letter in "ab")
        alpha, rank = self.lora_alpha or 0, self.lora_rank or 1  # Set together with the matrices.
        return a, b, alpha / rank

    def _tfkit_main_value(self, weight: Any) -> Any:
        """Returns the main weight as its attribute shows it: with LoRA, the sum."""
        return adapted(weight, *self._tfkit_lora()) if self.lora_enabled else weight

    def _tfkit_parts_of_main(self) -> list[str]:
        """Returns the attributes of the variables that the main weight consists of."""
        return [self._tfkit_main]

    def _tfkit_merged(self) -> dict[str, Any]:
        """Returns what a file of Keras stores in place of the main weight and its LoRA, by attribute."""
        return self._tfkit_sum(vars(self), *self._tfkit_lora())

    def _tfkit_sum(self, own: Mapping[str, Any], a: Any, b: Any, scale: float) -> dict[str, Any]:
        """Returns the variables of the main weight plus `scale * a @ b`, by attribute.

        Args:
            own: the values of these variables by attribute, as the layer or a file has them.
            a: the first matrix.
            b: the second matrix.
            scale: `lora_alpha` divided by the rank.
        """
        return {self._tfkit_main: adapted(own[self._tfkit_main], a, b, scale)}

    def _tfkit_empty_lora(self) -> None:
        """Makes the product zero, for a main weight that was read with the product in it.

        Only `b` is set to zeros: with `a` at zero, too, no gradient would ever change them again.
        """
        _, b, _ = self._tfkit_lora()
        b.assign(tf.zeros_like(b))


def adapted(weight: Any, a: Any, b: Any, scale: float) -> tf.Tensor:
    """Returns `weight + scale * a @ b`, in the dtype of `weight`."""
    weight = tf.convert_to_tensor(weight)
    a, b = (tf.cast(tf.convert_to_tensor(it), weight.dtype) for it in (a, b))
    return weight + scale * tf.tensordot(a, b, 1)


def _check_alpha(layer: Layer, alpha: Any) -> None:
    is_number = isinstance(alpha, (int, float)) and not isinstance(alpha, bool)
    holds = alpha is None or (is_number and abs(alpha) <= sys.float_info.max)
    check(layer, holds, "lora_alpha", "None or a finite number", alpha)


def _check_no_constraint(layer: Adaptable) -> None:
    main = layer._tfkit_main
    if getattr(layer, f"{main}_constraint") is not None:
        raise ValueError(
            f"Lora is incompatible with {layer._tfkit_kind_of_main} constraints: the sum would not be "
            f"projected. In order to enable lora on layer {layer._tfkit.title}, remove the "
            f"`{main}_constraint` argument."
        )
