"""California housing: values of houses in 20,640 block groups."""

from tfkit.src.data.datasets.california_housing import load_data as load_data
