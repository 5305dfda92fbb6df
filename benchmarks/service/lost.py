"""The effects of a killed server: ``python -m benchmarks.service.lost --servers 2 4``; ``--quick`` for a short run.

Servers share one PostgreSQL, and each request goes to any of them. When one server is killed, every study has some
results and a worker, whose evaluations are short. Other servers then follow the studies of the killed one, and have to
restore the models from the database. Measured: the time from the kill to the next suggestion of each study, and to the
next one of its model; quasi-random suggestions; the longest call; and whether each acknowledged result is stored once.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.output import RESULTS, print_table, provenance, write
from benchmarks.service.databases import Fresh, described, postgresql
from benchmarks.service.load import Worker
from benchmarks.service.measured import Pair
from benchmarks.service.methods import DEFAULT
from benchmarks.service.processes import SERVE, listening, serving, text

Figures = dict[str, float]
Answer = Mapping[str, Any]

STUDIES, RESULTS_BEFORE, RESULTS_AFTER = 16, 200, 100
"""Number of studies, and of the results of each before and after the server is killed."""
EVALUATION = 0.1
"""Seconds per evaluation."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service.lost", description=__doc__)
    parser.add_argument("--servers", nargs="+", type=int, default=[2, 4])
    parser.add_argument("--quick", action="store_true", help="a tenth of the results; writes nothing")
    parser.add_argument("--out", type=Path, default=RESULTS / "lost.json")
    options = parser.parse_args()
    share = 0.1 if options.quick else 1.0
    with postgresql() as fresh:
        database = described("postgresql", fresh())
        measured = {str(count): measure(fresh, count, share) for count in options.servers}
    print_table(header(measured), list(rows(measured)))
    if not options.quick:
        write(options.out, {**provenance("benchmarks.service.lost"), "database": database, "measured": measured})


def measure(fresh: Fresh, servers: int, share: float = 1.0) -> Figures:
    """Measure the effects of killing the first server."""
    before, after = int(RESULTS_BEFORE * share), int(RESULTS_AFTER * share)
    names = [f"study-{number}" for number in range(STUDIES)]
    under_way = threading.Barrier(STUDIES + 1)
    with serving([[*SERVE, text(fresh())]] * servers) as addresses:
        processes = [listening(address) for address in addresses]

        def run(number: int) -> list[Pair]:
            worker = Worker(number, STUDIES, addresses, EVALUATION)
            worker.create(names[number], number, DEFAULT)
            pairs = [worker.pair(names[number]) for _ in range(before)]
            under_way.wait()
            return pairs + [worker.pair(names[number]) for _ in range(after)]

        with ThreadPoolExecutor(STUDIES) as pool:
            runs = [pool.submit(run, number) for number in range(STUDIES)]
            under_way.wait()
            time.sleep(EVALUATION / 2)  # some workers evaluate, others wait for a response
            killed = time.perf_counter()
            processes[0].kill()
            pairs = {name: done.result() for name, done in zip(names, runs, strict=True)}
        counts = {name: _counts(addresses[-1], name) for name in names}
    return {"studies": STUDIES, **cost(list(pairs.values()), killed), **kept(pairs, counts)}


def cost(studies: Sequence[Sequence[Pair]], killed: float) -> Figures:
    def wait(pairs: Sequence[Pair], *, of_the_model: bool) -> float:
        later = (pair for pair in pairs if pair.suggested > killed and not (of_the_model and pair.degraded))
        return next((pair.suggested for pair in later), pairs[-1].observed) - killed

    nexts = sorted(wait(pairs, of_the_model=False) for pairs in studies)
    of_models = sorted(wait(pairs, of_the_model=True) for pairs in studies)
    later = [pair for pairs in studies for pair in pairs if pair.observed > killed]
    return {
        "next suggestion, median s": nexts[len(nexts) // 2],
        "next suggestion, longest s": nexts[-1],
        "next suggestion of the model, longest s": of_models[-1],
        "quasi-random points": sum(pair.degraded for pairs in studies for pair in pairs if pair.suggested > killed),
        "longest call, s": max(max(pair.suggested - pair.asked, pair.observed - pair.told) for pair in later),
    }


def kept(pairs: Mapping[str, Sequence[Pair]], counts: Mapping[str, Mapping[str, int]]) -> Figures:
    """Count missing and duplicate results. Each worker continues until all its results are accepted."""
    told, stored = sum(map(len, pairs.values())), sum(found["observations"] for found in counts.values())
    trials = sum(found["trials"] for found in counts.values())
    return {
        "results": told,
        "results lost": max(told - stored, 0),
        "surplus results or trials": max(stored, trials) - told,
    }


def _counts(address: str, study: str) -> dict[str, int]:
    connection = HTTPConnection(urlsplit(address).netloc, timeout=60)
    connection.request("GET", f"/v1/studies/{study}")
    with connection.getresponse() as response:
        counts: dict[str, int] = json.load(response)["counts"]
    connection.close()
    return counts


def header(measured: Answer) -> tuple[str, ...]:
    """The header of the table, with a column per number of servers."""
    return ("figure", *(f"{servers} servers" for servers in measured))


def rows(measured: Answer) -> Iterator[list[str]]:
    """The measurements, by number of servers."""
    for name in next(iter(measured.values())):
        yield [
            name,
            *(
                f"{figures[name]:,.3g}" if figures[name] < 1000 else f"{figures[name]:,.0f}"
                for figures in measured.values()
            ),
        ]


if __name__ == "__main__":
    main()
