"""Sets the kind of TF Serving's requests that a signature answers, which TensorFlow fills in uniformly."""

from __future__ import annotations

from pathlib import Path

from tfkit.src.borrowed.private import SavedModel, fingerprinting_utils


def set_method_names(folder: Path, method_names: dict[str, str]) -> None:
    """Sets the method names of signatures in a SavedModel that was just written.

    Args:
        folder: the SavedModel.
        method_names: `tensorflow/serving/classify` or `tensorflow/serving/regress`, by signature.

    Reference: tensorflow/core/protobuf/meta_graph.proto, `SignatureDef.method_name`.
    """
    file = folder / "saved_model.pb"
    model = SavedModel.FromString(file.read_bytes())
    for signature, method_name in method_names.items():
        model.meta_graphs[0].signature_def[signature].method_name = method_name
    file.write_bytes(model.SerializeToString(deterministic=True))
    fingerprinting_utils.write_fingerprint(str(folder))
