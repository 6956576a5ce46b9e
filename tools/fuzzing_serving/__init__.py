"""Requests that were changed at random, for a server that must answer each of them within two seconds."""
