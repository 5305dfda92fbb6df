"""Refusals of the server in terms of commands: options in place of fields, and commands as remedies."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, get_args

from typer.models import OptionInfo

from adabkb_client import APIError
from adabkb_client.errors import steps_of
from adabkb_service.cli.output import WHICH_STUDIES, fail

MOST_FAULTS = 10
"""Faults that are printed; ``--json`` prints all that the server lists."""

REMEDIES = {
    "unauthorized": "Give a good token: --token or ADABKB_TOKEN. An administrator makes one: adabkb token create",
    "forbidden": "Use a token that may, or ask the owner: adabkb access share STUDY USER --right work",
    "deletion_not_found": "See which can be restored: adabkb trash list",
    "study_not_found": WHICH_STUDIES,
    "trial_not_found": "See which there are: adabkb trial list STUDY",
    "observation_not_found": "See which there are: adabkb result list STUDY",
    "study_exists": "Give another id, or change what may be changed: adabkb study update STUDY",
    "result_conflict": "Replace a stored value: adabkb result correct STUDY OBSERVATION VALUE. Hand out a failed trial "
    "again: adabkb trial retry STUDY TRIAL",
    "report_conflict": "Reports cannot be corrected. Let the trial begin again: adabkb trial release STUDY TRIAL",
    "trial_finished": "Nothing is left to do for it. Take a wrong result out: adabkb result exclude STUDY OBSERVATION",
    "lease_lost": "Stop working on it, and ask for another: adabkb trial suggest STUDY",
    "study_complete": "Raise its budget: adabkb study update STUDY --budget NUMBER. A result at a point of your own "
    "costs none: adabkb result add STUDY VALUE NAME=VALUE...",
}
"""By code. STUDY stands for the id."""

NO_TRIAL = {
    "budget": "all trials of its budget are handed out; raise it: adabkb study update STUDY --budget NUMBER",
    "converged": "it has converged; go by its result: adabkb study recommendation STUDY",
    "exhausted": "all points of its space are handed out; go by its result: adabkb study recommendation STUDY",
    "failures": "it was paused because its trials failed one after the other (failure_limit). See why: adabkb trial "
    "list STUDY --state failed. Remove the cause, then: adabkb trial retry STUDY --failed, adabkb study resume STUDY",
    "fixed_exhausted": "all points with the values of --fixed and --context are handed out; fix fewer, or other values",
    "gain_unlikely": "going on will probably gain little; let it go on: "
    "adabkb study update STUDY --gap-share-below none",
    "no_gain": "its last results were no better; let it go on: adabkb study update STUDY --no-gain-for none",
    "paused": "somebody has paused it; let it go on: adabkb study resume STUDY",
    "pending_limit": "as many trials as its pending_limit allows have no result; tell one: "
    "adabkb result observe STUDY TRIAL VALUE",
}
"""Why a study hands out no trial, and what to do, by reason."""

_OTHERWISE = {"tags": "tag", "parameter": "parameters"}
"""Fields of the API and the parameters of commands that give them, where the names differ."""


def option_names(command: Callable[..., Any]) -> dict[str, str]:
    """How a user writes each parameter of a command: ``--lease-seconds``, or its name if it is an argument."""
    return {
        name: f"--{name.replace('_', '-')}"
        if any(isinstance(each, OptionInfo) for each in get_args(parameter.annotation))
        else name
        for name, parameter in inspect.signature(command, eval_str=True).parameters.items()
    }


def refuse(error: APIError, names: Mapping[str, str], study: str | None = None, lines: Sequence[int] = ()) -> NoReturn:
    """End the command with a refusal.

    Args:
        error: the refusal.
        names: of the command's options, see ``option_names``.
        study: the id, for remedies.
        lines: numbers of the lines that the items of a batch came from.
    """
    told = [f"{_named(fault['pointer'], names, lines)}: {fault['detail']}" for fault in error.problem.get("errors", ())]
    if not told:
        fail(" ".join([f"{error.detail} [{error.code}]", *_remedy(REMEDIES, error.code, study)]), error.problem)
    if len(told) == 1:
        fail(f"{told[0]} [{error.code}]", error.problem)
    unlisted = [f"and {len(told) - MOST_FAULTS} more"] if len(told) > MOST_FAULTS else []
    listed = "".join(f"\n  {line}" for line in [*told[:MOST_FAULTS], *unlisted])
    fail(f"the server does not accept this [{error.code}]:{listed}", error.problem)


def no_trial(study: str, reason: str | None, state: str | None = None) -> str:
    """Why a study hands out no trial, and what to do."""
    standing = "" if state is None else f" (the study is {state})"
    return "; ".join([f"no trial is handed out: {reason}{standing}", *_remedy(NO_TRIAL, reason, study)])


def _remedy(remedies: Mapping[str, str], code: str | None, study: str | None) -> list[str]:
    found = remedies.get(code or "")
    return [] if found is None else [found.replace("STUDY", study or "STUDY")]


def _named(pointer: str, names: Mapping[str, str], lines: Sequence[int]) -> str:
    """The target of a pointer, as the user wrote it; the pointer itself for a field of a user's file."""
    first, *rest = steps_of(pointer)
    if first == "parameters" and first in names and rest:
        return rest[0]
    if first == "points" and len(rest) > 1:
        return f"point {int(rest[0]) + 1}, {rest[1]}"
    if first == "items" and rest and int(rest[0]) < len(lines):
        return ", ".join([f"line {lines[int(rest[0])]}", *rest[1:]])
    if first == "stop" and "no_gain_for" in names:
        return names[rest[0]] if rest else "--gap-share-below"
    name = _OTHERWISE.get(first, first)
    return " ".join([names[name], *rest]) if name in names else pointer or "the document"
