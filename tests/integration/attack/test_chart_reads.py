"""Charts of large studies, which are slow to read, leave database connections for other requests."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from types import FrameType

import pytest
import sqlalchemy as sa

from adabkb_service.app import CHARTS
from adabkb_service.page.deps import chart
from adabkb_service.storage.database import Database
from tests.calls import watching
from tests.integration.access.conftest import Guarded, give_token
from tests.integration.api.conftest import DEFINITION
from tests.servers import server_on
from tests.waiting import wait_for

READS = 6
BLOCKED = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


@pytest.mark.parametrize(("users", "at_once"), [(1, 1), (READS, CHARTS)], ids=["one user", "several users"])
def test_concurrent_chart_reads_are_limited_to_one_per_user(other_postgresql: str, users: int, at_once: int) -> None:
    """The reads wait for a lock on the results; once it is released, all of them are answered."""
    with ExitStack() as stack:
        database = stack.enter_context(closing(Database(other_postgresql)))
        tokens = [give_token(database, f"user{number}", "work") for number in range(users)]
        begun = set[FrameType]()
        stack.enter_context(watching({chart: lambda frame, _: begun.add(frame)}))
        server = Guarded(stack.enter_context(server_on(other_postgresql)), database)
        for number, token in enumerate(tokens):
            assert server.send(token, "POST", "/v1/studies", {**DEFINITION, "id": f"s{number}"}).status_code == 201
        engine = database.engine
        with ThreadPoolExecutor() as pool, engine.connect() as locking, engine.connect() as looking:
            locking.execute(sa.text("LOCK TABLE observations IN ACCESS EXCLUSIVE MODE"))

            def blocked() -> int:
                with looking.begin():
                    count: int = looking.execute(sa.text(BLOCKED)).scalar_one()
                return count

            reads = [
                pool.submit(server.send, tokens[k % users], "GET", f"/studies/s{k % users}/history.json")
                for k in range(READS)
            ]
            wait_for(lambda: blocked() == at_once)
            wait_for(lambda: len(begun) == READS)
            assert server.send(tokens[0], "GET", "/readyz").status_code == 200  # after all other reads would have begun
            assert blocked() == at_once
            locking.rollback()
            assert [read.result().status_code for read in reads] == [200] * READS
