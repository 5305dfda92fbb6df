"""An import accepts an altered file only if requests could have produced it, so that all data can be read
everywhere.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
import pytest

from adabkb_service.contract.exported import LINES
from adabkb_service.errors import AdaBKBError, Invalid
from adabkb_service.operations.data.doctor import examine
from adabkb_service.operations.data.importing import import_study
from adabkb_service.storage.database import Database
from tests.integration.api.conftest import DEFINITION
from tests.samples import OF_ATTACKS
from tests.servers import server_on

VALUES: list[Any] = [None, "x", True, 1, -1, 1.5, 10**30, [], {}]
READS = [
    "/recommendation",
    "",
    "/trials",
    "/trials/1",
    "/trials/2",
    "/trials/1/why",
    "/observations",
    "/events",
    "/export",
    "/cells",
]
PAGES = ["", "/trials", "/results", "/trials/1", "/trials/2", "/history.json", "/feed"]


STUDY = {
    **DEFINITION,
    "parameters": [*DEFINITION["parameters"], {"name": "c", "kind": "categorical", "choices": ["u", "v"]}],
    "early_stopping": {"rule": "patience", "no_gain_for": 5, "max_steps": 90},
}
HISTORY: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/suggest", {"fixed": {"n": 3}, "worker": "w"}),
    ("POST", "/observe", {"trial": 1, "value": 1.0}),
    ("PATCH", "/trials/1", {"attributes": {"a": "b"}}),
    ("POST", "/observe", {"parameters": {"x": 1.0, "n": 2, "c": "u"}, "value": 2.0}),
    ("POST", "/suggest", {}),
    ("POST", "/trials/2/reports", {"step": 1, "value": 3.0}),
    ("POST", "/observe", {"trial": 2, "state": "failed", "reason": "broken"}),
    ("POST", "/trials/2/retry", {"reason": "mended"}),
    ("POST", "/suggest", {}),
    ("POST", "/trials/2/release", {}),
    ("POST", "/trials/2/withdraw", {"reason": "no XPhos left"}),
    ("POST", "/trials", {"parameters": {"x": 0.5, "n": 2, "c": "v"}}),
    ("PATCH", "/observations/1", {"value": 1.5, "reason": "typo"}),
    ("PATCH", "", {"state": "paused", "tags": {"a": "b"}}),
]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The exported lines of a study with all kinds of data."""
    url = f"sqlite:///{tmp_path_factory.mktemp('exported')}/adabkb.db"
    with server_on(url) as address, httpx.Client(base_url=address, timeout=60) as client:
        client.post("/v1/studies", json=STUDY, headers={"Idempotency-Key": "k"}).raise_for_status()
        for method, path, body in HISTORY:
            client.request(method, f"/v1/studies/s{path}", json=body).raise_for_status()
        client.post("/v1/studies/s/trials/1/files?name=a.txt", content=b"content").raise_for_status()
        client.get("/v1/studies/s/recommendation").raise_for_status()
        lines = client.get("/v1/studies/s/export").raise_for_status().text.splitlines()
    assert {json.loads(line)["type"] for line in lines} == set(LINES)
    return lines


def altered(value: Any, put: Any) -> Iterator[Any]:
    """Yield the value with one part replaced, for each part."""
    if isinstance(value, dict):
        for name, item in value.items():
            if item != put or type(item) is not type(put):
                yield {**value, name: put}
            yield from ({**value, name: changed} for changed in altered(item, put))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from ([*value[:index], changed, *value[index + 1 :]] for changed in altered(item, put))


def sample(line: dict[str, Any], number: int) -> Iterator[Any]:
    """Yield the line with one part replaced by the next value, for every 24th part and half of the values."""
    for turn, put in list(enumerate(VALUES))[number % 2 :: 2]:
        yield from islice(altered(line, put), turn, None, 24 * len(VALUES))


@OF_ATTACKS
def test_accepted_imports_can_be_read_everywhere(
    exported: list[str], tmp_path: Path, sqlite_template: Path, is_sample: bool
) -> None:
    """Each line with any value replaced, except stored responses, which are only repeated."""
    file = tmp_path / "adabkb.db"
    file.write_bytes(sqlite_template.read_bytes())
    url, outcomes = f"sqlite:///{file}", Counter[str]()
    headers = {"Accept": "text/html, application/json", "Connection": "close"}
    with (
        closing(Database(url)) as database,
        server_on(url) as address,
        httpx.Client(base_url=address, timeout=60, headers=headers) as client,
    ):
        for number, line in enumerate(exported):
            fields = json.loads(line)
            if fields["type"] == "key":
                continue
            for changed in (
                sample(fields, number) if is_sample else (each for put in VALUES for each in altered(fields, put))
            ):
                lines = [*exported[:number], json.dumps(changed), *exported[number + 1 :]]
                error = refusal(database, lines)
                outcomes["taken" if error is None else "refused"] += 1
                if error is None:
                    assert list(examine(database)) == [], changed
                    (study,) = (each["id"] for each in client.get("/v1/studies").json()["items"])
                    paths = [
                        *(f"/v1/studies/{study}{path}" for path in READS),
                        *(f"/studies/{study}{path}" for path in PAGES),
                    ]
                    answers = {path: client.get(path).status_code for path in paths}
                    assert max(answers.values()) < 500, (changed, answers)
                    assert client.delete(f"/v1/studies/{study}?purge=true").status_code == 204
                else:
                    assert "pydantic" not in error
    assert outcomes["taken"] > 0
    assert outcomes["refused"] > 0


def refusal(database: Database, lines: list[str]) -> str | None:
    """Return the error of an import; None if it accepts the file."""
    try:
        import_study(database, lines)
    except AdaBKBError as error:
        return f"{error.detail} {error.errors}"
    return None


def test_creation_event_of_a_trial_is_rejected(exported: list[str], tmp_path: Path) -> None:
    lines = [line.replace('"kind": "created", "trial": null', '"kind": "created", "trial": 1') for line in exported]
    assert lines != exported
    with closing(Database(f"sqlite:///{tmp_path}/adabkb.db")) as database:
        assert "trial must be null" in (refusal(database, lines) or "")


@pytest.mark.parametrize(
    "changes",
    [
        {'"attempt": 1': '"attempt": 3000000000'},
        {"[[1, 3.0]]": "[[3000000000, 3.0]]", '"attempt": 1, "step": 1': '"attempt": 1, "step": 3000000000'},
    ],
    ids=["attempt", "step"],
)
def test_numbers_beyond_the_columns_are_rejected(exported: list[str], tmp_path: Path, changes: dict[str, str]) -> None:
    """PostgreSQL cannot store them, even if the log and the rows agree."""
    text = "\n".join(exported)
    for was, now in changes.items():
        assert was in text
        text = text.replace(was, now)
    with closing(Database(f"sqlite:///{tmp_path}/adabkb.db")) as database:
        error = refusal(database, text.splitlines()) or ""
    assert re.search(r"line \d+ .*(attempt|step): must be at most ", error), error


@pytest.mark.parametrize(
    ("kind", "was", "now", "field"),
    [
        ("corrected", '"excluded": false', '"excluded": "false"', "excluded"),
        ("observed", '"seconds": ([0-9.e-]+)', r'"seconds": "\1"', "seconds"),
        ("reported", r"(?<= )3\.0(?=[],])", '"3.0"', "value"),  # not the seconds of its time
    ],
)
def test_values_of_another_type_in_the_log_are_rejected(
    exported: list[str], tmp_path: Path, kind: str, was: str, now: str, field: str
) -> None:
    """Even if the answers, in which they are converted, agree with the line of the row."""
    number = next(number for number, line in enumerate(exported) if f'"kind": "{kind}"' in line)
    changed, count = re.subn(was, now, exported[number])
    assert count == 1
    with closing(Database(f"sqlite:///{tmp_path}/adabkb.db")) as database:
        error = refusal(database, [*exported[:number], changed, *exported[number + 1 :]]) or ""
    assert re.search(rf"line \d+ .*{field}: must be ", error), error


@pytest.mark.parametrize("was", ["x", {"lease_seconds": "x"}, {"tags": 1}], ids=str)
def test_former_values_that_no_setting_could_have_are_rejected(exported: list[str], tmp_path: Path, was: Any) -> None:
    """The list of events in words shows them."""
    number = next(number for number, line in enumerate(exported) if '"kind": "updated"' in line)
    event = json.loads(exported[number])
    changed = json.dumps({**event, "payload": {**event["payload"], "was": was}})
    with closing(Database(f"sqlite:///{tmp_path}/adabkb.db")) as database:
        error = refusal(database, [*exported[:number], changed, *exported[number + 1 :]]) or ""
    assert re.search(rf"line {number + 1} .*(was|lease_seconds|tags)", error), error


@pytest.mark.parametrize(
    ("text", "words"),
    [(r'"a\u0000b"', "U+0000"), (r'"\ud800"', "valid Unicode"), ('"w", "worker": "v"', "twice"), ("1e999", "finite")],
)
def test_lines_that_no_request_could_produce_are_rejected(
    exported: list[str], tmp_path: Path, text: str, words: str
) -> None:
    lines = [line.replace('"worker": "w"', f'"worker": {text}') for line in exported]
    assert lines != exported
    with (
        closing(Database(f"sqlite:///{tmp_path}/adabkb.db")) as database,
        pytest.raises(Invalid, match=re.escape(words)),
    ):
        import_study(database, lines)
