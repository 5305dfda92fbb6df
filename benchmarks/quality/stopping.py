"""``python -m benchmarks.quality.stopping``: the savings and losses of the rules of ``stop``.

All rules are applied to the same runs of ``auto`` on the development families, over 200 evaluations. Each stopped run
is compared with its own continuation. Writes results/stopping.json.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.output import RESULTS, print_table, provenance, write
from benchmarks.quality.traces import Trace, collected, options

EVALUATIONS = 200
PATIENCE = (10, 20, 30, 50, 75, 100)
SHARES = (0.2, 0.1, 0.05, 0.02, 0.01, 0.005)
MUCH = 0.01
"""A large loss, as a share of the function's range."""

Rule = Callable[[int, float], bool]
"""(results since the best one, gap as a share of the range of results) -> whether the run ends."""


def no_gain_for(patience: int) -> Rule:
    """The rule of this name."""
    return lambda since_best, _: since_best >= patience


def gap_share_below(least: float) -> Rule:
    """The rule of this name."""
    return lambda _, share: share < least


RULES = {f"no_gain_for: {each}": no_gain_for(each) for each in PATIENCE} | {
    f"gap_share_below: {each:g}": gap_share_below(each) for each in SHARES
}


def stopped_at(run: Trace, rule: Rule) -> int:
    """The number of evaluations after which the rule ends a run."""
    best = 0
    for step, (value, share) in enumerate(zip(run.values, run.shares, strict=True)):
        best = step if value < run.values[best] else best
        if rule(step - best, share):
            return step + 1
    return len(run.values)


def losses(runs: Sequence[Trace], rule: Rule) -> dict[str, float]:
    """The savings and losses of a rule over the runs."""
    used, ratios, lost = [], [], []
    for run in runs:
        end = stopped_at(run, rule)
        then, at_last = (run.scores[int(np.argmin(run.values[:count]))] for count in (end, len(run.values)))
        used.append(end / len(run.values))
        ratios.append(then / at_last)
        lost.append(then - at_last > MUCH)
    return {
        "evaluations": float(np.mean(used)),
        "ratio": float(np.exp(np.mean(np.log(ratios)))),
        "lost_much": float(np.mean(lost)),
    }


def main() -> None:
    asked = options(__doc__ or "", RESULTS / "stopping.json").parse_args()
    runs = [trace.first(EVALUATIONS) for trace in collected(asked)]
    found = {name: losses(runs, rule) for name, rule in RULES.items()}
    made = provenance("benchmarks.quality.stopping")
    write(asked.out, {**made, "runs": len(runs), "evaluations": EVALUATIONS, "rules": found})
    print_table(HEADER, rows(found))


HEADER = ["rule", "evaluations used", "regret, as a multiple", "runs that lose over 1% of the range"]


def rows(found: dict[str, dict[str, float]]) -> list[list[str]]:
    """The rules as a table."""
    return [
        [rule, f"{loss['evaluations']:.0%}", f"{loss['ratio']:.2f}", f"{loss['lost_much']:.0%}"]
        for rule, loss in found.items()
    ]


if __name__ == "__main__":
    main()
