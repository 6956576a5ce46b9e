"""Fashion-MNIST: 70,000 images of clothes."""

from tfkit.src.data.datasets.fashion_mnist import load_data as load_data
