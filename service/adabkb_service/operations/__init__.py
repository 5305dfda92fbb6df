"""The operations on studies, usually one per module. Only this package uses both database rows and arrays."""
