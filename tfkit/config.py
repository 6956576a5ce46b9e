"""`tfkit.config`: the settings of the process."""

from tfkit.dtype_policies import dtype_policy as dtype_policy
from tfkit.dtype_policies import set_dtype_policy as set_dtype_policy
from tfkit.settings import backend as backend
from tfkit.settings import epsilon as epsilon
from tfkit.settings import floatx as floatx
from tfkit.settings import functions_run_eagerly as functions_run_eagerly
from tfkit.settings import image_data_format as image_data_format
from tfkit.settings import run_functions_eagerly as run_functions_eagerly
from tfkit.settings import set_epsilon as set_epsilon
from tfkit.settings import set_floatx as set_floatx
from tfkit.settings import set_image_data_format as set_image_data_format
from tfkit.settings import standardize_data_format as standardize_data_format
