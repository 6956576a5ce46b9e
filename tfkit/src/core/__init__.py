"""Defines `Layer` and everything that happens when a layer is called."""
