"""The errors of requests."""

from tfkit.src.outer.serving.bodies.errors import HTTP_STATUS as HTTP_STATUS
from tfkit.src.outer.serving.bodies.errors import Code as Code
from tfkit.src.outer.serving.bodies.errors import RequestError as RequestError
from tfkit.src.outer.serving.bodies.errors import invalid as invalid
