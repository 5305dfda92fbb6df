"""Ada-BKB with given constants, and its variants: the algorithms that the paper compares it with."""
