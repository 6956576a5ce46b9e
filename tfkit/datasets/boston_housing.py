"""Boston housing: prices of houses in 506 census tracts."""

from tfkit.src.data.datasets.boston_housing import load_data as load_data
