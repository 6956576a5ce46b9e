"""Steps under `MultiWorkerMirroredStrategy`, in two processes."""

from benchmarks.strategies import Strategies

WORKLOAD = Strategies(2)
