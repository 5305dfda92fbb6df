"""Duration of the page's requests for a large study: ``python -m benchmarks.service.pages``.

The study has 100,000 results without a trial, and four parameters. On each database, each request is sent several
times, one after the other. The table has the median until the first byte and until the last one, and the
processor time of the server and its model processes, which hardly depends on what else the machine does. Chromium opens
the page of the study and the report, and waits until the first chart, or all charts, are drawn.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np

from benchmarks.output import RESULTS, print_table, provenance, write
from benchmarks.service.databases import BACKENDS
from benchmarks.service.processes import SERVE, listening, serving, text
from tests.acceptance.page.browser import launching

if TYPE_CHECKING:
    from playwright.sync_api import Browser

Figures = dict[str, float]

STUDY, BATCH = "large", 1000
CHOICES = ["ethanol", "toluene", "water", "DMAc"]
PARAMETERS: list[dict[str, Any]] = [
    *({"name": name, "kind": "float", "low": 0, "high": 1} for name in ("heat", "dose", "time")),
    {"name": "solvent", "kind": "categorical", "choices": CHOICES},
]
PAGE, API = f"/studies/{STUDY}", f"/v1/studies/{STUDY}"
EDGES = "".join(f"&{axis}={place / 10}" for axis in ("across", "up") for place in range(11))
REQUESTS = {
    "page of the study": PAGE,
    "sentences at its top": f"{API}/assessment",
    "chart of all results": f"{PAGE}/history.json",
    "density of results": f"{PAGE}/density.json",
    "coverage of two parameters": f"{PAGE}/tried.json?parameter=heat&parameter=dose{EDGES}",
    "results, first page": f"{PAGE}/results",
    "results, last page": f"{PAGE}/results?page={{last}}",
    "results, by value": f"{PAGE}/results?sort=value",
    "results, excluded ones": f"{PAGE}/results?kind=excluded",
    "report": f"{PAGE}/report",
    "report as Markdown": f"{API}/report",
    "results as CSV": f"{API}/export?format=csv",
}
DRAWN = {
    "page of the study, drawn": (PAGE, "#history[data-state=shown]"),
    "report, drawn": (f"{PAGE}/report", "#study:not([aria-busy])"),
}
ROWS_PER_PAGE = 50
MAX_WAIT = 900.0
"""Maximum number of seconds until the model has processed all results."""
NAMES = ("first byte s", "whole s", "processor s")
AIM = 2.0


def main() -> None:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 (slow, and not needed for the table)

    parser = argparse.ArgumentParser(prog="python -m benchmarks.service.pages", description=__doc__)
    parser.add_argument("--results", type=int, default=100_000, help="number of results of the study")
    parser.add_argument("--repeats", type=int, default=3, help="number of times that each request is sent")
    parser.add_argument("--backends", default=",".join(BACKENDS), help="databases, separated by commas")
    parser.add_argument("--out", type=Path, default=RESULTS / "pages.json")
    options = parser.parse_args()
    content = {
        **provenance("benchmarks.service.pages"),
        "load before": os.getloadavg()[0],
        "results": options.results,
        "repeats": options.repeats,
    }
    with sync_playwright() as playwright, playwright.chromium.launch(**launching()) as browser:
        backends = options.backends.split(",")
        found = {each: measured(each, options.results, options.repeats, browser) for each in backends}
    print_table(*table(found))
    write(options.out, {**content, "results": options.results, "repeats": options.repeats, "databases": found})


def table(
    found: Mapping[str, Mapping[str, Figures]], names: Sequence[str] = NAMES
) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of a table of some figures by database; a time above the aim is in bold."""
    header = ["request", *(f"{backend}, {name}" for backend in found for name in names)]
    rows = [
        [request, *(_shown(figures[request][name]) for figures in found.values() for name in names)]
        for request in (*REQUESTS, *DRAWN)
    ]
    return header, rows


def _shown(seconds: float) -> str:
    return f"{seconds:.2g}" if seconds <= AIM else f"**{seconds:.2g}**"


def measured(backend: str, results: int, repeats: int, browser: Browser) -> dict[str, Figures]:
    """Measure all requests on a new database."""
    with ExitStack() as stack:
        fresh = stack.enter_context(BACKENDS[backend]())
        (address,) = stack.enter_context(serving([[*SERVE, text(fresh())]]))
        api = stack.enter_context(httpx.Client(base_url=address, timeout=600))
        _prepare(api, results)
        found: dict[str, Figures] = {}
        for request, path in REQUESTS.items():
            filled = path.format(last=-(-results // ROWS_PER_PAGE))
            found[request] = _medians([_requested(api, filled, address) for _ in range(repeats)])
            print(f"{backend}, {request}: {found[request]}", file=sys.stderr, flush=True)
        for request, (path, selector) in DRAWN.items():
            found[request] = _medians([_drawn(browser, f"{address}{path}", selector, address) for _ in range(repeats)])
        return found


def _prepare(api: httpx.Client, results: int) -> None:
    """Create the study and wait until its model has processed all results."""
    _checked(api.post("/v1/studies", json={"id": STUDY, "direction": "maximize", "parameters": PARAMETERS}))
    rng = np.random.default_rng(0)
    for first in range(0, results, BATCH):
        points = rng.uniform(0, 1, (min(BATCH, results - first), 3))
        solvents = rng.integers(len(CHOICES), size=len(points))
        values = 80 - 60 * ((points - 0.4) ** 2).sum(axis=1) - 3 * solvents + rng.normal(0, 1, len(points))
        items = [
            {"parameters": {**dict(zip(("heat", "dose", "time"), point, strict=True)), "solvent": CHOICES[each]}}
            | {"value": round(value, 2)}
            for point, each, value in zip(points.tolist(), solvents, values.tolist(), strict=True)
        ]
        _checked(api.post(f"{API}/observations", json={"items": items}))
    end = time.monotonic() + MAX_WAIT
    while time.monotonic() < end and api.get(f"{API}/recommendation").status_code != 200:
        time.sleep(1.0)


def _checked(answer: httpx.Response) -> None:
    if answer.is_error:
        raise RuntimeError(answer.text)


def _requested(api: httpx.Client, path: str, address: str) -> Figures:
    before, begun = _processor(address), time.perf_counter()
    with api.stream("GET", path, headers={"Accept": "text/html" if path.startswith(PAGE) else "*/*"}) as answer:
        parts = answer.iter_raw()
        next(parts, None)
        first = time.perf_counter() - begun
        for _ in parts:
            pass
        answer.raise_for_status()
    return dict(zip(NAMES, (first, time.perf_counter() - begun, _processor(address) - before), strict=True))


def _drawn(browser: Browser, url: str, selector: str, address: str) -> Figures:
    before, begun = _processor(address), time.perf_counter()
    with browser.new_page() as page:
        page.goto(url, wait_until="commit", timeout=600_000)
        first = time.perf_counter() - begun
        page.locator(selector).wait_for(state="attached", timeout=600_000)
        whole = time.perf_counter() - begun
    return dict(zip(NAMES, (first, whole, _processor(address) - before), strict=True))


def _processor(address: str) -> float:
    """Processor time of a server and its model processes so far, in seconds."""
    server = listening(address)
    times = [process.cpu_times() for process in (server, *server.children(recursive=True))]
    return float(sum(each.user + each.system for each in times))


def _medians(figures: list[Figures]) -> Figures:
    return {name: round(statistics.median(each[name] for each in figures), 4) for name in NAMES}


if __name__ == "__main__":
    main()
