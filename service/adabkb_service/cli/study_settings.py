"""The settings of a study as options of commands: one table for ``study create`` and ``study update``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, Literal, TypeVar

import typer

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


def _unchanged(value: Any) -> Any:
    return value


def _parsed(value: Any) -> Any:
    """Return the JSON value of a text; ``study create`` takes some numbers as numbers."""
    return parse(value) if isinstance(value, str) else value


@dataclass(frozen=True)
class Setting:
    """A setting of a study as an option."""

    kind: Any
    """The type of the option's value."""
    help: str
    metavar: str | None = None
    """None shows the type instead; not for an option below ``OTHERS``."""
    read: Callable[[Any], Any] = _unchanged
    """Returns the value in the API from that of the option."""
    api_name: str = ""
    """The field of the API if its name differs from the option's."""
    is_removable: bool = False
    """Whether "none" removes the setting in ``study update``. A number is then a text there."""
    in_update: dict[str, str | None] = field(default_factory=dict)
    """``help`` and ``metavar`` in ``study update``, if they differ."""
    identifier: Identifier | None = None
    """The form of the option's value if it is an id."""


SETTINGS = {
    "id": Setting(str, "the study's id (default: a new one)", identifier=STUDY),
    "parameter": Setting(
        list[str],
        "a parameter; may be repeated",
        "JSON",
        lambda texts: list(map(parse_parameter, texts)),
        "parameters",
        in_update={"help": "a parameter to add, or to replace"},
    ),
    "default": Setting(list[str], "value of an added parameter in older trials", "NAME=VALUE", parse_point, "defaults"),
    "direction": Setting(Literal["minimize", "maximize"], "minimize or maximize", "WORD"),
    "budget": Setting(str, 'number of trials, "3 plates" or "cost 50"', "LIMIT", parse_budget, is_removable=True),
    "seed": Setting(int, "seed of the suggestions"),
    "constraint": Setting(
        list[str],
        "a constraint on parameters; may be repeated",
        "TEXT",
        api_name="constraints",
        is_removable=True,
        in_update={"help": "a constraint on parameters"},
    ),
    "metric": Setting(list[str], "another measured quantity; may be repeated", "NAME", api_name="metrics"),
    "noise_std": Setting(
        float,
        "standard deviation of a result",
        read=_parsed,
        is_removable=True,
        in_update={"help": "standard deviation of a result; 0 if exact", "metavar": "NUMBER"},
    ),
    "tolerance": Setting(
        float, "gap at which the study is complete", read=_parsed, is_removable=True, in_update={"metavar": "LIMIT"}
    ),
    "no_gain_for": Setting(
        int,
        "stop after this many results without a gain",
        read=_parsed,
        api_name=STOP,
        is_removable=True,
        in_update={"metavar": "LIMIT"},
    ),
    "gap_share_below": Setting(
        float,
        "stop at this gap, as a share of the range",
        read=_parsed,
        api_name=STOP,
        is_removable=True,
        in_update={"metavar": "NUMBER"},
    ),
    "lease_seconds": Setting(float, "duration of a lease", "SECONDS"),
    "max_attempts": Setting(int, "expired leases after which a trial fails", "NUMBER"),
    "max_runtime_seconds": Setting(float, "time limit of an attempt", "SECONDS", _parsed, is_removable=True),
    "failure_limit": Setting(
        str,
        "failures in a row that pause the study, or none",
        "LIMIT",
        lambda text: None if text == NO_LIMIT else parse(text),
        is_removable=True,
        in_update={"help": "failures in a row that pause the study", "metavar": "NUMBER"},
    ),
    "pending_limit": Setting(int, "maximum number of unfinished trials", "NUMBER", _parsed, is_removable=True),
    "title": Setting(str, "name of the study for display", "TEXT", is_removable=True, in_update={"metavar": None}),
    "description": Setting(str, "what the study is about", "TEXT", is_removable=True, in_update={"metavar": None}),
    "objective": Setting(
        list[str], "one of several objectives", "JSON", partial(parse_objects, "--objective"), "objectives"
    ),
    "outcome_constraint": Setting(
        list[str],
        "bounds of a metric",
        "JSON",
        partial(parse_objects, "--outcome-constraint"),
        "outcome_constraints",
        is_removable=True,
    ),
    "mixture": Setting(
        list[str],
        "shares of a whole",
        "JSON",
        partial(parse_objects, "--mixture"),
        "mixtures",
        is_removable=True,
        in_update={"help": "a mixture"},
    ),
    "prior": Setting(list[str], "a belief about the optimum", "NAME=JSON", parse_point, is_removable=True),
    "baseline": Setting(
        list[str],
        "a current setting",
        "NAME=VALUE",
        parse_point,
        is_removable=True,
        in_update={"help": "a value of the baseline (current settings)"},
    ),
    "quantity": Setting(
        list[str],
        "label, unit, low, high of value or a metric",
        "NAME=JSON",
        parse_point,
        "quantities",
        is_removable=True,
    ),
    "plates": Setting(str, "batches of trials that share values", "JSON", partial(parse_object, "--plates")),
    "early_stopping": Setting(
        str,
        "the rule that ends trials early",
        "JSON",
        partial(parse_object, "--early-stopping"),
        in_update={"help": "other settings of the rule; give it once"},
    ),
    "cost": Setting(Literal["told", "measured"], "source of the cost: told or measured", "WORD"),
    "per_cost": Setting(bool, "suggest by the expected gain per cost"),
    "robust": Setting(bool, "give less weight to contradicted results"),
    "algorithm": Setting(str, "an algorithm with its constants", "JSON", partial(parse_object, "--algorithm")),
    "tag": Setting(
        list[str],
        "a tag; may be repeated",
        "NAME=TEXT",
        lambda texts: dict(map(parse_tag, texts)),
        "tags",
        is_removable=True,
        in_update={"help": "a tag"},
    ),
    "transfer_from": Setting(list[str], "an older study to learn from", "STUDY", identifier=STUDY),
}
"""All settings by option."""
RULES = [name for name, setting in SETTINGS.items() if setting.api_name == STOP]
"""The options of the two stopping rules."""


@dataclass(frozen=True)
class Shown:
    """The settings that a command takes, in the order of its help."""

    listed: str
    """Options with their help, separated by spaces."""
    others: str
    """Options below ``OTHERS``."""
    is_update: bool = False


CREATED = Shown(
    "id parameter direction budget seed constraint metric noise_std tolerance no_gain_for gap_share_below tag "
    "transfer_from",
    "lease_seconds max_attempts max_runtime_seconds failure_limit pending_limit title description objective "
    "outcome_constraint mixture prior baseline quantity plates early_stopping cost per_cost robust algorithm",
)
UPDATED = Shown(
    "budget tolerance no_gain_for title description tag quantity parameter default constraint mixture prior baseline "
    "outcome_constraint early_stopping",
    "lease_seconds max_attempts max_runtime_seconds failure_limit pending_limit gap_share_below noise_std per_cost "
    "robust",
    is_update=True,
)


def with_settings(shown: Shown) -> Callable[[F], F]:
    """Return a decorator of a command: options replace its ``**given``. The help lists them before the command's own
    options, which are keyword-only. In ``given``, an option that was not used is None."""

    def decorate(command: F) -> F:
        signature = inspect.signature(command, eval_str=True)
        own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
        first = [each for each in own if each.kind is not each.KEYWORD_ONLY]
        options = [_option(name, None, is_update=shown.is_update) for name in shown.listed.split()]
        options += [_option(name, OTHERS, is_update=shown.is_update) for name in shown.others.split()]
        vars(command)["__signature__"] = signature.replace(parameters=[*first, *options, *own[len(first) :]])
        return command

    return decorate


def _option(name: str, heading: str | None, *, is_update: bool) -> inspect.Parameter:
    """Return the parameter of a command for a setting."""
    setting = SETTINGS[name]
    flags = (f"--{name.replace('_', '-')}",) if setting.kind is bool and not is_update else ()  # without --no-...
    text: dict[str, Any] = {"help": setting.help, "metavar": setting.metavar} | (setting.in_update if is_update else {})
    shown = typer.Option(*flags, show_default=False, rich_help_panel=heading, **text)
    kind = str if is_update and setting.is_removable and setting.kind in (int, float) else setting.kind
    notes = (shown,) if setting.identifier is None else (shown, setting.identifier)
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
        setting = SETTINGS[name]
        is_removed = may_remove and setting.is_removable and value in (NO_LIMIT, [NO_LIMIT])
        read = None if is_removed else setting.read(value)
        if setting.api_name == STOP:
            fields.setdefault(STOP, {})[name] = read
        else:
            fields[setting.api_name or name] = read
    return fields
