"""Each rule of the setting ``stop`` works, and every interface has it.

To add one, extend ``STOP_RULES`` of the engine and ``Stop`` of the contract; these tests fail until the rest follows.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import TypeAdapter, ValidationError

import adabkb_client
from adabkb_client import Client, Float
from adabkb_client.mcp._arguments import Stop as ToolStop
from adabkb_integrations.inprocess import minimize
from adabkb_service.cli.study_settings import CREATED, UPDATED
from adabkb_service.contract.stop import RULES, Stop
from adabkb_service.engine.ending import STOP_RULES, reason_to_end

ROOT = Path(__file__).parents[3]
VALID = {"count": 7, "share": 0.25}
"""A number of each kind."""
INVALID = {"count": (0, 1.5, None), "share": (0.0, 1.0, None)}
NAMES = list(Stop.model_fields)


def valid(name: str) -> Any:
    return VALID[STOP_RULES[name].number]


def test_the_contract_has_the_rules_of_the_engine() -> None:
    assert list(STOP_RULES) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_rule_ends_a_study(name: str) -> None:
    """It applies to the most advanced study, not to the least advanced one, and gives its reason."""

    def reason(since_gain: int, gap_share: float) -> str | None:
        return reason_to_end(
            is_used_up=False,
            is_exhausted=False,
            rules={name: valid(name)},
            since_gain=since_gain,
            gap_share=gap_share,
        )

    assert reason(10**9, 0.0) == STOP_RULES[name].reason
    assert reason(0, 1.0) is None


@pytest.mark.parametrize("name", NAMES)
def test_the_server_and_minimize_take_the_same_numbers(name: str) -> None:
    assert Stop(**{name: valid(name)}).model_dump() == {name: valid(name)}

    def search(number: Any) -> None:
        rules: Any = {name: number}
        minimize(lambda x: x * x, {"x": Float(0, 1)}, 1, stop=rules, progress=False)

    search(valid(name))
    for number in INVALID[STOP_RULES[name].number]:
        with pytest.raises(ValidationError):
            Stop.model_validate({name: number})
        with pytest.raises((TypeError, ValueError), match=re.escape(f"stop['{name}']")):
            search(number)


def test_clients_commands_and_agents_have_the_rules() -> None:
    assert list(adabkb_client.Stop.__annotations__) == NAMES
    assert list(ToolStop.__annotations__) == NAMES
    assert list(RULES) == NAMES
    for shown in (CREATED, UPDATED):
        assert set(NAMES) <= {*shown.listed, *shown.others}
    for name in NAMES:
        TypeAdapter(ToolStop).validate_python({name: valid(name)})


@pytest.mark.parametrize("name", NAMES)
def test_pages_have_a_field_and_words_for_a_rule(client: Client, server: str, name: str) -> None:
    """The form replaces ``stop`` as a whole, so an edit of a study would remove a rule without a field."""
    page = httpx.get(f"{server}/new", headers={"Accept": "text/html"}).raise_for_status().text
    inputs = [each for each in re.findall(r"<input[^>]*>", page) if 'data-group="stop"' in each]
    (field,) = [each for each in inputs if f'name="{name}"' in each]
    (id_of_field,) = re.findall(r'id="([^"]+)"', field)
    assert f'<label for="{id_of_field}">' in page
    assert RULES[name].words
    rules: Any = {name: valid(name)}
    client.create_study("s", {"x": Float(0, 1)}, direction="minimize", stop=rules)
    shown = httpx.get(f"{server}/studies/s", headers={"Accept": "text/html"}).raise_for_status().text
    (line,) = re.findall(r"<dt>Ends early</dt>\s*<dd>(.*?)</dd>", shown, re.DOTALL)
    assert "7" in line or "25%" in line


@pytest.mark.parametrize("page", ["docs/http.md", "docs/guides/when-to-stop.md"])
def test_the_documentation_has_the_rules(page: str) -> None:
    text = (ROOT / page).read_text()
    assert [name for name in NAMES if f"`{name}`" not in text and f'"{name}"' not in text] == []
