"""Attempts of a trial in requests."""

from __future__ import annotations

from adabkb_service.errors import FieldError, Invalid
from adabkb_service.storage.rows import TrialRow


def known_attempt(trial: TrialRow, attempt: int | None, pointer: str = "/attempt") -> int:
    """Return an attempt that a trial has had: by default the current one, and 0 if it was never leased.

    Raises:
        Invalid: the trial has had no such attempt.
    """
    if attempt is None:
        return trial.attempt
    least = min(trial.attempt, 1)
    if not least <= attempt <= trial.attempt:
        allowed = f"{least}" if least == trial.attempt else f"from {least} to {trial.attempt}"
        detail = f"must be {allowed} for trial {trial.number}; leave it out for the current attempt"
        raise Invalid([FieldError(pointer, detail, "unknown_attempt")])
    return attempt
