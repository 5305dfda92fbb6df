"""Traces of ``auto`` on the development families, with which stopping rules are evaluated."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from adabkb_service.engine.auto.policy import Config, auto
from benchmarks.pool import keep_all
from benchmarks.quality.families.chosen_by import CHOSEN_BY
from benchmarks.quality.families.family import Family
from benchmarks.quality.problems import generator


@dataclass(frozen=True, slots=True)
class Trace:
    """The course of a run; smaller values are better."""

    family: str
    """The name of the family."""
    kind: str
    """Kind of the family, which may have members in several dimensions."""
    dimension: int
    noise: float
    """Standard deviation, as a share of the function's range."""
    values: Sequence[float]
    """The value of each evaluation."""
    scores: Sequence[float]
    """The regret of each evaluation, as a share of the function's range."""
    shares: Sequence[float]
    """The gap after each result, as a share of the range of the results; infinite while it is not known."""

    def first(self, count: int) -> Trace:
        """The first ``count`` evaluations, which do not depend on the length of the run."""
        return replace(self, values=self.values[:count], scores=self.scores[:count], shares=self.shares[:count])


@dataclass(frozen=True, slots=True)
class Run:
    """A run to be done."""

    family: Family
    seed: int
    budget: int

    def run(self) -> Trace:
        """Perform the run, and return its trace."""
        instance, values, scores, shares = self.family.draw(self.seed), [], [], []
        noise = generator(f"noise {self.family.name}", self.seed).normal(0.0, 1.0, self.budget) * instance.noise_std
        state = auto.start(instance.space, Config(), self.seed)
        for step in range(self.budget):
            suggestion = auto.suggest(state, np.zeros((0, instance.space.dimension)))
            outcome = instance.evaluate(instance.space.decode(suggestion.point))
            values.append(outcome.value + float(noise[step]))
            scores.append(outcome.score)
            state = auto.observe(suggestion.state, suggestion.point, -values[-1]).state
            share = auto.report(state).gap_share
            shares.append(math.inf if share is None else share)
        family = self.family
        return Trace(family.name, family.kind, family.dimension, family.noise, values, scores, shares)


def options(description: str, out: Path) -> argparse.ArgumentParser:
    """The command line of benchmarks that use traces."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--budget", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1, help="worker processes, one core each")
    parser.add_argument(
        "--traces", type=Path, help="file with the runs; if it does not exist, they are made and stored in it"
    )
    parser.add_argument("--out", type=Path, default=out)
    return parser


def collected(asked: argparse.Namespace) -> list[Trace]:
    """The requested runs, in order."""
    if asked.traces is not None and asked.traces.exists():
        return [Trace(**each) for each in json.loads(asked.traces.read_text())]
    runs = [Run(each, seed, asked.budget) for each in CHOSEN_BY for seed in range(asked.seeds)]
    found: dict[Run, Trace] = {}
    if keep_all(runs, asked.jobs, found.__setitem__):
        raise SystemExit("some runs failed, so nothing is measured or stored; start again to repeat all runs")
    traces = [found[run] for run in runs]
    if asked.traces is not None:
        asked.traces.parent.mkdir(parents=True, exist_ok=True)
        asked.traces.write_text(json.dumps([asdict(trace) for trace in traces]))
    return traces
