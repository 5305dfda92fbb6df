"""A study: its event log, rows, limits and idempotency keys."""
