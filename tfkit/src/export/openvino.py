"""Exports to OpenVINO, which runs models on processors of Intel and others."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tfkit.src.base import packages
from tfkit.src.core.layer import Layer
from tfkit.src.engine.machine import assume_onednn
from tfkit.src.export.programs import check
from tfkit.src.export.saved_model import archive_of
from tfkit.src.files.saving.atomic import atomic_write


def export_openvino(
    layer: Layer,
    filepath: Any,
    input_signature: Any = None,
    verify: bool = True,
) -> None:
    """Writes the call of a layer as a model of OpenVINO: a file `.xml`, and one `.bin` with the weights.

    Args:
        layer: a layer or model.
        filepath: a name that ends in `.xml`.
        input_signature: specs to use instead of those of earlier calls.
        verify: whether to run the model in this process, in float32, and to compare it with the layer; what
            differs is not written.

    Raises:
        ImportError: without the package `openvino`.
        RuntimeError: if OpenVINO has no counterpart of an operation.
        VerificationError: if the outputs of the model differ from the layer's.

    Reference: https://docs.openvino.ai
    """
    openvino = packages.imported("openvino", 'The format "openvino"', "OpenVINO", "openvino")
    with tempfile.TemporaryDirectory() as folder:
        with assume_onednn(False):
            archive = archive_of(layer, input_signature, freeze=True)
            archive.write_into(Path(folder, "saved"))
        xml, weights = Path(folder, "model.xml"), Path(folder, "model.bin")
        try:
            converted = openvino.convert_model(str(Path(folder, "saved")))
            # The default would round the weights to float16.
            openvino.save_model(converted, str(xml), compress_to_fp16=False)
        except Exception as error:  # Its errors have no common class.
            last = (str(error).strip().splitlines() or ["it said nothing"])[-1]
            raise RuntimeError(f"Cannot export '{layer.name}' to OpenVINO: {last}") from error
        if verify:
            _check(openvino, layer, archive.default, xml)
        name = Path(filepath)
        # The weights first: a model without them could not be loaded.
        with atomic_write(name.with_suffix(".bin")) as lower, atomic_write(name) as upper:
            lower.write_bytes(weights.read_bytes())
            upper.write_bytes(xml.read_bytes())


def _check(openvino: Any, layer: Layer, endpoint: Any, file: Path) -> None:
    # On CPUs with bfloat16 OpenVINO would compute in it, and differ from the layer.
    options = {"INFERENCE_PRECISION_HINT": "f32"}
    compiled = openvino.Core().compile_model(str(file), "CPU", options)
    places = {name: place for place in compiled.inputs for name in place.get_names()}

    def run(arrays: list[np.ndarray]) -> list[np.ndarray]:
        given = dict(zip(endpoint.inputs, arrays, strict=True))
        results = compiled({places[name]: array for name, array in given.items() if name in places})
        return [results[name] for name in endpoint.outputs]

    check(layer, endpoint, run, f"The OpenVINO model of '{layer.name}'", with_other_sizes=True)
