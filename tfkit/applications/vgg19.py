"""VGG19, and its preprocessing."""

from tfkit.src.applications.imagenet import decode_predictions as decode_predictions
from tfkit.src.applications.preprocessing.caffe import preprocess_input as preprocess_input
from tfkit.src.applications.vgg import VGG19 as VGG19
