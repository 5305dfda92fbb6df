"""The benchmarks of catalogues, exclusions and contexts beside peers: the problems, and short runs without peers."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from adabkb_service.engine.axes import Value
from benchmarks.outcomes import contexts, exclusions, rows


def test_every_order_of_the_rows_has_the_same_experiments() -> None:
    for name, measured in rows.PROBLEMS.items():
        each = rows.Rows(measured, 1)
        assert len(each.numbers) == len(each.frame) == len(measured.table.means)
        search = rows.Search(each)
        values = [search(row) for row in range(len(each.order))]
        assert min(search.scores) == search.scores[int(np.argmax(values))] <= 1e-4, name


@pytest.mark.parametrize("name", exclusions.PROBLEMS)
def test_no_method_evaluates_an_excluded_combination(name: str) -> None:
    """The search raises KeyError otherwise."""
    excluding = exclusions.Excluding(exclusions.PROBLEMS[name], 0)
    assert 0.2 < len(excluding.values) / len(excluding.measured.table.means) < 0.9
    search = exclusions.Search(excluding)
    exclusions.constraint(excluding, search, 0, 6)
    exclusions.random(excluding, search, 0, 6)
    assert len(search.scores) == 12
    other = next(v for v in excluding.choices[excluding.pair[1]] if v not in excluding.allowed[_first(excluding)])
    point = {key: values[0] for key, values in excluding.choices.items()}
    with pytest.raises(KeyError):
        search({**point, excluding.pair[0]: _first(excluding), excluding.pair[1]: other})


def _first(excluding: exclusions.Excluding) -> Value:
    """The first value with an excluded partner."""
    second = excluding.choices[excluding.pair[1]]
    return next(value for value, partners in excluding.allowed.items() if len(partners) < len(second))


@pytest.mark.parametrize("name", contexts.PROBLEMS)
def test_no_random_point_is_better_than_the_best_one_in_a_context(name: str) -> None:
    problem = contexts.InContext(name, 0)
    points = np.random.default_rng(5).random((2000, problem.chosen))
    for context, (best, usual) in zip(problem.judged, problem._ends, strict=True):
        values = problem.values(points, float(context))
        assert values.max() <= best + 1e-3 * (best - usual)


@pytest.mark.long
@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        (rows, ["--problems", "alkox", "--methods", "catalogue,random", "--budget", "6"]),
        (exclusions, ["--problems", "lnp3", "--methods", "constraint,random", "--budget", "6"]),
        (contexts, ["--problems", "Branin", "--methods", "context,random"]),
    ],
)
def test_a_short_run_compares_the_methods(
    module: ModuleType, arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert module.benchmark().main([*arguments, "--seeds", "1", "--out", str(tmp_path / "out.json")]) == 0
    assert "after 10 evaluations, 1 seeds" in capsys.readouterr().out
