"""Losses: functions and classes."""
