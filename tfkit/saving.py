"""Model files: saving and loading."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.interop.file_editor import KerasFileEditor as KerasFileEditor
    from tfkit.src.interop.formats import load_model as load_model
    from tfkit.src.interop.formats import load_weights as load_weights
    from tfkit.src.interop.formats import model_from_json as model_from_json
    from tfkit.src.interop.formats import save_model as save_model
    from tfkit.src.registry.serialization import (
        deserialize_keras_object as deserialize_keras_object,
    )
    from tfkit.src.registry.serialization import serialize_keras_object as serialize_keras_object
    from tfkit.src.registry.tables import custom_object_scope as custom_object_scope
    from tfkit.src.registry.tables import get_custom_objects as get_custom_objects
    from tfkit.src.registry.tables import get_registered_name as get_registered_name
    from tfkit.src.registry.tables import get_registered_object as get_registered_object
    from tfkit.src.registry.tables import register_keras_serializable as register_keras_serializable
    from tfkit.src.saving.errors import DamagedFileError as DamagedFileError
    from tfkit.src.saving.errors import LoadError as LoadError
    from tfkit.src.saving.matching import LoadReport as LoadReport
    from tfkit.src.saving.weights import save_weights as save_weights

    CustomObjectScope = custom_object_scope

_later.offer(__name__)
