"""After the faults: complete and read every study, and replay some from their logs."""

from __future__ import annotations

import json
import random
import subprocess
import time
from collections.abc import Iterator, Sequence

from adabkb_client import Client
from tests.acceptance.chaos.board import Plan, objective
from tests.acceptance.chaos.cluster import ADABKB
from tests.acceptance.chaos.ledger import Ledger
from tests.acceptance.chaos.record import Record, read
from tests.acceptance.chaos.session import Session
from tests.acceptance.chaos.worker import distinct_values

FINISHER = 99
"""The index of the worker that completes the studies; no other worker has it."""
TIMEOUT = 120.0
"""Seconds to complete all studies."""
ATTEMPTS = 5
"""The maximum number of attempts to replay a study."""


def finish(client: Client, plans: Sequence[Plan]) -> tuple[Ledger, list[Record]]:
    """Complete the studies with their present trials, and read them.

    A study whose budget is used up issues its unfinished trials again after their leases expire; then it should be
    complete, which the check verifies. Stopped trials free a part of the budget for new trials.
    """
    ledger = Ledger(f"worker-{FINISHER}")
    session, values = Session(client, ledger), distinct_values(FINISHER)
    studies = {plan.id: client.study(plan.id) for plan in plans}
    for plan in plans:
        study = studies[plan.id]
        info = study.info()
        if info.state != "complete":
            study.update(budget=max(min(info.counts.trials, plan.budget), 1))
            study.resume()
    unfinished, deadline = dict(studies), time.monotonic() + TIMEOUT
    while unfinished and time.monotonic() < deadline:
        for name, study in list(unfinished.items()):
            made = session.suggest(study, 10)
            for trial in made.answer or ():
                session.observe(study, trial, round(objective(trial.parameters), 5) + next(values))
            if made.over:
                del unfinished[name]
        time.sleep(0.2)
    return ledger, [read(study) for study in studies.values()]


def _replayed(database: str, study: str) -> subprocess.CompletedProcess[str]:
    """The outcome of ``adabkb data replay``, which is repeated if a server stored the study's model meanwhile."""
    for _ in range(ATTEMPTS):
        command = [ADABKB, "data", "replay", study, "--database", database, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=3600, check=False)
        if not (done.returncode and "try again" in done.stdout + done.stderr):
            break
    return done


def replay(database: str, plans: Sequence[Plan], dice: random.Random, sample: int) -> Iterator[str]:
    """Replay some studies. A difference or a failure is a violation."""
    for plan in dice.sample(plans, min(sample, len(plans))):
        done = _replayed(database, plan.id)
        try:
            outcome = json.loads(done.stdout)
        except ValueError:
            yield f"{plan.id}: replay ended with {done.returncode}: {done.stdout}{done.stderr}"
            continue
        if outcome["changed"]:
            yield f"{plan.id}: replayed, cells or dictionary differ from what was stored"
        if outcome["diverged"]:
            yield f"{plan.id}: replayed, the suggestions of trials {outcome['diverged']} now differ"
        elif done.returncode:
            yield f"{plan.id}: replay ended with {done.returncode}: {done.stdout}{done.stderr}"
