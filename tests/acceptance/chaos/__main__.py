"""``python -m tests.acceptance.chaos``: the long run, on each setup; it exits with 1 after a violation."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.output import print_table, provenance, write
from tests.acceptance.chaos.databases import SETUPS, empty
from tests.acceptance.chaos.storm import RunPlan, run


def main() -> int:
    """Run the setups that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m tests.acceptance.chaos", description=__doc__)
    parser.add_argument("--setup", choices=[*SETUPS, "all"], default="all")
    parser.add_argument(
        "--kills", type=int, default=RunPlan.kills, help="a run lasts until there were so many kills ..."
    )
    parser.add_argument("--operations", type=int, default=RunPlan.operations, help="... and so many operations")
    parser.add_argument("--seconds", type=float, default=RunPlan.seconds, help="or until so many seconds are over")
    parser.add_argument("--clients", type=int, default=RunPlan.clients)
    parser.add_argument("--seed", type=int, default=RunPlan.seed)
    parser.add_argument("--out", type=Path, help="write the outcome as JSON")
    parser.add_argument("--keep", type=Path, help="leave the databases in this folder, to see what happened")
    asked = parser.parse_args()
    plot = RunPlan(asked.clients, asked.kills, asked.operations, asked.seconds, asked.seed)
    outcomes = {}
    for name in SETUPS if asked.setup == "all" else [asked.setup]:
        setup = SETUPS[name]
        with _folder(asked.keep, name) as folder, empty(setup.database, folder) as store:
            outcomes[name] = run(store, setup, plot, lambda *state, name=name: _show(name, *state))
        print(file=sys.stderr)
        for violation in outcomes[name].violations:
            print(f"VIOLATION {name}: {violation}")
    found = {name: vars(outcome) for name, outcome in outcomes.items()}
    print_table(HEADER, rows(found))
    if asked.out:
        _keep(asked.out, found)
    return 1 if any(outcome.violations for outcome in outcomes.values()) else 0


def _keep(file: Path, found: Mapping[str, Mapping[str, Any]]) -> None:
    """Write the outcomes, each with its command; keep those of other setups."""
    kept = json.loads(file.read_text())["setups"] if file.exists() else {}
    made = provenance("tests.acceptance.chaos")
    write(file, {"setups": {**kept, **{name: {**made, **outcome} for name, outcome in found.items()}}})


@contextmanager
def _folder(keep: Path | None, name: str) -> Iterator[Path]:
    """Yield the folder of a setup's database: below the folder to keep, or a temporary one."""
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="adabkb-chaos-", ignore_cleanup_errors=True) as folder:
            yield Path(folder)
    else:
        (keep / name).mkdir(parents=True)
        yield keep / name


def _show(name: str, seconds: float, kills: int, operations: int) -> None:
    line = f"{name}: {seconds:5.0f} s, {kills} kills, {operations} operations"
    print(f"\r{line}", end="", file=sys.stderr, flush=True)


HEADER = ["setup", "seconds", "kills", "operations", "per second", "silence s", "trials", "results", "violations"]
"""Operations are answered calls; silence is the longest time without one."""


def rows(outcomes: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    """The outcomes by setup, as a table."""
    return [
        [
            name,
            f"{outcome['seconds']:.0f}",
            f"{outcome['kills']}",
            f"{outcome['answered']}",
            f"{outcome['answered'] / max(outcome['seconds'], 1e-9):.0f}",
            f"{outcome['longest_silence']:.1f}",
            f"{outcome['trials']}",
            f"{outcome['observations']}",
            f"{len(outcome['violations'])}",
        ]
        for name, outcome in outcomes.items()
    ]


if __name__ == "__main__":
    sys.exit(main())
