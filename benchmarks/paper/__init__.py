"""The paper's evaluation, made again. ``python -m benchmarks.paper --help``"""
