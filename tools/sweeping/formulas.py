"""Convolutions, pooling and products in float64 NumPy, written from their definitions.

They are the reference for the float64 kernels, which are the reference for all others.
"""

import itertools

import numpy as np


def _borders(size, window, stride, padding):
    """Returns the sizes of the border before and after, and the number of windows."""
    if padding == "valid":
        return 0, 0, (size - window) // stride + 1
    count = -(-size // stride)
    needed = max((count - 1) * stride + window - size, 0)
    return needed // 2, needed - needed // 2, count


def _each(value, num_axes):
    return [value] * num_axes if np.ndim(value) == 0 else list(value)


def windows(x, sizes, strides, dilations, padding, fill):
    """Yields each point of a window, with its values in all windows, with channels last."""
    reach = [(k - 1) * d + 1 for k, d in zip(sizes, dilations, strict=True)]
    plan = [
        _borders(size, window, stride, padding)
        for size, window, stride in zip(x.shape[1:-1], reach, strides, strict=True)
    ]
    x = np.pad(x, [(0, 0), *((a, b) for a, b, _ in plan), (0, 0)], constant_values=fill)
    for point in itertools.product(*map(range, sizes)):
        places = tuple(
            slice(p * d, p * d + (count - 1) * s + 1, s)
            for p, d, s, (_, _, count) in zip(point, dilations, strides, plan, strict=True)
        )
        yield point, x[(slice(None), *places)]


def conv(x, kernel, strides=1, padding="valid", dilation_rate=1):
    """Returns the sum over points and channels, group by group."""
    num_axes = x.ndim - 2
    strides, rates = _each(strides, num_axes), _each(dilation_rate, num_axes)
    groups = x.shape[-1] // kernel.shape[-2]
    outputs = []
    for part, weights in zip(np.split(x, groups, -1), np.split(kernel, groups, -1), strict=True):
        shifted = windows(part, kernel.shape[:-2], strides, rates, padding, 0.0)
        outputs.append(sum(stretch @ weights[point] for point, stretch in shifted))
    return np.concatenate(outputs, -1)


def depthwise_conv(x, kernel, strides=1, padding="valid", dilation_rate=1):
    """Returns each channel times its own weights."""
    num_axes = x.ndim - 2
    strides, rates = _each(strides, num_axes), _each(dilation_rate, num_axes)
    shifted = windows(x, kernel.shape[:-2], strides, rates, padding, 0.0)
    y = sum(stretch[..., None] * kernel[point] for point, stretch in shifted)
    return y.reshape(*y.shape[:-2], -1)


def separable_conv(x, depthwise_kernel, pointwise_kernel, **kwargs):
    """Returns a depthwise convolution followed by a product over channels."""
    y = depthwise_conv(x, depthwise_kernel, **kwargs)
    return y @ pointwise_kernel.reshape(pointwise_kernel.shape[-2:])


def max_pool(x, pool_size, strides=None, padding="valid"):
    """Returns the largest value in each window."""
    sizes = _each(pool_size, x.ndim - 2)
    steps = _each(pool_size if strides is None else strides, x.ndim - 2)
    shifted = windows(x, sizes, steps, [1] * len(sizes), padding, -np.inf)
    return np.max([stretch for _, stretch in shifted], axis=0)


def average_pool(x, pool_size, strides=None, padding="valid"):
    """Returns the mean in each window, without the border."""
    sizes = _each(pool_size, x.ndim - 2)
    steps = _each(pool_size if strides is None else strides, x.ndim - 2)
    shifted = windows(x, sizes, steps, [1] * len(sizes), padding, np.nan)
    return np.nanmean([stretch for _, stretch in shifted], axis=0)


FORMULAS = {
    "conv": conv,
    "depthwise_conv": depthwise_conv,
    "separable_conv": separable_conv,
    "max_pool": max_pool,
    "average_pool": average_pool,
    "matmul": np.matmul,
    "dot": np.dot,
    "tensordot": np.tensordot,
    "einsum": np.einsum,
    "inner": np.inner,
    "outer": np.outer,
    "vdot": np.vdot,
    "kron": np.kron,
    "correlate": np.correlate,
}
