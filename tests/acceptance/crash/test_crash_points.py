"""Whatever instruction a server dies at: nothing acknowledged is lost, nothing is done twice, and what comes next is
what would have come without the crash.

Every operation is killed before its first commit, after each, and after its reply. A client that got no reply repeats
it with the same idempotency key, one that got it does not. In the end all is as on a server that lived.

The logs are equal even where an operation commits in steps. A result is one transaction, its key included; the steps
after it write what follows from the log alone (the model's rows, the completion of the study), so it does not matter
which request takes them. Overdue leases likewise: whoever comes first expires them.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.acceptance.crash.cases import CASES, DIFFERENT, Case
from tests.acceptance.crash.conftest import Lived
from tests.acceptance.crash.dying import KEY, die, points, survive
from tests.acceptance.crash.server import Answer, Operation, application, perform_all, running
from tests.acceptance.crash.state import aftermath, comparable
from tests.conftest import BACKENDS

EVERY = [
    pytest.param(
        backend,
        case,
        id=f"{backend}-{case.name}",
        marks=[] if number % 2 == place and case.name in DIFFERENT else pytest.mark.long,
    )
    for place, backend in enumerate(BACKENDS)
    for number, case in enumerate(sorted(CASES, key=lambda case: case.name not in DIFFERENT))
]
"""``make test`` has the cases that differ, alternately on one kind of database and on the other; ``make chaos`` has all
cases on both."""


@pytest.mark.parametrize(("backend", "case"), EVERY)
def test_a_crash_at_any_point_changes_nothing(lived: Lived, backend: str, case: Case) -> None:
    databases, origin = lived(backend, case.profiles[backend])
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
    """The answer of a new server to what is repeated, if anything is, and what follows.

    Its models are in this process, which spares the start of another: they are read from the same rows there.
    """
    async with running(application(database_url, model_processes=0)) as server:
        answer = None if repeated is None else await server.perform(repeated, KEY)
        return answer, await aftermath(server)
