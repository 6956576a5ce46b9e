"""`tfkit.preprocessing`: helpers for images and sequences, by the names that Keras has here."""

from tfkit.preprocessing import image as image
from tfkit.preprocessing import sequence as sequence
