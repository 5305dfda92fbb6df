"""Throughput of the service: pairs of suggest and observe per second, beside a floor and beside Optuna."""
