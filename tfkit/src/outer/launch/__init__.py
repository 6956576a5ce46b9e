"""A cluster of processes on this machine, to try out distributed training."""
