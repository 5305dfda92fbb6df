"""How consoles and notebooks show the result of a search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from adabkb_client._frames import SHOWN
from adabkb_client._notebook import records
from adabkb_client._records import line, page
from adabkb_integrations.inprocess.trials import Found


@line.register
def in_one_line(found: Found) -> str:
    """Return the best trial or the size of the front, the numbers of trials, and why the search ended."""
    if found.front:
        return f"<{len(found.front)} on the front, {_counts(found)}, {found.reason}>"
    if found.best is None:
        return f"<no best trial, {_counts(found)}, {found.reason}>"
    return f"<{found.value} at {found.parameters}, {_counts(found)}, {found.reason}>"


@page.register
def as_tables(found: Found) -> str:
    """Return a table of the best and the recommended trial, or of the front, and one of the first trials."""
    rows = {row["trial"]: row for row in found.to_rows()}
    named = [("front", trial) for trial in found.front]
    named += [("best", found.best)] if found.best is not None else []
    named += [("recommended", found.recommended)] if found.recommended is not None else []
    chosen = _filled([{"": name, **rows[trial.number]} for name, trial in named])
    first = _filled(list(rows.values())[:SHOWN])
    heading = f"<b>{found.direction}</b>: {_counts(found)}, {found.reason}"
    return f"{heading}{records(chosen, is_all=True) if chosen else ''}{records(first, is_all=len(rows) <= SHOWN)}"


def _counts(found: Found) -> str:
    """Return the number of trials, and of those that failed and were stopped."""
    count, states = len(found.trials), Counter(trial.state for trial in found.trials)
    others = (f", {states[state]} {state}" for state in ("failed", "stopped") if states[state])
    return f"{count} trial{'' if count == 1 else 's'}{''.join(others)}"


def _filled(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows without the columns in which every cell is missing."""
    names = [name for name in (rows[0] if rows else ()) if any(row[name] is not None for row in rows)]
    return [{name: row[name] for name in names} for row in rows]
