"""The code behind the public names; README.md in this folder is a map of it."""
