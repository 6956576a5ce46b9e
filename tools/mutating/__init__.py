"""Puts faults into the source, one at a time, and checks whether a test notices."""
