"""The tables of constants in docs/algorithm.md.

The configurable constants come from the fields of the two ``Config`` classes and their docstrings. For the constants
that are fixed under ``auto``, names and values come from the code, and the meanings from the document, which keeps
them.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import pkgutil
import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from adabkb_service.engine import auto as parts
from adabkb_service.engine.auto import config as auto
from adabkb_service.engine.auto import policy
from adabkb_service.engine.paper.config import Config
from tools import generated

DOCUMENT = Path(__file__).parents[2] / "docs" / "algorithm.md"
CONFIGS: dict[str, type] = {"config": Config, "auto-config": auto.Config}
CONSTANTS = "auto-constants"
NOT_CONSTANTS = {
    *("tree.ROOT", "tree.LEAF", "tree.PRUNED"),  # marks
    *("surrogate.CHUNK", "state.CHUNK"),  # how much memory a loop takes
    *("surrogate.PRIOR_VARIANCE", "components.NONE", "turns.NEW"),  # not a choice
}


def table(config: type) -> str:
    """One row per field docstring; fields without one share the next field's."""
    defaults = {field.name: field.default for field in dataclasses.fields(config)}
    rows, names = ["| constant | default | meaning |", "|---|---|---|"], list[str]()
    for node in ast.parse(inspect.getsource(config)).body[0].body:  # type: ignore[attr-defined]
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


def constants() -> dict[str, Any]:
    """``module.NAME`` -> value of each constant that is fixed under ``auto``, in the order of the code."""
    found_modules = pkgutil.walk_packages(parts.__path__, f"{parts.__name__}.")
    names = [found.name for found in found_modules if not found.ispkg and found.name != policy.__name__]
    modules = [policy, *map(import_module, sorted(names, key=lambda name: name.rpartition(".")[2]))]
    found = {}
    for module in modules:
        for node in ast.parse(inspect.getsource(module)).body:
            targets = node.targets if isinstance(node, ast.Assign) else []
            for target in (leaf for assigned in targets for leaf in ast.walk(assigned)):
                if isinstance(target, ast.Name) and re.fullmatch(r"[A-Z][A-Z_]+", target.id):
                    found[f"{module.__name__.rpartition('.')[2]}.{target.id}"] = getattr(module, target.id)
    return {name: value for name, value in found.items() if name not in NOT_CONSTANTS}


def constants_table(meanings: Mapping[str, str]) -> str:
    """One row per constant, with its meaning."""
    rows = [f"| `{name}` | {shown(value)} | {meanings.get(name, '')} |" for name, value in constants().items()]
    return "\n".join(["| constant | value | meaning |", "|---|---|---|", *rows]) + "\n"


def meanings() -> dict[str, str]:
    """The meanings in the document, by constant."""
    return dict(re.findall(r"^\| `(\w+\.\w+)` \| [^|]* \| (.*) \|$", written(CONSTANTS), re.MULTILINE))


def shown(value: object) -> str:
    """A value in mathematical notation."""
    if isinstance(value, np.ndarray) and len(value) > 1:
        return f"{value[0]:g} to {value[-1]:g} in steps of {value[1] - value[0]:g}"
    if isinstance(value, tuple | np.ndarray):
        return ", ".join(map(shown, value)) or "()"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}" if value >= 10_000 else str(value)
    return value if isinstance(value, str) else repr(value) if not isinstance(value, float) else short(value)


def short(value: float) -> str:
    """A number with six significant digits."""
    return repr(float(f"{value:.6g}"))


def tables() -> dict[str, str]:
    """Every table by its marker."""
    return {**{name: table(config) for name, config in CONFIGS.items()}, CONSTANTS: constants_table(meanings())}


def written(name: str) -> str:
    """A table in its present form in the document."""
    begin, end = marks(name)
    return DOCUMENT.read_text().split(begin)[1].split(end)[0]


def marks(name: str) -> tuple[str, str]:
    """The comments before and after a table."""
    return f"<!-- {name}:begin -->\n", f"<!-- {name}:end -->"


def write() -> None:
    """Bring the document up to date."""
    document = DOCUMENT.read_text()
    for name, text in tables().items():
        begin, _ = marks(name)
        document = document.replace(begin + written(name), begin + text)
    generated.write(DOCUMENT, document)
