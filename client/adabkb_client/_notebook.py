"""What a notebook shows: HTML of studies, lists and other records. All text is escaped."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from html import escape
from typing import Any

from adabkb_client._analysis import Assessment, Importance
from adabkb_client._frames import LONGEST, cells, changes, choice
from adabkb_client._http.outbox import Delivery, KeptResult, Outbox
from adabkb_client._records import Estimate, ImportReport, Recommendation, Record, StudyInfo, page
from adabkb_client._trial_calls import Leased
from adabkb_client._values import difference, figure

LITERALLY = "tex2jax_ignore mathjax_ignore"
"""CSS classes that keep notebooks from rendering text between dollar signs as formulas."""


@page.register
def study(info: StudyInfo) -> str:
    """Return the definition and the progress of a study."""
    counts, best = info.counts, info.best
    reason = "" if info.reason in (None, info.state) else f" ({info.reason})"
    budget = "" if info.trial_budget is None else f" of {info.trial_budget}"
    plates = "" if info.plate_budget is None else f", plate {counts.plates} of {info.plate_budget}"
    rows: list[Sequence[Any]] = [
        ("direction", info.direction or _objectives(info)),
        ("completed", f"{counts.completed}{budget} trials{plates}, {counts.active} active, {counts.failed} failed"),
        (
            "best",
            ("no result yet" if not info.objectives else "see front()")
            if best is None
            else _in_unit(info, figure(best.value)),
        ),
    ]
    if best is not None and best.feasible is False:
        rows[-1] = (
            "best",
            f"none satisfies all outcome constraints; the smallest violation: {_in_words(best.violations or {})}",
        )
    rows += [] if best is None or best.metrics is None else [("metrics", _in_words(best.metrics))]
    rows += [] if best is None else [("at", _in_words(best.parameters))]
    rows += [] if info.gap is None else [("gap", _in_unit(info, difference(info.gap)))]
    space = table(
        ["parameter", "kind", ""],
        [(each["name"], each["kind"], _in_words(_without(each, "name", "kind"))) for each in info.parameters],
    )
    title = f" {_text(info.title)}" if info.title else ""
    description = f"<p>{_text(info.description)}</p>" if info.description else ""
    return f"<b>Study {escape(info.id)}</b>{title}: {_text(info.state + reason)}{description}{table([], rows)}{space}"


def unreadable(id: str, error: Exception) -> str:
    """Return the error of a study that cannot be read."""
    return f"<b>Study {escape(id)}</b>: {escape(str(error))}"


@page.register(Record)
@page.register(KeptResult)
def record(found: Any) -> str:
    """Return the fields of a record, one per row."""
    shown = [each.name for each in fields(found) if each.repr]
    return f"<b>{type(found).__name__}</b>{table([], [(name, _brief(getattr(found, name))) for name in shown])}"


@page.register
def assessment(found: Assessment) -> str:
    """Return the sentences of an assessment, one per row, with the warnings last."""
    return table([], [(sentence,) for sentence in found.sentences])


@page.register
def imported(found: ImportReport) -> str:
    """Return the report of an import, in the same words as its text."""
    return f"<pre>{escape(str(found))}</pre>"


@page.register
def leased(found: Leased) -> str:
    """Return a leased trial, with its outcome once it is reported."""
    rows: list[tuple[str, Any]] = [("study", found.trial.study), ("parameters", _in_words(found.trial.parameters))]
    rows += [("attributes", _in_words(found.attributes))] if found.attributes else []
    rows += [] if found.outcome is None else [("outcome", found.outcome)]
    return f"<b>{type(found).__name__} {found.number}</b>{table([], rows)}"


@page.register
def outbox(found: Outbox) -> str:
    """Return the results that are kept for a server, one per row."""
    results = [(kept, "waiting") for kept in found.waiting()] + [(kept, "refused") for kept in found.refused()]
    return f"<b>Outbox of {escape(found.server)}</b>{_kept(results)}"


@page.register
def delivery(found: Delivery) -> str:
    """Return the results that were sent and refused, one per row."""
    return _kept([(kept, "sent") for kept in found.sent] + [(kept, "refused") for kept in found.refused])


def _kept(results: Iterable[tuple[KeptResult, str]]) -> str:
    rows = [(kept.study, kept.body.get("trial"), state, kept.kept_at, kept.refusal) for kept, state in results]
    return table(["study", "trial", "state", "kept_at", "refusal"], rows)


def _brief(value: Any) -> Any:
    """Return a field's value, with a dict as text."""
    return _in_words(value) if isinstance(value, Mapping) else value


def _in_unit(info: StudyInfo, number: str) -> str:
    unit = info.quantities.get("value", {}).get("unit")
    return f"{number}\N{NO-BREAK SPACE}{unit}" if unit else number


def _objectives(info: StudyInfo) -> str:
    return ", ".join(f"{each['direction']} {each['metric']}" for each in info.objectives)


@page.register
def recommendation(found: Recommendation) -> str:
    """Return the best points, one per row."""
    estimate, observed = found.model, found.observed
    if found.front:
        return records(found.front, is_all=True)
    if found.reason == "context_needed":
        return "The best point depends on the context: recommendation(context={...})."
    if observed is None and estimate is None:
        return "There is no recommendation before the first result."
    names = list(dict.fromkeys(name for each in (observed, estimate) if each is not None for name in each.parameters))
    rows = [] if observed is None else [("observed", observed.value, *_in_columns(observed.parameters, names))]
    if estimate is not None:
        rows.insert(0, ("by the model", _with_std(estimate), *_in_columns(estimate.parameters, names)))
    if found.reason == "nothing_feasible":
        return table(["", "value", *names], rows) + "No result satisfies all outcome constraints; these come closest."
    if estimate is not None and estimate.changes is not None:
        changed = f"Changes from the baseline: {escape(changes(estimate.changes))}."
        return table(["", "value", *names], rows) + changed
    gap = found.gap
    outlook = "" if gap is None else f"According to the model, no point is better by more than {difference(gap)} (gap)."
    return table(["", "value", *names], rows) + outlook


@page.register
def importance(found: Importance) -> str:
    """Return the importances with their standard errors, the largest first."""
    if found.reason is not None:
        return table([], [(repr(found).strip("<>"),)])
    rows = [
        (
            each.name,
            f"{each.first_order:.2f} ± {each.first_order_error:.2f}",
            f"{each.total:.2f} ± {each.total_error:.2f}",
        )
        for each in sorted(found.parameters, key=lambda each: -each.total)
    ]
    return f"Importance, from {found.results} results{table(['parameter', 'alone', 'with others'], rows)}"


def records(items: Sequence[Any], *, is_all: bool) -> str:
    """Return records of one kind, one per row; each parameter has its own column."""
    if not items:
        return "There are none."
    rows = [cells(each) for each in items]
    header = list(dict.fromkeys(name for row in rows for name in row))
    more = "" if is_all else f"The first {len(items)}; there are more."
    return table(header, [[row.get(name) for name in header] for row in rows]) + more


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table."""
    head = "".join(f"<th>{_text(name)}</th>" for name in header)
    body = "".join(f"<tr>{''.join(f'<td>{_text(value)}</td>' for value in row)}</tr>" for row in rows)
    start = f"<thead><tr>{head}</tr></thead>" if header else ""
    return f'<table class="{LITERALLY}">{start}<tbody>{body}</tbody></table>'


def _text(value: Any) -> str:
    """Return a value as escaped text of limited length."""
    text = "" if value is None else figure(value) if isinstance(value, float) else str(value)
    return escape(text if len(text) <= LONGEST else text[: LONGEST - 1] + "…")


def _in_words(values: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} = {figure(value)}" if isinstance(value, float) else f"{name} = {value}"
        for name, value in values.items()
    )


def _in_columns(parameters: Mapping[str, Any], names: Sequence[str]) -> Iterator[Any]:
    """Yield the values of a point in columns of these names, empty for inactive parameters."""
    return (choice(parameters[name]) if name in parameters else None for name in names)


def _with_std(estimate: Estimate) -> str:
    return f"{figure(estimate.mean)} ± {estimate.std:.2g}"


def _without(parameter: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in parameter.items() if name not in names and value is not None}
