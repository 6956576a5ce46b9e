"""Runs the tests of packages that are built on Keras: `./tools/clients --help`."""
