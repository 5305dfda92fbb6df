"""``python -m benchmarks.service``: throughput of the service, of a minimal service (the floor), and of Optuna.

``--quick`` measures little and writes nothing. The minimal service commits as often as ours.

A pair is a suggestion and its result. Eight studies of Hartmann 6 begin without results, under the default profile and,
to exclude the cost of learning, under ``paper``. Each run has an empty database; servers and clients are separate
processes. The methods run in turn, and all of them ``--repeats`` times.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.output import RESULTS, print_table, provenance, write
from benchmarks.service import report
from benchmarks.service.databases import BACKENDS, Fresh, described
from benchmarks.service.methods import PEERS, SERVICES, Setting, counted
from benchmarks.service.workload import STUDIES

PACKAGES = ("fastapi", "uvicorn", "sqlalchemy", "psycopg")
QUICK = ["--backends", "sqlite", "--clients", "8", "--results", "20", "--no-peers"]


def main() -> None:
    options = parsed()
    with ExitStack() as stack:
        databases = {backend: stack.enter_context(BACKENDS[backend]()) for backend in options.backends}
        content = about(databases, options)
        content["cells"] = measured(databases, options)
    bars = list(report.bars(content["cells"]))
    content["bars"] = [asdict(bar) for bar in bars]
    if not options.quick:
        write(options.out, content)
    print_table(report.THROUGHPUT, list(report.throughput(content["cells"])))
    print_table(report.CALLS, list(report.calls(content["cells"])))
    print_table(report.PROCESSOR, list(report.processor(content["cells"])))
    print(*bars, sep="\n")


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service", description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"writes nothing; implies {' '.join(QUICK)}")
    parser.add_argument("--backends", nargs="+", choices=BACKENDS, default=list(BACKENDS))
    parser.add_argument("--clients", nargs="+", type=int, default=[1, 8, 32])
    parser.add_argument("--servers", nargs="+", type=int, default=[1], help="numbers of servers on PostgreSQL")
    parser.add_argument("--results", type=int, default=100, help="number of results per study")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--peers", action=argparse.BooleanOptionalAction, default=True, help="measure Optuna, too")
    parser.add_argument("--out", type=Path, default=RESULTS / "service.json")
    given = sys.argv[1:]
    return parser.parse_args([*QUICK, *given] if "--quick" in given else given)


def about(databases: Mapping[str, Fresh], options: argparse.Namespace) -> dict[str, Any]:
    """Properties of the machine and the databases that affect the numbers."""
    content = provenance("benchmarks.service")
    names = [*PACKAGES, "optuna"] if options.peers else PACKAGES
    content["versions"] |= {name: version(name) for name in names}
    content["databases"] = {backend: described(backend, fresh()) for backend, fresh in databases.items()}
    return {**content, "studies": STUDIES, "results_per_study": options.results}


def measured(databases: Mapping[str, Fresh], options: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure every method in every setting, repeatedly."""
    cells = [
        {"backend": backend, "servers": servers, "clients": clients, "routing": routing}
        for backend in databases
        for clients in options.clients
        for servers in sorted({1, *(() if backend == "sqlite" else options.servers)})
        for routing in (("any", "study") if servers > 1 else ("any",))
    ]
    settings = [Setting(cell["servers"], cell["clients"], options.results, cell["routing"]) for cell in cells]
    runs: list[dict[str, list[dict[str, Any]]]] = [{} for _ in cells]
    for cell, setting in zip(cells, settings, strict=True):
        cell["counts"] = counted(databases[cell["backend"]](), setting)
    for repeat in range(options.repeats):
        for cell, setting, done in zip(cells, settings, runs, strict=True):
            methods = SERVICES | PEERS if options.peers and setting.servers == 1 else SERVICES
            for name, run in methods.items():
                found = run(databases[cell["backend"]](), setting, cell["counts"])
                done.setdefault(name, []).append(found)
                rate = found["pairs_per_second"]
                print(f"{repeat + 1}/{options.repeats} {name} {setting} {cell['backend']}: {rate:.1f}/s", flush=True)
    return [
        {**cell, "methods": {name: report.combined(found) for name, found in done.items()}}
        for cell, done in zip(cells, runs, strict=True)
    ]


if __name__ == "__main__":
    main()
