"""Benchmarks of the quality and speed of the engine and the service. Run manually; results are in ``results/``."""
