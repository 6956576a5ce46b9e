"""Exports to SavedModels and other formats for inference."""
