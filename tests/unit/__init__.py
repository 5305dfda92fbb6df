"""Tests without a database, a network or another process."""
