"""What a server does and reports without a request: sweeps, metrics, readiness."""
