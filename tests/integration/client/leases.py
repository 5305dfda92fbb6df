"""Leases that are renewed while a test waits."""

from __future__ import annotations

from datetime import datetime

from adabkb_client import Study
from tests.waiting import wait_for

LEASE_SECONDS = 6.0
"""A lease so long is renewed after two seconds, which leaves a busy machine four more."""


def wait_for_renewal(study: Study, times: int = 1) -> None:
    """Until the lease of the study's only active trial has been renewed so often."""
    for _ in range(times):
        before = _leased_until(study)
        wait_for(lambda: _leased_until(study) != before)  # noqa: B023 - it is called at once


def _leased_until(study: Study) -> datetime | None:
    [trial] = study.trials("active")
    return trial.leased_until
