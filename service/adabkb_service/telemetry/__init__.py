"""Metrics, logs and traces of the server."""
