"""Loads `tfkit serve` and a bare server with clients, in turns."""
