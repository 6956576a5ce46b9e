"""Data sets for examples and tests."""

from tfkit.datasets import mnist as mnist
