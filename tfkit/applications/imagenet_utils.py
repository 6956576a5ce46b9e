"""Images in the form in which the models were trained, and the names of ImageNet's classes."""

from tfkit.src.applications.imagenet import decode_predictions as decode_predictions
from tfkit.src.applications.imagenet import preprocess_input as preprocess_input
