"""`model.export`: writes the call of a layer, and its methods marked as endpoints, as a SavedModel."""

from __future__ import annotations

from typing import Any

from tfkit.src.base.errors.frames import warn
from tfkit.src.borrowed.private import get_save_options, in_save_context
from tfkit.src.core.layer import Layer
from tfkit.src.export.archive import ExportArchive
from tfkit.src.export.endpoints import layer_endpoint, marked_endpoint, marked_methods
from tfkit.src.files.model_like import ModelLike

ENDPOINT = "serve"


def archive_of(
    layer: Layer,
    input_signature: Any = None,
    jit_compile: bool = False,
    freeze: bool = False,
    batch_size: int | None = None,
) -> ExportArchive:
    """Returns an archive with the endpoint `serve`, `layer(inputs, training=False)`, and marked methods.

    Args:
        layer: a layer or model whose inputs are known: functional, called or fitted.
        input_signature: specs to use instead of those of earlier calls.
        jit_compile: whether the runtime compiles `serve` with XLA.
        freeze: whether constants replace the variables of all endpoints.
        batch_size: the first size of the inputs of `serve` where it would be free.

    Raises:
        ValueError: for a layer that was never called, without `input_signature`.
    """
    archive = ExportArchive()
    options = {"jit_compile": jit_compile, "freeze": freeze}
    archive.add(layer_endpoint(ENDPOINT, layer, input_signature, batch_size, **options))
    for name, method in marked_methods(layer):
        archive.add(marked_endpoint(name, method, freeze))
    archive.know(layer)
    return archive


# TensorFlow looks for this in the object passed to `tf.saved_model.save` without signatures (2.21).
DEFAULT_SIGNATURE = "_default_save_signature"


def default_signature(model: ModelLike) -> dict[str, Any]:
    """Returns the `serving_default` of `tf.saved_model.save(layer, folder)`.

    It computes what the one of `layer.export(folder)` does. Its inputs and outputs are named as those that
    Keras writes it, since programs that load such a folder use these names: `inputs`, `output_0`.

    Returns:
        A dict to be added to the layer's trackable children; empty where the inputs are not known.
    """
    layer = model._tfkit.layer
    if not layer.built or (model._tfkit_graph is None and not layer._tfkit.given):
        return {}
    # The converter to LiteRT asks for debug information. It names inputs after the `Input`s, with Keras, too.
    converts = in_save_context() and get_save_options().save_debug_info
    try:
        return {DEFAULT_SIGNATURE: layer_endpoint(ENDPOINT, layer, numbered=not converts).signature}
    except ValueError as error:
        warn(f"`tf.saved_model.save` writes model '{layer.name}' without a signature: {error}")
        return {}


def export_saved_model(
    layer: Layer,
    filepath: Any,
    verbose: bool | None = None,
    input_signature: Any = None,
    jit_compile: bool = False,
    freeze: bool = False,
) -> None:
    """Writes a layer or model as a SavedModel for inference, completely or not at all.

    Args:
        layer: a layer or model whose inputs are known: functional, called or fitted.
        filepath: folder to write; it replaces an old SavedModel.
        verbose: whether to print the endpoints; `None` is True.
        input_signature: specs to use instead of those of earlier calls.
        jit_compile: whether the runtime compiles the model with XLA.
        freeze: whether constants replace the variables.
    """
    archive = archive_of(layer, input_signature, jit_compile, freeze)
    archive.write_out(filepath, verbose=verbose is not False)
