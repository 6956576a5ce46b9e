"""Boxes and masks drawn on images, and images side by side."""
