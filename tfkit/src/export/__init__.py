"""SavedModels and other formats for inference."""
