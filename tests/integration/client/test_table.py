"""The table of trials and results: ``to_frame``, and the CSV of the server, the page and the command."""

import csv
import io
import math
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pytest

from adabkb_client import Bool, Categorical, Client, Float, Int, Parameter, Quantity, Study
from tests.integration.cli.shell import adabkb
from tools.copies import texts
from tools.generated import CLIENT, outdated

COLUMNS = [
    *("trial", "state", "parameters.x", "parameters.solvent", "value", "std_error"),
    *(
        "metrics.seconds",
        "std_errors.seconds",
        "reason",
        "note",
        "worker",
        "attempt",
        "origin",
        "started_at",
        "finished_at",
    ),
    *("duration_seconds", "observation", "observed_at", "excluded", "outside"),
]


@pytest.fixture
def tried(client: Client) -> Study:
    """A study with a trial in each state, a replicate, an excluded result, and a result at a user-supplied point."""
    study = client.create_study(
        "s",
        {"x": Float(0, 1), "solvent": Categorical(["=CO", "éther", None])},
        direction="minimize",
        metrics=["seconds"],
        seed=1,
    )
    study.queue({"x": 0.5, "solvent": "éther"})
    told, failed, again, _ = study.suggest(4, worker="=2+3")
    ran = {"x": 0.25, "solvent": "=CO"}
    study.observe(told, 1.0, std_error=0.1, parameters=ran, metrics={"seconds": 3}, std_errors={"seconds": 0.5})
    study.fail(failed, "=no convergence")
    study.release(again)
    (second,) = study.suggest(1, worker="elsewhere")
    study.observe(again, 2.0, metrics={"seconds": 1})
    study.observe(second, 2.5, metrics={"seconds": 1})
    study.release(study.suggest())
    study.queue({"x": 0.75, "solvent": None})
    study.add_result({"x": 0.1, "solvent": None}, 9.0, metrics={"seconds": 2})
    study.exclude(1, "spilt")
    study.annotate(told, {"note": "=brown"})
    study.annotate(failed, {"note": {"cloudy": True}})  # by a program; the page writes text
    return study


def test_each_trial_has_a_row_with_its_state_reason_worker_attempt_and_duration(tried: Study) -> None:
    frame = tried.to_frame()
    assert list(frame.columns) == COLUMNS
    trials = {trial.number: trial for trial in tried.trials()}
    durations = {result.seq: result.seconds for result in tried.observations()}
    assert set(frame["trial"].dropna()) == set(trials)
    assert frame["note"].dropna().tolist() == ["=brown", '{"cloudy": true}']
    assert {trial.state for trial in trials.values()} == {"completed", "failed", "active", "released", "queued"}
    for row in frame.dropna(subset="trial").to_dict("records"):
        trial = trials[row["trial"]]
        assert row["state"] == trial.state
        assert trial.reason == (None if pd.isna(row["reason"]) else row["reason"])
        if row["attempt"] == trial.attempt and trial.finished_at and trial.started_at:
            assert row["worker"] == trial.worker
            seconds = durations[row["observation"]] if trial.state == "completed" else trial.seconds
            assert row["duration_seconds"] == seconds
        if trial.state != "completed":
            assert math.isnan(row["value"])
    assert frame.loc[frame["trial"].isna(), "value"].tolist() == [9.0]


@pytest.mark.long
def test_a_replicate_has_a_row_of_its_own_without_the_worker_of_the_other_attempt(tried: Study) -> None:
    frame = tried.to_frame()
    (number,) = (each for each, count in frame["trial"].value_counts().items() if count > 1)
    first, second = frame[frame["trial"] == number].to_dict("records")
    assert (first["value"], first["attempt"]) == (2.0, 1)
    assert pd.isna(first["worker"])
    assert math.isnan(first["duration_seconds"])
    assert (second["value"], second["attempt"], second["worker"]) == (2.5, 2, "elsewhere")


def test_a_row_has_the_point_that_was_run_and_marks_what_is_excluded(tried: Study) -> None:
    frame = tried.to_frame()
    excluded = frame[frame["excluded"].fillna(value=False)]
    assert excluded[["parameters.x", "value", "metrics.seconds", "std_errors.seconds"]].to_numpy().tolist() == [
        [0.25, 1.0, 3.0, 0.5]
    ]


@pytest.mark.parametrize("name", texts())
def test_a_module_that_the_client_shares_with_the_server_is_the_same(name: str) -> None:
    assert outdated((CLIENT / name).read_text("utf-8"), texts()[name]) == ""


def test_notes_of_results_without_a_trial_are_in_both_tables(client: Client) -> None:
    study = client.create_study("s", {"x": Float(0, 1)}, direction="minimize")
    study.add_result({"x": 0.5}, 1.0)
    study.annotate_result(1, {"note": "brown"})
    assert study.to_frame()["note"].tolist() == ["brown"]
    assert [line["note"] for line in csv.DictReader(io.StringIO(study.export("csv")))] == ["brown"]


def test_the_csv_has_the_rows_and_columns_of_the_frame(tried: Study) -> None:
    frame, lines = tried.to_frame(), list(csv.DictReader(io.StringIO(tried.export("csv"))))
    assert list(lines[0]) == COLUMNS
    assert len(lines) == len(frame)
    for line, row in zip(lines, frame.to_dict("records"), strict=True):
        for name in COLUMNS:
            assert _read(name, line[name]) == _plain(row[name]), name


def test_a_file_for_excel_begins_with_a_byte_order_mark_and_is_imported(
    tried: Study, client: Client, server: str, tmp_path: Path
) -> None:
    file = tmp_path / "results.csv"
    adabkb("study", "export", "s", "--format", "csv", "--output", str(file), "--url", server)
    assert file.read_bytes().startswith(b"\xef\xbb\xbftrial,state,")
    assert "éther" in file.read_text(encoding="utf-8-sig")
    assert adabkb("study", "export", "s", "--format", "csv", "--url", server) == tried.export("csv")
    assert tried.export("csv").startswith("trial,")
    parameters: dict[str, Parameter] = {"x": Float(0, 1), "solvent": Categorical(["=CO", "éther", None])}
    for name, source in {"file": file, "frame": tried.to_frame()}.items():
        copy = client.create_study(name, parameters, direction="minimize", metrics=["seconds"])
        report = copy.import_results(source)
        assert (report.stored, report.errors) == (4, ())
        assert report.left_out == {"excluded": 1, "active": 1, "released": 1, "queued": 1}
        assert [each.reason for each in copy.trials(state="failed")] == [
            each.reason for each in tried.trials(state="failed")
        ]
        counted = [each for each in tried.observations() if each.counts]
        assert Counter(each.value for each in copy.observations()) == Counter(each.value for each in counted)


def test_a_csv_with_titles_is_imported_if_a_title_looks_like_a_formula(client: Client, tmp_path: Path) -> None:
    parameters: dict[str, Parameter] = {"x": Float(0, 1, label="+x", unit="mL")}
    words: dict[str, Quantity] = {"value": {"label": "-ΔG", "unit": "kJ"}}
    study, copy = (
        client.create_study(each, parameters, direction="maximize", quantities=words) for each in ("s", "copy")
    )
    study.add_result({"x": 0.5}, 3.0)
    address = f"{client.url}/v1/studies/s/export"
    text = httpx.get(address, params={"format": "csv", "titles": "true"}).raise_for_status().text
    assert "'-ΔG [kJ]" in text.splitlines()[0]
    file = tmp_path / "results.csv"
    file.write_text(text, encoding="utf-8")
    report = copy.import_results(file)
    assert (report.stored, report.errors) == (1, ())


@pytest.mark.long
def test_a_csv_with_decimal_commas_has_the_same_cells(tried: Study, server: str) -> None:
    address = f"{server}/v1/studies/{tried.id}/export"
    texts = [
        httpx.get(address, params={"format": "csv", "decimal": each}).raise_for_status().text
        for each in ("point", "comma")
    ]
    points, commas = (
        list(csv.DictReader(io.StringIO(text), delimiter=by)) for text, by in zip(texts, ",;", strict=True)
    )
    assert "0,25;=CO" in texts[1].replace("'", "")
    floats = {"parameters.x", "value", "std_error", "metrics.seconds", "std_errors.seconds", "duration_seconds"}
    assert [
        {name: cell.replace(",", ".") if name in floats else cell for name, cell in row.items()} for row in commas
    ] == points


def test_a_study_without_trials_has_the_columns_alone(client: Client) -> None:
    study = client.create_study("empty", {"x": Float(0, 1)}, direction="minimize")
    assert study.to_frame().empty
    assert ",".join(study.to_frame().columns) == study.export("csv").strip()


def test_a_missing_cell_is_the_same_in_every_frame(client: Client) -> None:
    """A number is NaN, a time NaT and any other cell None; a choice None is a text, and never missing."""
    space: dict[str, Parameter] = {"kernel": Categorical(["rbf", None]), "pick": Categorical(["a", None])}
    space |= {"degree": Int(1, 4, when={"kernel": ["rbf"]}), "wide": Bool(when={"kernel": ["rbf"]})}
    study = client.create_study("missing", space, direction="minimize", seed=1)
    study.queue({"kernel": None, "pick": None})
    study.queue({"kernel": "rbf", "pick": "a", "degree": 2, "wide": True})
    study.observe(study.suggest(), 1.0)
    study.suggest()
    frames = {"trials": study.trials().to_frame(), "results": study.observations().to_frame()}
    frames |= {"study": study.to_frame(), "studies": client.studies().to_frame(), "log": study.events().to_frame()}
    for name in ("trials", "study"):
        frame = frames[name]
        assert frame["parameters.kernel"].tolist() == ["None", "rbf"]
        assert frame["parameters.pick"].tolist() == ["None", "a"]
        assert frame["parameters.degree"].isna().tolist() == [True, False]
        assert frame["parameters.wide"].tolist() == [None, True]
        assert frame["value"].isna().tolist() == [False, True]
        assert frame["reason"].tolist() == [None, None]
        assert str(frame["finished_at"].dtype) == "datetime64[us, UTC]"
    assert frames["results"]["std_error"].dtype == "float64"
    assert frames["studies"].set_index("id")["best"].dtype == "float64"
    kinds = {float: ("float64",), type(pd.NA): ("Int64", "boolean"), type(None): ("object",)}
    kinds[type(pd.NaT)] = ("datetime64",)
    for name, frame in frames.items():
        for column in frame.columns:
            for cell in frame[column][frame[column].isna()]:
                assert str(frame[column].dtype).startswith(kinds[type(cell)]), (name, column, cell)


def _plain(cell: Any) -> Any:
    """A cell of the frame, for comparison."""
    if cell is None or cell is pd.NA or cell is pd.NaT or (isinstance(cell, float) and math.isnan(cell)):
        return None
    return cell.to_pydatetime() if isinstance(cell, pd.Timestamp) else cell


def _read(name: str, cell: str) -> Any:
    """A cell of the CSV, for comparison."""
    if cell in ("", "null"):
        return "None" if cell else None  # null is a choice here
    if name.endswith("_at"):
        return pd.Timestamp(cell).to_pydatetime()
    if cell in ("True", "False"):
        return cell == "True"
    try:
        return float(cell)
    except ValueError:
        return cell.removeprefix("'")
