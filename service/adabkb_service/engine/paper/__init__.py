"""Ada-BKB with given constants, and the systems that the paper compares it with, which are variants of it."""
