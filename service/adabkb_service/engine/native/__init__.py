"""The inner loops in C, the compiled library that has them, and its types."""
