"""MNIST: 70,000 images of handwritten digits.

Reference: LeCun, Bottou, Bengio, Haffner (1998), "Gradient-based learning applied to document
recognition".
"""

from tfkit.src.data.datasets.mnist import load_data as load_data
