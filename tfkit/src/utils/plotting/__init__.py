"""Pictures of models: a diagram of boxes and arrows, where they stand, and how they are drawn."""
