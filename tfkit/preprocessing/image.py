"""Converts images between files, Pillow and NumPy."""

from tfkit.src.utils.images import array_to_img as array_to_img
from tfkit.src.utils.images import img_to_array as img_to_array
from tfkit.src.utils.images import load_img as load_img
from tfkit.src.utils.images import save_img as save_img
from tfkit.src.utils.resizing import smart_resize as smart_resize
