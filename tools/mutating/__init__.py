"""Puts faults into the source, one at a time, and sees whether a test notices."""
