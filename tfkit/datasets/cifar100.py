"""CIFAR-100: 60,000 small colour images of 100 kinds."""

from tfkit.src.data.datasets.cifar100 import load_data as load_data
