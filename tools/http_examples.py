"""Record the examples of the OpenAPI document: the responses of a server for one small study.

``python -m tools.http_examples`` writes them.
"""

from __future__ import annotations

import json
import re
import tempfile
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
from fastapi.routing import APIRoute

from adabkb_service import app
from adabkb_service.api import document
from adabkb_service.storage import people
from adabkb_service.storage.database import Database
from tests.servers import server_on
from tools import generated

FILE = Path(document.__file__).with_name("examples.json")
ROUTES = [route for route in app.ROUTES if isinstance(route, APIRoute)]

DEFINITION: dict[str, Any] = {
    "id": "svm",
    "direction": "maximize",
    "budget": 60,
    "seed": 7,
    "early_stopping": {"rule": "asha", "max_steps": 81},
    "parameters": [
        {"name": "C", "kind": "float", "low": 0.001, "high": 1000.0, "scale": "log"},
        {"name": "kernel", "kind": "categorical", "choices": ["linear", "rbf"]},
    ],
}
POINT = {"C": 10.0, "kernel": "rbf"}
RESULTS = [
    {"parameters": POINT, "value": 0.87},
    {"parameters": {"C": 0.1, "kernel": "linear"}, "value": 0.8},
    {"parameters": {"C": 0.1, "kernel": "rbf"}, "value": 0.7},
]
FOREST: dict[str, Any] = {
    "id": "forest",
    "objectives": [
        {"metric": "error", "direction": "minimize"},
        {"metric": "nodes", "direction": "minimize", "reference": 20000},
    ],
    "seed": 7,
    "parameters": [{"name": "depth", "kind": "int", "low": 1, "high": 20}],
}
DYES: dict[str, Any] = {
    "id": "dyes",
    "direction": "maximize",
    "seed": 7,
    "parameters": [
        {
            "name": "dye",
            "kind": "catalogue",
            "table": "dye,size\nNile red,318.4\nNeutral red,288.8\nfluorescein,332.3\n",
        }
    ],
}
TRADED = [
    {"parameters": {"depth": depth}, "metrics": {"error": error, "nodes": nodes}}
    for depth, error, nodes in [(2, 0.3, 600), (9, 0.03, 9000), (20, 0.04, 15000)]
]
SECRET, NO_SECRET = re.compile('"secret":"whsec_[^"]*"'), '"secret":"whsec_AAAA"'
TOKEN = re.compile("adabkb_[0-9a-f]{12}_[0-9a-f]{64}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)")
RANDOM_ID, CURSOR = re.compile('"id": "([0-9a-f]{12})"'), re.compile('(?<="next_cursor": ")[^"]+')
DURATION = re.compile(r'(?<="seconds": )\d+\.\d+')
USAGE = re.compile(r'(?<="megabytes": )0\.00\d+')  # depends on how many digits durations have
LOGGED_IN = datetime(2026, 1, 1, 12, 30, 0, 123456, tzinfo=UTC)
PERSON = people.PersonRow(
    "zoe", "https://sso.lab.example", "zoe-1", "Zoe Day", "zoe@lab.example", "work", LOGGED_IN, LOGGED_IN
)
"""A user who has logged in once."""

FIRST = datetime(2026, 3, 2, 9, tzinfo=UTC)
"""The first time in the examples. Each later one, unless it is computed from an earlier one, is a minute after it."""

CALLS: list[tuple[str, str, Any]] = [
    ("GET", "/healthz", None),
    ("GET", "/readyz", None),
    ("GET", "/version", None),
    ("POST", "/v1/studies", FOREST),
    ("POST", "/v1/studies/forest/observations", {"items": TRADED}),
    ("GET", "/v1/studies/forest/front", None),
    ("POST", "/v1/studies", DYES),
    ("GET", "/v1/studies/dyes/rows?containing=red", None),
    ("POST", "/v1/studies", DEFINITION),
    ("POST", "/v1/studies/svm/suggest", {"count": 2, "worker": "gpu-1"}),
    ("PATCH", "/v1/studies/svm/trials/1", {"attributes": {"host": "gpu-1", "epochs": 20}}),
    ("POST", "/v1/studies/svm/trials/1/heartbeat", {"attempt": 1, "lease_seconds": 7200.0}),
    ("POST", "/v1/studies/svm/trials/1/reports", {"step": 1, "value": 0.84, "attempt": 1}),
    ("GET", "/v1/studies/svm/trials/1/reports?limit=2", None),
    ("POST", "/v1/studies/svm/observe", {"trial": 1, "value": 0.91, "std_error": 0.01}),
    ("POST", "/v1/studies/svm/trials/2/release", {"attempt": 1}),
    ("POST", "/v1/studies/svm/trials/2/retry", {"reason": "the data set was missing"}),
    ("POST", "/v1/studies/svm/observations", {"items": RESULTS, "dry_run": False}),
    ("POST", "/v1/studies/svm/trials", {"parameters": {"C": 0.5, "kernel": "linear"}}),
    ("POST", "/v1/studies/svm/trials/repeat", {"trial": 1, "times": 2}),
    ("POST", "/v1/studies/svm/trials/5/withdraw", {"reason": "one repetition is enough"}),
    ("PATCH", "/v1/studies/svm/observations/2", {"value": 0.88, "reason": "the first value was of another fold"}),
    ("PATCH", "/v1/studies/svm", {"budget": 80, "tags": {"team": "vision"}}),
    ("GET", "/v1/studies/svm", None),
    ("GET", "/v1/studies?limit=1", None),
    ("GET", "/v1/studies/svm/trials?limit=2", None),
    ("GET", "/v1/studies/svm/trials/1", None),
    ("GET", "/v1/studies/svm/trials/1/why", None),
    ("POST", "/v1/studies/svm/trials/1/files?name=spectrum.json", {"nm": [400, 500], "absorbance": [0.1, 0.4]}),
    ("GET", "/v1/studies/svm/trials/1/files", None),
    ("POST", "/v1/studies/svm/observations/2/files?name=older.json", {"nm": [400, 500], "absorbance": [0.1, 0.3]}),
    ("GET", "/v1/studies/svm/observations/2/files", None),
    ("GET", "/v1/studies/svm/observations?limit=2", None),
    ("GET", "/v1/studies/svm/recommendation", None),
    ("POST", "/v1/studies/svm/predict", {"points": [POINT]}),
    ("GET", "/v1/studies/svm/importance", None),
    ("GET", "/v1/studies/svm/validation", None),
    ("GET", "/v1/studies/svm/assessment", None),
    ("GET", "/v1/studies/svm/slice?parameter=C&points=3", None),
    ("GET", "/v1/studies/svm/model", None),
    ("GET", "/v1/studies/svm/partition?limit=2", None),
    ("GET", "/v1/studies/svm/tree?limit=2", None),
    ("GET", "/v1/studies/svm/dictionary?limit=2", None),
    ("GET", "/v1/studies/svm/events?limit=2", None),
    ("DELETE", "/v1/studies/svm/observations/2?reason=wrong%20data", None),
    ("POST", "/v1/tokens", {"name": "ann-gpu-1", "user": "ann", "scopes": ["work"], "studies": ["vision-*"]}),
    ("PATCH", "/v1/studies/svm/access", {"owner": "ann", "shared_with": {"bob": "work", "*": "read"}}),
    ("GET", "/v1/studies/svm/access", None),
    ("POST", "/v1/studies/svm/webhooks", {"url": "https://lab.example/hooks/7", "notifications": ["trial.overdue"]}),
    ("GET", "/v1/studies/svm/webhooks", None),
    ("PATCH", "/v1/studies/svm/webhooks/{webhook}", {"is_on": False}),
    ("DELETE", "/v1/studies/svm/webhooks/{webhook}", None),
    ("POST", "/v1/studies/svm/links", {"expires_at": "2099-12-31T00:00:00Z"}),
    ("GET", "/v1/studies/svm/links", None),
    ("DELETE", "/v1/studies/svm", None),
    ("GET", "/v1/trash", None),
    ("POST", "/v1/studies/svm/restore", {"deletion": 1}),
    ("GET", "/v1/tokens/self", None),
    ("GET", "/v1/audit?limit=2", None),
    ("GET", "/v1/tokens?limit=1", None),
    ("GET", "/v1/people", None),
    ("GET", "/v1/usage", None),
    ("PATCH", "/v1/tokens/{own}", {"quotas": {"studies": 50, "requests_per_second": 100.0}}),
]


def recorded() -> dict[str, dict[str, Any]]:
    """For each operation with JSON, the body of the request and the answer."""
    with tempfile.TemporaryDirectory() as folder, server_on(f"sqlite:///{folder}/adabkb.db") as address:
        with closing(Database(f"sqlite:///{folder}/adabkb.db")) as database, database.writing() as connection:
            people.add(connection, PERSON)
        began = datetime.now(UTC)
        return _repeatable(dict(_answers(address)), began)


def _repeatable(answers: dict[str, dict[str, Any]], began: datetime) -> dict[str, dict[str, Any]]:
    """Replace times, durations, sizes and random ids of answers since a time, so that another recording differs only
    where an answer does."""
    text, ended = json.dumps(answers), datetime.now(UTC)
    ids = {found: f"{number:012x}" for number, found in enumerate(dict.fromkeys(RANDOM_ID.findall(text)))}
    times = {datetime.fromisoformat(each) for each in TIME.findall(text)}
    # A heartbeat is not in the log, but the end of the lease that it prolonged is in its answer.
    starts = {each - timedelta(hours=hours) for each in times for hours in (0, 2)}
    logged = sorted(each for each in starts if began <= each <= ended)
    minutes = {each: FIRST + timedelta(minutes=k) for k, each in enumerate(logged)}

    def moved(time: re.Match[str]) -> str:
        was = datetime.fromisoformat(time[0])
        # Other times are whole seconds after one in the log, such as the end of a lease, or given in a request.
        since = next((each for each in logged if not (was - each).microseconds), was)
        return (minutes.get(since, since) + (was - since)).isoformat().replace("+00:00", "Z")

    def repeatable(part: str) -> str:
        for found, number in ids.items():
            part = part.replace(found, number)
        return TIME.sub(moved, part)

    def of_cursor(cursor: re.Match[str]) -> str:
        inner = repeatable(urlsafe_b64decode(cursor[0] + "=" * (-len(cursor[0]) % 4)).decode())
        return urlsafe_b64encode(inner.encode()).decode().rstrip("=")

    found: dict[str, dict[str, Any]] = json.loads(
        USAGE.sub("0.0026", DURATION.sub("60.0", CURSOR.sub(of_cursor, repeatable(text))))
    )
    return found


def _answers(address: str) -> Iterator[tuple[str, dict[str, Any]]]:
    with httpx.Client(base_url=address, timeout=60) as client:
        admin = client.post("/v1/tokens", json={"name": "admin", "scopes": ["admin"]}).json()
        webhook = ""
        client.headers["Authorization"] = f"Bearer {admin['token']}"
        for method, path, body in CALLS:
            answer = client.request(method, path.format(own=admin["id"], webhook=webhook), json=body)
            assert answer.is_success, (method, path, answer.text)
            if path.endswith("/webhooks") and method == "POST":
                webhook = answer.json()["id"]
            example = {} if body is None else {"request": body}
            if answer.content:
                shown = SECRET.sub(NO_SECRET, answer.text)
                example["answer"] = json.loads(TOKEN.sub(f"adabkb_0123456789ab_{'0' * 64}", shown))
            if example:
                yield _operation(method, path.partition("?")[0].format(webhook=webhook, own=admin["id"])), example


def _operation(method: str, path: str) -> str:
    (name,) = {r.operation_id for r in ROUTES if method in (r.methods or ()) and r.path_regex.fullmatch(path)}
    assert name is not None
    return name


if __name__ == "__main__":
    generated.write(FILE, json.dumps(recorded(), indent=2) + "\n")
