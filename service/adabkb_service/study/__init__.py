"""The life of a study: its log, its rows, its limits and its idempotency keys."""
