"""The version of tfkit."""

__version__ = "0.1.0"
