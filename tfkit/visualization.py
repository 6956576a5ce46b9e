"""`tfkit.visualization`: boxes and masks drawn on images, and galleries of images."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.data.utils.visualization.boxes import draw_bounding_boxes as draw_bounding_boxes
    from tfkit.src.data.utils.visualization.galleries import (
        plot_bounding_box_gallery as plot_bounding_box_gallery,
    )
    from tfkit.src.data.utils.visualization.galleries import (
        plot_image_gallery as plot_image_gallery,
    )
    from tfkit.src.data.utils.visualization.galleries import (
        plot_segmentation_mask_gallery as plot_segmentation_mask_gallery,
    )
    from tfkit.src.data.utils.visualization.masks import (
        draw_segmentation_masks as draw_segmentation_masks,
    )

_later.offer(__name__)
