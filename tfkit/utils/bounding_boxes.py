"""`tfkit.utils.bounding_boxes`: converts, changes and compares bounding boxes."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.ops.bounding_boxes import affine_transform as affine_transform
    from tfkit.src.ops.bounding_boxes import clip_to_image_size as clip_to_image_size
    from tfkit.src.ops.bounding_boxes import convert_format as convert_format
    from tfkit.src.ops.bounding_boxes import crop as crop
    from tfkit.src.ops.bounding_boxes import pad as pad
    from tfkit.src.ops.box_overlaps import compute_ciou as compute_ciou
    from tfkit.src.ops.box_overlaps import compute_iou as compute_iou
    from tfkit.src.ops.box_overlaps import decode_deltas_to_boxes as decode_deltas_to_boxes
    from tfkit.src.ops.box_overlaps import encode_box_to_deltas as encode_box_to_deltas

_later.offer(__name__)
