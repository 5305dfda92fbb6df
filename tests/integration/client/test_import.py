"""Results from elsewhere: each fits and is stored once, or is named with what is wrong with it."""

import asyncio
import csv
import gzip
import io
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any, Literal

import httpx
import optuna
import pandas as pd
import pytest

from adabkb_client import (
    AsyncClient,
    Bool,
    Categorical,
    Client,
    ConnectionFailed,
    Fixed,
    Float,
    Int,
    Ordinal,
    Parameter,
    Quantity,
    Study,
)
from adabkb_client._run.progress import StudyProgress
from tests.integration.client.faults import proxy
from tests.servers import server_on

PARAMETERS: dict[str, Parameter] = {
    "x": Float(0, 1),
    "n": Int(1, 9, step=2),
    "width": Ordinal([16, 64]),
    "kind": Categorical([None, "relu", (64, 64), True]),
    "deep": Bool(),
    "data": Fixed("iris"),
}
ROW = {"x": 0.5, "n": 3, "width": 16, "kind": "relu", "deep": True, "value": 1.5}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with server_on(f"sqlite:///{tmp_path_factory.mktemp('server')}/a.db") as address:
        yield address


@pytest.fixture(scope="module")
def create(address: str) -> Iterator[Callable[..., Study]]:
    numbers = count(1)
    with Client(address) as client:

        def create(**parameters: Any) -> Study:
            return client.create_study(
                f"s{next(numbers)}",
                parameters or PARAMETERS,
                direction="maximize",
                seed=1,
                algorithm={"kind": "random"},
            )

        yield create


@pytest.fixture
def study(create: Callable[..., Study]) -> Study:
    return create()


@pytest.fixture
def line(create: Callable[..., Study]) -> Study:
    """A study of one parameter."""
    return create(x=Float(0, 1))


def points(number: int) -> list[dict[str, float]]:
    return [{"x": row / number, "value": float(row)} for row in range(number)]


def stored(study: Study) -> list[tuple[Any, ...]]:
    return [(*row.parameters.values(), row.value, row.std_error) for row in study.observations()]


def written(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    """A file of the kind that its name says."""
    if path.suffix == ".xlsx":
        pd.DataFrame(rows).to_excel(path, index=False)
        return path
    text = io.StringIO("\n".join(map(json.dumps, rows)))
    if ".csv" in path.name.lower():
        text = io.StringIO()
        table = csv.DictWriter(text, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    encoded = text.getvalue().encode()
    path.write_bytes(gzip.compress(encoded) if path.suffix == ".gz" else encoded)
    return path


CELLS = [
    {**ROW, "std_error": 0.25, "note": "a, b"},
    {**ROW, "x": 1, "n": 5, "width": 64, "kind": [64, 64], "deep": False, "std_error": None, "note": None},
    {**ROW, "kind": True, "std_error": None, "note": "c"},
    {**ROW, "kind": None, "std_error": None, "note": "d"},
]


@pytest.mark.parametrize("name", ["a.csv", "a.CSV.gz", "a.jsonl", "a.jsonl.gz", "a.xlsx", "frame", "dicts"])
def test_the_same_results_are_read_from_every_kind_of_source(study: Study, tmp_path: Path, name: str) -> None:
    rows = [{**row, "kind": str(row["kind"])} for row in CELLS] if name == "a.xlsx" else CELLS
    source: Any = {"frame": pd.DataFrame(rows), "dicts": iter(rows)}.get(name) if "." not in name else None
    report = study.import_results(written(tmp_path / name, rows) if source is None else source)
    assert stored(study) == [
        (0.5, 3, 16, "relu", True, "iris", 1.5, 0.25),
        (1.0, 5, 64, (64, 64), False, "iris", 1.5, None),
        (0.5, 3, 16, True, True, "iris", 1.5, None),
        (0.5, 3, 16, None, True, "iris", 1.5, None),
    ]
    assert (report.rows, report.stored, report.unused, report.errors) == (4, 4, ("note",), ())
    assert study.info().counts.trials == 0, "it costs no budget"


def test_an_import_that_is_repeated_stores_only_what_is_new(line: Study) -> None:
    rows = [*points(3), *points(3)]  # each twice
    assert line.import_results(rows).stored == 6
    observations = list(line.observations())
    line.correct(observations[0].seq, 7.0)
    line.exclude(observations[1].seq)
    again = line.import_results([{"x": 0.5, "value": 1}, *rows, {"x": 1, "value": 2}])
    assert (again.stored, again.repeated) == (2, 6)
    assert line.import_results(points(3)[::-1]).stored == 0


@pytest.mark.long
def test_an_import_that_breaks_off_continues_where_it_ended(line: Study, address: str) -> None:
    rows = points(1_020)
    with proxy(address) as faulty, Client(faulty.url, retry_for=0) as client:
        study = client.study(line.id)
        # The definition, two calls for the first batch, and two for the second, of which the last answer is lost.
        faulty.faults.extend([None, None, None, None, "lose answer"])
        with pytest.raises(ConnectionFailed) as broken:
            study.import_results(rows[:1_010])  # in two batches
    assert broken.value.__notes__ == ["1000 rows are stored; repeat the call to import the rest"]
    assert line.info().counts.observations == 1_010
    report = line.import_results(rows)
    assert (report.stored, report.repeated) == (10, 1_010)
    assert [row.value for row in line.observations()] == list(range(1_020))


def test_the_same_import_at_the_same_time_is_stored_once(line: Study, address: str) -> None:
    """Both have seen an empty study: the key of the batch tells that it is the same."""

    async def twice() -> list[int]:
        async with AsyncClient(address) as client:
            study = await client.study(line.id)
            reports = await asyncio.gather(*(study.import_results(points(50)) for _ in range(2)))
            return [report.stored for report in reports]

    assert all(number in (0, 50) for number in asyncio.run(twice()))
    assert line.info().counts.observations == 50


def test_a_dry_run_lists_what_does_not_fit_and_what_would_be_stored(study: Study, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {**ROW, "std_error": "0.5"},
        {**ROW, "x": "1,5", "std_error": "-1"},
        {**ROW, "x": 1.5, "n": 4},
        {**ROW, "n": "", "value": "inf"},
        {**ROW, "width": 32, "deep": "perhaps", "kind": "tanh"},
        {**ROW, "value": None},
        {**ROW, "x": True, "value": "nan"},
    ]
    file = written(tmp_path / "results.csv", [{"std_error": "", **row} for row in rows])
    file.write_text(file.read_text() + "1,2,3,4,5,6,7,8\n")
    report = study.import_results(file, dry_run=True)
    assert str(report).splitlines() == [
        f"results.csv: 8 rows, 1 would be stored in study '{study.id}'",
        "invalid rows: 7. Correct them, and import again:",
        "  line 3, x: must be a number, with a point if it has decimals, not '1,5'",
        "  line 3, std_error: must be 0 or more, not -1.0",
        "  line 4, x: is 1.5, outside [0.0, 1.0]",
        "  line 4, n: is 4.0, not 1 plus a multiple of 2",
        "  line 5, n: is missing; fill it in, or leave the row out",
        "  line 5, value: must be finite; leave the row out if the evaluation has failed",
        "  line 6, width: must be one of 16, 64, not '32'",
        "  line 6, kind: must be one of null, \"relu\", [64, 64], true, not 'tanh'",
        "  line 6, deep: must be one of false, true, not 'perhaps'",
        "  line 7, value: is missing; fill it in, or leave the row out",
        "  line 8, x: must be a number, with a point if it has decimals, not 'True'",
        "  line 8, value: must be a number, with a point if it has decimals, not 'nan'",
        "  line 9, row: has 8 cells, but the header has 7; put cells that contain ',' in quotation marks",
        "  line 2: x=0.5 n=3 width=16 kind='relu' deep=True data='iris': 1.5 ± 0.5",
    ]
    assert stored(study) == []
    assert study.import_results(file).errors == report.errors
    assert len(stored(study)) == 1, "what does not fit stops no other row"


def test_lines_that_are_no_results_are_errors(line: Study, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"parameters": {"x": 0.5}, "value": 1}\n\n{"x"\n[1]\n{"value": 2}\n')
    report = line.import_results(file)
    assert [(error.row, error.field) for error in report.errors] == [(3, "row"), (4, "row"), (5, "x")]
    assert report.stored == 1


def test_columns_of_other_names_are_named(line: Study) -> None:
    rows = [{"C": 0.5, "score": 1.0, "se": 0.1, "x": 2.0, "state": "Ohio"}]
    names: dict[str, Any] = {"columns": {"x": "C"}, "value": "score"}
    assert line.import_results(rows, **names).left_out == {"ohio": 1}
    assert line.import_results(rows, **names, std_error="se", state=None).unused == ("x", "state")
    assert stored(line) == [(0.5, 1.0, 0.1)]


@pytest.mark.parametrize("title", ["value", "value [%]", "Result [%]"])
def test_results_with_a_unit_and_no_name_have_these_titles(address: str, title: str) -> None:
    with Client(address) as client:
        words: dict[str, Quantity] = {"value": {"unit": "%"}}
        study = client.create_study(None, {"x": Float(0, 1)}, direction="maximize", quantities=words)
        study.import_results([{"x": 0.5, title: 2.0}])
        assert stored(study) == [(0.5, 2.0, None)]


def test_rows_without_a_result_are_left_out_by_their_state(line: Study) -> None:
    states = ["completed", "pruned", "COMPLETE", None, "running", "pruned"]
    rows = [{**point, "state": state} for point, state in zip(points(6), states, strict=True)]
    report = line.import_results([*rows, {"x": 0, "value": 9, "excluded": True}])
    assert report.left_out == {"pruned": 2, "running": 1, "excluded": 1}
    assert "skipped because of their state: 2 pruned, 1 running, 1 excluded" in str(report)
    assert [row.value for row in line.observations()] == [0, 2, 3]


def test_failures_are_imported_once_and_neither_end_nor_pause_the_study(line: Study) -> None:
    """They are no invalid rows, although they have no value; without a point, they say nothing."""
    line.update(budget=3, failure_limit=2)
    rows: list[dict[str, Any]] = [
        {"x": 0.1, "state": "FAIL", "reason": "out of memory"},
        {"x": 0.2, "state": "error"},
        {"x": 0.2, "state": "crashed", "value": float("nan")},
        {"x": None, "state": "failed"},
        {"x": 0.2, "state": "ok", "value": 1.0},
    ]
    preview = line.import_results(rows, dry_run=True)
    assert "0.1: failed: out of memory" in str(preview)
    assert "0.2: failed\n" in str(preview)
    report = line.import_results(rows)
    assert "5 rows, 4 stored" in str(report)
    assert "3 of them as failed" in str(report)
    assert (report.errors, report.left_out, report.unused) == ((), {"failed": 1}, ())
    assert [(each.parameters["x"], each.reason) for each in line.trials(state="failed")] == [
        (0.1, "out of memory"),
        (0.2, None),
        (0.2, None),
    ]
    again = line.import_results([*rows, {"x": 0.3, "state": "failed"}])
    assert (again.stored, again.repeated) == (1, 4)
    info = line.info()
    assert (info.state, info.counts.failed, info.counts.own_failures, info.counts.observations) == ("running", 4, 4, 1)
    assert StudyProgress.of(info)[:2] == (0, 0), "a run begins at none of its budget"
    assert len(line.suggest(count=3)) == 3


def test_other_words_for_completed_are_understood(line: Study) -> None:
    states = ["ok", "Done", "finished", "SUCCESS", "lost"]
    report = line.import_results([{**point, "state": state} for point, state in zip(points(5), states, strict=True)])
    assert (report.stored, report.left_out) == (4, {"lost": 1})


def test_a_choice_is_found_in_another_case_if_only_one_fits(create: Callable[..., Study]) -> None:
    study = create(kernel=Categorical(["rbf", "Poly", "poly"]))
    report = study.import_results([{"kernel": cell, "value": 1.0} for cell in (" RBF", "Poly", "poly", "POLY")])
    assert [row.parameters["kernel"] for row in study.observations()] == ["rbf", "Poly", "poly"]
    assert [(error.row, error.field) for error in report.errors] == [(3, "kernel")]


def test_numbers_with_a_decimal_comma_are_read_if_the_argument_says_so(line: Study) -> None:
    rows = [{"x": "0,25", "value": "1,5"}, {"x": 0.5, "value": "2"}, {"x": "0.75", "value": "1.000,5"}]
    report = line.import_results(rows, decimal=",")
    assert [(each.parameters["x"], each.value) for each in report.results] == [(0.25, 1.5), (0.5, 2.0)]
    assert [(error.row, error.field, error.problem) for error in report.errors] == [
        (2, "x", "must be a number, with a comma if it has decimals, not '0.75'"),
        (2, "value", "must be a number, with a comma if it has decimals, not '1.000,5'"),
    ]
    with pytest.raises(ValueError, match=r"decimal must be '\.' or ',', not ';'"):
        line.import_results(rows, decimal=";")  # type: ignore[arg-type]


def test_choices_under_other_names_are_mapped(create: Callable[..., Study]) -> None:
    study = create(kernel=Categorical(["rbf", "linear", 3]))
    rows = [{"kernel": cell, "value": 1} for cell in (" Gaussian", "rbf", 7, "", "other")]
    meant = {"kernel": {"Gaussian": "rbf", "7": 3, "": "linear"}}
    report = study.import_results(rows, choices=meant)
    assert [each.parameters["kernel"] for each in report.results] == ["rbf", "rbf", 3, "linear"]
    assert [error.row for error in report.errors] == [4]
    with pytest.raises(ValueError, match="choices are given for 'solver', which is not one of the parameters: kernel"):
        study.import_results(rows, choices={"solver": {}})


def test_exports_and_frames_of_a_study_are_imported_as_they_are(create: Callable[..., Study], tmp_path: Path) -> None:
    first, second, third = create(), create(), create()
    first.import_results(CELLS)
    first.exclude(1)
    (tmp_path / "export.csv").write_text(first.export("csv"))
    assert second.import_results(tmp_path / "export.csv").left_out == {"excluded": 1}
    assert stored(second) == stored(first)[1:]
    third.import_results(first.to_frame())
    assert stored(third) == stored(second)
    (tmp_path / "export.jsonl").write_text(first.export())
    with pytest.raises(ValueError, match="is the export of a whole study, which `adabkb data import` reads into"):
        third.import_results(tmp_path / "export.jsonl")


def test_a_study_of_optuna_is_imported(create: Callable[..., Study]) -> None:
    theirs = optuna.create_study(direction="maximize")

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        if trial.number == 1:
            raise optuna.TrialPruned
        if trial.number == 5:
            raise ArithmeticError
        trial.set_constraint("c", 1.0 if trial.number == 2 else 0.0)
        return float("inf") if trial.number == 3 else x

    theirs.optimize(objective, n_trials=6, catch=ArithmeticError)
    study = create(x=Float(0, 1))
    report = study.import_results(theirs)
    assert (report.stored, report.left_out) == (3, {"pruned": 1, "infeasible": 1})
    assert [trial.parameters for trial in study.trials(state="failed")] == [theirs.trials[5].params]
    assert [(error.row, error.field) for error in report.errors] == [(3, "value")]
    assert {row.value for row in study.observations()} == {theirs.trials[0].value, theirs.trials[4].value}
    assert create(x=Float(0, 1)).import_results(theirs.trials_dataframe()).stored == 4, "its frame knows no constraints"
    opposite = optuna.create_study(direction="minimize")
    opposite.add_trials(theirs.trials)
    with pytest.raises(ValueError, match=f"has the direction minimize, but study '{study.id}' has maximize; "):
        study.import_results(opposite)
    with pytest.raises(ValueError, match="has 2 objectives, but only a study with one can be imported"):
        study.import_results(optuna.create_study(directions=["maximize", "maximize"]))


def test_delimiters_and_a_byte_order_mark_are_recognised(line: Study, tmp_path: Path) -> None:
    file = tmp_path / "excel.csv"
    file.write_bytes('x;value;note\r\n0.5;1;"a\r\nb"\r\n\r\n0,5;1;\r\n'.encode("utf-8-sig"))
    report = line.import_results(file)
    assert report.stored == 1
    assert [error.row for error in report.errors] == [5], "the line at which the row begins"


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (
            [{"y": 1, "value": 2}],
            {},
            "no column for parameter 'x'; the columns are y, value. Name it: columns={'x': ...}",
        ),
        (
            [{"x": 1, "score": 2}],
            {},
            r"no column for the value ('value'); the columns are x, score. Name it: value=...",
        ),
        ([{"x": 1, "value": 2}], {"std_error": "se"}, "no column for the std_error ('se'); the columns are x, value."),
        ([{"x": 1, "value": 2}], {"columns": {"y": "x"}}, "given for 'y', which is not one of the parameters: x"),
        ([{"x": 1}], {"value": "x"}, "column 'x' is used for the value and for a parameter; name another column"),
        ([], {}, "there is no result in the results"),
        (
            "a.txt",
            {},
            "a.txt cannot be imported; give a file with the ending .csv, .jsonl, .csv.gz, .jsonl.gz or .xlsx",
        ),
        ("a.csv", {}, "a.csv is not encoded as UTF-8 (invalid start byte); save it in UTF-8"),
        ("a.jsonl.gz", {}, "a.jsonl.gz does not have the format of its ending: Not a gzipped file"),
        ("a.xlsx", {}, "a.xlsx is not an Excel file: File is not a zip file"),
        ("twice.csv", {}, "the header has a column twice: x,value,x"),
        ({"x": 1}, {}, "a study of Optuna or a result of minimize, not from dict"),
    ],
)
def test_a_source_that_cannot_be_read_is_refused_with_the_remedy(
    line: Study, tmp_path: Path, source: Any, options: dict[str, Any], message: str
) -> None:
    if isinstance(source, str):
        source = tmp_path / source
        source.write_bytes(b"x,value,x\n1,2,3\n" if source.name == "twice.csv" else b"\xff\xfe\n")
    with pytest.raises((ValueError, TypeError)) as refusal:
        line.import_results(source, **options)
    assert message in str(refusal.value)
    assert stored(line) == []


def test_a_sheet_needs_packages_that_the_refusal_names(
    line: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ImportError, match="pip install openpyxl\\), or save it as CSV"):
        line.import_results(tmp_path / "a.xlsx")


def test_an_excel_file_of_a_study_with_names_and_units_is_imported_as_it_is(address: str, tmp_path: Path) -> None:
    """Its columns are called as people call them, and its numbers are exact."""
    space: dict[str, Parameter] = {"x": Float(0, 10, unit="°C", label="Bath"), "kind": Categorical(["=a", "b"])}
    words: dict[str, Quantity] = {"value": {"label": "Yield", "unit": "%"}, "purity": {"unit": "%"}}
    with Client(address) as client:
        first, second = (
            client.create_study(name, space, direction="maximize", metrics=["purity"], quantities=words)
            for name in ("first", "second")
        )
        for value in (1 / 3, 0.1 + 0.2, 7):
            point = {"x": value, "kind": "=a"}
            first.add_result(point, value / 7, std_error=value / 11, metrics={"purity": value / 13})
        first.exclude(3)
        (tmp_path / "export.xlsx").write_bytes(first.export_excel())
        report = second.import_results(tmp_path / "export.xlsx")
        assert (report.stored, report.left_out, report.errors) == (2, {"excluded": 1}, ())
        told = [
            [(each.parameters, each.value, each.std_error, each.metrics) for each in study.observations()[:2]]
            for study in (first, second)
        ]
    assert told[0] == told[1]


@pytest.mark.parametrize("ending", ["xlsx", "csv", "comma.csv"])
def test_files_in_words_give_the_same_results(address: str, tmp_path: Path, ending: str) -> None:
    """With metrics, plates, repeated points, failures with reasons, and trials without a result."""
    space: dict[str, Parameter] = {"x": Float(0, 10, unit="°C", label="Bath"), "kind": Categorical(["=a", "b"])}
    words: dict[str, Quantity] = {"value": {"unit": "%"}, "purity": {"label": "Purity (GC)", "unit": "%"}}
    with Client(address) as client:
        first, second = (
            client.create_study(
                name, space, direction="maximize", metrics=["purity"], quantities=words, plates={"size": 2}
            )
            for name in (f"first-{ending}", f"second-{ending}")
        )
        for value in (1 / 3, 1 / 3, 0.1 + 0.2, 7.25, 7.25):
            point, told = {"x": value, "kind": "=a"}, {"purity": value / 13}
            first.add_result(point, value / 7, std_error=value / 11, metrics=told, std_errors={"purity": 0.5}, plate=3)
        first.exclude(4)
        tried = first.suggest(2)
        first.observe(tried[0], 12.5, metrics={"purity": 99.0})
        first.fail(tried[1], "the flask broke; twice")
        first.suggest(2)
        decimal: Literal[".", ","] = "," if ending.startswith("comma") else "."
        file, query = tmp_path / f"export.{ending}", {"format": ending[-4:].strip(".")}
        if ending != "xlsx":
            query |= {"titles": "true", "decimal": "comma" if decimal == "," else "point"}
        file.write_bytes(httpx.get(f"{address}/v1/studies/{first.id}/export", params=query).raise_for_status().content)
        report = second.import_results(file, decimal=decimal)
        assert (report.stored, report.left_out, report.errors) == (6, {"excluded": 1, "running": 2}, ())
        assert _measured(first) == _measured(second)
        assert [each.reason for each in second.trials(state="failed")] == ["the flask broke; twice"]
        again = second.import_results(file, decimal=decimal)
        assert (again.stored, again.errors) == (0, ())


def _measured(study: Study) -> list[Any]:
    """The results that count, in the order of their values, with their plates."""
    plates, told = {each.number: each.plate for each in study.trials()}, []
    for each in (each for each in study.observations() if each.counts):
        plate = each.plate or plates.get(each.trial or 0)
        told.append((each.value, each.std_error, each.parameters, each.metrics, each.std_errors, plate))
    return sorted(told, key=lambda each: each[0] or 0.0)
