"""The use cases, one verb per file. The only place that knows rows and arrays."""
