"""The report of an import: stored results and errors."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adabkb_client._importing.fitting import RowError
from adabkb_client._models import Metrics, Parameters
from adabkb_client._record import Record

SHOWN = 20
"""The maximum number of rows that the text of a report shows."""


@dataclass(frozen=True)
class ImportedResult(Record):
    """The result of a row, in the form in which the study has or would have it."""

    row: int
    parameters: Parameters
    value: float | None
    std_error: float | None
    metrics: Metrics | None = None
    std_errors: Metrics | None = None
    missing: tuple[str, ...] = ()
    plate: int | None = None


@dataclass(frozen=True, repr=False)
class ImportReport(Record):
    """The outcome of importing the rows of a source.

    ``results`` are the results that were stored or, with ``dry_run``, would be stored. ``repeated`` is the number of
    results that the study already had. ``left_out`` maps state -> number of rows without a result. ``errors`` lists the
    invalid rows. ``unused`` names the columns that were not used.
    """

    study_id: str
    source: str
    counted: str
    rows: int
    results: tuple[ImportedResult, ...]
    repeated: int
    left_out: Mapping[str, int]
    errors: tuple[RowError, ...]
    unused: tuple[str, ...]
    dry_run: bool

    @property
    def stored(self) -> int:
        """The number of results that were stored; 0 in a dry run."""
        return 0 if self.dry_run else len(self.results)

    @property
    def unfit(self) -> int:
        """The number of invalid rows."""
        return len({error.row for error in self.errors})

    def __repr__(self) -> str:
        return f"<Import of {str(self).partition(chr(10))[0]}>"

    def __str__(self) -> str:
        would = "would be stored" if self.dry_run else "stored"
        rows = f"{self.rows} row{'s' * (self.rows != 1)}"
        lines = [f"{self.source}: {rows}, {len(self.results)} {would} in study {self.study_id!r}"]
        if self.repeated:
            lines.append(f"already stored: {self.repeated}")
        if self.left_out:
            states = ", ".join(f"{count} {state}" for state, count in self.left_out.items())
            lines.append(f"skipped because of their state: {states}")
        if self.unused:
            lines.append(f"unused columns: {', '.join(self.unused)}")
        if self.errors:
            lines.append(f"invalid rows: {self.unfit}. Correct them, and import again:")
            lines += [f"  {self.counted} {each.row}, {each.field}: {each.problem}" for each in self.errors[:SHOWN]]
            if len(self.errors) > SHOWN:
                lines.append(f"  and {len(self.errors) - SHOWN} more")
        if self.dry_run:
            lines += [f"  {self.counted} {each.row}: {_shown(each)}" for each in self.results[:SHOWN]]
            if len(self.results) > SHOWN:
                lines.append(f"  and {len(self.results) - SHOWN} more")
        return "\n".join(lines)


def _shown(result: ImportedResult) -> str:
    error = "" if result.std_error is None else f" ± {result.std_error!r}"
    value = _point(result.metrics or {}) if result.value is None else f"{result.value!r}{error}"
    lacking = f" ({', '.join(result.missing)} missing)" if result.missing else ""
    plate = "" if result.plate is None else f", plate {result.plate}"
    return f"{_point(result.parameters)}{plate}: {value}{lacking}"


def _point(parameters: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value!r}" for name, value in parameters.items())
