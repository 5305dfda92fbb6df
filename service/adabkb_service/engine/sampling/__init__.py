"""Sampling without a model: random and quasi-random points, to compare the other systems with."""
