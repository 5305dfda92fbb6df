"""docs/algorithm.md agrees with the code."""

from __future__ import annotations

import re

import pytest

from tools.docs import constants
from tools.generated import outdated


@pytest.mark.parametrize("name", sorted(constants.tables()))
def test_tables_of_constants_match_the_code(name: str) -> None:
    assert outdated(constants.written(name), constants.tables()[name]) == ""


def test_every_constant_of_auto_is_explained() -> None:
    meanings = constants.meanings()
    assert meanings
    assert [name for name in constants.constants() if not meanings[name].strip()] == []


def test_every_constant_in_the_document_exists() -> None:
    text = constants.DOCUMENT.read_text()
    known = {name.rpartition(".")[2] for name in constants.constants()} | {"TIE", "MAX_EXPANSIONS", "MAX_KEY_LENGTH"}
    named = set(re.findall(r"`(?:\w+\.)?([A-Z][A-Z_]{3,})`", text))
    assert named
    assert sorted(named - known) == []


def test_every_file_in_the_document_exists() -> None:
    text = constants.DOCUMENT.read_text()
    engine = constants.DOCUMENT.parents[1] / "service" / "adabkb_service" / "engine"
    files = re.findall(r"`((?:\w+/)*\w+\.py)`", text)
    assert files
    assert [name for name in files if not (engine / name).exists()] == []
