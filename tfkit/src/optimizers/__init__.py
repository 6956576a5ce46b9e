"""Optimizers and schedules of learning rates."""
