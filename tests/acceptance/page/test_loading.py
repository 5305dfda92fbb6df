"""The page of a server that is loading the engine."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, expect

from tests.acceptance.page.studies import PARAMETERS
from tests.loading import loading_server


@pytest.mark.long
def test_a_study_says_that_suggestions_wait_for_the_engine_until_it_is_loaded(
    other_sqlite: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, browser: Browser
) -> None:
    may_start = tmp_path / "may-start"
    with loading_server(other_sqlite, tmp_path, may_start, monkeypatch) as address, browser.new_page() as page:
        created = httpx.post(
            f"{address}/v1/studies", json={"id": "s", "parameters": PARAMETERS, "direction": "minimize"}
        )
        assert created.status_code == 201
        page.goto(f"{address}/studies/s")
        waiting = page.get_by_role("status").filter(has_text="loading the engine; suggestions wait for it")
        expect(waiting).to_be_visible()
        may_start.touch()
        expect(waiting).to_have_count(0)
