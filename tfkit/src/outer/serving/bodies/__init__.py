"""The JSON and the messages of requests and responses, in this process or in a separate one.

Python reads JSON and messages under its global lock, and a few megabytes may take seconds: meanwhile no other
request is answered. Therefore a separate process (`__main__.py`) reads bodies that are not small, and writes
large JSON. It starts fast and stays small because this folder needs only numpy and protobuf: it imports
neither `tensorflow` nor `tfkit`.
"""
