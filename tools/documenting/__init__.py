"""Builds the documentation site: pages of the repository, examples and a reference of the public names."""
