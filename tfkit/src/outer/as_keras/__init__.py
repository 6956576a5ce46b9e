"""Programs that are written for Keras, run on tfkit unchanged: `tfkit run`, and `TFKIT_AS_KERAS=1`."""
