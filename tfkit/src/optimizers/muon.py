"""Muon: orthogonalized momentum for matrices, Adam for other variables."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.optimizers import distribution
from tfkit.src.optimizers.adam import adam, bias_corrections
from tfkit.src.optimizers.base import LearningRate
from tfkit.src.optimizers.gradients import dense
from tfkit.src.optimizers.options import OptionsButDecay, SlotsMadeOnce, shares_options
from tfkit.src.optimizers.overwriting import is_overwritten
from tfkit.src.weights.variables.name_scope import variable_path


def orthogonalized(g: tf.Tensor, a: float, b: float, c: float, num_steps: int) -> tf.Tensor:
    """Returns approximately `U V^T` of a matrix `U S V^T`, by quintic Newton-Schulz iterations.

    Reference:
        Jordan et al., 2024: Muon. https://kellerjordan.github.io/posts/muon/
    """
    rows, columns = g.shape[-2:]
    # Of a tall matrix the transpose, whose x x^T is the smaller product.
    x = tf.linalg.matrix_transpose(g) if rows > columns else g
    # The Frobenius norm is at least the largest singular
    # value: then all are at most 1, as the iteration needs.
    x /= tf.norm(x, axis=(-2, -1), keepdims=True) + 1e-7
    # A step maps each singular value s to a s + b s^3 + c s^5, and keeps the singular vectors.
    for _ in range(num_steps):
        xx = tf.matmul(x, x, transpose_b=True)
        x = a * x + tf.matmul(b * xx + tf.matmul(c * xx, xx), x)
    return tf.linalg.matrix_transpose(x) if rows > columns else x


def muon(
    w: tf.Tensor,
    g: tf.Tensor,
    m: tf.Tensor,
    alpha: tf.Tensor,
    *,
    mu: float,
    nesterov: bool,
    orthogonalize: Callable[[tf.Tensor], tf.Tensor],
    adjust: Callable[[tf.Tensor], tf.Tensor],
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns new `w` and `m`; `adjust` scales the orthogonal step.

    Reference:
        Liu et al., 2025: Muon is scalable for LLM training. https://arxiv.org/abs/2502.16982
    """
    # A sum, not a moving average: the scale is lost when it is orthogonalized.
    m = mu * m + g
    update = orthogonalize(g + mu * m if nesterov else m)
    return w - alpha * adjust(update), m


@shares_options
class Muon(SlotsMadeOnce):
    """Muon for matrices: the steps are the orthogonalized momentum; AdamW for all other variables.

    The momentum `m = momentum * m + g` of a matrix is brought near `U @ transpose(V)` of its singular value
    decomposition `U @ S @ transpose(V)` by Newton-Schulz iterations. Embeddings and excluded layers go to
    AdamW. The last layer of a classifier or a language model belongs in `exclude_layers`.

    Args:
        learning_rate: step size: a float, a `LearningRateSchedule`, or a function without arguments
            that returns a float. Default: `0.001`.
        adam_beta_1: decay of the first moment, for the variables of AdamW, from 0 to below 1.
            Default: `0.9`.
        adam_beta_2: decay of the second moment, for the variables of AdamW, from 0 to below 1.
            Default: `0.999`.
        adam_weight_decay: weight decay of the variables of AdamW; `None` for no decay. Default:
            `0.004`.
        epsilon: small number that is added to the root of the second moment, for the variables of
            AdamW. Default: `1e-07`.
        weight_decay: weight decay of the matrices; `None` for no decay. Default: `0.004`.
        **options: options of every optimizer, which `Optimizer` describes: clipping, moving averages,
            loss scaling, gradient accumulation, the name.
        exclude_layers: list of regular expressions; a variable whose path matches one of them goes
            to AdamW. `None` for none.
        exclude_embeddings: whether variables with "embedding" in their path go to AdamW. Default:
            `True`.
        muon_a: coefficient of the first power in an iteration. Default: `3.4445`.
        muon_b: coefficient of the third power in an iteration. Default: `-4.775`.
        muon_c: coefficient of the fifth power in an iteration. Default: `2.0315`.
        adam_lr_ratio: learning rate of AdamW, as a multiple of `learning_rate`. Default: `1`.
        momentum: share of the momentum that is kept, from 0 to 1. Default: `0.95`.
        ns_steps: number of Newton-Schulz iterations. Default: `5`.
        nesterov: whether to use Nesterov's form of the momentum. Default: `True`.
        rms_rate: factor of steps, which are also multiplied by the root of the matrix's larger
            size, so that they are as large as Adam's; `None` for steps as the iterations leave
            them. Default: `0.2`.

    Raises:
        ValueError: if the learning rate is not a float, if more than one way of clipping is given,
            or if a number is out of range.

    Reference:
        Jordan et al., "Muon: an optimizer for hidden layers in neural networks", 2024; Liu et al.,
            "Muon is scalable for LLM training", 2025.

    Example:
        >>> w = tf.Variable(tf.eye(2))
        >>> Muon(learning_rate=0.1).apply([tf.constant([[1.0, 2.0], [3.0, 4.0]])], [w])
        >>> bool(tf.reduce_any(w != tf.eye(2)))
        True
    """

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        adam_beta_1: float = 0.9,
        adam_beta_2: float = 0.999,
        adam_weight_decay: float | None = 0.004,
        epsilon: float = 1e-7,
        weight_decay: float | None = 0.004,
        *,
        exclude_layers: Sequence[str] | None = None,
        exclude_embeddings: bool = True,
        muon_a: float = 3.4445,
        muon_b: float = -4.7750,
        muon_c: float = 2.0315,
        adam_lr_ratio: float = 1,
        momentum: float = 0.95,
        ns_steps: int = 5,
        nesterov: bool = True,
        rms_rate: float | None = 0.2,
        **options: Unpack[OptionsButDecay],
    ) -> None:
        super().__init__(learning_rate, weight_decay, **options)
        self.adam_beta_1 = adam_beta_1
        self.adam_beta_2 = adam_beta_2
        self.adam_weight_decay = adam_weight_decay
        self.epsilon = epsilon
        self.exclude_layers = list(exclude_layers or [])
        self.exclude_embeddings = exclude_embeddings
        self.muon_a = muon_a
        self.muon_b = muon_b
        self.muon_c = muon_c
        self.adam_lr_ratio = adam_lr_ratio
        self.momentum = momentum
        self.ns_steps = ns_steps
        self.nesterov = nesterov
        self.rms_rate = rms_rate

    def _should_use_adamw(self, variable: tf.Variable) -> bool:
        path = variable_path(distribution.whole_variable(variable))
        return (
            variable.shape.rank != 2
            or (self.exclude_embeddings and "embedding" in path.lower())
            or any(re.search(pattern, path) for pattern in self.exclude_layers)
        )

    def _tfkit_add_slots(self, var_list: Sequence[tf.Variable]) -> None:
        """Makes a momentum for each variable, and a second moment for those that Adam updates."""
        self.momentums, self._velocities = [], {}
        for index, variable in enumerate(var_list):
            self.momentums += self.add_optimizer_variables([variable], "momentum")
            if self._should_use_adamw(variable) and not is_overwritten(variable):
                velocity = self.add_variable_from_reference(variable, "velocity")
                self._velocities[str(index)] = velocity

    def transpose_last_axis(self, X: Any) -> tf.Tensor:
        """Returns `X` with its last two axes swapped."""
        return tf.linalg.matrix_transpose(X)

    def lr_adjust(self, x: Any) -> tf.Tensor:
        """Returns `x * rms_rate * sqrt(longer axis)`, to match Adam's steps; `x` without a rate."""
        # Liu et al. (2025): an orthogonal (n, m) matrix has the root
        # mean square 1 / sqrt(max(n, m)), steps of Adam about 0.2.
        x = tf.convert_to_tensor(x)
        return x if self.rms_rate is None else x * (max(x.shape[:2]) ** 0.5 * self.rms_rate)

    def zeropower_via_newtonschulz5(self, x: Any, steps: int) -> tf.Tensor:
        """Returns approximately `U V^T` of a matrix `U S V^T`, or of each matrix in a stack.

        Args:
            x: of shape `(..., rows, columns)`.
            steps: number of Newton-Schulz iterations.
        """
        x = tf.convert_to_tensor(x)
        return orthogonalized(x, self.muon_a, self.muon_b, self.muon_c, steps)

    def update_step(self, gradient: Any, variable: tf.Variable, learning_rate: Any) -> None:
        """Updates one variable and its slots."""
        index = self._get_variable_index(variable)
        g = tf.cast(gradient, variable.dtype)
        alpha = tf.cast(learning_rate, variable.dtype)
        m, v = self.momentums[index], self._velocities.get(str(index))
        # Only variables that Adam updates have a second moment.
        if v is None:
            new_w, new_m = muon(
                variable,
                dense(g),
                m,
                alpha,
                mu=self.momentum,
                nesterov=self.nesterov,
                orthogonalize=lambda x: self.zeropower_via_newtonschulz5(x, self.ns_steps),
                adjust=self.lr_adjust,
            )
        else:
            t = self._tfkit_step_number(variable.dtype)
            betas = {"beta_1": self.adam_beta_1, "beta_2": self.adam_beta_2}
            root, rest = bias_corrections(t, **betas)
            alpha_t = alpha * self.adam_lr_ratio * root / rest
            new_w, new_m, new_v, _ = adam(variable, g, m, v, alpha_t, **betas, epsilon=self.epsilon)
            self.assign(v, new_v)
        self.assign(m, new_m)
        self.assign(variable, new_w)

    def _tfkit_weight_decay_of(self, variable: tf.Variable) -> float | None:
        if not self._use_weight_decay(variable):
            return None
        return self.adam_weight_decay if self._should_use_adamw(variable) else self.weight_decay
