"""Tests without a database, a server or a network."""
