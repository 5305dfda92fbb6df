"""After export and import, or backup and restore, a study continues identically."""

from __future__ import annotations

import itertools
import json
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from adabkb_service.errors import Invalid, StudyExists
from adabkb_service.operations.data.doctor import examine
from adabkb_service.operations.data.export import json_lines
from adabkb_service.operations.data.importing import import_study
from adabkb_service.operations.data.replay import replay
from adabkb_service.operations.data.trash import delete
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.storage import migration
from adabkb_service.storage.copying import copy, row_counts
from adabkb_service.storage.database import Database
from adabkb_service.study.request import Key
from tests.conftest import on_either
from tests.integration.operations.busy import busy_study
from tests.integration.operations.conftest import DIFFERENT, SYSTEMS, ManualClock, definition
from tests.integration.operations.verbs import Ask, Value, get, observe, suggest


@pytest.fixture
def elsewhere(request: pytest.FixtureRequest, migrated_url: str, clock: ManualClock) -> Iterator[Service]:
    """A service on an empty database of the other kind."""
    other = "other_postgresql" if migrated_url.startswith("sqlite") else "other_sqlite"
    opened = Database(request.getfixturevalue(other))
    yield Service(opened, clock=clock)
    opened.close()


def continue_study(running: Service, rounds: int = 6) -> list[dict[str, Any]]:
    """Continue a study with some results, and return its suggestions."""
    points = []
    for _ in range(rounds):
        (trial,) = suggest(running, "s", Ask()).view.trials
        points.append({"number": trial.number, "attempt": trial.attempt, **trial.parameters})
        observe(running, "s", Value(0.1 * trial.number, trial.number))
    return points


@on_either("system", SYSTEMS, DIFFERENT)
def test_study_continues_in_another_kind_of_database(
    running: Service, elsewhere: Service, clock: ManualClock, system: str
) -> None:
    busy_study(running, clock, algorithm=SYSTEMS[system])
    lines = list(json_lines(running, "s"))
    before = get(running, "s")
    assert import_study(elsewhere.database, lines) == before
    assert get(elsewhere, "s") == before
    assert list(json_lines(elsewhere, "s")) == lines
    assert list(examine(elsewhere.database)) == []
    kept = suggest(elsewhere, "s", Ask(1), Key("s", "kept", "f"))
    assert kept.replayed, "a stored response is returned again"
    assert continue_study(elsewhere) == continue_study(running)
    assert replay(elsewhere, "s").diverged == []


def test_import_does_not_replace_a_study(running: Service, clock: ManualClock) -> None:
    busy_study(running, clock)
    with pytest.raises(StudyExists, match="delete it first"):
        import_study(running.database, list(json_lines(running, "s")))


def test_import_succeeds_although_its_creation_key_is_in_use(running: Service, elsewhere: Service) -> None:
    create(running, definition(), Key("", "first", "f"))
    create(elsewhere, definition(id="other"), Key("", "first", "g"))
    import_study(elsewhere.database, list(json_lines(running, "s")))
    assert continue_study(elsewhere, 1) == continue_study(running, 1)
    assert create(elsewhere, definition(id="other"), Key("", "first", "g")).replayed


@pytest.mark.long
def test_cached_study_is_replaced_by_a_reimported_one(running: Service, clock: ManualClock) -> None:
    """Another server deleted and reimported the study, with the same number of events but other results."""
    create(running, definition())
    continue_study(running)
    lines = list(json_lines(running, "s"))
    continue_study(running, 4)
    other = Service(running.database, clock=running.clock)
    delete(other, "s")
    import_study(running.database, lines)
    clock.advance(1)
    for _ in range(4):
        (trial,) = suggest(other, "s", Ask()).view.trials
        observe(other, "s", Value(9.0 - trial.number, trial.number))
    assert get(running, "s").revision == get(other, "s").revision
    assert continue_study(running, 2)
    assert replay(running, "s").diverged == []
    assert list(examine(running.database)) == []


def without(lines: list[str], kind: str) -> list[str]:
    return [line for line in lines if json.loads(line)["type"] != kind]


def changed(lines: list[str], number: int, /, **fields: Any) -> list[str]:
    """Return the lines with one altered, counted from 1."""
    line = json.dumps({**json.loads(lines[number - 1]), **fields})
    return [*lines[: number - 1], line, *lines[number:]]


def test_damaged_export_is_rejected_completely(running: Service, elsewhere: Service, clock: ManualClock) -> None:
    busy_study(running, clock)
    lines = list(json_lines(running, "s"))
    kinds = [json.loads(line)["type"] for line in lines]
    event = kinds.index("event") + 3
    for damaged, sentence in [
        ([], "ends after line 0 without a complete study"),
        (lines[:5], "ends after line 5 without a complete study"),
        (["{"], "line 1 is not a valid line of an export"),
        (["x,y"], "line 1 is not a valid line of an export"),
        (lines[1:], "line 1 is not a valid line of an export"),
        (changed(lines, 1, format=99), "format 1"),
        (changed(lines, 2, number="two"), "line 2 is not a valid line of an export"),
        (changed(lines, 2, type="parrot"), "line 2 is not a valid line of an export"),
        ([line for i, line in enumerate(lines) if i != event], rf"line {event + 1} .*event 5 follows event 3"),
        (without(lines, "event"), "a complete study"),
        ([*lines, lines[kinds.index("dictionary")]], rf"line {len(lines) + 1} .*duplicated"),
        (without(lines, "trial"), "lacks the line of trial 1, which is in its log"),
        ([*lines, lines[1]], rf"line {len(lines) + 1} .*trial 1 is not in the log, or occurs twice"),
        (without(lines, "cell"), rf"line {kinds.index('model') + 1} .*the first cell is not the root"),
        (changed(lines, event, payload={}), rf"line {event} .*adds observation None"),
    ]:
        with pytest.raises(Invalid, match=sentence):
            import_study(elsewhere.database, damaged)
    assert "studies" not in row_counts(elsewhere.database)


def test_failed_import_leaves_nothing(running: Service, elsewhere: Service, clock: ManualClock) -> None:
    """Even if the last of several transactions fails."""
    busy_study(running, clock)
    lines, written = list(json_lines(running, "s")), dict[str, int]()

    def fail(*_: object) -> None:
        written.update(row_counts(elsewhere.database))
        raise KeyError("a fault")

    with pytest.raises(KeyError, match="a fault"):
        import_study(elsewhere.database, lines, fail)
    assert written["containers"] == 1
    assert written["trials"] > 0
    assert row_counts(elsewhere.database) == {}
    assert import_study(elsewhere.database, lines) == get(running, "s")


FORGED: list[tuple[str, dict[str, Any], str]] = [
    ("model", {"gap": "abc"}, "gap"),
    ("model", {"gap": 1e999}, "finite"),
    ("model", {"leaves": -1}, "leaves"),
    ("model", {"stopped": None}, "stopped"),
    ("model", {"learned": "rubbish"}, "learned"),
    ("model", {"learned": {"count": 1}}, "learned"),
    ("learned", {"lengthscales": [-1.0, 1.0]}, "lengthscales"),
    ("learned", {"lengthscales": [1.0]}, "one lengthscale per parameter"),
    ("learned", {"additive": {"shares": [0.5], "lengthscale": 0.3}}, "one share per parameter"),
    ("learned", {"noise": -1.0}, "noise"),
    ("learned", {"variance": "much"}, "variance"),
    ("learned", {"count": 10**6, "dictionary": [10**6]}, "cannot be restored"),
    ("key", {"scope": "another"}, "key belongs to another study"),
    ("key", {"answer": {"created": "yes"}}, "created"),
    ("key", {"key": "k" * 256}, "key"),
    ("trial", {"lease_seconds": -1.0}, "lease_seconds"),
    ("trial", {"lease_seconds": 0.0}, "lease_seconds"),
    ("trial", {"worker": "another"}, "differs from the log"),
    ("observation", {"value": 123.0}, "differs from the log"),
    ("observation", {"value": "a lot"}, "value"),
    ("study", {"lease_seconds": 7.0}, "limits or seed differ from the log"),
    ("study", {"seed": 4711}, "limits or seed differ from the log"),
    ("cell", {"status": "withered"}, "status"),
    ("cell", {"key": "1"}, "first cell is not the root"),
]


@pytest.fixture(scope="module")
def exported(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[str]]:
    """System -> exported lines of a study with every kind of event, equal for both kinds of database."""

    @cache
    def exported(system: str) -> list[str]:
        file = tmp_path_factory.mktemp("exported") / "adabkb.db"
        shutil.copy(sqlite_template, file)
        database, clock = Database(f"sqlite:///{file}"), ManualClock()
        running = Service(database, clock=clock)
        busy_study(running, clock, algorithm=SYSTEMS[system])
        lines = list(json_lines(running, "s"))
        database.close()
        return lines

    return exported


@on_either("kind,fields,sentence", FORGED, FORGED[::2])
def test_altered_line_is_rejected_with_its_number(
    database: Database, exported: Callable[[str], list[str]], kind: str, fields: dict[str, Any], sentence: str
) -> None:
    lines = exported("auto")
    kinds = [json.loads(line)["type"] for line in lines]
    number = kinds.index("model" if kind == "learned" else kind) + 1
    if kind in ("model", "learned"):
        figures = json.loads(lines[number - 1])["figures"]
        assert figures["learned"]["count"]
        altered = figures | fields if kind == "model" else figures | {"learned": figures["learned"] | fields}
        fields = {"figures": altered}
    with pytest.raises(Invalid, match=f"line {number} .*{sentence}"):
        import_study(database, changed(lines, number, **fields))
    assert "studies" not in row_counts(database)


@on_either("system", SYSTEMS, ["auto"])
def test_cells_that_form_no_tree_are_rejected_with_their_line(
    database: Database, exported: Callable[[str], list[str]], system: str
) -> None:
    lines = exported(system)
    last = max(number for number, line in enumerate(lines, 1) if json.loads(line)["type"] == "cell")
    root = next(number for number, line in enumerate(lines, 1) if json.loads(line)["type"] == "cell")
    key = json.loads(lines[last - 1])["key"]
    axis = "0-" if "-" in key else ""
    forged = [(changed(lines, last, key=f"{key}.0"), last)]  # its parent is missing now
    forged += [(changed(lines, last, key=f"0.{axis}99"), root)]  # not a part of the split
    forged += [(changed(lines, last, status="expanded"), last)]  # without children
    forged += [(changed(lines, last, key="0.x"), root)]
    forged += [([*lines[:last], json.dumps({"type": "cell", "key": f"{key}.{axis}0", "status": "leaf"})], last + 1)]
    for damaged, number in forged:
        with pytest.raises(Invalid, match=rf"line {number} .*(expanded|children|cut|cell)"):
            import_study(database, damaged)
    assert "studies" not in row_counts(database)


def test_invalid_limits_are_rejected(running: Service, elsewhere: Service) -> None:
    """Even if they are in the log."""
    create(running, definition())
    lines = list(json_lines(running, "s"))
    (number,) = [number for number, line in enumerate(lines, 1) if json.loads(line)["type"] == "event"]
    created = json.loads(lines[number - 1])
    created["payload"]["definition"]["lease_seconds"] = -1.0
    forged = changed(changed(lines, number, payload=created["payload"]), 1, lease_seconds=-1.0)
    with pytest.raises(Invalid, match="lease_seconds"):
        import_study(elsewhere.database, forged)
    updated = {**created, "seq": 2, "kind": "updated", "payload": {"changes": {"lease_seconds": -1.0}}}
    forged = changed([*lines, json.dumps(updated)], 1, lease_seconds=-1.0)
    with pytest.raises(Invalid, match=r"line 1 .*lease_seconds"):
        import_study(elsewhere.database, forged)
    assert "studies" not in row_counts(elsewhere.database)


def test_backup_of_a_database_in_use_is_consistent_and_can_be_restored(
    running: Service, elsewhere: Service, clock: ManualClock, tmp_path: Path
) -> None:
    """To a SQLite file, and from there to a database of either kind."""
    busy_study(running, clock)
    create(running, definition(id="t"))
    file = Database(f"sqlite:///{tmp_path}/backup.db")
    migration.upgrade(file)
    done = threading.Event()

    def write() -> int:
        for count in itertools.count():
            if done.is_set():
                return count
            observe(running, "t", Value(float(count), parameters={"x": 0.5, "y": 1.0}))
        raise AssertionError

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        while not get(running, "t").counts.observations:
            pass
        copied = copy(running.database, file)
        done.set()
    assert writing.result() > 0
    assert copied["studies"] == 2
    assert list(examine(file)) == []
    assert copy(file, elsewhere.database) == copied
    file.close()
    assert get(elsewhere, "s") == get(running, "s")
    assert continue_study(elsewhere) == continue_study(running)
    assert list(examine(elsewhere.database)) == []
