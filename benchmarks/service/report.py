"""Tables of the results, and a comparison with the targets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.service.measured import PARTS
from benchmarks.service.methods import DEFAULT

FLOOR_SHARE = 0.5
PEER_RATIO = 5.0
CALL_MS, CALL_CLIENTS = 250.0, 32
MEDIANS = ("pairs_per_second", "halves", "suggest_ms", "observe_ms", "pair_ms", "processor_ms", "busy_cores")
INCIDENTS = ("retries", "workers_lost", "error")

Cell = Mapping[str, Any]
"""Backend, servers and clients, and the results of each method with them."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A target for our service."""

    name: str
    measured: float
    met: bool

    def __str__(self) -> str:
        return f"{'met   ' if self.met else 'MISSED'} {self.name}: {self.measured:.3g}"


def combined(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The combined repeats of a method: medians, pairs per second of each, and all errors."""
    return {
        "repeats": [round(run["pairs_per_second"], 2) for run in runs],
        "pairs": [run["pairs"] for run in runs],
        **{
            name: np.median([run[name] for run in runs], axis=0).round(2).tolist()
            for name in MEDIANS
            if name in runs[0]
        },
        **{name: [run[name] for run in runs] for name in INCIDENTS if any(run.get(name) for run in runs)},
    }


def ratio(cell: Cell, method: str, of: str = "ours") -> float | None:
    """Return the pairs per second of ``of`` divided by those of ``method``: the median over the repeats.

    None if ``method`` was not measured.
    """
    if method not in cell["methods"]:
        return None
    ours, others = (cell["methods"][name]["repeats"] for name in (of, method))
    return float(np.median(np.divide(ours, others)))


def bars(cells: Sequence[Cell]) -> Iterator[Bar]:
    """Each target in each of its settings."""
    for cell in cells:
        where = f"{cell['backend']}, {cell['clients']} clients, server(s): {_servers(cell)}"
        for method, least in (("floor", FLOOR_SHARE), ("tpe", PEER_RATIO), ("random", PEER_RATIO)):
            reached = ratio(cell, method)
            if reached is not None:
                yield Bar(f"{where}: at least {least:g} times {method}", reached, reached >= least)
        if cell["clients"] == CALL_CLIENTS:
            for call in ("suggest", "observe"):
                tail = cell["methods"]["ours"][f"{call}_ms"][1]
                yield Bar(f"{where}: 99% of {call} under {CALL_MS:g} ms", tail, tail < CALL_MS)


THROUGHPUT = (
    "database",
    "servers",
    "clients",
    DEFAULT,
    "repeats",
    "floor",
    f"{DEFAULT} / floor",
    "paper",
    "paper / floor",
    "TPE",
    f"{DEFAULT} / TPE",
    "random",
    f"{DEFAULT} / random",
)


def throughput(cells: Sequence[Cell]) -> Iterator[list[str]]:
    """Rows of pairs per second, compared with the other methods; missed targets are in bold."""
    for cell in cells:
        yield [
            *_setting(cell),
            *_rates(cell, "ours"),
            *_beside(cell, "floor", FLOOR_SHARE),
            f"{cell['methods']['paper']['pairs_per_second']:.0f}",
            _shown(ratio(cell, "floor", of="paper"), FLOOR_SHARE),
            *_beside(cell, "tpe", PEER_RATIO),
            *_beside(cell, "random", PEER_RATIO),
        ]


CALLED = ("suggest", "observe", "pair")
CALLS = (
    *("database", "servers", "clients", "pairs per second, first half of the results", "last half"),
    *(f"{call} {quantile} ms" for call in CALLED for quantile in ("median", "99%")),
    *("commits per pair", "statements per pair", "busy cores"),
)


def calls(cells: Sequence[Cell]) -> Iterator[list[str]]:
    """Rows about our service: pairs per second in either half of the results, durations of calls in milliseconds,
    commits and statements of a pair, and the number of busy cores of the machine."""
    for cell in cells:
        ours = cell["methods"]["ours"]
        times = [f"{ms:.0f}" for call in CALLED for ms in ours[f"{call}_ms"]]
        done = [f"{2 * cell['counts'][name]:.3g}" for name in ("commits", "statements")]
        yield [*_setting(cell), *(f"{rate:.0f}" for rate in ours["halves"]), *times, *done, f"{ours['busy_cores']:.2g}"]


PROCESSOR = ("database", "servers", "clients", "method", *PARTS[:-1], "rest", "all", "all / floor")


def processor(cells: Sequence[Cell]) -> Iterator[list[str]]:
    """Milliseconds of processor time for a pair, by part. The rest includes the database's processes, the operating
    system, and everything else on the machine."""
    for cell in cells:
        floor = cell["methods"]["floor"]["processor_ms"][-1]
        for method in ("ours", "paper", "floor"):
            *parts, machine = cell["methods"][method]["processor_ms"]
            shown = [*parts, machine - sum(parts), machine, machine / floor]
            name = DEFAULT if method == "ours" else method
            yield [*_setting(cell), name, *(f"{figure:.2f}" for figure in shown)]


def _setting(cell: Cell) -> list[str]:
    return [cell["backend"], _servers(cell), str(cell["clients"])]


def _servers(cell: Cell) -> str:
    return f"{cell['servers']}, by study" if cell["routing"] == "study" else str(cell["servers"])


def _rates(cell: Cell, method: str) -> list[str]:
    found = cell["methods"][method]
    return [f"{found['pairs_per_second']:.0f}", f"{min(found['repeats']):.0f}-{max(found['repeats']):.0f}"]


def _beside(cell: Cell, method: str, least: float) -> list[str]:
    reached = ratio(cell, method)
    if reached is None:
        return ["", ""]
    return [f"{cell['methods'][method]['pairs_per_second']:.3g}", _shown(reached, least)]


def _shown(reached: float | None, least: float) -> str:
    if reached is None:
        return ""
    return f"{reached:.2g}" if reached >= least else f"**{reached:.2g}**"
