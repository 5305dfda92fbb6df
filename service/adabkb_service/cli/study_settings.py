"""The settings of a study as options of ``study create`` and ``study update``, made from ``contract/settings.py``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal, TypeVar

import typer

from adabkb_service.cli._declared_settings import CHANGED, CREATED_WITH, DECLARED, Declared
from adabkb_service.cli.identifiers import STUDY, Identifier
from adabkb_service.cli.values import (
    NO_LIMIT,
    parse,
    parse_budget,
    parse_object,
    parse_objects,
    parse_parameter,
    parse_point,
    parse_tag,
)

F = TypeVar("F", bound=Callable[..., None])

OTHERS = "Other settings, as in a definition (docs/http.md)"
"""The heading of the options that the help only names. Their help texts are shown by shell completion."""
STOP = "stop"
"""The field of the API that has both stopping rules."""


def flag(name: str) -> str:
    """Return an option as it is typed."""
    return f"--{name.replace('_', '-')}"


def _unchanged(value: Any) -> Any:
    return value


def _parsed(value: Any) -> Any:
    """Return the JSON value of a text; ``study create`` takes some numbers as numbers."""
    return parse(value) if isinstance(value, str) else value


def _limit(text: str) -> Any:
    return None if text == NO_LIMIT else parse(text)


def _parameters(texts: list[str]) -> list[dict[str, Any]]:
    return list(map(parse_parameter, texts))


def _tags(texts: list[str]) -> dict[str, str]:
    return dict(map(parse_tag, texts))


@dataclass(frozen=True)
class Option:
    """A field of a definition as an option."""

    help: str
    api_name: str
    """The field of the API."""
    kind: Any = list[str]
    """The type of the option's value."""
    metavar: str = ""
    """Empty shows the type, if there is room for it."""
    read: Callable[[Any], Any] = _unchanged
    """Returns the value in the API from that of the option."""
    is_removable: bool = False
    """Whether "none" removes the setting in ``study update``. A number is then a text there."""
    help_in_update: str = ""
    """``help`` in ``study update``, if it differs."""
    identifier: Identifier | None = None
    """The form of the option's value if it is an id."""


PLAIN = {float: "NUMBER", int: "NUMBER", str: "TEXT", bool: ""}
"""The types that options have, and what they are called where types are not shown."""
SPECIAL: Mapping[str, Mapping[str, Any]] = {
    "budget": {"kind": str, "metavar": "LIMIT", "read": parse_budget},
    "failure_limit": {"kind": str, "metavar": "LIMIT", "read": _limit},
    "metrics": {"metavar": "NAME"},
    "transfer_from": {"metavar": "STUDY", "identifier": STUDY},
    "early_stopping": {"help_in_update": "other settings of the rule; give it once"},
}
"""What does not follow from the type of a setting."""


def _options() -> Iterator[tuple[str, Option]]:
    yield "id", Option("the study's id (default: a new one)", "id", str, identifier=STUDY)
    parameter = "a parameter to add, or to replace"
    yield "parameter", Option("a parameter", "parameters", metavar="JSON", read=_parameters, help_in_update=parameter)
    default = "value of an added parameter in older trials"
    yield "default", Option(default, "defaults", metavar="NAME=VALUE", read=parse_point)
    yield "direction", Option("minimize or maximize", "direction", Literal["minimize", "maximize"], "WORD")
    for name, declared in DECLARED.items():
        option = _of_setting(name, declared)
        yield _singular(name) if option.kind == list[str] else name, option


def _of_setting(name: str, declared: Declared) -> Option:
    """Return a setting, or a rule of ``stop``, as an option."""
    readers: dict[str, Callable[[Any], Any]] = {
        "as it is": _unchanged,
        "JSON": _parsed,
        "NAME=TEXT": _tags,
        "NAME=JSON": parse_point,
        "object": partial(parse_object, flag(name)),
        "objects": partial(parse_objects, flag(_singular(name))),
    }
    fields = {"kind": declared.kind, "metavar": declared.metavar, "read": readers[declared.form]}
    special = SPECIAL.get(name, {})
    return Option(declared.help, declared.field, is_removable=declared.is_removable, **{**fields, **special})


def _singular(name: str) -> str:
    return f"{name[:-3]}y" if name.endswith("ies") else name.removesuffix("s")


RULES = tuple(name for name, declared in DECLARED.items() if declared.field == STOP)
"""The rules of ``stop``."""
OPTIONS = dict(_options())
"""All settings by option."""


@dataclass(frozen=True)
class Shown:
    """The settings that a command takes, in the order of its help."""

    listed: tuple[str, ...]
    """Options with their help."""
    others: tuple[str, ...]
    """Options below ``OTHERS``."""
    is_update: bool = False


def _shown(listed: str, fields: Collection[str], *, is_update: bool) -> Shown:
    """Return the options for these fields of the API, of which some are listed."""
    known = tuple(listed.split())
    others = (name for name, option in OPTIONS.items() if option.api_name in fields and name not in known)
    return Shown(known, tuple(others), is_update)


CREATED = _shown(
    "id parameter direction budget seed constraint metric noise_std tolerance no_gain_for gap_share_below tag "
    "transfer_from",
    CREATED_WITH,
    is_update=False,
)
UPDATED = _shown(
    "budget tolerance no_gain_for title description tag quantity parameter default constraint mixture prior baseline "
    "outcome_constraint early_stopping",
    CHANGED,
    is_update=True,
)


def with_settings(shown: Shown) -> Callable[[F], F]:
    """Return a decorator of a command: options replace its ``**given``. The help lists them before the command's own
    options, which are keyword-only. In ``given``, an option that was not used is None."""

    def decorate(command: F) -> F:
        signature = inspect.signature(command, eval_str=True)
        own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
        first = [each for each in own if each.kind is not each.KEYWORD_ONLY]
        options = [_parameter(name, None, is_update=shown.is_update) for name in shown.listed]
        options += [_parameter(name, OTHERS, is_update=shown.is_update) for name in shown.others]
        vars(command)["__signature__"] = signature.replace(parameters=[*first, *options, *own[len(first) :]])
        return command

    return decorate


def _parameter(name: str, heading: str | None, *, is_update: bool) -> inspect.Parameter:
    """Return the parameter of a command for a setting."""
    option = OPTIONS[name]
    kind = str if is_update and option.is_removable and option.kind in (int, float) else option.kind
    is_shown = heading is None and kind is option.kind
    metavar = option.metavar or (None if is_shown else PLAIN[option.kind])
    flags = (flag(name),) if kind is bool and not is_update else ()  # without --no-...
    several = "; may be repeated" if kind == list[str] and heading is None and not is_update else ""
    text = (option.help_in_update if is_update else "") or option.help + several
    shown = typer.Option(*flags, show_default=False, rich_help_panel=heading, help=text, metavar=metavar or None)
    notes = (shown,) if option.identifier is None else (shown, option.identifier)
    kind_of_parameter = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind_of_parameter, default=None, annotation=Annotated[(kind | None, *notes)])


def read_settings(given: Mapping[str, Any], *, may_remove: bool = False) -> dict[str, Any]:
    """Return the fields of the API from options; those that are None were not given. ``stop`` has the given rules only.

    Args:
        given: values by option.
        may_remove: whether "none" removes a setting, whose field is then None.

    Raises:
        Failure: the value of an option cannot be read.
    """
    fields: dict[str, Any] = {}
    for name, value in given.items():
        if value is None:
            continue
        option = OPTIONS[name]
        is_removed = may_remove and option.is_removable and value in (NO_LIMIT, [NO_LIMIT])
        read = None if is_removed else option.read(value)
        if option.api_name == STOP:
            fields.setdefault(STOP, {})[name] = read
        else:
            fields[option.api_name] = read
    return fields
