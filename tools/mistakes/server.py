"""A real server with a few studies for all mistakes, and a check that nothing has changed."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import chdir, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from adabkb_client import Client
from adabkb_service.storage import migration
from adabkb_service.storage.database import Database
from tests.servers import server_on

LONG = 30 * 86400.0
"""Duration of leases in seconds, so that none expires meanwhile."""
PARAMETERS: list[dict[str, Any]] = [
    {"name": "lr", "kind": "float", "low": 0.001, "high": 1, "scale": "log"},
    {"name": "layers", "kind": "int", "low": 1, "high": 5},
    {"name": "kernel", "kind": "categorical", "choices": ["linear", "rbf"]},
]
DEFINITION: dict[str, Any] = {
    "direction": "maximize",
    "parameters": PARAMETERS,
    "budget": 20,
    "lease_seconds": LONG,
    "seed": 1,
}
CONDITIONAL: list[dict[str, Any]] = [
    {"name": "optimizer", "kind": "categorical", "choices": ["sgd", "adam"]},
    {"name": "momentum", "kind": "float", "low": 0, "high": 1, "when": {"optimizer": ["sgd"]}},
]
SHARES = [{"name": name, "kind": "float", "low": 0, "high": 1} for name in ("water", "ethanol", "glycerol")]
MIXTURE = {"parameters": ["water", "ethanol", "glycerol"], "at_most": 2, "least": 0.1}
METRICS = {"metrics": ["size"], "outcome_constraints": [{"metric": "latency_ms", "upper": 20}]}
OBJECTIVES = [{"metric": "error", "direction": "minimize"}, {"metric": "cost", "direction": "minimize"}]
POINT = {"lr": 0.1, "layers": 2, "kernel": "rbf"}
KEY = "k-1"
"""An idempotency key that has been used."""
OBSERVED = {"trial": 1, "value": 0.9}
SHOWN_ADDRESS = "http://127.0.0.1:8000"
SHOWN_FOLDER = "/home/me"

_CALLS: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/v1/studies", {"id": "svm", **DEFINITION}),
    ("POST", "/v1/studies/svm/suggest", {"count": 4, "worker": "gpu-1"}),
    ("POST", "/v1/studies/svm/observe", OBSERVED),
    ("POST", "/v1/studies/svm/observe", {"trial": 3, "state": "failed", "reason": "out of memory"}),
    ("POST", "/v1/studies/svm/trials/4/release", {}),
    ("POST", "/v1/studies/svm/suggest", {"worker": "gpu-2"}),
    ("PATCH", "/v1/studies/svm/trials/1", {"attributes": {"host": "n1"}}),
    ("POST", "/v1/studies", {"id": "done", **DEFINITION, "budget": 1}),
    ("POST", "/v1/studies/done/suggest", {"worker": "gpu-1"}),
    ("POST", "/v1/studies/done/observe", {"trial": 1, "value": 0.5}),
    ("POST", "/v1/studies", {"id": "paper", **DEFINITION, "algorithm": {"profile": "paper"}}),
    ("POST", "/v1/studies", {"id": "net", **DEFINITION, "parameters": CONDITIONAL}),
    ("POST", "/v1/studies", {"id": "fast", **DEFINITION, **METRICS}),
    ("POST", "/v1/studies/fast/observe", {"parameters": POINT, "value": 0.5, "metrics": {"size": 3, "latency_ms": 25}}),
    ("POST", "/v1/studies/fast/suggest", {"worker": "gpu-1"}),
    ("POST", "/v1/studies", {"id": "trade", "parameters": DEFINITION["parameters"], "objectives": OBJECTIVES}),
    ("POST", "/v1/studies/trade/suggest", {"worker": "gpu-1"}),
    ("POST", "/v1/studies", {"id": "paused", **DEFINITION}),
    ("PATCH", "/v1/studies/paused", {"state": "paused"}),
    ("POST", "/v1/studies", {"id": "limited", **DEFINITION, "constraints": ["layers * lr <= 1"]}),
    ("POST", "/v1/studies", {"id": "gel", **DEFINITION, "parameters": SHARES, "mixtures": [MIXTURE]}),
    ("POST", "/v1/studies", {"id": "wells", **DEFINITION, "plates": {"size": 4, "shared": ["layers"]}}),
    ("POST", "/v1/studies/wells/trials", {"parameters": POINT, "plate": "open"}),
]


@dataclass(frozen=True)
class MistakeServer:
    """The server for all mistakes."""

    address: str
    folder: Path
    """The working directory, with the database of the server (``adabkb.db``) and an empty one (``empty.db``)."""
    http: httpx.Client
    client: Client
    database: sqlite3.Connection

    def state(self) -> dict[str, list[tuple[Any, ...]]]:
        """The rows of the database that a request can change.

        Model rows are excluded, since the server writes them later. Stored responses are excluded, since a client may
        send requests before it refuses.
        """
        queries = {
            "studies": "SELECT id, study_seq, state, paused, budget, definition FROM studies ORDER BY id",
            **{table: f"SELECT * FROM {table} ORDER BY rowid" for table in ("trials", "observations", "events")},
        }
        return {table: self.database.execute(query).fetchall() for table, query in queries.items()}

    def as_shown(self, text: str) -> str:
        """Text for the document, without parts that change each time."""
        text = re.sub(r", request [0-9a-f]{32}(?=\])", "", text)
        text = re.sub(r" \(request [0-9a-f]{32}\)", "", text)
        text = re.sub(r'(?<="request_id": ")[0-9a-f]{32}', "...", text)
        text = text.replace(str(self.folder), SHOWN_FOLDER)
        return text.replace(self.address.removeprefix("http://"), SHOWN_ADDRESS.removeprefix("http://")).strip()


@contextmanager
def opened(folder: Path) -> Iterator[MistakeServer]:
    """Run the server in a folder that becomes the working directory."""
    file = folder / "adabkb.db"
    with closing(Database(f"sqlite:///{file}")) as database:
        migration.upgrade(database)
    shutil.copy(file, folder / "empty.db")
    with _serving(file) as (_, http):
        for method, path, body in _CALLS:
            answer = http.request(method, path, json=body)
            assert answer.is_success, (path, answer.text)
        assert http.post("/v1/studies/svm/observe", json=OBSERVED, headers={"Idempotency-Key": KEY}).is_success
        export = http.get("/v1/studies/svm/export").text
        (folder / "svm.jsonl").write_text(export)
        (folder / "half.jsonl").write_text(export.splitlines()[0])
        (folder / "altered.jsonl").write_text(export.replace('"completed"', '"finished"', 1))
    # Another server, since the first one has ended and written all rows of its models.
    with (
        _serving(file) as (address, http),
        Client(address, retry_for=0, outbox=False) as client,
        closing(sqlite3.connect(file)) as connection,
        chdir(folder),
    ):
        yield MistakeServer(address, folder, http, client, connection)


@contextmanager
def _serving(file: Path) -> Iterator[tuple[str, httpx.Client]]:
    with (
        server_on(f"sqlite:///{file}", sweep_seconds=3600) as address,
        httpx.Client(base_url=address, timeout=60) as http,
    ):
        yield address, http
