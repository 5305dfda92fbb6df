"""Arguments in place of ``**settings: Unpack[StudySettings]``, from the fields of the TypedDict."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tools import generated

SETTINGS = generated.CLIENT / "_study_settings.py"
WIDTH = 112
"""Columns of a docstring's lines without the indentation of a method."""
INDENT = " " * 4
OTHERS = "others"
UNBROKEN = "\N{NO-BREAK SPACE}"
"""Stands for a space within code, where no line is broken."""


@dataclass(frozen=True)
class Setting:
    """A field of a TypedDict."""

    name: str
    kind: ast.expr
    documentation: str


def imports() -> dict[str, str]:
    """Return the imports of the names that the arguments and their types need."""
    found = {"Never": "from typing import Never"}
    for node in ast.parse(SETTINGS.read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            found |= {each.name: f"from {node.module} import {each.name}" for each in node.names}
        elif isinstance(node, ast.ClassDef):
            found[node.name] = f"from adabkb_client._study_settings import {node.name}"
    return found | {name: f"from adabkb_client._settings import {name}" for name in ("NOT_GIVEN", "given")}


def settings_of(procedure: ast.FunctionDef) -> list[Setting]:
    """Return the settings that a procedure takes as ``**settings``, if it does."""
    rest = procedure.args.kwarg
    if rest is None:
        return []
    assert isinstance(rest.annotation, ast.Subscript), procedure.name
    tree = ast.parse(SETTINGS.read_text("utf-8"))
    kinds = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    return list(_fields(kinds[ast.unparse(rest.annotation.slice)], kinds))


def _fields(kind: ast.ClassDef, kinds: dict[str, ast.ClassDef]) -> Iterator[Setting]:
    for base in map(ast.unparse, kind.bases):
        if base in kinds:
            yield from _fields(kinds[base], kinds)
    for field, text in zip(kind.body, kind.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign):
            name = ast.unparse(field.target)
            assert isinstance(text, ast.Expr), f"{name} is not documented"
            assert isinstance(text.value, ast.Constant), f"{name} is not documented"
            lines, _, others = str(text.value.value).partition("\n")
            yield Setting(name, field.annotation, f"{lines}\n{textwrap.dedent(others)}".strip())


def arguments(procedure: ast.FunctionDef, settings: Sequence[Setting]) -> ast.arguments:
    """Return the arguments of a procedure, with the settings in place of ``**settings``.

    Type checkers refuse all others. At run time, the server's error says which setting was probably meant.
    """
    those = procedure.args
    return ast.arguments(
        those.posonlyargs,
        those.args,
        those.vararg,
        [*those.kwonlyargs, *(ast.arg(each.name, each.kind) for each in settings)],
        [*those.kw_defaults, *(ast.Name("NOT_GIVEN") for _ in settings)],
        ast.arg(OTHERS, ast.Name("Never")) if settings else None,
        those.defaults,
    )


def documentation(procedure: ast.FunctionDef, settings: Sequence[Setting]) -> str:
    """Return the documentation of a procedure, where the entry of ``**settings`` is replaced by those of each."""
    text = ast.get_docstring(procedure, clean=True)
    assert text, f"{procedure.name} is not documented"
    if procedure.args.kwarg is None:
        return text
    lines = text.split("\n")
    (at,) = (number for number, line in enumerate(lines) if line.startswith(f"{INDENT}{procedure.args.kwarg.arg}: "))
    entries = [line for each in settings for line in _entry(each)]
    others = f"{INDENT}{OTHERS}: any other setting raises TypeError or Invalid."
    return "\n".join([*lines[:at], *entries, others, *lines[at + 1 :]])


def _entry(setting: Setting) -> Iterator[str]:
    """Yield the lines of a setting in the section of arguments. A list after the first paragraph stays one."""
    first, *paragraphs = setting.documentation.split("\n\n")
    first = first if first[1:2].isupper() else first[0].lower() + first[1:]
    whole = re.sub(r"``[^`]+``", lambda code: re.sub(r"\s+", UNBROKEN, code[0]), f"{setting.name}: {first}")
    for line in textwrap.wrap(
        whole,
        WIDTH,
        initial_indent=INDENT,
        subsequent_indent=2 * INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    ):
        yield line.replace(UNBROKEN, " ")
    for each in paragraphs:
        yield from ("", textwrap.indent(each, 2 * INDENT))
