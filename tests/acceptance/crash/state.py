"""The state of a server, restricted to what is equal in two runs of the same requests."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from tests.acceptance.crash.server import Call, Server

VIEWS = ("export", "tree?limit=1000", "dictionary?limit=1000", "model", "access")
VOLATILE = {"study", "deletion", "seconds"}
"""Fields with numbers of PostgreSQL sequences, which rolled-back deletions also increase, and the times of evaluations,
which the server measures."""
ROUNDED = {"gap", "beta", "effective_dimension", "mean", "std", "lcb", "ucb"}


async def aftermath(server: Server) -> dict[str, Any]:
    """Return the next suggestion of each study, and then its full state.

    The order matters: the next suggestion updates the model to the end of the log. After a crash, the model may be
    behind the log.
    """
    found = {"/v1/trash": await server.read("/v1/trash")}
    for study in (await server.read("/v1/studies"))["items"]:
        path = f"/v1/studies/{study['id']}"
        suggested = await server.perform(Call("POST", f"{path}/suggest", {"count": 2}))
        found[f"{path}/suggest"] = suggested.document
        for view in VIEWS:
            found[f"{path}/{view}"] = await server.read(f"{path}/{view}")
    return {comparable(path): comparable(document) for path, document in found.items()}


def comparable(document: Any) -> Any:
    """Return a document without times, random ids, last digits and summaries of the study, which may differ.

    The summary in the answer to a result may be from before or after the model's update. The end of a lease is
    converted to hours from the trial's creation. Numbers are rounded, since a new factorization and an updated one
    differ in the last digits.
    """
    if isinstance(document, list):
        return [comparable(item) for item in document]
    if isinstance(document, str):
        return re.sub(r"study-[0-9a-f]{12}", "drawn-id", document)
    if not isinstance(document, dict):
        return document
    kept = {name: value for name, value in document.items() if name not in VOLATILE and not name.endswith("_at")}
    if kept.get("leased_until") is not None:
        lease = datetime.fromisoformat(document["leased_until"]) - datetime.fromisoformat(document["created_at"])
        kept["leased_until"] = round(lease.total_seconds() / 3600)
    kept |= {name: float(f"{kept[name]:.6g}") for name in ROUNDED if isinstance(kept.get(name), float)}
    return {name: comparable(value) for name, value in kept.items()}
