"""Writes scalars, histograms and images to TensorBoard's event files.

TensorFlow's own `tf.summary.scalar` needs the `tensorboard` package, which TensorFlow no longer
brings; the records themselves are plain tensors with the name of the plugin that shows them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

_NUM_BUCKETS = 30
_SCALAR, _TENSOR, _BLOBS = 1, 2, 3  # DataClass in TensorBoard's summary.proto


def write_scalar(name: str, value: Any, step: Any) -> None:
    """Writes one number."""
    _write(name, tf.cast(value, tf.float32), step, "scalars", _SCALAR)


def write_histogram(name: str, values: Any, step: Any) -> None:
    """Writes the distribution of `values`, in 30 buckets of equal width; NaN and infinity are in none."""
    numbers = np.asarray(values, np.float64)
    counts, edges = np.histogram(numbers[np.isfinite(numbers)], _NUM_BUCKETS)
    buckets = np.stack([edges[:-1], edges[1:], counts], axis=1)  # (buckets, 3): left, right, count
    _write(name, tf.constant(buckets), step, "histograms", _TENSOR)


def write_images(name: str, images: Any, step: Any) -> None:
    """Writes up to three images: shape `(images, height, width, channels)`, values from 0 to 1."""
    pixels = tf.image.convert_image_dtype(images[:3], tf.uint8, saturate=True)
    encoded = tf.map_fn(tf.image.encode_png, pixels, fn_output_signature=tf.string)
    size = tf.strings.as_string([pixels.shape[2], pixels.shape[1]])
    # TensorBoard's plugin for images expects width and height as strings before the images.
    _write(name, tf.concat([size, encoded], axis=0), step, "images", _BLOBS)


def write_model(name: str, config_json: str, step: Any) -> None:
    """Writes the configuration of a model, from which TensorBoard draws its graph."""
    _write(name, tf.constant(config_json), step, "graph_keras_model", 0, b"1")


def _write(
    name: str, tensor: tf.Tensor, step: Any, plugin: str, data_class: int, content: bytes = b""
) -> None:
    metadata = tf.compat.v1.SummaryMetadata(data_class=data_class)
    metadata.plugin_data.plugin_name = plugin
    metadata.plugin_data.content = content
    tf.summary.write(name, tensor, step=step, metadata=metadata)
