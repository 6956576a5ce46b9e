"""`tfkit.backend`: settings and dtypes, by the names that Keras has here."""

from tfkit.dtypes import is_float, is_int
from tfkit.dtypes import standardize_dtype as standardize_dtype
from tfkit.names import get_uid as get_uid
from tfkit.ops.promotion import result_type as result_type
from tfkit.settings import backend as backend
from tfkit.settings import epsilon as epsilon
from tfkit.settings import floatx as floatx
from tfkit.settings import image_data_format as image_data_format
from tfkit.settings import set_epsilon as set_epsilon
from tfkit.settings import set_floatx as set_floatx
from tfkit.settings import set_image_data_format as set_image_data_format
from tfkit.symbolic import is_keras_tensor as is_keras_tensor
from tfkit.utils import clear_session as clear_session

is_float_dtype = is_float
is_int_dtype = is_int
