"""The operations on studies, one per module. Only this package uses both database rows and arrays."""
