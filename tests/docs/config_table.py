"""The table of Config's fields in docs/algorithm.md. ``python -m tests.docs.config_table`` writes it anew."""

from __future__ import annotations

import ast
import dataclasses
import inspect
from pathlib import Path

from adabkb_service.engine.config import Config

DOCUMENT = Path(__file__).parents[2] / "docs" / "algorithm.md"
BEGIN, END = "<!-- config:begin -->\n", "<!-- config:end -->"


def table() -> str:
    """One row per field docstring; fields without one share the next field's."""
    defaults = {field.name: field.default for field in dataclasses.fields(Config)}
    rows, names = ["| constant | default | meaning |", "|---|---|---|"], list[str]()
    for node in ast.parse(inspect.getsource(Config)).body[0].body:  # type: ignore[attr-defined]
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.append(node.target.id)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and names:
            values = ", ".join(f"`{shown(defaults[name])}`" for name in names)
            meaning = inspect.cleandoc(str(node.value.value)).replace("\n", " ")
            rows.append(f"| {', '.join(f'`{name}`' for name in names)} | {values} | {meaning} |")
            names.clear()
        elif names:
            raise ValueError(f"fields without a docstring: {names}")
    rows += [f"| `{name}` | `{shown(defaults[name])}` | |" for name in names]
    return "\n".join(rows) + "\n"


def shown(default: object) -> str:
    """A default as a reader would write it."""
    return default if isinstance(default, str) else repr(default)


def written() -> str:
    """The table as the document has it."""
    return DOCUMENT.read_text().split(BEGIN)[1].split(END)[0]


if __name__ == "__main__":
    DOCUMENT.write_text(DOCUMENT.read_text().replace(BEGIN + written(), BEGIN + table()))
