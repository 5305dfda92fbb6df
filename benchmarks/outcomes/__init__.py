"""Studies as labs have them, compared with other libraries: one module per benchmark, ``make bench-outcomes``."""
