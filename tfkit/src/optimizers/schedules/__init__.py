"""Schedules of learning rates."""
