"""The inner loops in C: the compiled library and its types."""
