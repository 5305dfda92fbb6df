"""The sentences that explain a trial agree with the numbers in the same response, in seeded studies of several
kinds.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest

from tests.conftest import on_either

pytestmark = pytest.mark.long

TRIALS = 24
NUMBERS: list[dict[str, Any]] = [
    {"name": "x", "kind": "float", "low": -1, "high": 1},
    {"name": "rate", "kind": "float", "low": 1e-4, "high": 1, "scale": "log"},
    {"name": "kind", "kind": "int", "low": 0, "high": 2},
]
WITH_CHOICES = [*NUMBERS[:2], {"name": "kind", "kind": "categorical", "choices": [0, 1, 2]}]
KINDS: dict[str, dict[str, Any]] = {
    "smallest": {"direction": "minimize", "parameters": NUMBERS},
    "largest": {"direction": "maximize", "parameters": WITH_CHOICES},
    "bounded": {
        "direction": "minimize",
        "parameters": NUMBERS,
        "metrics": ["size"],
        "outcome_constraints": [{"metric": "size", "upper": 0.5}],
    },
}
NUMBER = r"(−?[\d.]+(?:e[+−]\d+)?)"
COMPARED = re.compile(
    rf"The model expected {NUMBER} \(90%: {NUMBER} to {NUMBER}\) here\. Probably (not better|better) than the best "
    rf"result until then, {NUMBER} \((less than |more than |)(\d+)% chance\)\."
)
FEWEST = 12
"""The number of results with which one can rely on a model of three parameters."""


@on_either("kind", KINDS)
def test_no_sentence_contradicts_the_numbers(kind: str, api: httpx.Client) -> None:
    answers = [answer for seed in (1, 2) for answer in explained(api, kind, seed)]
    words = " ".join(answer["decision"]["in_words"] for answer in answers)
    assert "Probably not better" in words, "the studies are too simple to compare anything"
    known = api.get(f"/v1/studies/{kind}-1/assessment").json()["outlook"]
    assert known["fewest"] == FEWEST
    for answer in answers:
        trial, decision = answer["trial"], answer["decision"]
        if "Too few results" in decision["in_words"]:
            assert decision["results"] < 4
        if "No result keeps all outcome constraints" in decision["in_words"]:
            assert decision["best"]["feasible"] is False
        if "nearest earlier point" in decision["in_words"]:
            apart = re.search(rf"differs from it by {NUMBER}% of", decision["in_words"])
            assert apart is not None
            assert float(apart[1]) / 100 == pytest.approx(decision["distance"], rel=0.06)
        check_comparisons(decision, trial["expected"], 1.0 if kind == "largest" else -1.0)


def check_comparisons(decision: dict[str, Any], expected: dict[str, float] | None, sign: float) -> None:
    """Check that comparing sentences are present if there is something to compare, and true."""
    words, best = decision["in_words"], decision["best"]
    is_early = decision["results"] < FEWEST
    assert ("too few results" in words) == is_early, words
    if is_early or expected is None or best is None or best.get("feasible") is False:
        assert "better" not in words
        assert not is_early or "expected" not in words
        return
    lead, std = sign * (expected["mean"] - best["value"]), expected["std"]
    shown = COMPARED.search(words)
    assert shown is not None, words
    *ends, better, highest, bound, percent = shown.groups()
    assert better == ("better" if lead > 0 else "not better")
    numbers = [*ends, highest]
    mean, low, high, value = (float(number.replace("\N{MINUS SIGN}", "-")) for number in numbers)
    chance = math.erfc(-lead / std / math.sqrt(2)) / 2
    for shown_end, name in ((mean, "mean"), (low, "lcb"), (high, "ucb")):
        assert shown_end == pytest.approx(expected[name], abs=0.1 * std + 1e-12), name
    assert value == pytest.approx(best["value"], abs=0.1 * std + 1e-12)
    share = int(percent) / 100
    true = {"": abs(share - chance) <= 0.005001, "less than ": 0 < chance < share, "more than ": share < chance < 1}
    assert true[bound], (words, chance)


def explained(api: httpx.Client, kind: str, seed: int) -> Iterator[dict[str, Any]]:
    """The trials of a study with noisy results, each with its decision."""
    study, rng = f"/v1/studies/{kind}-{seed}", np.random.default_rng(seed)
    body = {"id": f"{kind}-{seed}", "seed": seed, **KINDS[kind]}
    assert api.post("/v1/studies", json=body).status_code == 201
    for number in range(1, TRIALS + 1):
        (trial,) = api.post(f"{study}/suggest", json={}).json()["trials"]
        result: dict[str, Any] = {"trial": number, "value": measured(trial["parameters"], rng)}
        if kind == "bounded":
            result["metrics"] = {"size": abs(trial["parameters"]["x"])}
        assert api.post(f"{study}/observe", json=result).status_code == 200
        yield api.get(f"{study}/trials/{number}/why").json()


def measured(point: dict[str, Any], rng: np.random.Generator) -> float:
    """Several maxima, one of them global, and noise."""
    shift = (0.0, 0.4, -0.3)[point["kind"]]
    return math.sin(6 * (point["x"] + shift)) + (math.log10(point["rate"]) + 2) ** 2 / 4 + float(rng.normal(0, 0.05))
