"""Server errors in terms of the command line: options instead of fields, and commands as remedies."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, get_args

from typer.models import OptionInfo

from adabkb_client import APIError
from adabkb_client.errors import steps_of
from adabkb_service.cli.output import WHICH_STUDIES, fail
from adabkb_service.cli.study_settings import OPTIONS, RULES, STOP
from adabkb_service.operations.words.reasons import REASONS

MAX_FIELD_ERRORS = 10
"""The maximum number of errors that are printed; ``--json`` prints all."""

REMEDIES = {
    "unauthorized": "Give a valid token: --token or ADABKB_TOKEN. An administrator creates one: adabkb token create",
    "forbidden": "Use a token with this right, or ask the owner: adabkb access share STUDY USER --right work",
    "not_owner": "No share gives this right. Ask the owner, whom adabkb access show STUDY names, to do it, or to "
    "give you the study: adabkb access give STUDY USER",
    "deletion_not_found": "List studies that can be restored: adabkb trash list",
    "study_not_found": WHICH_STUDIES,
    "trial_not_found": "List them: adabkb trial list STUDY",
    "observation_not_found": "List them: adabkb result list STUDY",
    "study_exists": "Give another id, or change the settings of the existing study: adabkb study update STUDY",
    "restore_conflict": "Delete the present study first: adabkb study delete STUDY. Then restore the other one by its "
    "number in adabkb trash list",
    "id_taken": "Give another id, such as one that begins with the name of your group",
    "result_conflict": "Replace a stored value: adabkb result correct STUDY OBSERVATION VALUE. Retry a failed trial: "
    "adabkb trial retry STUDY TRIAL",
    "report_conflict": "Reports cannot be corrected. Restart the trial: adabkb trial release STUDY TRIAL",
    "trial_finished": "If its result is wrong, exclude it: adabkb result exclude STUDY OBSERVATION",
    "precondition_failed": "Somebody has changed it meanwhile. Repeat the command if you still want the change",
    "lease_lost": "Stop evaluating it, and ask for another trial: adabkb trial suggest STUDY",
    "study_complete": "If its budget is the reason, raise it: adabkb study update STUDY --budget NUMBER. A result at "
    "your own point does not count towards it: adabkb result add STUDY VALUE NAME=VALUE...",
}
"""Remedies by error code. STUDY stands for the id."""

FIELD_REMEDIES = {"one_objective": "See it: adabkb study recommendation STUDY"}
"""Remedies by the code of the only error in a field."""

NO_TRIAL = {
    "budget": "Raise it: adabkb study update STUDY --budget NUMBER",
    "converged": "See its result: adabkb study recommendation STUDY",
    "no_plate_left": "Ask with --plate open and the values of the last plate, or raise the budget: adabkb study update "
    "STUDY --budget 'NUMBER plates'",
    "exhausted": "See its result: adabkb study recommendation STUDY",
    "failures": "See why: adabkb trial list STUDY --state failed. Then: adabkb trial retry STUDY --failed, adabkb "
    "study resume STUDY",
    "fixed_exhausted": "Fix fewer parameters, or change the values of --fixed and --context",
    "gain_unlikely": "To continue: adabkb study update STUDY --gap-share-below none",
    "no_gain": "To continue: adabkb study update STUDY --no-gain-for none",
    "paused": "To continue: adabkb study resume STUDY",
    "pending_limit": "Report a result: adabkb result observe STUDY TRIAL VALUE",
    "plate_full": "Ask again: adabkb trial suggest STUDY",
}
"""Remedies by the reason for which a study issues no trial; the reason itself is in ``REASONS``."""

COMMANDS = {"/front": "adabkb study front"}
"""Pointer to the call itself -> its command."""

RENAMED = {
    **{each.api_name: name for name, each in OPTIONS.items() if each.api_name not in (name, STOP, "parameters")},
    "parameter": "parameters",
    "std_errors": "metric_std_error",
}
"""Field of the API -> parameter of the command, if the names differ."""


def option_names(command: Callable[..., Any]) -> dict[str, str]:
    """Return each parameter as users write it: as an option such as ``--lease-seconds``, or the name of an argument."""
    return {
        name: f"--{name.replace('_', '-')}"
        if any(isinstance(each, OptionInfo) for each in get_args(parameter.annotation))
        else name
        for name, parameter in inspect.signature(command, eval_str=True).parameters.items()
    }


def refuse(
    error: APIError,
    names: Mapping[str, str],
    study: str | None = None,
    lines: Sequence[int] = (),
    parameters: Sequence[Any] = (),
) -> NoReturn:
    """End the command with the server's error.

    Args:
        error: the server's error.
        names: the names of the command's options, see ``option_names``.
        study: the id, for remedies.
        lines: the line numbers of the items of a batch.
        parameters: the names in the options --parameter, in order.
    """
    listed = [
        f"{_named(field_error['pointer'], names, lines, parameters)}: {field_error['detail']}"
        for field_error in error.problem.get("errors", ())
    ]
    if not listed:
        fail(" ".join([f"{error.detail} [{error.code}]", *_remedy(REMEDIES, error.code, study)]), error.problem)
    if len(listed) == 1:
        code = error.problem["errors"][0].get("code")
        fail(" ".join([f"{listed[0]} [{error.code}]", *_remedy(FIELD_REMEDIES, code, study)]), error.problem)
    rest = [f"and {len(listed) - MAX_FIELD_ERRORS} more"] if len(listed) > MAX_FIELD_ERRORS else []
    lines_of_errors = "".join(f"\n  {line}" for line in [*listed[:MAX_FIELD_ERRORS], *rest])
    fail(f"the server refused the request [{error.code}]:{lines_of_errors}", error.problem)


def no_trial(study: str, reason: str | None, state: str | None = None) -> str:
    """Return why a study issues no trial, with the remedy."""
    state_text = "" if state is None else f" (the study is {state})"
    if reason is None:
        return f"no trial is issued{state_text}: The server gives no reason."
    known = REASONS.get(reason, "This version does not know the reason.")
    return " ".join([f"no trial is issued{state_text}: {known}", *_remedy(NO_TRIAL, reason, study), f"[{reason}]"])


def _remedy(remedies: Mapping[str, str], code: str | None, study: str | None) -> list[str]:
    found = remedies.get(code or "")
    return [] if found is None else [found.replace("STUDY", study or "STUDY")]


def _named(pointer: str, names: Mapping[str, str], lines: Sequence[int], parameters: Sequence[Any]) -> str:
    """Return the target of a pointer as the user wrote it; the pointer itself for a field of a user's file."""
    first, *rest = steps_of(pointer)
    if first == "parameters" and first in names and rest:
        return rest[0]
    if first == "parameters" and "parameter" in names:
        return ", ".join([names["parameter"], *_in_parameter(rest, parameters)])
    if first == "points" and len(rest) > 1:
        return f"point {int(rest[0]) + 1}, {rest[1]}"
    if first == "items" and rest and int(rest[0]) < len(lines):
        return ", ".join([f"line {lines[int(rest[0])]}", *rest[1:]])
    rules = [names[rule] for rule in RULES if rule in names]
    if first == "stop" and rules:
        return names.get(rest[0], rules[-1]) if rest else " and ".join(rules)
    name = RENAMED.get(first, first)
    return " ".join([names[name], *rest]) if name in names else COMMANDS.get(pointer, pointer) or "the document"


def _in_parameter(steps: Sequence[str], parameters: Sequence[Any]) -> Sequence[str]:
    """Return the name of a parameter in place of its position, and the steps below it."""
    if steps and steps[0].isdecimal() and int(steps[0]) < len(parameters) and parameters[int(steps[0])]:
        return [f"{parameters[int(steps[0])]!r}", *steps[1:]]
    return steps
