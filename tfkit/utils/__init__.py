"""`tfkit.utils`: small helpers for users."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.base.registry.dtypes import standardize_dtype as standardize_dtype
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
    from tfkit.src.base.settings import disable_interactive_logging as disable_interactive_logging
    from tfkit.src.base.settings import enable_interactive_logging as enable_interactive_logging
    from tfkit.src.base.settings import (
        is_interactive_logging_enabled as is_interactive_logging_enabled,
    )
    from tfkit.src.data.datasets.audio_folder import (
        audio_dataset_from_directory as audio_dataset_from_directory,
    )
    from tfkit.src.data.datasets.get_file import get_file as get_file
    from tfkit.src.data.datasets.image_folder import (
        image_dataset_from_directory as image_dataset_from_directory,
    )
    from tfkit.src.data.datasets.text_folder import (
        text_dataset_from_directory as text_dataset_from_directory,
    )
    from tfkit.src.data.datasets.timeseries import (
        timeseries_dataset_from_array as timeseries_dataset_from_array,
    )
    from tfkit.src.data.utils.config import Config as Config
    from tfkit.src.data.utils.feature_space import FeatureSpace as FeatureSpace
    from tfkit.src.data.utils.images import array_to_img as array_to_img
    from tfkit.src.data.utils.images import img_to_array as img_to_array
    from tfkit.src.data.utils.images import load_img as load_img
    from tfkit.src.data.utils.images import save_img as save_img
    from tfkit.src.data.utils.numerical import normalize as normalize
    from tfkit.src.data.utils.numerical import to_categorical as to_categorical
    from tfkit.src.data.utils.plotting.plot_model import model_to_dot as model_to_dot
    from tfkit.src.data.utils.plotting.plot_model import plot_model as plot_model
    from tfkit.src.data.utils.sequences import pad_sequences as pad_sequences
    from tfkit.src.data.utils.session import clear_session as clear_session
    from tfkit.src.data.utils.source_inputs import get_source_inputs as get_source_inputs
    from tfkit.src.data.utils.splitting import split_dataset as split_dataset
    from tfkit.src.symbolic.tensors import is_keras_tensor as is_keras_tensor
    from tfkit.src.training.data import pack_x_y_sample_weight as pack_x_y_sample_weight
    from tfkit.src.training.data import unpack_x_y_sample_weight as unpack_x_y_sample_weight
    from tfkit.src.training.progress import Progbar as Progbar
    from tfkit.src.training.py_dataset import PyDataset as PyDataset
    from tfkit.src.weights.random import set_random_seed as set_random_seed
    from tfkit.utils import bounding_boxes as bounding_boxes

    CustomObjectScope = custom_object_scope
    Sequence = PyDataset

_later.offer(__name__)
