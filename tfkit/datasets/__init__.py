"""Data sets for examples and tests."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.datasets import boston_housing as boston_housing
    from tfkit.datasets import california_housing as california_housing
    from tfkit.datasets import cifar10 as cifar10
    from tfkit.datasets import cifar100 as cifar100
    from tfkit.datasets import fashion_mnist as fashion_mnist
    from tfkit.datasets import imdb as imdb
    from tfkit.datasets import mnist as mnist
    from tfkit.datasets import reuters as reuters

_later.offer(__name__)
