"""Draws boxes and masks on images, and shows images in galleries."""
