"""Write the settings of a study as the types of the client, the arguments of the agents' tools and the options of
commands, from ``contract/settings.py``.

``python -m tools.study_settings`` writes them again. A setting with a type that no other setting has needs a line in
``TYPES``.
"""

from __future__ import annotations

import ast
import json
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import getsource
from itertools import pairwise
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from adabkb_service.contract import settings as table
from adabkb_service.contract.setting import Setting, is_optional
from adabkb_service.contract.settings import CHANGEABLE, SETTINGS, StudyFields
from adabkb_service.contract.stop import RULES, Stop
from tools import generated
from tools.generated import CLIENT, ROOT

COMMANDS = ROOT / "service" / "adabkb_service" / "cli"
STOP = "stop"
WIDTH = 120
INDENT = " " * 4
LIMITATIONS = (
    "A cost budget can only be replaced by another cost budget, and another budget cannot be replaced by a cost "
    "budget. ``stop`` replaces both of its rules. Outcome constraints can only name metrics that the study measures. "
    "Early stopping cannot be removed, and keeps its rule, ``max_steps`` and ``metric``."
)
"""What changes cannot do."""


@dataclass(frozen=True)
class Type:
    """A type of the contract in the client."""

    argument: str
    """What a program may give."""
    record: str
    """What ``StudyInfo`` has."""
    agents: str
    """What an agent may give."""
    answer: str
    """What an agent gets."""
    nothing: str = ""
    """The value in ``StudyInfo`` of a setting that a study lacks, unless it is None."""


def _list(of_client: str, of_agents: str, answer: str = "list[str]") -> Type:
    return Type(f"Sequence[{of_client}]", f"tuple[{of_client}, ...]", f"list[{of_agents}]", answer, "()")


def _dict(of_client: str, of_agents: str, answer: str = "dict[str, Any]") -> Type:
    record = f"dict[str, {of_client}]"
    return Type(f"Mapping[str, {of_client}]", record, of_agents, answer, "field(default_factory=dict)")


DICTS = "list[dict[str, Any]]"
BUDGETS = "CostBudget | PlateBudget"
TEXT = Type("str", "str", "str", "str")
TYPES = {
    "Algorithm": Type("Algorithm", "Algorithm", "Point", "dict[str, Any]"),
    "Baseline": _dict("Any", "Point"),
    "Beliefs": _dict("Belief", "dict[str, Belief]"),
    "Budget": Type(f"SupportsIndex | {BUDGETS}", f"int | {BUDGETS}", "Budget", "int | dict[str, Any]"),
    "Constraints": _list("str", "str"),
    "CostSource": Type('Literal["told", "measured"]', "str", 'Literal["told", "measured"]', "str"),
    "Count": Type("SupportsIndex", "int", "Count", "int"),
    "Description": TEXT,
    "EarlyStopping": Type(
        "MedianRule | AshaRule | PatienceRule | EarlyStopping", "EarlyStopping", "EarlyStopping", "dict[str, Any]"
    ),
    "LeaseSeconds": Type("SupportsFloat", "float", "LeaseSeconds", "float"),
    "MetricNames": _list("str", "str"),
    "Mixtures": _list("Mixture", "Mixture", DICTS),
    "NotNegative": Type("SupportsFloat", "float", "NotNegative", "float"),
    "Objectives": _list("StudyObjective", "Objective", DICTS),
    "OlderStudies": _list("str", "StudyId"),
    "OutcomeConstraints": _list("OutcomeConstraint", "OutcomeConstraint", DICTS),
    "Plates": Type("Plates", "Plates", "Plates", "dict[str, Any]"),
    "Quantities": _dict("Quantity", "dict[str, Quantity]"),
    "Seed": Type("SupportsIndex", "int", "Seed", "int"),
    "Stop": Type("Stop", "Stop", "Stop", "dict[str, Any]"),
    "Tags": _dict("str", "dict[str, str]", "dict[str, str]"),
    "Title": TEXT,
    "bool": Type("bool", "bool", "bool", "bool", "False"),
}
"""The types of settings, by their names in ``StudyFields``."""
DRAWN = "seed"
"""The setting that every study has, although a definition may lack it."""


@dataclass(frozen=True)
class Declared:
    """A setting as the table declares it."""

    name: str
    type: Type
    documentation: str
    """For programs, as the table has it, in lines."""

    @property
    def setting(self) -> Setting:
        """Its entry."""
        return SETTINGS[self.name]

    @property
    def is_optional(self) -> bool:
        """Whether it may be None."""
        return is_optional(StudyFields.model_fields[self.name])

    def or_none(self, kind: str) -> str:
        """Return a type that has None, too, if the setting may be None."""
        return f"{kind} | None" if self.is_optional else kind


@cache
def declared() -> tuple[Declared, ...]:
    """Return the settings in the order of the table."""
    (body,) = (
        node.body
        for node in ast.parse(getsource(table)).body
        if isinstance(node, ast.ClassDef) and node.name == StudyFields.__name__
    )
    return tuple(
        Declared(field.target.id, TYPES[_name_of_type(field.annotation)], _text(documentation))
        for field, documentation in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and field.target.id in SETTINGS
    )


def _name_of_type(annotation: ast.expr) -> str:
    """Return ``NotNegative`` of ``Annotated[NotNegative | None, ...]``."""
    assert isinstance(annotation, ast.Subscript)
    assert isinstance(annotation.slice, ast.Tuple)
    return ast.unparse(annotation.slice.elts[0]).removesuffix(" | None")


def _text(node: ast.stmt) -> str:
    assert isinstance(node, ast.Expr), "a setting has no documentation"
    assert isinstance(node.value, ast.Constant), "a setting has no documentation"
    return str(node.value.value)


def for_programs() -> str:
    """Return the settings as arguments of the client, and as fields of ``StudyInfo``."""
    ways = {"column", "label", "rule"}
    changes = [each for each in declared() if each.setting.changed_by in ways]
    others = [each for each in declared() if each not in changes]
    return f'''"""The settings of a study: arguments of ``create_study`` and ``update``, and fields of ``StudyInfo``.

Generated by ``python -m tools.study_settings``. Do not edit this file: edit ``contract/settings.py`` of the server, and
run the tool. The docstrings of the clients' methods repeat the texts: see ``_client_methods.py``. The server validates
values and combinations: see docs/http.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, SupportsFloat, SupportsIndex, TypedDict

from adabkb_client._settings import {", ".join(_of_settings())}


class StudyChanges(TypedDict, total=False):
    """The settings that can be changed while a study runs. For a limit, None means no limit.

{_names(changes, LIMITATIONS)}
    """

{_fields(changes, _in_arguments)}


class StudySettings(StudyChanges, total=False):
    """The settings for creating a study, all of which are optional keyword arguments of ``create_study``::

        client.create_study(
            "net", parameters, direction="maximize", budget=50, seed=1,
            constraints=["layers * units <= 1024"],
            early_stopping=MedianRule(max_steps=27),
            stop={{"no_gain_for": 20}},
        )

{_names(declared())}
    """

{_fields(others, _in_arguments)}


@dataclass(frozen=True, repr=False, kw_only=True)
class StudyDefinition:
    """The settings of a study as the server returns them. Those that are dicts are JSON as in docs/http.md."""

{_fields(declared(), _in_record)}
'''


def _of_settings() -> list[str]:
    """Return the names of types that ``_settings`` of the client defines."""
    tree = ast.parse((CLIENT / "_settings.py").read_text("utf-8"))
    defined = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    used = {
        node.id
        for each in declared()
        for kind in (each.type.argument, each.type.record)
        for node in ast.walk(ast.parse(kind))
        if isinstance(node, ast.Name)
    }
    return sorted(defined & used)


def _names(settings: Sequence[Declared], limitations: str = "") -> str:
    """Return a sentence with the names of settings, which editors show for ``**settings: Unpack[StudySettings]``."""
    *first, last = (f"``{each.name}``" for each in settings)
    text = f"They are {', '.join(first)} and {last}. {limitations}".strip()
    return textwrap.fill(text, WIDTH, initial_indent=INDENT, subsequent_indent=INDENT, break_on_hyphens=False)


def _fields(settings: Sequence[Declared], kind: Callable[[Declared], str]) -> str:
    return "\n".join(f'    {each.name}: {kind(each)}\n    """{each.documentation}"""' for each in settings)


def _in_arguments(each: Declared) -> str:
    return each.or_none(each.type.argument)


def _in_record(each: Declared) -> str:
    if each.name == DRAWN:
        return each.type.record
    nothing = "None" if each.is_optional else each.type.nothing
    return f"{each.or_none(each.type.record)} = {nothing}" if nothing else each.type.record


def for_agents() -> str:
    """Return the settings as arguments of tools, and as fields of their answers."""
    changes = [each for each in declared() if each.setting.by_agents]
    return f'''"""The settings of a study as arguments of tools, and in their answers.

Generated by ``python -m tools.study_settings``. Do not edit this file: edit ``contract/settings.py`` of the server, and
run the tool.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypedDict  # up to Python 3.11, pydantic does not support the class in typing

from adabkb_client.mcp._arguments import {", ".join(sorted(_of_arguments()))}


class StudySettings(TypedDict, total=False):
    """The settings of a new study. None is the server's default."""

{_lines(declared(), _argument)}


class StudyChanges(TypedDict, total=False):
    """The settings of a study that agents may change. An explicit null is refused, since some agents give null for
    arguments that they mean to leave out."""

{_lines(changes, _change)}


class DefinitionAnswer(TypedDict, total=False):
    """The settings of a study. Those that it lacks are absent."""

{_lines(declared(), lambda each: each.type.answer)}
'''


def _of_arguments() -> set[str]:
    """Return the names of types that the agents' ``_arguments`` define."""
    kinds = (ast.walk(ast.parse(each.type.agents)) for each in declared())
    names = {node.id for nodes in kinds for node in nodes if isinstance(node, ast.Name)}
    return {name for name in names if name[0].isupper() and name not in ("Literal", "Any")}


def _argument(each: Declared) -> str:
    field = StudyFields.model_fields[each.name]
    default = field.get_default(call_default_factory=True)
    is_limit = each.is_optional and default is not None
    kind = f'{each.type.agents} | Literal["none"]' if is_limit else each.type.agents
    absent = f"; {default:g} if absent" if isinstance(default, int | float) and default else ""
    none = ", or none" if is_limit else ""
    return _described(f"{kind} | None", f"{each.setting.for_agents or field.description}{none}{absent}")


def _lines(settings: Sequence[Declared], kind: Callable[[Declared], str]) -> str:
    return "\n".join(f"{INDENT}{each.name}: {kind(each)}" for each in settings)


def _described(kind: str, description: str) -> str:
    *lines, last = textwrap.wrap(description, WIDTH - 30, break_on_hyphens=False)
    literal = " ".join(json.dumps(line, ensure_ascii=False) for line in (*(f"{line} " for line in lines), last))
    return f"Annotated[{kind}, Field(description={literal})]"


def _change(each: Declared) -> str:
    """Return an argument that changes a setting. It says how to remove the setting, since agents cannot give null."""
    empty = {"list": "list", "dict": "object"}.get(each.type.answer.partition("[")[0])
    change = each.setting.change or StudyFields.model_fields[each.name].description
    is_removed = empty is not None and not each.setting.is_lasting
    return _described(each.type.agents, f"{change}; an empty {empty} removes all" if is_removed else str(change))


def for_commands() -> str:
    """Return the module with the settings as the options of commands take them. It is a copy, since a client that has
    the command lacks the packages of the server."""
    options = {
        **{name: _option(name, setting, StudyFields, name) for name, setting in SETTINGS.items() if name != STOP},
        **{name: _option(name, rule, Stop, STOP) for name, rule in RULES.items()},
    }
    order = [each for name in SETTINGS for each in (RULES if name == STOP else (name,))]
    rows = "\n".join(f"    {name!r}: {options[name]}," for name in order)
    return f'''"""The settings of a study, and the rules of ``stop``, as options of commands.

Generated by ``python -m tools.study_settings``. Do not edit this file: edit ``contract/settings.py``, and run the tool.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple


class Declared(NamedTuple):
    """A setting as an option."""

    help: str
    field: str
    """The field of the API."""
    kind: Any
    """The type of the option."""
    metavar: str
    """Empty if the type says enough."""
    form: str
    """How its value is read: a reader of ``study_settings``."""
    is_removable: bool
    """Whether ``study update`` can remove it."""


DECLARED = {{
{rows}
}}
CREATED_WITH = {tuple(StudyFields.model_fields)}
"""The fields of a definition."""
CHANGED = {tuple(sorted(CHANGEABLE))}
"""The fields that can be changed."""
'''


def _option(name: str, setting: Setting, model: type[BaseModel], field: str) -> str:
    """Return the row of a setting. Its form follows from its type."""
    kind = _bare(model.model_fields[name].annotation)
    is_removable = kind is not bool and (field == STOP or name in CHANGEABLE) and not setting.is_lasting
    return f"Declared({setting.option!r}, {field!r}, {', '.join(_form(name, kind))}, {is_removable})"


def _form(name: str, kind: Any) -> tuple[str, str, str]:
    """Return the type of an option, what it is called, and how its value is read, as code."""
    if kind in (float, int, str, bool):
        metavar = "SECONDS" if name.endswith("_seconds") else ""
        return kind.__name__, repr(metavar), repr("JSON" if kind in (int, float) else "as it is")
    origin = get_origin(kind)
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, get_args(kind)))}]", repr("WORD"), repr("as it is")
    if origin is not list and origin is not dict:
        return "str", repr("JSON"), repr("object")
    item = _bare(get_args(kind)[-1])
    if item is str:
        metavar, form = ("TEXT", "as it is") if origin is list else ("NAME=TEXT", "NAME=TEXT")
    elif origin is list:
        metavar, form = "JSON", "objects"
    else:
        metavar, form = "NAME=JSON" if isinstance(item, type) else "NAME=VALUE", "NAME=JSON"
    return "list[str]", repr(metavar), repr(form)


def _bare(kind: Any) -> Any:
    """Return a type without null and without notes."""
    while get_origin(kind) in (Annotated, Union, UnionType):
        others = [each for each in get_args(kind) if each is not NoneType]
        if get_origin(kind) is not Annotated and len(others) > 1:
            return kind
        kind = others[0]
    return kind


FILES = {
    CLIENT / "_study_settings.py": for_programs,
    CLIENT / "mcp" / "_study_settings.py": for_agents,
    COMMANDS / "_declared_settings.py": for_commands,
}
"""The files that this tool writes."""


if __name__ == "__main__":
    for path, text in FILES.items():
        generated.write(path, generated.formatted(text()))
