"""Layers and models as modules of PyTorch: imported when a program first needs one."""
