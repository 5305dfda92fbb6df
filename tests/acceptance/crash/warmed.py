"""Imported once by the fork server of servers and model processes, after it has served some requests.

A process forked after that needs a tenth of the time for its first request. This does not affect the state after a
crash.
"""

from __future__ import annotations

import asyncio
import gc
import tempfile

from tests.acceptance.crash.cases import history
from tests.acceptance.crash.server import application, running
from tests.acceptance.crash.state import aftermath
from tests.compiled import compile_once

PROFILES = ("auto", "paper")


async def _serve(folder: str, profile: str) -> None:
    """Perform the requests of the tests, without a model process, which would be forked from this process."""
    async with running(application(f"sqlite:///{folder}/{profile}.db", model_processes=0)) as server:
        for operation in history(profile):
            await server.perform(operation, "a-key")
        await aftermath(server)


compile_once()
with tempfile.TemporaryDirectory() as _folder:
    for _profile in PROFILES:
        asyncio.run(_serve(_folder, _profile))

gc.freeze()  # otherwise, garbage collection in each forked process would copy the shared memory
