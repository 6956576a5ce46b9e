"""Sends random requests to a server that must answer each of them within two seconds."""
