"""`preprocess_input` of the families, one file for each way."""
