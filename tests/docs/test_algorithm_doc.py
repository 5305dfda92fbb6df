"""docs/algorithm.md keeps to the code."""

from __future__ import annotations

import re

from tests.docs import config_table


def test_the_table_of_constants_is_the_dataclass() -> None:
    """``python -m tests.docs.config_table`` writes it anew."""
    assert config_table.written() == config_table.table()


def test_every_file_the_document_names_exists() -> None:
    text = config_table.DOCUMENT.read_text()
    engine = config_table.DOCUMENT.parents[1] / "service" / "adabkb_service" / "engine"
    files = re.findall(r"`((?:\w+/)*\w+\.py)`", text)
    assert files
    assert [name for name in files if not (engine / name).exists()] == []
