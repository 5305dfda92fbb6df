"""docs/algorithm.md agrees with the code."""

from __future__ import annotations

import re

import pytest

from tests.acceptance.docs import config_table


@pytest.mark.parametrize("name", sorted(config_table.tables()))
def test_tables_of_constants_match_the_code(name: str) -> None:
    """``python -m tests.acceptance.docs.config_table`` updates them."""
    assert config_table.written(name) == config_table.tables()[name]


def test_every_constant_of_auto_is_explained() -> None:
    meanings = config_table.meanings()
    assert meanings
    assert [name for name in config_table.constants() if not meanings[name].strip()] == []


def test_every_constant_in_the_document_exists() -> None:
    text = config_table.DOCUMENT.read_text()
    known = {name.rpartition(".")[2] for name in config_table.constants()} | {"TIE", "MAX_EXPANSIONS", "MAX_KEY_LENGTH"}
    named = set(re.findall(r"`(?:\w+\.)?([A-Z][A-Z_]{3,})`", text))
    assert named
    assert sorted(named - known) == []


def test_every_file_in_the_document_exists() -> None:
    text = config_table.DOCUMENT.read_text()
    engine = config_table.DOCUMENT.parents[1] / "service" / "adabkb_service" / "engine"
    files = re.findall(r"`((?:\w+/)*\w+\.py)`", text)
    assert files
    assert [name for name in files if not (engine / name).exists()] == []
