"""Ada-BKB with given constants, and its variants: the systems that the paper compares it with."""
