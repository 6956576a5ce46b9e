"""tfkit's own files: HDF5 with a seal, whole or not at all."""
