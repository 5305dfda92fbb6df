"""Ada-BKB with given constants, and the systems of the paper that exchange parts of it."""
