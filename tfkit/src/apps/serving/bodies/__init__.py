"""The JSON and the messages of requests and answers, in this process or in another one.

Python reads JSON and messages under its one lock, and some megabytes may take seconds: meanwhile nobody else
is answered. So bodies that are not small are read by another process (`__main__.py`), and large JSON is
written by it.
That process starts fast and stays small because this folder needs numpy and protobuf and nothing else: it
imports neither `tensorflow` nor `tfkit`.
"""
