"""What everything stands on, and what knows nothing of tensors."""
