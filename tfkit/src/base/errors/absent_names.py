"""Public names of Keras that tfkit lacks, and the messages about them."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tfkit.src.base.names import by_name

_CALIBRATION = (
    "It chooses the integers of weights with the help of example texts. Use `model.quantize('int4')`, "
    "which needs none."
)


# The names by module, with what to use instead; an empty string if there is no replacement.
ABSENT: dict[str, dict[str, str]] = {
    "": {
        "engine": "Its classes are public: `tfkit.layers.Layer`, `tfkit.InputSpec`, `tfkit.Model`.",
        "legacy": "It holds Keras 2's functions for files. Use the functions of `tfkit.saving`.",
    },
    "quantizers": {
        "AWQConfig GPTQConfig": _CALIBRATION,
    },
    "config": {
        "enable_unsafe_deserialization": (
            "A file of tfkit's cannot run code. Pass `custom_objects`, or register the function."
        ),
    },
    "dtype_policies": {
        "AWQDTypePolicy GPTQDTypePolicy": _CALIBRATION,
    },
    # Names of `tf.keras` and of older versions only.
    "backend": {
        "get_session set_session": "TensorFlow 2 runs without sessions: leave it out.",
        "learning_phase set_learning_phase": "Pass `training=True` or `training=False` to the call.",
        "function placeholder": "Use `tfkit.Model(inputs, outputs)`, and call it.",
    },
    "layers": {
        "LocallyConnected1D LocallyConnected2D": (
            "Multiply `ops.image.extract_patches(x, size)` by a weight with a kernel for each position, "
            "as in `ops.einsum('bxyi,xyio->bxyo', patches, kernel)`."
        ),
        "RandomHeight RandomWidth": "Use `RandomZoom`, which keeps the size of the images.",
        "ThresholdedReLU": "Use `ReLU(threshold=theta)`.",
        "experimental": "Its layers are in `tfkit.layers`.",
    },
    "optimizers": {
        "legacy": "Use the optimizer of the same name.",
    },
    "wrappers": {"scikit_learn": "Use `SKLearnClassifier` and `SKLearnRegressor`."},
    "utils": {"legacy": "Use the functions of the same names in `tfkit.saving`."},
}
_FROM_IMPORT = dis.opmap["IMPORT_FROM"]


def explain_in(root: ModuleType) -> None:
    """Makes the public modules raise errors that explain which names of Keras are missing, and alternatives.

    Set here and not written into the modules, for type checkers to report such names as they did.
    """
    for path, advice in ABSENT.items():
        module = root
        for part in filter(None, path.split(".")):
            module = getattr(module, part)
        public = f"{root.__name__}.{path}".rstrip(".")
        module.__getattr__ = _getattr_of(module, public, by_name(advice))  # type: ignore[method-assign]


def _getattr_of(module: ModuleType, public: str, advices: dict[str, str]) -> Callable[[str], Any]:
    earlier = vars(module).get("__getattr__")

    def absent(name: str) -> Any:
        try:
            return found(name)
        except (AttributeError, ImportError) as error:
            error.__traceback__ = None  # Only the user's line is shown.
            raise

    def found(name: str) -> Any:
        if name not in advices:
            if earlier is not None:
                return earlier(name)
            message = f"module {public!r} has no attribute {name!r}"
            raise AttributeError(message, name=name, obj=module)
        label = f"{public.partition('.')[2]}.{name}".lstrip(".")
        message = f"tfkit does not have Keras's `{label}`. {advices[name]}".rstrip()
        # Python replaces an `AttributeError` in `from module import name` by its own text.
        caller = sys._getframe(2)
        if caller.f_code.co_code[caller.f_lasti] == _FROM_IMPORT:
            raise ImportError(message, name=public)
        raise AttributeError(message, name=name, obj=module)

    return absent
