"""docs/integrations.md and the examples: what they show is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.examples.test_examples import finish, start

GUIDE = Path(__file__).parents[2] / "docs" / "integrations.md"


def test_the_guides_code_runs_from_top_to_bottom(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADABKB_URL", server)
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL):
        exec(block, names)
    assert names["study"].best_value < 0.5  # type: ignore[attr-defined]
    assert names["search"].best_score_ > 0.97  # type: ignore[attr-defined]


def test_the_optuna_example_tunes_the_better_model() -> None:
    output = finish(start("examples/optuna_digits.py", "16"))
    found = re.search(r"best of 16 trials: (0\.\d+) at \{'model': 'svm'", output)
    assert found
    assert float(found[1]) > 0.97


def test_the_scikit_learn_example_beats_the_random_search_beside_it() -> None:
    output = finish(start("examples/sklearn_diabetes.py", "20"))
    ours, random = re.findall(r"SearchCV: R2 (0\.\d+) at", output)
    assert float(ours) > float(random)
