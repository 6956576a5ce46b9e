"""Measures how the costs of tfkit grow with sizes."""
