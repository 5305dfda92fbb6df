"""Throughput of the service: pairs of suggest and observe per second, compared with a minimal service and Optuna."""
