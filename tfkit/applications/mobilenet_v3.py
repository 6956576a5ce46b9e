"""The preprocessing of MobileNet V3, which is part of the models in `tfkit.applications`."""

from tfkit.src.applications.imagenet import decode_predictions as decode_predictions
from tfkit.src.applications.preprocessing.unchanged import preprocess_input as preprocess_input
