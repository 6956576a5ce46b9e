"""The code behind the public names: see README.md here."""
