"""Ada-BKB optimization service: the server."""
