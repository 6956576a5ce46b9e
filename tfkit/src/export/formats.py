"""Exports to StableHLO, LiteRT, ONNX and PyTorch. Each is one file, written completely or not at all."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tensorflow as tf

from tfkit.src.base.terminal import say
from tfkit.src.base.version import __version__
from tfkit.src.borrowed.log_lines import without_log_lines
from tfkit.src.borrowed.private import ConverterError, keep_tensor_lists
from tfkit.src.core import tracking
from tfkit.src.core.layer import Layer
from tfkit.src.engine import litert
from tfkit.src.engine.function_defs import make_known
from tfkit.src.engine.machine import assume_onednn
from tfkit.src.export.archive import DEFAULT
from tfkit.src.export.convert import frameworks
from tfkit.src.export.convert.to_torch import to_torch
from tfkit.src.export.endpoints import layer_endpoint
from tfkit.src.export.openvino import export_openvino
from tfkit.src.export.programs import check
from tfkit.src.export.saved_model import ENDPOINT, archive_of, export_saved_model
from tfkit.src.export.signatures import layer_specs
from tfkit.src.files.saving.atomic import atomic_write
from tfkit.src.layers.recurrent.rnn import RNN

_ONNX_WORKER = Path(__file__).with_name("onnx_worker.py")
_SECONDS = 600


def export(
    layer: Layer,
    filepath: Any,
    format: str | None = None,
    verbose: bool | None = None,
    input_signature: Any = None,
    **kwargs: Any,
) -> None:
    """Writes a layer or model for inference, in the format of this name, or of the extension.

    Args:
        layer: a layer or model whose inputs are known: functional, called or fitted.
        filepath: folder of a SavedModel, or a file of a different format.
        format: see `format_of`.
        verbose: whether to print a summary of the export; `None` is True.
        input_signature: specs to use instead of those of earlier calls.
        **kwargs: options of the format.

    Raises:
        ValueError: for any other format, for one that the extension contradicts, and for a file name without
            the extension that the format needs.
    """
    name = format_of(filepath, format)
    if name == "tf_saved_model":
        export_saved_model(layer, filepath, verbose, input_signature, **kwargs)
        return
    needed = _NEEDED.get(name, "")
    if not str(filepath).endswith(needed):
        raise ValueError(f"Expected a file name that ends in {needed!r}. Received: {filepath!r}")
    _WRITERS[name](layer, filepath, input_signature, **kwargs)
    if verbose is not False:
        say(f"Saved artifact at '{filepath}'.")


def format_of(filepath: Any, format: str | None = None) -> str:
    """Returns the name of the format of an export.

    Args:
        filepath: the file or folder to write.
        format: `"tf_saved_model"`, `"stablehlo"`, `"litert"` (or `"tflite"`), `"onnx"`, `"openvino"` or
            `"torch"`; `None` for that of the extension, which is `"tf_saved_model"` without
            one.

    Raises:
        ValueError: for any other format, for one that the extension contradicts, and for extensions of files
            of `model.save()`.
    """
    extension = Path(filepath).suffix.lower()
    said = _EXTENSIONS.get(extension)
    name = _OTHER_NAMES.get(format, format) if format is not None else said or "tf_saved_model"
    if name not in _WRITERS:
        raise ValueError(
            f"Unrecognized format={format!r}. Supported formats are: {sorted(_WRITERS)}"
        )
    if said not in (None, name):
        raise ValueError(
            f"The extension {extension!r} means the format {said!r}. Received: format={format!r}, "
            f"filepath={str(filepath)!r}. Leave out `format`, or choose a different extension."
        )
    if extension in _SAVED:
        raise ValueError(
            f"The extension {extension!r} is one of files that `model.save()` writes, which are not exports. "
            f"Received: filepath={str(filepath)!r}. Expected one of {sorted(_EXTENSIONS)}, or a folder."
        )
    return name


def export_stablehlo(layer: Layer, filepath: Any, input_signature: Any = None) -> None:
    """Writes the call of a layer as a StableHLO module in text form, with the weights as constants.

    A module has fixed sizes: free ones, including the batch, are 1 unless `input_signature` specifies them.
    Its arguments and results are the same as those of the model, in the order of `tf.nest.flatten`.

    Reference: https://openxla.org/stablehlo/spec
    """
    with assume_onednn(False):
        endpoint = layer_endpoint(ENDPOINT, layer, input_signature, freeze=True)
    specs = [
        # A module of StableHLO has static shapes.
        tf.TensorSpec([1 if size is None else size for size in spec.shape], spec.dtype)
        for spec in endpoint.specs
    ]

    def in_order(*tensors: tf.Tensor) -> list[tf.Tensor]:
        # Not by name, which would sort them: arguments and results of a module have no names.
        named = endpoint.signature(**dict(zip(endpoint.inputs, tensors, strict=True)))
        return [named[name] for name in endpoint.outputs if name in named]

    function = tf.function(in_order, jit_compile=True, autograph=False)
    _register_functions(function.get_concrete_function(*specs))
    text = function.experimental_get_compiler_ir(*specs)(stage="stablehlo")
    with atomic_write(filepath) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _register_functions(function: Any) -> None:
    """Registers the functions that a trace calls, such as a loop's body, as its first run would."""
    for definition in function.graph.as_graph_def().library.function:
        make_known(definition)


def export_litert(
    layer: Layer,
    filepath: Any,
    input_signature: Any = None,
    enable_select_tf_ops: bool = False,
    **kwargs: Any,
) -> None:
    """Writes the call of a layer as a LiteRT (TFLite) model with the signature `serving_default`.

    A stateful model accepts only the batch size of its states; the file keeps states between runs, and begins
    with the states of the model.

    Args:
        layer: a layer or model.
        filepath: a name that ends in `.tflite`.
        input_signature: specs to use instead of those of earlier calls.
        enable_select_tf_ops: whether TensorFlow's operations may be used if LiteRT has no counterpart.
        **kwargs: attributes of `tf.lite.TFLiteConverter`, such as `optimizations`.

    Raises:
        TypeError: for an attribute that the converter does not have.
        RuntimeError: if LiteRT has no counterpart of an operation.
    """
    with tempfile.TemporaryDirectory() as folder, assume_onednn(False):
        with litert.trace():
            # A stateful recurrent layer has states of one batch size, and LiteRT must know it.
            archive = archive_of(layer, input_signature, batch_size=_rows_of_states(layer))
        archive.write_into(Path(folder, "model"))
        converter = tf.lite.TFLiteConverter.from_saved_model(
            str(Path(folder, "model")), signature_keys=[DEFAULT]
        )
        if enable_select_tf_ops:
            operations = tf.lite.OpsSet.TFLITE_BUILTINS, tf.lite.OpsSet.SELECT_TF_OPS
            converter.target_spec.supported_ops = list(operations)
        for name, value in kwargs.items():
            if not hasattr(converter, name):
                raise TypeError(f"`tf.lite.TFLiteConverter` has no attribute {name!r}.")
            setattr(converter, name, value)
        content = _converted(converter, layer.name, enable_select_tf_ops)
    with atomic_write(filepath) as temporary:
        temporary.write_bytes(content)


def _rows_of_states(layer: Layer) -> int | None:
    """Returns the batch size of the states that a layer's parts keep; `None` without a unique one."""
    parts = [each for each in tracking.all_layers(layer) if isinstance(each, RNN)]
    sizes = {state.shape[0] for each in parts for state in tf.nest.flatten(each.states or [])}
    return sizes.pop() if len(sizes) == 1 else None


def _converted(converter: Any, name: str, select: bool) -> bytes:
    """Returns the converter's result; `select` is whether TensorFlow's operations may be used.

    Raises:
        RuntimeError: with the operations that LiteRT lacks, and the arguments to pass.
    """
    try:
        with without_log_lines():
            return converter.convert()
    except ConverterError as error:
        # The converter's own advice, in its message, is the only sign of this case.
        arrays = "_experimental_lower_tensor_list_ops" in str(error)
        if arrays and select and keep_tensor_lists(converter):
            return _converted(converter, name, select)
        raise RuntimeError(_why_not(name, str(error), arrays, select)) from error


def _why_not(name: str, message: str, arrays: bool, select: bool) -> str:
    """Returns an explanation of a message of the converter."""
    lacking = re.findall(r"(?:TF Select|Custom) ops: ([^\n]*)", message)
    half = lacking and re.search(r"tensor<[^>]*x(bf16|f16)>", message)
    if arrays:
        reason = "it has a loop with a `tf.TensorArray`, whose sizes LiteRT must know"
    elif lacking:
        reason = f"LiteRT has no counterpart of its operations {', '.join(lacking)}"
    else:
        reason = f"the converter says: {message.strip()[:200]}"
    if half:
        reason += " in float16 or bfloat16"
    options = "`input_signature=[tf.TensorSpec(...)]` with all sizes known, the batch too"
    if not select:
        options += (
            ", or `enable_select_tf_ops=True` if what runs the file has LiteRT's Flex delegate"
        )
    if half:
        return f"Cannot export '{name}' to LiteRT: {reason}. Make the model with `dtype='float32'`."
    loops = " A recurrent layer can be made with `unroll=True`." if arrays else ""
    return f"Cannot export '{name}' to LiteRT: {reason}. Pass {options}.{loops}"


def export_onnx(
    layer: Layer,
    filepath: Any,
    input_signature: Any = None,
    opset_version: int | None = None,
) -> None:
    """Writes the call of a layer as an ONNX model, with the package `tf2onnx` in a separate process.

    Args:
        layer: a layer or model.
        filepath: file to write.
        input_signature: specs to use instead of those of earlier calls.
        opset_version: version of ONNX's operations, 18 unless given.

    Raises:
        ImportError: if a package is missing.
        RuntimeError: if there is no counterpart of an operation.
    """
    with tempfile.TemporaryDirectory() as folder, atomic_write(filepath) as temporary:
        with assume_onednn(False):
            archive_of(layer, input_signature, freeze=True).write_into(Path(folder, "model"))
        done = subprocess.run(
            # `-P`: the folder of the worker must not be on the path, where its modules would hide
            # others.
            [sys.executable, "-P", str(_ONNX_WORKER), str(Path(folder, "model")), str(temporary),
             str(opset_version or 18), __version__],
            capture_output=True, text=True, timeout=_SECONDS, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            last = done.stderr.strip().splitlines()[-1:] or ["it said nothing"]
            if "No module named" in last[0]:
                raise ImportError(
                    f"Cannot export '{layer.name}' to ONNX: {last[0]}. Install what it needs: "
                    "pip install tf2onnx onnx"
                )
            raise RuntimeError(
                f"Cannot export '{layer.name}' to ONNX: {last[0]}. It needs operations that ONNX has."
            )


def export_torch(
    layer: Layer,
    filepath: Any,
    input_signature: Any = None,
    verify: bool = True,
) -> None:
    """Writes the call of a layer as a program of `torch.export`, which PyTorch alone runs.

    Sizes that are free in the layer's inputs are free in the program, unless an operation needs them.

    Args:
        layer: a layer or model.
        filepath: a name that ends in `.pt2`.
        input_signature: specs to use instead of those of earlier calls.
        verify: whether to load the program in this process and to compare it with the layer; what differs is
            not written.

    Raises:
        ImportError: without PyTorch.
        NotImplementedError: if there is no formula for an operation.
        VerificationError: if the outputs of the program differ from the layer's.
    """
    with assume_onednn(False):
        specs = list(layer_specs(layer, input_signature).values())
        exporting = frameworks.of_torch("exporting", 'The format "torch"')
        content = exporting.exported(to_torch(layer, *specs).eval(), specs)
        if verify:
            endpoint = layer_endpoint(ENDPOINT, layer, input_signature)
            run, sizes_are_free = exporting.loaded(content, specs)
            check(layer, endpoint, run, f"The program of '{layer.name}'", sizes_are_free)
    with atomic_write(filepath) as temporary:
        temporary.write_bytes(content)


_EXTENSIONS = {
    ".mlir": "stablehlo",
    ".onnx": "onnx",
    ".pt2": "torch",
    ".tflite": "litert",
    ".xml": "openvino",
}
# The formats whose files need their extension.
_NEEDED = {"litert": ".tflite", "openvino": ".xml", "torch": ".pt2"}
_OTHER_NAMES = {"tflite": "litert"}
_SAVED = (".h5", ".hdf5", ".keras", ".safetensors")
_WRITERS: dict[str, Callable[..., None]] = {
    "tf_saved_model": export_saved_model,
    "stablehlo": export_stablehlo,
    "litert": export_litert,
    "onnx": export_onnx,
    "openvino": export_openvino,
    "torch": export_torch,
}
