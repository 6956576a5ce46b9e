"""CIFAR-10: 60,000 small colour images of 10 kinds."""

from tfkit.src.data.datasets.cifar10 import load_data as load_data
