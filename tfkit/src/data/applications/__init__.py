"""Published image classifiers of ImageNet, and their weights."""
