"""Servers and clients whose answers do not depend on how busy the machine is. As a program: ``adabkb`` so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenacity import stop_after_delay

from adabkb_client import async_worker, trial_calls, worker
from tests import patient_worker
from tests.waiting import PATIENCE


def be_patient(set_to: Callable[[Any, str, Any], None] = setattr, models_here: bool = True) -> None:
    """Wait for a model, a turn, another writer and one who holds a lock as long as that takes.

    Args:
        set_to: sets an attribute.
        models_here: whether models may be in this process, which then needs the engine.
    """
    # With the engine, which takes seconds to load, and not while tests are collected.
    from adabkb_service import app
    from adabkb_service.api import model_reads
    from adabkb_service.inference import link, pool
    from adabkb_service.operations import service
    from adabkb_service.study import contention, owner, turn

    for module, name in (
        (turn, "POINTS_WAIT_SECONDS"),
        (turn, "FOLLOW_SECONDS"),
        (owner, "WAIT_SECONDS"),
        (link, "LATE_SECONDS"),
        (service, "ANSWER_SECONDS"),
        (service, "OUTCOME_SECONDS"),
        (model_reads, "READ_SECONDS"),
        (pool, "CLOSE_SECONDS"),
        (app, "HOLDER_SECONDS"),
        (trial_calls, "RELEASE_PATIENCE"),
        (worker, "RELEASE_PATIENCE"),
        (async_worker, "RELEASE_PATIENCE"),
    ):
        set_to(module, name, PATIENCE)
    if models_here:
        from adabkb_service.inference import host

        set_to(host, "DECISION_SECONDS", PATIENCE)
    set_to(pool, "_work", patient_worker.work)
    set_to(contention.again, "stop", stop_after_delay(PATIENCE))


if __name__ == "__main__":
    from adabkb_service.cli import main

    be_patient(models_here=False)
    main()
