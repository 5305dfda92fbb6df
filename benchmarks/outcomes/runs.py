"""Run a benchmark from the command line. Each run is added to a file as soon as it is completed."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.output import print_table, provenance
from benchmarks.pool import Runnable, keep_all, rewriting

COURSES = ("best", "regrets", "volumes")
"""Fields of runs with a number for each evaluation."""
Key = tuple[str, str, int]
"""Problem, method and seed."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of results."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Axes:
    """How runs are drawn: the fields for the axes, and their labels."""

    y: str
    y_label: str
    x: str | None = None
    """Field for the x axis; None for the number of evaluations."""
    x_label: str = "evaluations"
    y_scale: str = "linear"


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A comparison of methods on problems with several seeds, and its tables."""

    module: str
    """The module that runs the benchmark."""
    about: str | None
    """The description in the command's help."""
    job: Callable[..., Runnable]
    """Makes a run from the problem, the method, the seed and, if there is one, the budget."""
    problems: Sequence[str]
    methods: Sequence[str]
    seeds: int
    out: Path
    """The default file of its runs."""
    tables: Callable[[Path], Iterable[Table]]
    """The tables of a file of runs."""
    axes: Axes
    budget: float | None = None
    """The default budget of a run; None if runs have no budget."""
    packages: Mapping[str, Iterable[str]] = field(default_factory=dict)
    """Method -> packages whose versions are recorded."""
    problem_word: str = "problem"
    """The word for a problem: the field of a run in the file and, in the plural, the option of the command."""
    separator: str = ","
    """The separator of names in options of the command."""

    def keep(self, path: Path, key: Key, run: Mapping[str, Any]) -> None:
        """Add a run to a file."""
        with rewriting(path) as partial:
            runs = load(path, self.problem_word)
            runs[key] = {**dict(zip((self.problem_word, "method", "seed"), key, strict=True)), **run}
            packages = _packages(path) | {each: version(each) for each in self.packages.get(key[1], ())}
            head = {**provenance(self.module), "packages": dict(sorted(packages.items()))}
            lines = ",\n".join(f"  {json.dumps(each, separators=(',', ':'))}" for _, each in sorted(runs.items()))
            partial.write_text(f'{{\n "provenance": {json.dumps(head)},\n "runs": [\n{lines}\n ]\n}}\n')

    def main(self, arguments: Sequence[str] | None = None) -> int:
        """Perform the missing runs that the arguments select, and print the tables. Return 1 if one failed, else 0."""
        given = self._parser().parse_args(arguments)
        budget = () if self.budget is None else (given.budget,)
        done = load(given.out, self.problem_word)
        keys = [
            (name, method, seed) for seed in range(given.seeds) for name in given.problems for method in given.methods
        ]
        jobs = {self.job(*key, *budget): key for key in keys if given.force or key not in done}
        failed = keep_all(list(jobs), given.workers, lambda job, run: self.keep(given.out, jobs[job], run))
        for each in self.tables(given.out):
            print(f"\n{each.title}")
            print_table(each.header, each.rows)
        return int(failed > 0)

    def _parser(self) -> argparse.ArgumentParser:
        def names(text: str) -> list[str]:
            return text.split(self.separator)

        parser = argparse.ArgumentParser(prog=f"python -m {self.module}", description=self.about)
        parser.add_argument(f"--{self.problem_word}s", dest="problems", type=names, default=list(self.problems))
        parser.add_argument("--methods", type=names, default=list(self.methods))
        parser.add_argument("--seeds", type=int, default=self.seeds)
        if self.budget is not None:
            parser.add_argument("--budget", type=type(self.budget), default=self.budget)
        parser.add_argument("--workers", type=int, default=1)
        parser.add_argument("--force", action="store_true", help="repeat runs that already have results")
        parser.add_argument("--out", type=Path, default=self.out)
        return parser


@dataclass(frozen=True, slots=True)
class Found:
    """Comparable runs: each method on each problem with each seed."""

    runs: Mapping[Key, Mapping[str, Any]]
    problems: Sequence[str]
    methods: Sequence[str]
    seeds: Sequence[int]

    def of(self, problem: str, method: str) -> list[Mapping[str, Any]]:
        """The runs of a method on a problem, one per seed."""
        return [self.runs[problem, method, seed] for seed in self.seeds]

    @property
    def among(self) -> str:
        """The numbers of problems and seeds, as text."""
        return f"{len(self.problems)} problems, {len(self.seeds)} seeds"


def comparable(path: Path, problems: Iterable[str], methods: Iterable[str], problem_word: str = "problem") -> Found:
    """The comparable runs of a file: see ``compared``."""
    return compared(load(path, problem_word), problems, methods)


def compared(found: Mapping[Key, Mapping[str, Any]], problems: Iterable[str], methods: Iterable[str]) -> Found:
    """The comparable ones of some runs. Of ``methods``, those that have runs are compared, on the problems and with the
    seeds for which each of them has a run."""
    used = [name for name in methods if any(method == name for _, method, _ in found)]
    both = [name for name in problems if used and all((name, method, 0) in found for method in used)]
    seeds = sorted({seed for *_, seed in found})
    shared = [seed for seed in seeds if both and all((name, method, seed) in found for name in both for method in used)]
    return Found(found, both, used, shared)


def scored(
    path: Path,
    problems: Iterable[str],
    methods: Iterable[str],
    counts: Iterable[int],
    what: str = "score",
    at: Callable[[Mapping[str, Any], int], float] = lambda run, count: run["best"][:count][-1],
) -> Iterable[Table]:
    """One table per number of evaluations: the median score per problem and method, and the numbers of seeds in which
    the first method is better and worse than the second one.

    Args:
        path: the file of runs.
        problems: the problems, in order.
        methods: the methods, in order.
        counts: the numbers of evaluations.
        what: the name of the score, which is better if it is smaller.
        at: the score of a run after a number of evaluations.
    """
    found = comparable(path, problems, methods)
    for count in counts:
        rows = []
        for problem in found.problems:
            each = [[at(run, count) for run in found.of(problem, method)] for method in found.methods]
            pairs = list(zip(*each[:2], strict=True))
            against = f"{sum(own < other for own, other in pairs)}, {sum(own > other for own, other in pairs)}"
            rows.append([problem, *(f"{median(scores):.2g}" for scores in each), against])
        title = f"{what.capitalize()} after {count} evaluations, {len(found.seeds)} seeds"
        yield Table(title, ["problem", *found.methods, against_name(*found.methods[:2])], rows)


def beside(
    own: Path,
    peers: Path,
    problems: Iterable[str],
    methods: Sequence[str],
    count: int,
    title: str,
    scores: Callable[[Sequence[Sequence[Mapping[str, Any]]]], Iterable[str]],
) -> Table:
    """A table of methods and of peers, whose runs are in another file. Peers are slow, so problems may have different
    numbers of seeds; a problem without runs of all methods is left out.

    Args:
        own: the file of runs.
        peers: the file of runs of peers.
        problems: the problems, in order.
        methods: the methods and the peers, in order.
        count: the number of evaluations. Methods with shorter runs are left out.
        title: the title of the table.
        scores: returns the cells of a problem, given the runs of each method.
    """
    every = load(own, "problem") | load(peers, "problem")
    long = {key: run for key, run in every.items() if any(len(run.get(field, ())) >= count for field in COURSES)}
    used = [name for name in methods if any(method == name for _, method, _ in long)]
    rows = []
    for problem in problems:
        found = compared(long, [problem], used)
        if found.seeds:
            rows.append([problem, str(len(found.seeds)), *scores([found.of(problem, name) for name in used])])
    return Table(title, ["problem", "seeds", *used], rows)


def against_name(method: str, other: str) -> str:
    """The name of a column with the numbers of seeds in which a method is better, and worse, than another one."""
    return f"seeds where {method} is better, worse than {other}"


def _packages(path: Path) -> dict[str, str]:
    """The versions of the packages with which the runs of a file were made."""
    return dict(json.loads(path.read_text())["provenance"].get("packages", {})) if path.exists() else {}


def load(path: Path, problem_word: str) -> dict[Key, dict[str, Any]]:
    """The runs of a file, whose field ``problem_word`` holds the problem; empty if there is no file."""
    runs = json.loads(path.read_text())["runs"] if path.exists() else []
    return {(run[problem_word], run["method"], run["seed"]): run for run in runs}
