"""tfkit's own files: sealed HDF5 files that are written completely or not at all."""
