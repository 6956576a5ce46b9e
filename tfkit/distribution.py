"""`tfkit.distribution`: training on several devices and machines, in Keras's words. See `docs/scaling.md`."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.training.distribution.data_parallel import DataParallel as DataParallel
    from tfkit.src.training.distribution.devices import get_device_count as get_device_count
    from tfkit.src.training.distribution.devices import initialize as initialize
    from tfkit.src.training.distribution.devices import list_devices as list_devices
    from tfkit.src.training.distribution.distribution import distribution as distribution
    from tfkit.src.training.distribution.distribution import set_distribution as set_distribution
    from tfkit.src.training.distribution.layouts import DeviceMesh as DeviceMesh
    from tfkit.src.training.distribution.layouts import LayoutMap as LayoutMap
    from tfkit.src.training.distribution.layouts import TensorLayout as TensorLayout
    from tfkit.src.training.distribution.layouts import distribute_tensor as distribute_tensor
    from tfkit.src.training.distribution.model_parallel import ModelParallel as ModelParallel

_later.offer(__name__)
