"""Sampling without a model: random and quasi-random points, as a baseline for the other algorithms."""
