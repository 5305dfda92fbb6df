"""Import of results: sources, the conversion of their rows, and reports."""
