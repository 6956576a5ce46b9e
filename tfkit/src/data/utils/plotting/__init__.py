"""Pictures of models: a diagram of boxes and arrows, its layout, and its drawing."""
