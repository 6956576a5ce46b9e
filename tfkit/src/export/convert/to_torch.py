"""`to_torch`: a layer or model for PyTorch, which is imported only here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.core.layer import Layer
from tfkit.src.export.convert import frameworks

if TYPE_CHECKING:
    from tfkit.src.export.convert.pytorch.module import TorchModule


@shortened
def to_torch(layer: Layer, *examples: Any, **keywords: Any) -> TorchModule:
    """Returns a layer or model as a `torch.nn.Module`, by the operations that TensorFlow traces.

    Its weights are parameters and buffers by attribute path (`"dense.kernel"`), copies of the layer's. It is
    differentiated by autograd, trained by optimizers of PyTorch, and read by `torch.export` and
    `torch.compile`; TensorFlow does not run in it. Random numbers are the layer's own: with the same seed,
    `Dropout` drops the same elements, bit for bit. See docs/torch.md.

    Args:
        layer: a layer or model.
        *examples: one for each argument of the call: an array, a tensor of TensorFlow or PyTorch, a
            `tf.TensorSpec`, or a nest of these. The first axis of arrays is free.
        **keywords: keyword arguments of its call, likewise.

    Returns:
        The module, in the mode of training: call `eval()` for inference. `copy_back()` assigns its values to
        the layer's weights; `losses` holds the losses of `add_loss` in the last call.

    Raises:
        ImportError: without PyTorch.
        NotImplementedError: for an operation that has no formula in PyTorch, with its name and the layer's.
        TypeError: if `layer` is not a layer.
        ValueError: without examples, and for a layer with a table of words.

    Example:
        >>> import importlib.util
        >>> layer = tfkit.layers.Dense(2)
        >>> if importlib.util.find_spec("torch"):
        ...     module = to_torch(layer, np.ones((5, 3), "float32"))
        ...     assert {name for name, _ in module.named_parameters()} == {"kernel", "bias"}
    """
    module: TorchModule = frameworks.of_torch("module", "`to_torch`").convert(
        layer, examples, keywords
    )
    return module
