"""Padding in front of convolutions with strides."""

from __future__ import annotations

from tfkit.src.data.applications.input_shape import rows_and_columns
from tfkit.src.symbolic.tensors import KerasTensor


def padding_for_stride(x: KerasTensor, kernel_size: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Returns the padding with which a convolution with stride 2 sees the same pixels as in Caffe.

    A side of even or unknown length gets one pixel less at its start.

    Args:
        x: a batch of images.
        kernel_size: rows and columns of the kernel, an odd number.
    """
    half = kernel_size // 2
    rows, columns = (
        (half if size is not None and size % 2 else half - 1, half)
        for size in rows_and_columns(x.shape[1:])
    )
    return rows, columns
