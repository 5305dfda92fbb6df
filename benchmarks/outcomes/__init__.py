"""Studies typical of laboratories, compared with other libraries: one module per benchmark, ``make bench-outcomes``."""
