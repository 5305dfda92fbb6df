"""A server may be killed at any instruction: no acknowledged request is lost, none is performed twice, and the server
continues as it would have without the crash.

The server is killed before the first commit of every operation, after each commit, and after the reply. A client
without a reply repeats the request with the same idempotency key. In the end, the state equals that of a server that
was not killed.

The logs are equal even where an operation commits in steps. A result and its key are one transaction. The later steps
depend only on the log (the model's rows, the completion of the study), so any request may perform them. The same
applies to overdue leases: the first request expires them.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.acceptance.crash.cases import CASES, Case
from tests.acceptance.crash.conftest import Histories
from tests.acceptance.crash.dying import KEY, die, points, survive
from tests.acceptance.crash.server import Answer, Operation, application, perform_all, running
from tests.acceptance.crash.state import aftermath, comparable
from tests.conftest import BACKENDS

SHORT = "sqlite-observe the result that completes a study"
"""A result and its key, the model's rows, and the completion of the study."""
EVERY = [
    pytest.param(backend, case, id=name, marks=[] if name == SHORT else pytest.mark.long)
    for backend in BACKENDS
    for case in CASES
    for name in [f"{backend}-{case.name}"]
]
"""``make test`` runs one case; ``make chaos`` runs all cases on both kinds of databases."""


@pytest.mark.parametrize(("backend", "case"), EVERY)
def test_a_crash_at_any_point_changes_nothing(histories: Histories, backend: str, case: Case) -> None:
    databases, origin = histories(backend, case.profiles[backend])
    with databases.copy(origin) as prepared:
        asyncio.run(perform_all(prepared, case.before))
        with databases.copy(prepared) as url:
            survival = survive(url, case.operation)
            assert survival.commits, "nothing was written"
            _, expected = asyncio.run(_next_server(url, None))
        for death in points(case.operation, survival):
            with databases.copy(prepared) as url:
                replied = die(url, case.operation, death)
                answer, found = asyncio.run(_next_server(url, None if replied else case.operation))
            if answer is not None and answer.status != case.repeated:
                assert comparable(answer.document) == comparable(survival.answer.document), f"answer, killed {death}"
                assert answer.status == survival.answer.status, f"status, killed {death}"
            assert found == expected, f"state, killed {death}"


async def _next_server(database_url: str, repeated: Operation | None) -> tuple[Answer | None, dict[str, Any]]:
    """Return the answer of a new server to the repeated operation, if any, and the state after it.

    It computes models in this process, which saves the start of another one.
    """
    async with running(application(database_url, model_processes=0)) as server:
        answer = None if repeated is None else await server.perform(repeated, KEY)
        return answer, await aftermath(server)
