"""The base class of losses: they turn targets, predictions and weights into a number (or one per sample)."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tfkit.src.base import tree, watching
from tfkit.src.base.errors.tracebacks import shorten
from tfkit.src.base.members import Helper
from tfkit.src.base.names import auto_name
from tfkit.src.base.registry.constructors import Configured
from tfkit.src.base.registry.dtypes import standardize_dtype
from tfkit.src.losses.missing import without_missing_labels
from tfkit.src.losses.reduction import mask_along, reduce_weighted_values, standardize_reduction
from tfkit.src.losses.tensors import as_tensor
from tfkit.src.symbolic.masking import get_mask, set_mask


class Loss(Configured, Helper, watching.Watched):
    """The base of losses: `call` computes losses per sample, which are weighted, masked and reduced.

    A subclass defines `call(y_true, y_pred)`, which returns one loss per sample (or per sample and
    step), and `get_config()` where its constructor takes further arguments.

    Args:
        name: name of the loss; `None` for one that is made from the class's name.
        reduction: how losses become one number: `"sum_over_batch_size"` or `"mean"` for the mean,
            `"sum"`, `"mean_with_sample_weight"` for the sum of the weighted losses over the sum of
            weights, `"none"` or `None` for no reduction. Default: `"sum_over_batch_size"`.
        dtype: float dtype to compute in, or a dtype policy; `None` for `tfkit.config.floatx()`.

    Call arguments:
        y_true: targets, a tensor or a nest of tensors.
        y_pred: predictions, in the same form. What the mask that they carry leaves out does not
            count.
        sample_weight: factors of the losses, `(batch,)` or the losses' shape; `None` for 1.

    Output shape: A scalar; without reduction, the shape of the result of `call`.

    Raises:
        ValueError: if `reduction` or `dtype` is unknown, if `call` returns `None`, or if the weights do
            not fit the losses.

    Example:
        >>> class FourthPower(Loss):
        ...     def call(self, y_true, y_pred):
        ...         return tf.reduce_mean((y_pred - y_true) ** 4, axis=-1)
        >>> float(FourthPower()([[0.0], [0.0]], [[1.0], [2.0]]))
        8.5
    """

    def __init__(
        self,
        name: str | None = None,
        reduction: str | None = "sum_over_batch_size",
        dtype: Any = None,
    ) -> None:
        self.name = name or auto_name(type(self).__name__)
        self.reduction = standardize_reduction(reduction)
        self._tfkit_has_own_dtype = dtype is not None
        # A dtype policy stands for the dtype in which it computes.
        dtype = getattr(dtype, "compute_dtype", dtype)
        if isinstance(dtype, str):
            # For a dtype policy's name, the loss is computed in the 16-bit type.
            dtype = dtype.removeprefix("mixed_")
        self._dtype = standardize_dtype(dtype)

    @property
    def dtype(self) -> str:
        """The float dtype of the computation."""
        return self._dtype

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> tf.Tensor:
        """Returns the loss.

        Args:
            y_true: targets, or a nest of them.
            y_pred: predictions, or a nest of them. What the mask that they carry leaves out does
                not count.
            sample_weight: weights, one for each sample or for each loss.
        """
        try:
            self._tfkit_changes.note()
            in_mask = get_mask(y_pred)
            y_true, y_pred = self._tfkit_convert(y_true), self._tfkit_convert(y_pred)
            y_true = without_missing_labels(y_true, sample_weight, in_mask)
            if in_mask is not None:
                # For losses that compare entries with each other, and leave out the masked ones.
                set_mask(y_pred, in_mask)
            losses = self.call(y_true, y_pred)
            if losses is None:
                raise ValueError(
                    f"Loss '{self.name}' returned None. Expected a tensor, one loss per sample: end the "
                    "function with `return`."
                )
            out_mask = get_mask(losses)
            # A loss may set a mask itself, as `sparse_categorical_crossentropy` does for
            # `ignore_class`.
            if in_mask is not None and out_mask is not None:
                mask = mask_along(in_mask, losses) & mask_along(out_mask, losses)
            else:
                mask = out_mask if in_mask is None else in_mask
            return reduce_weighted_values(losses, sample_weight, mask, self.reduction, self.dtype)
        except BaseException as error:
            # The same as `@shortened`, without its frame between a step and its loss.
            shorten(error)
            raise

    def _tfkit_convert(self, values: Any) -> Any:
        if all(isinstance(leaf, (bool, int, float)) for leaf in tree.flatten(values)):
            # A list of numbers is one tensor, not a nest of many.
            return as_tensor(values, self.dtype)
        return tree.map_structure(lambda leaf: as_tensor(leaf, self.dtype), values)

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """Returns one loss per sample; a subclass defines it.

        Example:
            >>> class Largest(tfkit.losses.Loss):
            ...     def call(self, y_true, y_pred):
            ...         return tf.reduce_max(tf.abs(y_true - y_pred), axis=-1)
            >>> float(Largest()([[0.0, 0.0], [0.0, 0.0]], [[1.0, 3.0], [0.0, 1.0]]))
            2.0
        """
        raise NotImplementedError(
            f"Loss {type(self).__name__} must define `call(self, y_true, y_pred)`."
        )

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments; `dtype` only if one was given.

        Example:
            >>> tfkit.losses.Huber(delta=2.0).get_config()["delta"]
            2.0
        """
        config: dict[str, Any] = {"name": self.name, "reduction": self.reduction}
        if self._tfkit_has_own_dtype:
            config["dtype"] = self.dtype
        return config
