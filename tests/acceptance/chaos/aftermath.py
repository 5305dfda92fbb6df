"""After the storm: every study is brought to its end and read back, and some are replayed from their logs."""

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
"""The index of the worker who brings the studies to their end: no other has it."""
PATIENCE = 120.0
"""Seconds that all studies together get for it."""
ATTEMPTS = 5
"""Of a replay."""


def finish(client: Client, plans: Sequence[Plan]) -> tuple[Ledger, list[Record]]:
    """End the studies with the trials that they have, and read them.

    A study without a budget left issues what is unfinished, once the leases have run out, and then is complete;
    whether it is, is for the check to say. Trials that were stopped have left some of the budget, for which there are
    new ones.
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
    unfinished, deadline = dict(studies), time.monotonic() + PATIENCE
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
    """The outcome of ``adabkb data replay``, tried again if a server has stored the study's model meanwhile."""
    for _ in range(ATTEMPTS):
        command = [ADABKB, "data", "replay", study, "--database", database, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=3600, check=False)
        if not (done.returncode and "try again" in done.stdout + done.stderr):
            break
    return done


def replay(database: str, plans: Sequence[Plan], dice: random.Random, sample: int) -> Iterator[str]:
    """Replay some studies; what comes out different, or does not come out, is a violation."""
    for plan in dice.sample(plans, min(sample, len(plans))):
        done = _replayed(database, plan.id)
        try:
            told = json.loads(done.stdout)
        except ValueError:
            yield f"{plan.id}: replay ended with {done.returncode}: {done.stdout}{done.stderr}"
            continue
        if told["changed"]:
            yield f"{plan.id}: replayed, cells or dictionary differ from what was stored"
        if told["diverged"]:
            yield f"{plan.id}: replayed, the suggestions of trials {told['diverged']} now differ"
        elif done.returncode:
            yield f"{plan.id}: replay ended with {done.returncode}: {done.stdout}{done.stderr}"
