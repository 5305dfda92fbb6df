"""GET /v1/studies/{id}/report: a report of a study as Markdown, for a notebook."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from tempfile import SpooledTemporaryFile
from typing import TextIO, cast

from adabkb_service.operations.data.export import BYTES_IN_MEMORY, sent
from adabkb_service.operations.reports import report_in_words as words
from adabkb_service.operations.reports.study_report import StudyReport, study_report
from adabkb_service.operations.service import Service
from adabkb_service.operations.words import definition_in_words, wording

MARKUP = re.compile(r"([\\`*_\[\]<>|~$&#!])")
"""Characters that Markdown, or a notebook, may interpret as markup."""


def markdown(service: Service, study_id: str, *, with_audit: bool) -> Iterator[str]:
    """Return the report of a study, in CommonMark with tables.

    Args:
        service: the running service.
        study_id: the study's id.
        with_audit: whether the reader may see the audit log.

    Raises:
        StudyNotFound: the study does not exist; raised before the first line.
        Busy: too many requests wait for the model.
    """
    spool = SpooledTemporaryFile(BYTES_IN_MEMORY, "w+", encoding="utf-8", newline="")  # noqa: SIM115 - sent closes it
    try:
        with study_report(service, study_id, with_audit=with_audit) as report:
            _write(report, cast("TextIO", spool))
    except BaseException:
        spool.close()
        raise
    spool.seek(0)
    return sent(spool)


def _write(report: StudyReport, file: TextIO) -> None:
    study = report.study
    file.write(f"# Report of {_text(wording.name_of(study))}\n\n")
    file.write(
        f"Made on {words.moment(report.made_at)} UTC by Ada-BKB service {_text(report.made_by)}, "
        f"from revision {study.revision} of the study.\n\n"
    )
    if study.description:
        file.writelines(f"{_text(each)}\n\n" for each in study.description.splitlines() if each.strip())
    file.writelines(f"* {_text(name)}: {_text(text)}\n" for name, text in words.facts(report))
    file.write("\n## Summary\n\n")
    if model := words.recommended(report):
        ends = f" ({model.range})" if model.range else ""
        file.write(f"Recommended: {_text(f'{model.value}{ends}, {model.where}, at {_conditions(model)}')}\n\n")
    if best := words.headline(report):
        found = f"{best.value} ({best.where}) at {_conditions(best)}"
        file.write(f"Best result: {_text(found)}{f' {words.DOUBTED}' if best.is_doubted else ''}\n\n")
    file.write(f"{_text(report.assessment.standing)}\n\n")
    answers = [*words.answers_of(report), *((words.TRUST, each.text) for each in report.assessment.verdicts.values())]
    file.writelines(f"**{question}** {_text(answer)}\n\n" for question, answer in answers)
    if report.assessment.checks:
        file.write("Warnings:\n\n")
        file.writelines(f"* {_text(each.text)}\n" for each in report.assessment.checks)
        file.write("\n")
    file.write("## Definition\n\n")
    header = ["Parameter", "Kind", "Values", "Active only if", "Best value expected near"]
    _table(
        file,
        header,
        (
            [
                wording.parameter_title(each),
                definition_in_words.KINDS[each.kind],
                definition_in_words.values(each),
                wording.condition(each),
                definition_in_words.belief(each, study.prior.get(each.name)),
            ]
            for each in study.parameters
        ),
    )
    file.writelines(f"* Constraint: {_text(each)}\n" for each in study.constraints)
    file.writelines(f"* {_text(name)}: {_text(text)}\n" for name, text in definition_in_words.rules(study))
    file.write(f"* Created: {words.moment(study.created_at)} UTC\n\n")
    for title, note, table in words.best_tables(report):
        file.write(f"## {title}\n\n")
        file.write(f"{_text(note)}\n\n" if note else "")
        if table is not None:
            _table(file, *table)
    file.write("## Results\n\n")
    if study.outcome_constraints:
        file.write(f"{words.BEYOND} {words.MARKED}\n\n")
    reasons = words.exclusions(report)
    _table(file, words.result_columns(study), (words.result_cells(study, each, reasons) for each in report.lines))
    if report.files:
        file.write("## Files\n\n")
        _table(file, *words.files(report))
    file.write("## Who did what\n\n")
    _table(file, *words.workers(report))
    audit = "; who shared, deleted or restored the study is in the audit log below" if report.acts else ""
    file.write(f"### Changes\n\nThe user is known for changes that a person made with a token or a login{audit}.\n\n")
    _table(file, *words.changes(report))
    if report.acts:
        file.write("### Audit log\n\n")
        _table(file, *words.acts(report))
    file.write(
        f"## The log\n\nRevision {study.revision}: {study.revision} events. With this fingerprint, you can check "
        "that the data were not changed since then: it is the SHA-256 of the lines of these events in an export of the "
        "study as JSON lines.\n\n"
        f"    {report.digest}\n\nTo check it, in the export of this revision:\n\n"
        '    grep \'^{"type": "event"\' study.jsonl | sha256sum\n'
    )


def _table(file: TextIO, header: list[str], rows: Iterable[list[str]]) -> None:
    file.write(_row(header) + _row(["---"] * len(header), is_text=False))
    file.writelines(map(_row, rows))
    file.write("\n")


def _row(cells: list[str], *, is_text: bool = True) -> str:
    return f"| {' | '.join(map(_text, cells) if is_text else cells)} |\n"


def _conditions(found: words.Headline) -> str:
    return f"{', '.join(map(' '.join, found.conditions))}."


def _text(text: str) -> str:
    """Return a text as one line, with markup escaped."""
    return MARKUP.sub(r"\\\1", " ".join(text.split()))
