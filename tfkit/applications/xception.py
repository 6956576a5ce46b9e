"""Xception, and its preprocessing."""

from tfkit.src.applications.imagenet import decode_predictions as decode_predictions
from tfkit.src.applications.preprocessing.tf import preprocess_input as preprocess_input
from tfkit.src.applications.xception import Xception as Xception
