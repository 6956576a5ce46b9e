"""Model files: saving and loading."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.base.registry.serialization import (
        deserialize_keras_object as deserialize_keras_object,
    )
    from tfkit.src.base.registry.serialization import (
        serialize_keras_object as serialize_keras_object,
    )
    from tfkit.src.base.registry.tables import custom_object_scope as custom_object_scope
    from tfkit.src.base.registry.tables import get_custom_objects as get_custom_objects
    from tfkit.src.base.registry.tables import get_registered_name as get_registered_name
    from tfkit.src.base.registry.tables import get_registered_object as get_registered_object
    from tfkit.src.base.registry.tables import (
        register_keras_serializable as register_keras_serializable,
    )
    from tfkit.src.files.interop.file_editor import KerasFileEditor as KerasFileEditor
    from tfkit.src.files.interop.formats import load_weights as load_weights
    from tfkit.src.files.interop.formats import save_model as save_model
    from tfkit.src.files.saving.errors import DamagedFileError as DamagedFileError
    from tfkit.src.files.saving.errors import LoadError as LoadError
    from tfkit.src.files.saving.matching import LoadReport as LoadReport
    from tfkit.src.files.saving.weights import save_weights as save_weights
    from tfkit.src.training.models.loading import load_model as load_model
    from tfkit.src.training.models.loading import model_from_json as model_from_json

    CustomObjectScope = custom_object_scope

_later.offer(__name__)
