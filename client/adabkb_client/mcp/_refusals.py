"""Errors of tools in terms of their arguments, with remedies."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from adabkb_client.errors import AdaBKBError, APIError, ConnectionFailed, Unavailable, UnexpectedAnswer, steps_of
from adabkb_client.mcp._arguments import KINDS, MAX_KEY_LENGTH
from adabkb_client.mcp._unknown import remedy

MAX_FIELD_ERRORS = 10
"""The maximum number of errors that a message lists."""

REMEDIES = {
    "unauthorized": "The token of this MCP server is missing or not valid. Ask the user to start adabkb mcp with a "
    "valid one in ADABKB_TOKEN.",
    "forbidden": "The token of this MCP server does not allow this call. Do not repeat it: ask the user for a token "
    "with more rights, or the study's owner to share it.",
    "not_owner": "Only the study's owner may do this. Do not repeat it: ask the user to ask the owner.",
    "study_not_found": "studies() lists the existing ones; create_study() creates one.",
    "trial_not_found": "trials() lists the existing ones.",
    "study_exists": "info() shows the study as it is. Another definition needs another id in study.",
    "id_taken": "Choose another id in study.",
    "result_conflict": "A stored result stays as it is. A person can correct it on the study's page. add_result() "
    "stores another measurement at the same point, and repeat() queues the point again.",
    "report_conflict": "A reported value stays as it is; report the next step.",
    "trial_finished": "Nothing is left to do for this trial. suggest() issues another one.",
    "lease_lost": "Stop working on this trial. suggest() issues another one.",
    "idempotency_key_reused": "trials(state='active') shows what an earlier call of suggest issued.",
    "quota_exceeded": "Results of issued trials are still accepted. Ask your user for a larger quota.",
    "study_complete": "recommendation() has its result. add_result() stores a result at a point of your own.",
}
"""Remedies by error code of the server."""

NO_TRIAL = {
    "budget": "The trials of the budget are issued. Report the results that are still missing; then "
    "recommendation() is the result. A person can raise the budget.",
    "converged": "The study has converged. recommendation() is the result.",
    "exhausted": "All points of the space are issued. Report the results that are still missing; then "
    "recommendation() is the result.",
    "failures": "The study was paused because too many trials failed one after the other. trials(state='failed') has "
    "the reasons. Tell your user. When the cause is removed, call resume().",
    "fixed_exhausted": "All points with these values of fixed and context are issued. Fix fewer parameters, or "
    "other values.",
    "gain_unlikely": "According to the model, further trials gain little. Report the results that are still missing; "
    "then recommendation() is the result.",
    "no_gain": "The last results were no better. Report the results that are still missing; then recommendation() is "
    "the result.",
    "paused": "The study is paused. Ask your user before you call resume().",
    "no_plate_left": "The budget allows no other plate, but the last one has room: call suggest with plate='open', and "
    "with no values in fixed and context that differ from those of the last plate.",
    "plate_full": "The plate has no room for more trials. Call again for the next plate.",
    "pending_limit": "Too many trials have no result yet. Report one of them first: trials(state='active').",
}
"""Why a study issues no trial, with the remedy, by reason."""

ARGUMENTS = {
    "id": "study",
    "path:study_id": "study",
    "path:number": "trial",
    "header:Idempotency-Key": "key",
    "reports.0.step": "step",
    "reports.0.value": "value",
}
"""Arguments of tools by the server's names, where these differ."""

AGAIN = (
    "Call again later: with the same key as before, a change takes effect once. Without a key, look first whether it "
    "took effect."
)
LATER = "Call again later."
REWORDED: Sequence[tuple[str, str]] = (
    (
        r"change it with study\.update\(.*\) or create_study\(\.\.\., update=True\), or leave these arguments out",
        "leave these arguments out, or ask the user to have them changed on the study's page",
    ),
    (r" To replace the value, correct observation \d+\.", ""),
    (
        r"exclude observation (\d+), and report the value with its parameters and without the trial",
        r"ask the user to have observation \1 excluded, and store yours with add_result()",
    ),
    (r"report its value with its parameters, and leave out the trial", "store its value with add_result()"),
    (r", quantities in the API\b", ""),
    (r"or change the constraint first", "or ask the user to have the constraint changed"),
    (r"GET /v1/studies lists", "studies() lists"),
)
"""Remedies of the server and of the client that agents do not have (regular expressions), and those that they have."""
PATTERNS = {
    "study": "must have 1 to 100 letters, digits, dots, underscores and hyphens, the first a letter or a digit",
    "key": f"must have 1 to {MAX_KEY_LENGTH} ASCII characters, without spaces",
}
"""Arguments whose texts must match a pattern, and the pattern in words."""
EXAMPLE_KINDS = "FloatParameter"
"""A definition in the schema of tools whose parameters are a search space."""
EXAMPLE = '{"x": {"kind": "float", "low": 0, "high": 1}}'


def no_trial(reason: str | None) -> str:
    """Return why a study issues no trial, and the remedy."""
    return NO_TRIAL.get(reason or "", "No trial is available now. Ask again later.")


def refused(error: Exception, arguments: Mapping[str, Any], *, changes: bool) -> str:
    """Return the error text for the agent.

    Args:
        error: the error of the client, or of an argument that it cannot send.
        arguments: the arguments of the tool.
        changes: whether the tool changes anything on the server.
    """
    if isinstance(error, APIError):
        return _by_server(error, arguments)
    if isinstance(error, ConnectionFailed):
        return f"{_first_line(error)} {f'The outcome of this call is unknown. {AGAIN}' if changes else LATER}"
    if isinstance(error, UnexpectedAnswer):
        return f"{_first_line(error)} Ask the user to check the address that adabkb mcp was started with."
    return " ".join(str(error).splitlines()) if isinstance(error, AdaBKBError) else str(error)


def malformed(error: ValidationError, tool: str, schema: Mapping[str, Any]) -> str:
    """Return an error text that lists the invalid arguments.

    Args:
        error: the error of the validation.
        tool: the name of the tool.
        schema: the schema of the tool's arguments.
    """
    found = dict.fromkeys(
        f"{_place(field_error['loc'])}: {_sentence(field_error, schema)}" for field_error in error.errors()
    )
    return _listed(list(found), f"these arguments of {tool} are wrong")


def _by_server(error: APIError, arguments: Mapping[str, Any]) -> str:
    names = list(arguments.get("parameters") or {})
    field_errors = [f"{_argument(pointer, names)}: {what}" for pointer, what in error.pointers.items()]
    trace = f" (request {error.request_id})" if error.request_id else ""
    what = _listed(field_errors, "the server refused these arguments") if field_errors else error.detail
    what_to_do = AGAIN if isinstance(error, Unavailable) else REMEDIES.get(error.code, "")
    for was, now in REWORDED:
        what = re.sub(was, now, what)
    return " ".join(filter(None, [what, what_to_do])) + f" [{error.status} {error.code}]{trace}"


def _argument(pointer: str, names: Sequence[str]) -> str:
    """Name the target of a pointer in the tool's terms: "parameters.depth.high" for "/parameters/0/high"."""
    path = steps_of(pointer)
    if path[0] == "parameters" and len(path) > 1 and path[1].isdecimal() and int(path[1]) < len(names):
        path[1] = names[int(path[1])]
    whole = ".".join(path)
    return ARGUMENTS.get(whole) or ".".join([ARGUMENTS.get(path[0], path[0]), *path[1:]])


def _place(location: Sequence[str | int]) -> str:
    """Return the name of an argument or a part of it. Within a parameter, pydantic also gives the parameter's kind."""
    steps = [str(step) for step in location]
    if steps[:1] == ["parameters"] and len(steps) > 2 and steps[2] in KINDS:
        del steps[2]
    return ".".join(steps)


def _sentence(field_error: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    where, kind = field_error["loc"], field_error["type"]
    if kind == "extra_forbidden":
        return f"is not an argument of this tool; {remedy(where, schema)}"
    if field_error["input"] is None and kind != "missing":
        name, *within = where
        is_required = within or name in schema.get("required", ())
        return "must not be null" if is_required else "must not be null; leave it out"
    if kind == "dict_type" and where == ("parameters",) and EXAMPLE_KINDS in schema.get("$defs", {}):
        return f"must be an object by the names of the parameters, such as {EXAMPLE}"
    if kind in ("int_type", "float_type") and (number := _number(field_error["input"], kind)) is not None:
        return f"must be a number: send {number}, not {json.dumps(field_error['input'])}"
    if kind == "string_pattern_mismatch" and where[0] in PATTERNS:
        return PATTERNS[where[0]]
    kinds = {
        "missing": "is required",
        "union_tag_not_found": f"kind is required: one of {', '.join(KINDS)}",
        "union_tag_invalid": f"kind must be one of {', '.join(KINDS)}",
    }
    sentence = str(kinds.get(kind, field_error["msg"]))
    return sentence.replace("Input should", "must").replace("must match pattern", "must match the pattern")


def _number(given: Any, kind: str) -> str | None:
    """Return the number, as JSON, that a text or a number of another type stands for; None if there is none."""
    try:
        number = float(given) if isinstance(given, str | float) else math.nan
    except ValueError:
        return None
    if kind == "int_type":
        return str(int(number)) if number.is_integer() else None
    return repr(number).removesuffix(".0") if math.isfinite(number) else None


def _listed(field_errors: Sequence[str], head: str) -> str:
    if len(field_errors) == 1:
        return field_errors[0].rstrip(".") + "."
    more = [f"and {len(field_errors) - MAX_FIELD_ERRORS} more"] if len(field_errors) > MAX_FIELD_ERRORS else []
    return f"{head}:" + "".join(f"\n  {line}" for line in [*field_errors[:MAX_FIELD_ERRORS], *more]) + "\n"


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0].rstrip(".") + "."
