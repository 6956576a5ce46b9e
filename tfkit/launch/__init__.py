"""`python -m tfkit.launch`: runs a script in all processes of a cluster on this machine."""
