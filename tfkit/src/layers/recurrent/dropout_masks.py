"""The base class of recurrent cells whose own `call` drops inputs and states."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import tensorflow as tf


class DropoutRNNCell:
    """Gives a recurrent cell the masks of its dropout; each is the same in all steps of a call of `RNN`.

    It is mixed into a layer with the attributes `dropout`, `recurrent_dropout` and `seed_generator`. With an
    attribute `dropout_mask_count`, each mask is a list of as many tensors.
    """

    dropout: float
    recurrent_dropout: float
    seed_generator: Any

    def get_dropout_mask(self, step_input: Any) -> Any:
        """Returns the factors of an input, 0 or `1 / (1 - dropout)`; `None` for no dropout."""
        return self._mask("dropout", step_input)

    def get_recurrent_dropout_mask(self, step_input: Any) -> Any:
        """Returns the factors of a state, 0 or `1 / (1 - recurrent_dropout)`; `None` for no dropout."""
        return self._mask("recurrent_dropout", step_input)

    def reset_dropout_mask(self) -> None:
        """Does nothing: each call of `RNN` has new masks, and so has each call of the cell outside of one."""

    def reset_recurrent_dropout_mask(self) -> None:
        """Does nothing, as `reset_dropout_mask`."""

    def draw_seeds(self) -> dict[str, tf.Tensor]:
        """Returns a new seed for each kind of mask."""
        kinds = [kind for kind in ("dropout", "recurrent_dropout") if getattr(self, kind)]
        return {kind: self.seed_generator.next() for kind in kinds}

    @contextlib.contextmanager
    def with_seeds(self, seeds: dict[str, tf.Tensor]) -> Iterator[None]:
        """Draws the masks from these seeds."""
        # By `vars`: what a trace draws is not an attribute of the layer.
        before = vars(self).get("_drawn", {})
        vars(self)["_drawn"] = seeds
        try:
            yield
        finally:
            vars(self)["_drawn"] = before

    def _mask(self, kind: str, step_input: Any) -> Any:
        rate, count = getattr(self, kind), getattr(self, "dropout_mask_count", None)
        if not rate:
            return None
        seed = vars(self).get("_drawn", {}).get(kind)
        seed = self.seed_generator.next() if seed is None else seed
        ones = tf.ones_like(step_input)
        masks = [
            tf.nn.experimental.stateless_dropout(ones, rate, seed + [0, index])
            for index in range(count or 1)
        ]
        return masks if count else masks[0]
