"""Rows of the tables in the documentation are complete."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from adabkb_service.api.problem_types import all_problem_types
from adabkb_service.settings import table
from tests.acceptance.docs.test_docs import PAGES, ROOT
from tools.docs import sections
from tools.docs.tables import tables
from tools.openapi import document


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_table_rows_are_complete(page: Path) -> None:
    """An unescaped bar, or a line break within a cell, leaves too many or too few cells, or open brackets."""
    for heading, *rows in tables(page.read_text()):
        for row in rows:
            assert len(row) == len(heading), row
            for cell in row:
                assert cell.count("`") % 2 == 0, cell
                plain = re.sub(r"`[^`]*`", "", cell)
                assert plain.count("(") == plain.count(")"), cell


def rows(section: str) -> dict[str, list[str]]:
    """The rows of a generated section with one table, by the first cell with code."""
    [[_, _, *found]] = tables(sections.written(section))
    return {next(cell for cell in row if cell.startswith("`")).strip("`"): row for row in found}


def words(text: str | None) -> str:
    """Text without line breaks."""
    return " ".join((text or "").split())


def test_every_setting_is_explained_in_full() -> None:
    found = rows("settings")
    assert list(found) == [setting.name for setting in table()]
    for setting in table():
        assert setting.help
        assert found[setting.name][3] == words(setting.help)


def test_every_error_is_explained_in_full() -> None:
    found = rows("errors")
    assert found.keys() == {kind.code for kind in all_problem_types()}
    for kind in all_problem_types():
        assert kind.title
        assert found[kind.code][2::2] == [words(kind.title), words(kind.remedy)]


def test_every_call_is_described_in_whole_sentences() -> None:
    calls = {
        f"{method.upper()} {path}": call
        for path, of_path in document()["paths"].items()
        for method, call in of_path.items()
    }
    found = rows("routes")
    assert found.keys() == calls.keys()
    for name, call in calls.items():
        assert found[name][2] == words(call["description"].partition("\n\n")[0])
        assert found[name][2].endswith("."), name


def test_reference_has_every_field_and_parameter_with_its_full_description() -> None:
    described = document()
    parts = re.split(r"^### ", sections.written("http-reference"), flags=re.MULTILINE)[1:]
    by_title = {section.partition("\n")[0]: section for section in parts}
    for name, schema in described["components"]["schemas"].items():
        if "properties" in schema:
            assert_lists(by_title[name], schema["properties"])
    for path, of_path in described["paths"].items():
        for method, call in of_path.items():
            section = by_title[f"{method.upper()} {path}"]
            assert words(call["description"]) in words(section)
            if "parameters" in call:
                assert_lists(section, {each["name"]: each for each in call["parameters"]})


def assert_lists(section: str, expected: Mapping[str, Mapping[str, Any]]) -> None:
    """The first table of a section has a row for each of these, with its description before its limits."""
    _, _, *found = next(tables(section))
    by_name = {row[0].removesuffix(" *").strip("`"): row[-1] for row in found}
    assert by_name.keys() == expected.keys()
    for name, cell in by_name.items():
        assert cell.startswith(words(expected[name].get("description"))), name


def codes_of_field_errors() -> set[str]:
    """The codes that the service gives to errors in ``errors``, without those that pydantic or a definition gives, and
    without those of commands that work on the database."""
    service = ROOT / "service/adabkb_service"
    calls = [
        node
        for module in service.rglob("*.py")
        if module.relative_to(service).parts[:1] != ("cli",) and module.parent != service / "operations/data"
        if "FieldError(" in (source := module.read_text())
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "FieldError"
    ]
    return {str(call.args[2].value) for call in calls if len(call.args) == 3 and isinstance(call.args[2], ast.Constant)}


def test_table_of_error_entries_is_complete() -> None:
    page = (ROOT / "docs/http.md").read_text()
    listed = set(re.findall(r"`([a-z_]+)`", page.partition("### Codes in `errors`")[2]))
    assert len(codes_of_field_errors()) > 40
    assert codes_of_field_errors() - listed == set()
