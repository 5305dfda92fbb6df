"""Reads cost about the same in a database a hundred times as large, in SQL statements and in steps of SQLite."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from adabkb_service.contract.study import StudyDefinition
from adabkb_service.operations.reports.overview import Overview
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.storage import events, observations, studies
from adabkb_service.storage.database import Database
from adabkb_service.storage.result_table import Sort
from adabkb_service.study.owner import STATS_SECONDS
from tests.integration.api.conftest import PARAMETERS
from tests.integration.storage.grown import copies
from tests.integration.storage.rows import NOW, event, observation, trial
from tests.servers import server_on
from tests.waiting import wait_for

SIZES = {"small": 1, "large": 100}
TRIALS, STUDIES = 1000, 100
"""Numbers in the small database; the large one has a hundred times as many."""
BATCH = 50
"""Number of SQLite steps that count as one."""
COUNTED = 15
"""The maximum number of steps to count a row. Reading a whole row takes many times as many."""
SEVERAL = [{"metric": "loss", "direction": "minimize"}, {"metric": "size", "direction": "minimize"}]
LOOKED_THROUGH = 45
"""The same for each row of the table of results, which is counted and checked for repeats."""


@dataclass
class Effort:
    """The cost of a read for the database."""

    statements: list[str]
    steps: int = 0


@dataclass
class Lab:
    """A server on a database, and the same database."""

    client: httpx.Client
    database: Database

    def get(self, path: str) -> httpx.Response:
        return self.client.get(path, headers={"Accept": "text/html" if path == "/" else "*/*"}).raise_for_status()


@pytest.fixture(scope="module")
def labs(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Lab]]:
    with ExitStack() as stack:
        found = {}
        for name, factor in SIZES.items():
            file = tmp_path_factory.mktemp("grown") / "adabkb.db"
            shutil.copy(sqlite_template, file)
            database = stack.enter_context(closing(Database(f"sqlite:///{file}")))
            fill(database, factor)
            address = stack.enter_context(server_on(f"sqlite:///{file}", sweep_seconds=3600.0))
            found[name] = Lab(stack.enter_context(httpx.Client(base_url=address, timeout=60)), database)
        yield found


def fill(database: Database, factor: int) -> None:
    """Fill the study "s" with trials and results, and create other, empty studies."""
    body = {"id": "s", "direction": "minimize", "parameters": PARAMETERS}
    create(Service(database), StudyDefinition.model_validate(body))
    count = TRIALS * factor
    with database.writing() as connection:
        row = studies.get(connection, "s")
        for moment in range(STUDIES):
            other = replace(row, updated_at=NOW - timedelta(minutes=moment))
            copies(connection, other, factor, id=named(f"o{moment}-"), incarnation=named(f"o{moment}-"))
        copies(connection, trial(1, state="completed", leased_until=None), count, number=lambda number: number + 0)
        result = observation(1, parameters={"x": 0.5, "n": 1})
        falling: Callable[..., Any] = lambda number: sa.cast(-number, sa.Double)  # noqa: E731
        copies(connection, result, count, seq=lambda number: number + 0, trial=lambda number: number + 0, value=falling)
        copies(connection, event(1), count, seq=lambda number: number + 1)
        grown = {"study_seq": count + 1, "model_seq": count + 1, "observations": count, "completed": count}
        assert studies.commit_if_unchanged(connection, row, **grown)
    with database.writing() as connection:
        connection.exec_driver_sql("ANALYZE")


def named(prefix: str) -> Callable[[sa.ColumnElement[int]], sa.ColumnElement[str]]:
    """Different strings."""
    return lambda number: prefix + sa.cast(number, sa.String)


def add_result(database: Database) -> None:
    """Add a result to the study "s"."""
    with database.writing() as connection:
        row = studies.get(connection, "s")
        seq, head = row.observations + 1, row.study_seq + 1
        observations.add(connection, [observation(seq, -1e6, parameters={"x": 0.5, "n": 1})])
        events.add(connection, [event(head, kind="observed", payload={"observation": seq})])
        assert studies.commit_if_unchanged(connection, row, study_seq=head, model_seq=head, observations=seq)


@contextmanager
def counted() -> Iterator[Effort]:
    """Count the cost of all reads of this process within the block."""
    effort = Effort([])

    def note(_: object, __: object, statement: str, *___: object) -> None:
        effort.statements.append(statement)

    def step() -> int:
        effort.steps += BATCH
        return 0

    def count(connection: Any, *_: object) -> None:
        connection.set_progress_handler(step, BATCH)

    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    sa.event.listen(sa.pool.Pool, "checkout", count)
    try:
        yield effort
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", note)
        sa.event.remove(sa.pool.Pool, "checkout", count)


def efforts(labs: dict[str, Lab], work: Callable[[Lab], object]) -> tuple[Effort, Effort]:
    """The costs for the small and the large database."""
    found = []
    for lab in labs.values():
        with counted() as effort:
            work(lab)
        found.append(effort)
    small, large = found
    assert small.statements
    return small, large


@pytest.mark.parametrize(
    "path",
    [
        "/v1/studies?limit=20",
        "/v1/studies/s/trials?limit=20",
        "/v1/studies/s/trials?limit=20&state=completed",
        "/v1/studies/s/trials/7",
        "/v1/studies/s/observations?limit=20",
        "/v1/studies/s/events?limit=20",
        "/studies/s/timeline.json",
    ],
)
def test_lists_cost_the_same_in_a_large_database(labs: dict[str, Lab], path: str) -> None:
    small, large = efforts(labs, lambda lab: lab.get(path))
    assert large.statements == small.statements
    assert large.steps <= 2 * small.steps + 2000


def test_later_pages_cost_the_same(labs: dict[str, Lab]) -> None:
    paths = {}
    for name, lab in labs.items():
        cursor = lab.get("/v1/studies/s/trials?limit=100").json()["next_cursor"]
        paths[lab.database.url] = f"/v1/studies/s/trials?limit=20&cursor={cursor}"
        assert cursor, name
    small, large = efforts(labs, lambda lab: lab.get(paths[lab.database.url]))
    assert large.statements == small.statements
    assert large.steps <= 2 * small.steps + 2000


@pytest.mark.long
def test_study_list_page_reads_only_what_is_new(labs: dict[str, Lab]) -> None:
    """It counts the studies, but reads neither all of them nor known results."""
    for lab in labs.values():
        assert ">s</a>" in lab.get("/").text
        add_result(lab.database)
    small, large = efforts(labs, lambda lab: lab.get("/"))
    assert len(large.statements) == len(small.statements)
    assert large.steps - small.steps <= COUNTED * STUDIES * SIZES["large"]


def test_table_page_counts_rows_and_reads_only_the_visible_ones(labs: dict[str, Lab]) -> None:
    def shown(lab: Lab) -> None:
        overview = Overview(Service(lab.database))
        assert len(overview.table("s", None, "", Sort("when"), 0, 50).lines) == 50

    small, large = efforts(labs, shown)
    assert large.statements == small.statements
    assert large.steps - small.steps <= LOOKED_THROUGH * TRIALS * SIZES["large"]


@pytest.fixture
def unswept(sqlite_template: Path, tmp_path: Path) -> Iterator[str]:
    """Address of a server that is idle between requests, so that only requests are counted."""
    file = tmp_path / "adabkb.db"
    shutil.copy(sqlite_template, file)
    with server_on(f"sqlite:///{file}", sweep_seconds=3600.0) as address:
        yield address


def wait_until_nothing_is_written(client: httpx.Client, study: str, results: int) -> None:
    """Wait until the statistics of the model include all results and are stored."""
    wait_for(lambda: client.get(study).json()["model"]["dictionary"] == results)
    is_quiet = False
    while not is_quiet:
        with counted() as effort:
            time.sleep(2.0 * STATS_SECONDS)
        is_quiet = not any(each.startswith("UPDATE") for each in effort.statements)


@pytest.mark.long
def test_cells_and_fronts_take_a_constant_number_of_statements(unswept: str) -> None:
    """They write nothing: reading the tree does not store its rows."""
    with httpx.Client(base_url=unswept, timeout=60) as client:
        for name, goals in (("tree", {"direction": "minimize"}), ("front", {"objectives": SEVERAL})):
            for results in (10, 60):
                study = f"/v1/studies/{name}{results}"
                body = {"id": f"{name}{results}", "parameters": PARAMETERS, "seed": 3, **goals}
                assert client.post("/v1/studies", json=body).status_code == 201
                result = {"value": 1.0} if name == "tree" else {"metrics": {"loss": 1.0, "size": 2.0}}
                points = [{"parameters": {"x": k / 60, "n": 1 + k % 9}, **result} for k in range(results)]
                assert client.post(f"{study}/observations", json={"items": points}).status_code == 200
                wait_until_nothing_is_written(client, study, results)
    for path in ("tree{}/tree?limit=5", "tree{}/partition?limit=5", "front{}/front"):
        asked = []
        for results in (10, 60):
            with counted() as effort, httpx.Client(base_url=unswept, timeout=60) as client:
                client.get(f"/v1/studies/{path.format(results)}").raise_for_status()
            assert not [each for each in effort.statements if each.startswith(("INSERT", "UPDATE", "DELETE"))], path
            asked.append(effort.statements)
        assert len(asked[0]) == len(asked[1]), (path, asked)
