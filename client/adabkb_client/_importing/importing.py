"""Import results into a study, each once, even if the import is repeated.

The server first validates every row, in dry runs of the batches, whose answers have the points in stored form. Results
that the study's log already has are then skipped, so that an import of a file that has grown, or one after an
interrupted import, adds what is missing. If the same import is started again while a batch is in transit, the batch is
not in the log yet. Its idempotency key, which is derived from its rows and their position, is then the same, so the
server stores it once.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from adabkb_client._bar import bar
from adabkb_client._calls import BATCH, Call, Listing, Steps, batch, study_path
from adabkb_client._decoding import decode
from adabkb_client._importing.fitting import RowError, chosen, fitted, left_out
from adabkb_client._importing.report import ImportedResult, ImportReport
from adabkb_client._importing.sources import Source, Table, read
from adabkb_client._models import BatchItem, Metrics, StudyInfo
from adabkb_client.errors import AdaBKBError, APIError, steps_of

Item = tuple[int, dict[str, Any]]
"""The number of a row, and its result in wire form."""


def import_results(
    study_id: str,
    source: Source,
    columns: Mapping[str, str],
    value: str,
    std_error: str | None,
    state: str | None,
    *,
    dry_run: bool,
    progress: bool,
) -> Steps[ImportReport]:
    """Store the results of a source: see ``StudyCalls.import_results``."""
    table = read(source)
    info = decode(StudyInfo, (yield Call("GET", study_path(study_id))))
    _check_direction(table, info)
    found = chosen(
        table.columns,
        info.parameters,
        columns,
        value,
        std_error,
        state,
        _measured(info),
        several=bool(info.objectives),
        quantities=info.quantities,
    )
    states: Counter[str] = Counter()
    errors: list[RowError] = []
    items: list[Item] = []
    for row in table.rows:
        if other := left_out(row, found):
            states[other] += 1
            continue
        item, problems = fitted(row, found, info.parameters)
        errors += problems
        if not problems:
            items.append((row.number, item))
    known = (yield from _known(study_id)) if info.counts.observations else Counter[str]()
    results: list[ImportedResult] = []
    repeated = 0
    with bar(study_id, "row", len(items), visible=progress) as shown:
        for start in range(0, len(items), BATCH):
            part = items[start : start + BATCH]
            checked = yield from _told(study_id, part, errors, dry_run=True)
            new = [result for result in checked if not _taken(known, result)]
            repeated += len(checked) - len(new)
            if new and not dry_run:
                try:
                    new = yield from _told(study_id, _as_items(new), errors, key=_key(start, new))
                except AdaBKBError as error:
                    error.add_note(f"{len(results)} rows are stored; repeat the call to import the others")
                    raise
            results += new
            shown.update(len(part))
    return ImportReport(
        study_id,
        table.name,
        table.counted,
        len(table.rows),
        tuple(results),
        repeated,
        dict(states),
        tuple(sorted(errors, key=lambda error: error.row)),
        tuple(found.unused(table.columns)),
        dry_run,
    )


def _measured(info: StudyInfo) -> list[str]:
    """Return the names of the metrics of each result."""
    return [*(each["metric"] for each in info.objectives), *info.metrics]


def _check_direction(table: Table, info: StudyInfo) -> None:
    if info.objectives and table.direction is not None:
        raise ValueError(f"{table.name} has one objective, and study {info.id!r} has {', '.join(_measured(info))}")
    if table.direction not in (None, info.direction):
        raise ValueError(
            f"{table.name} is to {table.direction}, and study {info.id!r} to {info.direction}; change the sign of the "
            "values, or create a study of the same direction"
        )


def _known(study_id: str) -> Steps["Counter[str]"]:
    """Return how often the log has each result without a trial, with the values as first reported: a correction does
    not change which row a result came from."""
    told = yield from Listing(f"{study_path(study_id)}/events", _observed).all()
    return Counter(result for result in told if result)


def _observed(event: Mapping[str, Any]) -> str | None:
    if event["kind"] != "observed" or event["trial"] is not None:
        return None
    told = event["payload"]
    measured = (told.get("metrics"), told.get("std_errors"))  # studies without metrics have neither
    return _identity(told["parameters"], told.get("value"), told.get("std_error"), *measured)


def _taken(known: "Counter[str]", result: ImportedResult) -> bool:
    """Return whether the study has a result already. A result that occurs twice must be there twice."""
    identity = _identity_of(result)
    if not known[identity]:
        return False
    known[identity] -= 1
    return True


def _identity_of(result: ImportedResult) -> str:
    return _identity(result.parameters, result.value, result.std_error, result.metrics, result.std_errors)


def _identity(
    parameters: Mapping[str, Any],
    value: float | None,
    std_error: float | None,
    metrics: Metrics | None,
    std_errors: Metrics | None,
) -> str:
    measured = [{name: float(number) for name, number in (each or {}).items()} for each in (metrics, std_errors)]
    told = [dict(parameters), None if value is None else float(value), std_error and float(std_error)]
    return json.dumps([*told, *measured] if metrics else told, sort_keys=True)


def _told(
    study_id: str, items: Sequence[Item], errors: list[RowError], *, dry_run: bool = False, key: str | None = None
) -> Steps[list[ImportedResult]]:
    """Send a batch, and return the accepted results; refused ones are added to the errors."""
    fates = yield from batch(study_id, [item for _, item in items], dry_run=dry_run, key=key)
    results = []
    for (number, _), fate in zip(items, fates, strict=True):
        if fate.answer is not None and (told := fate.answer.observation) is not None:
            measured = (told.metrics, told.std_errors)
            results.append(ImportedResult(number, told.parameters, told.value, told.std_error, *measured))
        else:
            errors.extend(_refused(number, fate))
    return results


def _refused(number: int, fate: BatchItem) -> Iterator[RowError]:
    assert isinstance(fate.error, APIError)
    for pointer, problem in fate.error.pointers.items() or [("row", fate.error.detail)]:
        yield RowError(number, steps_of(pointer)[-1], problem)


def _as_items(results: Sequence[ImportedResult]) -> list[Item]:
    fields = ("parameters", "value", "std_error", "metrics", "std_errors")
    return [
        (each.row, {name: part for name in fields if (part := getattr(each, name)) is not None}) for each in results
    ]


def _key(start: int, results: Sequence[ImportedResult]) -> str:
    told = [start, [_identity_of(each) for each in results]]
    return f"import-{hashlib.sha256(json.dumps(told).encode()).hexdigest()}"
