"""Model files: saving and loading."""

from tfkit.registry import custom_object_scope as custom_object_scope
from tfkit.registry import get_custom_objects as get_custom_objects
from tfkit.registry import get_registered_name as get_registered_name
from tfkit.registry import get_registered_object as get_registered_object
from tfkit.registry import register_keras_serializable as register_keras_serializable
from tfkit.saving.errors import DamagedFileError as DamagedFileError
from tfkit.saving.errors import LoadError as LoadError
from tfkit.saving.formats import load_model as load_model
from tfkit.saving.formats import load_weights as load_weights
from tfkit.saving.formats import save_model as save_model
from tfkit.saving.matching import LoadReport as LoadReport
from tfkit.saving.model_file import model_from_json as model_from_json
from tfkit.saving.weights import save_weights as save_weights
from tfkit.serialization import deserialize_keras_object as deserialize_keras_object
from tfkit.serialization import serialize_keras_object as serialize_keras_object

CustomObjectScope = custom_object_scope
