"""What the engine does on the authors' problems, and how fast. Run by hand; results are kept in ``results/``."""
