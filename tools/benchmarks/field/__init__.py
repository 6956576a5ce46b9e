"""The field: the same nine trainings in all that a user might pick instead, in turns; `./tools/bench --field`."""
