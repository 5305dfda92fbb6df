"""docs/client.md: what it shows is what happens."""

import re
from pathlib import Path

import pytest

import adabkb_client

GUIDE = Path(__file__).parents[3] / "docs" / "client.md"


def test_the_guides_code_runs_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert len(blocks) >= 8
    names: dict[str, object] = {}
    try:
        for block in blocks:
            exec(block, names)
    finally:
        client = names["client"]
        assert isinstance(client, adabkb_client.Client)
        client.close()


def test_the_guide_names_every_method_of_a_study_that_it_speaks_of() -> None:
    mentioned = set(re.findall(r"`?study\.(\w+)\(", GUIDE.read_text()))
    assert mentioned <= set(dir(adabkb_client.Study))
    assert {
        "suggest",
        "observe",
        "trial",
        "run",
        "recommendation",
        "predict",
        "to_frame",
        "import_results",
    } <= mentioned
