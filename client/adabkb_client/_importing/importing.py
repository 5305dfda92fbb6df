"""Import results into a study, each once, even if the import is repeated.

The server first validates every row, in dry runs of the batches. The answers contain the points as they would be
stored. Results that the study's log already has are then skipped. So the import of a file that has grown, or a repeated
import after an interruption, adds only what is missing. If a row has numbers that its stored result lacks, they are
added to the result. If the same import is started again while a batch is in transit, the batch is not in the log yet.
The server still stores it once, because its idempotency key is derived from its rows and their position.
"""

import hashlib
import json
import operator
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from adabkb_client._calls import BATCH, Call, Listing, Steps, batch, study_path
from adabkb_client._console import bar
from adabkb_client._importing.columns import Columns, Named, chosen, measured
from adabkb_client._importing.rows import left_out, result_of_row
from adabkb_client._records import Answer, BatchItem, ImportedResult, ImportReport, RowError, StudyInfo, decode
from adabkb_client._tables import Source, Table, read
from adabkb_client.errors import AdaBKBError, APIError, steps_of

Item = tuple[int, dict[str, Any]]
"""The number of a row, and its result as JSON."""


def import_results(
    study_id: str,
    source: Source,
    columns: Mapping[str, str],
    value: str,
    std_error: str | None,
    state: str | None,
    plate: str | None,
    *,
    decimal: str,
    choices: Mapping[str, Mapping[str, Any]],
    dry_run: bool,
    progress: bool,
) -> Steps[ImportReport]:
    """Store the results of a source: see ``StudyCalls.import_results``."""
    table = read(source)
    info = decode(StudyInfo, (yield Call("GET", study_path(study_id))))
    _check_direction(table, info)
    named = Named(
        parameters=columns,
        value=value,
        std_error=std_error,
        state=state,
        plate=plate,
        decimal=decimal,
        choices=choices,
    )
    found = chosen(table.columns, info, named)
    items, states, errors = _results_of(table, found, info)
    known = (yield from _known(study_id)) if info.counts.observations or info.counts.failed else {}
    batches = _Batches(study_id, known, errors, dry_run=dry_run)
    with bar(study_id, "row", len(items), visible=progress) as shown:
        for start in range(0, len(items), BATCH):
            part = items[start : start + BATCH]
            yield from batches.store(start, part)
            shown.update(len(part))
    return ImportReport(
        study=study_id,
        source=table.name,
        counted=table.counted,
        rows=len(table.rows),
        results=tuple(batches.results),
        repeated=batches.repeated,
        left_out=dict(states),
        errors=tuple(sorted(errors, key=lambda error: error.row)),
        unused=tuple(found.unused(table.columns)),
        dry_run=dry_run,
    )


def _results_of(table: Table, columns: Columns, info: StudyInfo) -> tuple[list[Item], Counter[str], list[RowError]]:
    """Return the valid results of a source, the number of skipped rows by their state, and the errors in the others."""
    items: list[Item] = []
    states: Counter[str] = Counter()
    errors: list[RowError] = []
    for row in table.rows:
        if other := left_out(row, columns):
            states[other] += 1
            continue
        item, problems = result_of_row(row, columns, info.parameters)
        if problems and "state" in item:  # an evaluation may fail before all its parameters are known
            states["failed"] += 1
            continue
        errors += problems
        if not problems:
            items.append((row.number, item))
    return items, states, errors


def _check_direction(table: Table, info: StudyInfo) -> None:
    if info.objectives and table.direction is not None:
        raise ValueError(f"{table.name} has one objective, but study {info.id!r} has {', '.join(measured(info))}")
    if table.direction not in (None, info.direction):
        raise ValueError(
            f"{table.name} has the direction {table.direction}, but study {info.id!r} has {info.direction}; change the "
            "sign of the values, or create a study with the same direction"
        )


@dataclass
class _Stored:
    """A stored result without a trial: its place (see ``_place``), and its numbers as first reported. A failure has no
    numbers, and its ``seq`` is the number of its trial."""

    seq: int
    place: str
    numbers: dict[str, Any]


_Known = dict[str, list[_Stored]]
"""Place -> the stored results there."""


def _known(study_id: str) -> Steps[_Known]:
    """Return place -> results without a trial, with the numbers as first reported, and failures at user-supplied
    points. (A corrected result still belongs to the same row.)"""
    found: dict[tuple[str, int], _Stored] = {}
    for event in (yield from Listing(f"{study_path(study_id)}/events", _stored_by).all()):
        if event is not None:
            stored = found.setdefault((event.place, event.seq), event)
            stored.numbers = {**event.numbers, **stored.numbers}
    known: _Known = {}
    for stored in found.values():
        known.setdefault(stored.place, []).append(stored)
    return known


def _stored_by(event: Mapping[str, Any]) -> _Stored | None:
    payload = event["payload"]
    if event["kind"] == "queued" and payload.get("origin") == "own":
        return _Stored(event["trial"], _place(payload["parameters"], None, is_failure=True), {})
    if event["kind"] not in ("observed", "measured") or event["trial"] is not None:
        return None
    return _Stored(payload["observation"], _place(payload["parameters"], payload.get("plate")), _numbers(payload))


def _not_stored(known: _Known, results: list[ImportedResult]) -> list[ImportedResult]:
    """Return the results that the study does not have. A result that occurs twice in the source must be stored twice.
    Results with exactly the same numbers are matched before those that are stored with more numbers."""
    for is_stored in (operator.eq, operator.le):
        results = [result for result in results if _take(known, result, is_stored) is None]
    return results


def _take(known: _Known, result: ImportedResult, fits: Callable[[Any, Any], bool]) -> _Stored | None:
    """Remove a stored result at the place of a row, and return it; None if there is none whose numbers fit.

    Args:
        known: the stored results.
        result: the row.
        fits: compares the numbers of the row, as a set, with those of a stored result.
    """
    at_place = known.get(_place_of(result), [])
    own = _numbers(_numbers_of(result)).items()
    for index, stored in enumerate(at_place):
        if fits(own, stored.numbers.items()):
            return at_place.pop(index)
    return None


def _completion(study_id: str, stored: _Stored, result: ImportedResult) -> Call:
    """Return the call that adds the numbers of a row to a stored result that lacks them."""
    numbers_of_row = _numbers_of(result)
    added: dict[str, Any] = {
        name: numbers_of_row[name]
        for name in ("value", "std_error")
        if name in numbers_of_row and "" not in stored.numbers
    }
    for part in ("metrics", "std_errors"):
        if numbers := {name: each for name, each in numbers_of_row.get(part, {}).items() if name not in stored.numbers}:
            added[part] = numbers
    return Call("PATCH", f"{study_path(study_id)}/observations/{stored.seq}", added)


def _place_of(result: ImportedResult) -> str:
    return _place(result.parameters, result.plate, is_failure=result.failed)


def _place(parameters: Mapping[str, Any], plate: int | None, *, is_failure: bool = False) -> str:
    """Return a text that is the same for results that may belong to one row: those with the same point and plate, and
    either all failures or none."""
    return json.dumps([dict(parameters), plate, is_failure], sort_keys=True)


def _numbers(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numbers of a result with their standard errors: those of metrics by name, and the value by ""."""
    errors = result.get("std_errors") or {}
    found = {name: (number, errors.get(name)) for name, number in (result.get("metrics") or {}).items()}
    if result.get("value") is not None:
        found[""] = (result["value"], result.get("std_error") or None)
    return found


def _numbers_of(result: ImportedResult) -> dict[str, Any]:
    """Return the numbers of a row as JSON."""
    fields = ("value", "std_error", "metrics", "std_errors")
    return {name: part for name in fields if (part := getattr(result, name)) is not None}


@dataclass
class _Batches:
    """Stores results in batches, without those that the study has; in a dry run, only validates them."""

    study_id: str
    known: _Known
    errors: list[RowError]
    """The errors in the rows, to which ``store`` adds the refused ones."""
    _: KW_ONLY
    dry_run: bool
    results: list[ImportedResult] = field(default_factory=list)
    """The results that were stored, or would be."""
    repeated: int = 0
    """The number of results that the study has already."""

    def store(self, start: int, items: Sequence[Item]) -> Steps[None]:
        """Store a batch.

        Args:
            start: its position among all results, from which its idempotency key is derived.
            items: its results.
        """
        checked = yield from self._send(items, dry_run=True)
        new = _not_stored(self.known, checked)
        self.repeated += len(checked) - len(new)
        lacking = {result.row: stored for result in new if (stored := _take(self.known, result, operator.gt))}
        for result in [result for result in new if result.row in lacking]:
            if not self.dry_run:
                yield _completion(self.study_id, lacking[result.row], result)
            self.results.append(result)
        new = [result for result in new if result.row not in lacking]
        if new and not self.dry_run:
            try:
                new = yield from self._send(_as_items(new), key=_key(start, new))
            except AdaBKBError as error:
                error.add_note(f"{len(self.results)} rows are stored; repeat the call to import the rest")
                raise
        self.results += new

    def _send(
        self, items: Sequence[Item], *, dry_run: bool = False, key: str | None = None
    ) -> Steps[list[ImportedResult]]:
        """Send a batch, and return the accepted results."""
        outcomes = yield from batch(self.study_id, [item for _, item in items], dry_run=dry_run, key=key)
        results = []
        for (number, _), outcome in zip(items, outcomes, strict=True):
            if outcome.answer is None:
                self.errors.extend(_refused(number, outcome))
            else:
                results.append(_result(number, outcome.answer))
        return results


def _result(number: int, answer: Answer) -> ImportedResult:
    """Return the result of a row as the server has stored it: an observation, or a failed trial."""
    stored = answer.observation
    if stored is not None:
        measured = (stored.metrics, stored.std_errors, stored.missing, stored.plate)
        return ImportedResult(number, stored.parameters, stored.value, stored.std_error, *measured)
    assert answer.trial is not None
    return ImportedResult(number, answer.trial.parameters, None, None, failed=True, reason=answer.trial.reason)


def _refused(number: int, item: BatchItem) -> Iterator[RowError]:
    assert isinstance(item.error, APIError)
    for pointer, problem in item.error.pointers.items() or [("row", item.error.detail)]:
        yield RowError(number, steps_of(pointer)[-1], problem)


def _as_items(results: Sequence[ImportedResult]) -> list[Item]:
    return [(each.row, _as_item(each)) for each in results]


def _as_item(result: ImportedResult) -> dict[str, Any]:
    if result.failed:
        return {"parameters": result.parameters, "state": "failed", "reason": result.reason}
    item = {"parameters": result.parameters, **_numbers_of(result)}
    if result.plate is not None:
        item["plate"] = result.plate
    return {**item, "partial": True} if result.missing else item


def _key(start: int, results: Sequence[ImportedResult]) -> str:
    content = [start, [[_place_of(each), _numbers_of(each)] for each in results]]
    return f"import-{hashlib.sha256(json.dumps(content).encode()).hexdigest()}"
