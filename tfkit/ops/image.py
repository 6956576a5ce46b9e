"""The ops of images, as in `keras.ops.image`."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.layers.image.elastic import elastic_transform as elastic_transform
    from tfkit.src.ops.image_filters import extract_patches as extract_patches
    from tfkit.src.ops.image_filters import extract_patches_3d as extract_patches_3d
    from tfkit.src.ops.image_filters import gaussian_blur as gaussian_blur
    from tfkit.src.ops.image_filters import hsv_to_rgb as hsv_to_rgb
    from tfkit.src.ops.image_filters import rgb_to_grayscale as rgb_to_grayscale
    from tfkit.src.ops.image_filters import rgb_to_hsv as rgb_to_hsv
    from tfkit.src.ops.image_filters import sobel_edges as sobel_edges
    from tfkit.src.ops.image_filters import ssim as ssim
    from tfkit.src.ops.image_geometry import crop_images as crop_images
    from tfkit.src.ops.image_geometry import pad_images as pad_images
    from tfkit.src.ops.image_geometry import resize as resize
    from tfkit.src.ops.image_warping import affine_transform as affine_transform
    from tfkit.src.ops.image_warping import map_coordinates as map_coordinates
    from tfkit.src.ops.image_warping import perspective_transform as perspective_transform
    from tfkit.src.ops.image_warping import scale_and_translate as scale_and_translate

_later.offer(__name__)
