"""Changes in a SavedModel that TensorFlow has just written that none of its options makes."""

from __future__ import annotations

from pathlib import Path

from tfkit.src.borrowed.private import SavedModel, fingerprinting_utils
from tfkit.src.engine.apart import set_apart


def finish(folder: Path, method_names: dict[str, str]) -> None:
    """Sets method names of signatures, and keeps operations apart that would be joined with other results.

    In the endpoints themselves they are apart already, but not in functions, loops and branches inside.

    Args:
        folder: the SavedModel.
        method_names: `tensorflow/serving/classify` or `tensorflow/serving/regress`, the kind of TF Serving's
            requests that a signature answers, by signature.

    Reference: tensorflow/core/protobuf/meta_graph.proto, `SignatureDef.method_name`.
    """
    file = folder / "saved_model.pb"
    model = SavedModel.FromString(file.read_bytes())
    graph = model.meta_graphs[0]
    changed = [set_apart(function) for function in graph.graph_def.library.function]
    for signature, method_name in method_names.items():
        graph.signature_def[signature].method_name = method_name
    if method_names or any(changed):
        file.write_bytes(model.SerializeToString(deterministic=True))
        # The fingerprint is a hash of the file that was changed.
        fingerprinting_utils.write_fingerprint(str(folder))
