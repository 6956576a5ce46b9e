"""A cluster of processes on this machine, to try distributed training out."""
