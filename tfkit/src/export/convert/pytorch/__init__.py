"""Layers and models as modules of PyTorch: imported when one is asked for."""
