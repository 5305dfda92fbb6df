"""The use cases, one verb per file. Only this package knows both rows and arrays."""
