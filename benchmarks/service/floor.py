"""``python -m benchmarks.service.floor DATABASE SUGGEST OBSERVE``: a minimal service, as a lower bound of cost.

The web stack, the transactions and the number of durable commits per call are those of our service, and the bodies are
similar. But a commit only inserts one small row, and nothing is optimized. SUGGEST and OBSERVE are the numbers of
commits per call. With 1.3, for example, 30% of the calls have two commits, and the others one.
"""

from __future__ import annotations

import itertools
import socket
import sys
import threading
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

from adabkb_service.cli.server import GRACE_SECONDS, Server
from adabkb_service.storage.database import Database
from benchmarks.service.workload import BOUNDS

WRITTEN = sa.Table(
    "written",
    sa.MetaData(),
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("study", sa.String, nullable=False),
    sa.Column("value", sa.Float, nullable=False),
)


class SuggestBody(BaseModel):
    """The body of suggest, as in our service."""

    count: int = 1
    worker: str | None = None


class ObserveBody(BaseModel):
    """Like our request with a trial's value."""

    trial: int
    value: float
    attempt: int | None = None


class Trial(BaseModel):
    """A trial, similar to that in our responses."""

    number: int = 1
    state: str = "active"
    parameters: dict[str, float] = dict.fromkeys(BOUNDS, 0.5)
    worker: str | None = None
    attempt: int = 1
    leased_until: datetime | None = None
    lease_seconds: float = 3600.0
    origin: str = "policy"
    cell: dict[str, str | int] = {"key": "0.3-1.2-0.4-1", "depth": 3}
    value: float | None = None
    reason: str | None = None
    created_at: datetime
    finished_at: datetime | None = None


class Observation(BaseModel):
    """An observation, similar to that in our responses."""

    seq: int = 1
    trial: int
    attempt: int = 1
    parameters: dict[str, float] = dict.fromkeys(BOUNDS, 0.5)
    value: float
    std_error: float | None = None
    excluded: bool = False
    observed_at: datetime


class Study(BaseModel):
    """The state of a study, similar to that in our responses."""

    id: str
    state: str = "running"
    reason: str | None = None
    counts: dict[str, int] = dict.fromkeys(("trials", "active", "queued", "released", "expired", "completed"), 1)
    best: dict[str, Any] = {"parameters": dict.fromkeys(BOUNDS, 0.5), "value": 0.5, "trial": 1}
    gap: float | None = None
    revision: int = 1


class Suggested(BaseModel):
    """The response to suggest, similar to ours."""

    trials: list[Trial]
    reason: str | None = None
    degraded: bool = False
    study: Study


class Observed(BaseModel):
    """The response to observe, similar to ours."""

    trial: Trial
    observation: Observation
    study: Study


class Commits:
    """Makes the commits of one kind of call."""

    def __init__(self, database: Database, per_call: float) -> None:
        self._database = database
        self._per_call = per_call
        self._calls = itertools.count()

    def write(self, study: str, value: float) -> None:
        """Make the commits of the next call."""
        call = next(self._calls)
        for _ in range(int((call + 1) * self._per_call) - int(call * self._per_call)):
            with self._database.writing() as connection:
                connection.execute(WRITTEN.insert(), {"study": study, "value": value})


def create_app(database: Database, suggest_commits: float, observe_commits: float) -> FastAPI:
    app = FastAPI()
    for_suggest, for_observe = Commits(database, suggest_commits), Commits(database, observe_commits)

    @app.post("/v1/studies", status_code=201)
    def create() -> dict[str, str]:
        return {}

    @app.post("/v1/studies/{study_id}/suggest")
    def suggest(study_id: str, body: SuggestBody) -> Suggested:
        for_suggest.write(study_id, 0.0)
        now = datetime.now(UTC)
        trial = Trial(worker=body.worker, leased_until=now, created_at=now)
        return Suggested(trials=[trial], study=Study(id=study_id))

    @app.post("/v1/studies/{study_id}/observe")
    def observe(study_id: str, body: ObserveBody) -> Observed:
        for_observe.write(study_id, body.value)
        now = datetime.now(UTC)
        trial = Trial(state="completed", value=body.value, created_at=now, finished_at=now)
        observation = Observation(trial=body.trial, value=body.value, observed_at=now)
        return Observed(trial=trial, observation=observation, study=Study(id=study_id))

    return app


def main() -> None:
    url, suggest_commits, observe_commits = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
    database = Database(url)
    WRITTEN.create(database.engine, checkfirst=True)
    app = create_app(database, suggest_commits, observe_commits)
    config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=GRACE_SECONDS)
    Server(config, threading.Event()).run(sockets=[socket.create_server(("127.0.0.1", 0))])


if __name__ == "__main__":
    main()
