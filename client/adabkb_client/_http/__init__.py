"""Sending of calls: connections, retries, and results kept on disk while the server is down."""
