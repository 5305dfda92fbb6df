"""Repeats the paper's evaluation. ``python -m benchmarks.paper --help``"""
