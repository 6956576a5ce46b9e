"""The JSON of requests and answers, in this process or in another one.

Python reads JSON under its one lock, and a body of some megabytes takes seconds: meanwhile nobody else is
answered. So bodies that are not small are read by another process (`__main__.py`), as are large answers.
That process starts fast and stays small because this folder needs numpy and nothing else: it imports
neither `tensorflow` nor `tfkit`.
"""
