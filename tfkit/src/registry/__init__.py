"""Dtypes and dtype policies; which classes and functions a configuration may name; objects as data and
back.
"""
