"""Programs: the command line, and the server."""
