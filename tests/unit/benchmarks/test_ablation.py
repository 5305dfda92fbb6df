"""The ablation benchmark: mechanisms are disabled and enabled again, and the cost of disabling one comes from pairs of
runs.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.quality.ablation import BUDGETS, GROUPS, WHOLE, Group, Run, main, rows, run, summary, wanted
from benchmarks.quality.families import FINAL_PROBLEMS
from benchmarks.quality.mechanisms import MECHANISMS
from benchmarks.quality.nature import NATURE_FINAL

BY_NAME = {each.name: each for each in MECHANISMS}


@pytest.mark.long
def test_short_run_compares_and_resumes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept, out = tmp_path / "runs.jsonl", tmp_path / "out.json"
    names = ["end game", "pruning of cells"]
    arguments = ["--quick", "--mechanisms", *names, "--runs", str(kept), "--out", str(out)]
    main(arguments)
    lines, content = kept.read_text(), json.loads(out.read_text())
    assert len(lines.splitlines()) == sum(len(names) + 1 for group in GROUPS.values() for _ in group.all_seeds(1))
    assert {each["name"] for each in content["mechanisms"]} == set(names)
    for each in content["mechanisms"]:
        assert each["groups"].keys() == GROUPS.keys()
        assert all(len(of["ratio"]) == BUDGETS.index(20) + 1 for of in each["groups"].values())
    assert "end game" in capsys.readouterr().out

    main(arguments)
    assert kept.read_text() == lines
    assert json.loads(out.read_text())["mechanisms"] == content["mechanisms"]

    main([*arguments, "--kept"])
    assert json.loads(out.read_text())["mechanisms"] == content["mechanisms"]


def run_of(mechanism: str, seed: int, regrets: list[float], seconds: float, problem: str = "f") -> Run:
    return Run(mechanism, "group", problem, seed, regrets, seconds)


def test_cost_of_disabling_is_the_mean_ratio_of_paired_regrets() -> None:
    runs = [
        *(run_of(WHOLE, 0, [4.0, 1e-9], 1.0), run_of("end game", 0, [4.0, 2e-3], 3.0)),
        *(run_of(WHOLE, 1, [2.0, 1e-3], 1.0), run_of("end game", 1, [8.0, 8e-3], 3.0)),
        *(run_of(WHOLE, 0, [1.0, 1.0], 1.0, "g"), run_of("end game", 2, [8.0, 8.0], 3.0)),  # has no counterpart
    ]
    (found,) = summary(runs, {"group": Group((), 20, 1e-3)}, [BY_NAME["end game"]])
    cell = found["groups"]["group"]
    assert (cell["runs"], cell["changed"], cell["time"]) == (2, 2, 3.0)
    assert cell["ratio"] == pytest.approx([2.0, 4.0])
    assert cell["error"] == pytest.approx([np.log(2.0), np.log(2.0)], abs=1e-3)
    assert cell["most"] == {"problem": "f", "ratio": pytest.approx(4.0)}


def test_tables_mark_significant_ratios() -> None:
    cell = {"runs": 9, "changed": 9, "ratio": [1.0, 1.3, 1.0, 0.5], "error": [0.1] * 4, "time": 0.9}
    same = {**cell, "changed": 0}
    found = [{"name": "a", "in_paper": "b", "without": "c", "groups": {"functions": cell, "nature": same}}]
    assert rows(found)[0][3:5] == ["**1.30**, **0.50**", ""]
    cell["error"] = [0.4] * 4
    assert rows(found)[0][3] == "1.30, 0.50"


CHANGED = {
    "centroids of cells": ("described", "described_direct_arylation", 1),
    "pruning of cells": ("described", "described_direct_arylation", 1),
    "warp of results": ("described", "described_direct_arylation", 1),
    "smooth kernel where results seem noisy": ("nature", "emulated_photo_pce10_noise", 2),
    "additive part of the kernel": ("families", "separable_sum_6", 0),
    "unknown mean": ("described", "described_direct_arylation", 1),
    "descriptors of choices": ("described", "described_direct_arylation", 1),
    "prior of lengthscales by dimension": ("described", "described_direct_arylation", 1),
    "starts of learning at large noise": ("nature", "emulated_photo_pce10_noise", 2),
    "learning at checkpoints only": ("nature", "emulated_photo_pce10_noise", 2),
    "learning at once up to 20 results": ("described", "described_direct_arylation", 1),
    "learning at once after an outlier": ("functions", "Hartmann_3", 0),
    "gradient ascent": ("nature", "laboratory_2_8", 0),
    "candidates around the best point": ("nature", "laboratory_2_8", 0),
    "search axis by axis": ("families", "separable_sum_6", 0),
    "widths in turn": ("nature", "measured_fullerenes", 3),
    "other widths in the first steps": ("nature", "measured_fullerenes", 3),
    "other widths where there are categories": ("nature", "laboratory_2_8", 0),
    "steps for untried choices": ("described", "described_direct_arylation", 1),
    "plateaus": ("nature", "measured_colors_n9", 3),
    "points themselves where results seem noisy": ("nature", "emulated_photo_pce10_noise", 2),
    "no end game where results seem noisy": ("nature", "emulated_photo_pce10_noise", 2),
    "end game": ("nature", "laboratory_2_8", 1),
    "turns of the end game by its gains": ("nature", "laboratory_2_8", 0),
    "steps of the end game in a row": ("nature", "laboratory_2_8", 2),
    "restarts": ("nature", "laboratory_3_4x4", 0),
    "random points of a restart": ("functions", "Trid_4", 2),
    "neighborhood that a restart leaves out": ("functions", "Trid_4", 2),
    "axes that do not matter": ("families", "separable_sum_6", 0),
}
"""Mechanism -> group, problem and seed of a run that changes without it."""


QUICK = ("warp of results",)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.long) for name in BY_NAME]
)
def test_disabled_mechanism_changes_a_run_and_is_restored(name: str) -> None:
    """Except pruning, which affects no suggestion."""
    group, problem_name, seed = CHANGED[name]
    (problem,) = (each for each in GROUPS[group].problems if each.name == problem_name)
    budget = GROUPS[group].budget
    whole, off, again = (run(each, group, problem, seed, budget).regrets for each in (None, BY_NAME[name], None))
    assert (off != whole) is (name != "pruning of cells")
    assert again == whole


def test_mechanism_is_restored_after_an_error() -> None:
    mechanism, seen = BY_NAME["unknown mean"], []

    def present() -> list[float]:
        return [vars(owner)[name] for owner, name, _ in mechanism.replaced]

    def interrupted() -> None:
        with mechanism.off():
            seen.extend(present())
            raise KeyboardInterrupt

    before = present()
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert seen == [0.0, 0.0, 1.0]
    assert present() == before


def test_no_problem_of_a_final_set_is_used() -> None:
    names = {problem.name for group in GROUPS.values() for problem in group.problems}
    assert not names & (NATURE_FINAL.keys() | FINAL_PROBLEMS.keys())


def test_interrupted_benchmark_has_all_problems_of_the_first_seeds() -> None:
    groups = {name: replace(group, problems=group.problems[:2]) for name, group in GROUPS.items()}
    first, both = (list(wanted(groups, MECHANISMS[:1], seeds)) for seeds in (1, 2))
    assert both[: len(first)] == first
    assert len({each[:4] for each in both}) == len(both)
