"""What a server holds, as far as it is the same in two runs of the same requests."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from tests.acceptance.crash.server import Call, Server

VIEWS = ("export", "tree?limit=1000", "dictionary?limit=1000", "model", "access")
PASSING = {"study", "deletion"}
"""A deletion that is taken back uses up a number of PostgreSQL's."""
ROUNDED = {"gap", "beta", "effective_dimension", "mean", "std", "lcb", "ucb"}


async def aftermath(server: Server) -> dict[str, Any]:
    """What each study issues next, and then all that it holds.

    In this order, as the next decision brings the model to the end of the log, where a crash may have left it behind.
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
    """A document without the times, drawn ids and last digits, which differ, and without summaries of the study.

    Those are of the moment: a result is answered with the study before or after the model's update. The end of a lease
    becomes hours from the trial's creation; figures are rounded, as a factorisation that is computed anew differs in
    its last digits from one that was updated.
    """
    if isinstance(document, list):
        return [comparable(item) for item in document]
    if isinstance(document, str):
        return re.sub(r"study-[0-9a-f]{12}", "drawn-id", document)
    if not isinstance(document, dict):
        return document
    kept = {name: value for name, value in document.items() if name not in PASSING and not name.endswith("_at")}
    if kept.get("leased_until") is not None:
        lease = datetime.fromisoformat(document["leased_until"]) - datetime.fromisoformat(document["created_at"])
        kept["leased_until"] = round(lease.total_seconds() / 3600)
    kept |= {name: float(f"{kept[name]:.6g}") for name in ROUNDED if isinstance(kept.get(name), float)}
    return {name: comparable(value) for name, value in kept.items()}
