"""The field: nine trainings in tfkit and in what a user might pick instead, in turns."""
