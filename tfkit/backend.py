"""`tfkit.backend`: settings and dtypes, under Keras's names."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.base.names import get_uid as get_uid
    from tfkit.src.base.registry.dtypes import is_float, is_int
    from tfkit.src.base.registry.dtypes import standardize_dtype as standardize_dtype
    from tfkit.src.base.settings import backend as backend
    from tfkit.src.base.settings import epsilon as epsilon
    from tfkit.src.base.settings import floatx as floatx
    from tfkit.src.base.settings import image_data_format as image_data_format
    from tfkit.src.base.settings import set_epsilon as set_epsilon
    from tfkit.src.base.settings import set_floatx as set_floatx
    from tfkit.src.base.settings import set_image_data_format as set_image_data_format
    from tfkit.src.data.utils.session import clear_session as clear_session
    from tfkit.src.ops.promotion import result_type as result_type
    from tfkit.src.symbolic.tensors import is_keras_tensor as is_keras_tensor

    is_float_dtype = is_float
    is_int_dtype = is_int

_later.offer(__name__)
