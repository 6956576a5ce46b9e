"""Steps under `MirroredStrategy`, on two logical CPUs."""

from benchmarks.strategies import Strategies

WORKLOAD = Strategies(1)
