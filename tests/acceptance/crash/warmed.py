"""Imported once by the process that servers and model processes are forked from: it has served requests then.

A process that has done so needs a tenth of the time for the next one. What a crash leaves is not a matter of that.
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
    """What servers are asked before and after a crash; without a model process, which would be forked from this one."""
    async with running(application(f"sqlite:///{folder}/{profile}.db", model_processes=0)) as server:
        for operation in history(profile):
            await server.perform(operation, "a-key")
        await aftermath(server)


compile_once()
with tempfile.TemporaryDirectory() as _folder:
    for _profile in PROFILES:
        asyncio.run(_serve(_folder, _profile))

gc.freeze()  # or the collector of each process that is forked would copy the memory that it shares with this one
