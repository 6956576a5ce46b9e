"""MobileNet, and its preprocessing."""

from tfkit.src.applications.imagenet import decode_predictions as decode_predictions
from tfkit.src.applications.mobilenet import MobileNet as MobileNet
from tfkit.src.applications.preprocessing.tf import preprocess_input as preprocess_input
