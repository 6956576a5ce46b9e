"""Converts images between files, Pillow and NumPy; `ImageDataGenerator`, for programs of `tf.keras`."""

from tfkit.src.data.utils.images import array_to_img as array_to_img
from tfkit.src.data.utils.images import img_to_array as img_to_array
from tfkit.src.data.utils.images import load_img as load_img
from tfkit.src.data.utils.images import save_img as save_img
from tfkit.src.data.utils.resizing import smart_resize as smart_resize
from tfkit.src.outer.legacy.image_generator.batches import Iterator as Iterator
from tfkit.src.outer.legacy.image_generator.batches import NumpyArrayIterator as NumpyArrayIterator
from tfkit.src.outer.legacy.image_generator.folders import DirectoryIterator as DirectoryIterator
from tfkit.src.outer.legacy.image_generator.generator import (
    ImageDataGenerator as ImageDataGenerator,
)
from tfkit.src.outer.legacy.image_generator.transforms import (
    apply_affine_transform as apply_affine_transform,
)
from tfkit.src.outer.legacy.image_generator.transforms import (
    apply_brightness_shift as apply_brightness_shift,
)
from tfkit.src.outer.legacy.image_generator.transforms import (
    apply_channel_shift as apply_channel_shift,
)
from tfkit.src.outer.legacy.image_generator.transforms import random_brightness as random_brightness
from tfkit.src.outer.legacy.image_generator.transforms import (
    random_channel_shift as random_channel_shift,
)
from tfkit.src.outer.legacy.image_generator.transforms import random_rotation as random_rotation
from tfkit.src.outer.legacy.image_generator.transforms import random_shear as random_shear
from tfkit.src.outer.legacy.image_generator.transforms import random_shift as random_shift
from tfkit.src.outer.legacy.image_generator.transforms import random_zoom as random_zoom
