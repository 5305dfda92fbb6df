"""How long a report takes as a study's reports accumulate. ``python -m benchmarks.outcomes.reports_speed``

A server on SQLite, one client. 100 trials report 1,000 values each; the last 100 of each tenth trial are single
requests, which are timed. All earlier trials have reported the same steps. Writes
``benchmarks/results/outcomes-reports-speed.json``.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from benchmarks.output import RESULTS, print_table, provenance, takes_no_options, write
from tests.servers import server_on

OUT = RESULTS / "outcomes-reports-speed.json"
TRIALS = 100
STEPS = 1_000
"""Number of steps of each trial."""
TIMED = 100
"""Number of single reports of each tenth trial. The other reports are sent in one request per trial."""
RULES: dict[str, dict[str, Any] | None] = {
    "none": None,
    # These rules stop no trial, so that every report is evaluated.
    "median": {"rule": "median", "max_steps": 10_000, "after_trials": 1_000},
    "asha": {"rule": "asha", "max_steps": 10_000, "after_trials": 1_000},
    "patience": {"rule": "patience", "max_steps": 10_000, "no_gain_for": 10_000},
}


def measured(rule: Mapping[str, Any] | None) -> dict[str, list[float]]:
    """The numbers of reports in the study, with the median and 95% quantile of a single report's duration in ms."""
    found: dict[str, list[float]] = {"reports": [], "median_ms": [], "p95_ms": []}
    with tempfile.TemporaryDirectory() as folder, server_on(f"sqlite:///{folder}/adabkb.db") as address:
        client = httpx.Client(base_url=f"{address}/v1", timeout=120)
        parameters = [{"name": "x", "kind": "float", "low": 0, "high": 1}]
        definition = {"id": "s", "direction": "minimize", "parameters": parameters, "early_stopping": rule}
        client.post("/studies", json=definition).raise_for_status()
        for tenth in range(10):
            for number in range(1 + tenth * TRIALS // 10, 1 + (tenth + 1) * TRIALS // 10):
                client.post("/studies/s/trials", json={"parameters": {"x": number / TRIALS}}).raise_for_status()
                client.post("/studies/s/suggest", json={}).raise_for_status()
                reports = [{"step": step, "value": 1.0 / (step + number)} for step in range(STEPS)]
                single = reports[-TIMED:] if number % (TRIALS // 10) == 0 else []
                many = {"reports": reports[: STEPS - len(single)]}
                client.post(f"/studies/s/trials/{number}/reports", json=many).raise_for_status()
            seconds = []
            for body in single:
                before = time.perf_counter()
                client.post(f"/studies/s/trials/{number}/reports", json=body).raise_for_status()
                seconds.append(time.perf_counter() - before)
            found["reports"].append(STEPS * number)
            found["median_ms"].append(round(1e3 * float(np.median(seconds)), 2))
            found["p95_ms"].append(round(1e3 * float(np.quantile(seconds, 0.95)), 2))
        client.close()
    return found


def main(out: Path = OUT) -> None:
    """Measure, print and store the results."""
    takes_no_options("benchmarks.outcomes.reports_speed", __doc__)
    results = {name: measured(rule) for name, rule in RULES.items()}
    write(out, {**provenance("benchmarks.outcomes.reports_speed"), "rules": results})
    rows = [
        [name, *(f"{median} {p95}" for median, p95 in zip(each["median_ms"], each["p95_ms"], strict=True))]
        for name, each in results.items()
    ]
    print_table(["median and 95% ms at", *(f"{count:,}" for count in results["none"]["reports"])], rows)


if __name__ == "__main__":
    main()
