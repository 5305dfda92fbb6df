"""The report of a study as Markdown. Names and reasons are texts of users, so they are shown as code."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from adabkb_client._analysis import Assessment, FrontPoint
from adabkb_client._calls import Steps, read_trial
from adabkb_client._records import Best, Observation, Recommendation, StudyInfo, Trial, decode
from adabkb_client._study_calls import StudyCalls
from adabkb_client._values import difference, figure
from adabkb_client.mcp._answers import REASONS
from adabkb_client.mcp._answers import info as described

LAST = 10
"""The number of trials that a report shows."""
MAX_FAILURES = 5
LONGEST = 200
"""The maximum length of a user's text, in characters."""


def report(study: str) -> Steps[str]:
    """Return the report: state, assessment, definition, best results, recommendation, gap, last trials, results without
    a trial, failures."""
    calls = StudyCalls(study)
    info = yield from calls.info()
    recommendation = yield from calls.recommendation()
    compromises = (yield from calls.front()).observed if info.objectives else ()
    assessment = yield from calls.assessment()
    trials = yield from _last_trials(study, info.counts.trials, LAST)
    first, own, own_count = yield from _shown_results(calls, {each.number for each in trials})
    failures, _ = yield from calls.trials("failed").page_after(None, MAX_FAILURES)
    parts = [
        f"# Study {code(info.id)}",
        _state(info),
        "## Assessment",
        _assessment(assessment),
        "## Definition",
        _definition(info),
        "## Best compromises" if info.objectives else "## Best result",
        _compromises(compromises) if info.objectives else _best(info.best),
        "## Recommendation",
        _recommendation(recommendation),
        f"## Last trials ({len(trials)} of {info.counts.trials})",
        _table(["trial", "state", "parameters", "result"], (_trial(each, first.get(each.number)) for each in trials)),
    ]
    if own:
        parts += [
            f"## Results without a trial (the last {len(own)} of {own_count})",
            _table(["result", "parameters", "result"], map(_own, reversed(own))),
        ]
    if failures:
        parts += [
            f"## Failures (the first {len(failures)} of {info.counts.failed})",
            _table(["trial", "parameters", "reason"], map(_failure, failures)),
        ]
    return "\n\n".join(parts) + "\n"


def code(text: Any) -> str:
    """Return a text, or a value as JSON, as a code span that fits into one cell of a table."""
    shown = text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
    line = " ".join(shown.split()).replace("|", "¦").replace("`", "'")
    return f"`{line if len(line) <= LONGEST else line[:LONGEST] + '...'}`"


def _last_trials(study: str, trials: int, count: int) -> Steps[list[Trial]]:
    """Read the trials with the largest numbers, last one first.

    Args:
        study: the study's id.
        trials: the number of trials, which is also the number of the last one.
        count: the maximum number of trials to read.
    """
    found = []
    for number in range(trials, max(trials - count, 0), -1):
        document = yield from read_trial(study, number)
        found.append(decode(Trial, document, study=study))
    return found


def _shown_results(
    calls: StudyCalls, trials: Set[int]
) -> Steps[tuple[dict[int, Observation], deque[Observation], int]]:
    """Read all results, page by page, and keep those that a report shows.

    Args:
        calls: the calls of the study.
        trials: the numbers of the trials that the report shows.

    Returns:
        trial -> its first result; the last ``LAST`` results without a trial in order; the number of all of those.
    """
    first: dict[int, Observation] = {}
    own: deque[Observation] = deque(maxlen=LAST)
    own_count = 0
    cursor: str | None = None
    while True:
        page, cursor = yield from calls.observations().page_after(cursor)
        for each in page:
            if each.trial is None:
                own.append(each)
                own_count += 1
            elif each.trial in trials:
                first.setdefault(each.trial, each)
        if cursor is None:
            return first, own, own_count


def _state(info: StudyInfo) -> str:
    counts = info.counts
    reason = "" if info.reason in (None, info.state) else f" ({info.reason})"
    gap = "not known yet" if info.gap is None else difference(info.gap)
    if info.objectives:
        gap = "none, since there are several objectives"
    return "\n".join(
        [
            f"- State: {info.state}{reason}; waits for {described(info)['waiting_for']}",
            f"- Trials: {counts.completed} completed, {counts.active} active, {counts.failed} failed, "
            f"{counts.trials} in all; budget: {json.dumps(info.budget) if info.budget else 'none'}",
            f"- Gap (according to the model, no point is better by more, in the units of the objective): {gap}",
        ]
    )


def _definition(info: StudyInfo) -> str:
    goal = info.direction or ", ".join(f"{each['direction']} {code(each['metric'])}" for each in info.objectives)
    lines = [f"- Goal: {goal}"]
    settings = {
        "Title": info.title,
        "Description": info.description,
        "Constraints": list(info.constraints),
        "Mixtures": list(info.mixtures),
        "Metrics": list(info.metrics),
        "Quantities": info.quantities,
        "Outcome constraints": list(info.outcome_constraints),
        "Stop": info.stop,
        "Early stopping": info.early_stopping,
        "Prior": info.prior,
        "Baseline": dict(info.baseline),
        "Plates": info.plates,
        "Older studies": list(info.transfer_from),
    }
    lines += [f"- {name}: {code(value)}" for name, value in settings.items() if value]
    rows = ([code(each["name"]), each["kind"], code(_range(each))] for each in info.parameters)
    return "\n".join(lines) + "\n\n" + _table(["parameter", "kind", "values"], rows)


def _range(parameter: Mapping[str, Any]) -> Any:
    if "low" in parameter:
        scale = " on a log scale" if parameter.get("scale") == "log" else ""
        unit = f" {parameter['unit']}" if parameter.get("unit") else ""
        return f"{parameter['low']:.9g} to {parameter['high']:.9g}{unit}{scale}"
    if parameter["kind"] == "catalogue":
        return f"one of {parameter['rows']} rows"
    return parameter.get("values", parameter.get("choices", parameter.get("value", [True, False])))


def _assessment(found: Assessment) -> str:
    sentences = [found.progress.text, found.outlook.text, *(each.text for each in found.verdicts.values())]
    sentences += [f"Warning: {each.text}" for each in found.checks]
    return "\n".join(f"- {_plain(each)}" for each in sentences)


def _plain(text: str) -> str:
    """Return a sentence in which a user's text has no effect on the layout."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", " ".join(text.split()))


def _compromises(found: Sequence[FrontPoint]) -> str:
    if not found:
        return "None yet."
    rows = ([str(each.trial or "none"), code(dict(each.parameters)), code(dict(each.metrics))] for each in found)
    return _table(["trial", "parameters", "metrics"], rows)


def _best(best: Best | None) -> str:
    if best is None:
        return "None yet."
    beyond = "" if best.feasible is not False else " It violates the outcome constraints."
    metrics = f", metrics {code(dict(best.metrics))}" if best.metrics else ""
    return f"{figure(best.value)} at {code(dict(best.parameters))}{metrics}.{beyond}"


def _recommendation(found: Recommendation) -> str:
    if found.front:
        rows = (
            [code(dict(each.parameters)), code({name: round(one.mean, 6) for name, one in each.metrics.items()})]
            for each in found.front
        )
        return _table(["parameters on the front", "predicted"], rows)
    why = REASONS.get(found.reason or "", "")
    if found.model is None:
        return f"None according to the model. {why}".rstrip()
    point = f"By the model: {figure(found.model.mean)} ± {found.model.std:.2g} at {code(dict(found.model.parameters))}."
    return f"{point} {why}".rstrip()


def _trial(trial: Trial, measured: Observation | None) -> Sequence[str]:
    parameters = trial.parameters if measured is None else measured.parameters
    return [str(trial.number), trial.state, code(dict(parameters)), _numbers(trial if measured is None else measured)]


def _own(result: Observation) -> Sequence[str]:
    return [f"R{result.seq}", code(dict(result.parameters)), _numbers(result)]


def _numbers(result: Trial | Observation) -> str:
    numbers = "" if result.value is None else figure(result.value)
    if result.metrics:
        numbers = f"{numbers} {code(dict(result.metrics))}".strip()
    if isinstance(result, Observation) and result.missing:
        numbers = f"{numbers}, not yet measured: {code(', '.join(result.missing))}"
    return f"{numbers} (excluded)" if isinstance(result, Observation) and result.excluded else numbers


def _failure(trial: Trial) -> Sequence[str]:
    return [str(trial.number), code(dict(trial.parameters)), code(trial.reason or "no reason given")]


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows))
