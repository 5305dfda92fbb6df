"""Catalogues in the client: from files and frames, in studies, and after a restart of the server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pytest

from adabkb_client import Catalogue, Client, Float, Invalid
from adabkb_service.operations.studies.read import MAX_NUMBERS
from tests.servers import server_on

TABLE = "molecule,logp,mw,supplier\naspirin,1.2,180,A\ncaffeine,-0.1,194,B\nibuprofen,3.5,206,A\n"
NUMBERS = {"logp": (1.2, -0.1, 3.5), "mw": (180.0, 194.0, 206.0)}


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "molecules.csv"
    path.write_text(text, encoding="utf-8")
    return path


def made(count: int, first: int = 0) -> Catalogue:
    rows = range(first, first + count)
    return Catalogue(
        [f"m{row}" for row in rows], {"size": [row % 7 for row in rows], "charge": [row % 3 for row in rows]}
    )


@pytest.mark.parametrize("text", [TABLE, TABLE.replace(",", ";").replace(".", ",")], ids=["commas", "semicolons"])
def test_a_catalogue_comes_from_a_table(tmp_path: Path, text: str) -> None:
    found = Catalogue.from_csv(written(tmp_path, text))
    assert (found.rows, found.descriptors) == (("aspirin", "caffeine", "ibuprofen"), NUMBERS)
    assert found.row("caffeine")["supplier"] == "B"


def test_columns_are_chosen_and_one_of_texts_becomes_a_column_for_each(tmp_path: Path) -> None:
    found = Catalogue.from_csv(written(tmp_path, TABLE), name="molecule", descriptors=["mw", "supplier"])
    assert found.descriptors == {"mw": NUMBERS["mw"], "supplier=A": (1.0, 0.0, 1.0), "supplier=B": (0.0, 1.0, 0.0)}


def test_a_frame_is_as_good_as_a_file(tmp_path: Path) -> None:
    path = written(tmp_path, TABLE)
    assert Catalogue.from_frame(pd.read_csv(path)) == Catalogue.from_csv(path)


@pytest.mark.parametrize(
    ("text", "arguments", "words"),
    [
        (TABLE.replace("194", "heavy"), {}, "molecules.csv, line 3, column 'mw' must be a finite number, not 'heavy'"),
        (TABLE.replace("caffeine", "aspirin"), {}, "line 3: the row 'aspirin' occurs twice"),
        (TABLE.replace("caffeine", " "), {}, "line 3, column 'molecule' has no name"),
        (TABLE.replace("180,A", "180,A,9"), {}, "line 2: has 5 cells, but the header has 4"),
        (TABLE, {"name": "smiles"}, "has no column 'smiles'; it has 'molecule', 'logp'"),
        (TABLE, {"descriptors": ["logP"]}, "has no column 'logP'"),
        ("a,b\nx,y\n", {}, "has no column of numbers"),
    ],
)
def test_an_invalid_table_is_refused(tmp_path: Path, text: str, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=r"molecules\.csv") as refused:
        Catalogue.from_csv(written(tmp_path, text), **arguments)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("aspirin", {"mw": [1]}), TypeError),
        ((["a", "a"], {"mw": [1, 2]}), ValueError),
        ((["a", "b"], {"mw": [1]}), ValueError),
        (([], {"mw": []}), ValueError),
        ((["a"], [1]), TypeError),
    ],
)
def test_an_invalid_catalogue_is_refused(arguments: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        Catalogue(*arguments)


def test_rows_are_added_withdrawn_and_restored(client: Client) -> None:
    study = client.create_study("molecules", {"molecule": made(4)}, direction="maximize")
    study.change_catalogue("molecule", add=made(2, first=4), withdraw=["m0", "m1", "m2", "m3"])
    with pytest.raises(TypeError, match="must be a Catalogue"):
        study.change_catalogue("molecule", add="name,mw\nm9,9\n")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must be a list"):
        study.change_catalogue("molecule", restore="m0")
    assert {study.suggest().parameters["molecule"] for _ in range(2)} == {"m4", "m5"}
    study.change_catalogue("molecule", restore=["m2"])
    assert study.suggest().parameters["molecule"] == "m2"
    shown = study.info().parameters[0]
    assert (shown["rows"], shown["withdrawn"], shown["columns"]) == (6, 3, ["size", "charge"])


def test_results_in_a_file_have_the_names_of_rows(client: Client, tmp_path: Path) -> None:
    study = client.create_study("read", {"molecule": made(4), "x": Float(0, 1)}, direction="maximize")
    path = written(tmp_path, "molecule,x,value\nm1,0.5,2\n m3 ,0.1,3\n")
    study.import_results(path)
    assert [each.parameters["molecule"] for each in study.observations()] == ["m1", "m3"]
    report = study.import_results(written(tmp_path, "molecule,x,value\nm9,0.5,2\n,0.5,2\n"))
    assert report.stored == 0
    assert "must be the name of a row of the catalogue, such as 'm0'" in str(report)
    assert "is missing; fill in the name of a row" in str(report)


@pytest.mark.long
def test_figures_are_of_the_other_parameters(client: Client) -> None:
    study = client.create_study("drawn", {"molecule": made(9), "x": Float(0, 1)}, direction="maximize")
    study.run(lambda x, **_: x, n_trials=9, progress=False)  # enough results for importances
    for draw in (study.plot.parallel, study.plot.slice, study.plot.leaves, study.plot.importance):
        assert draw().axes
    with pytest.raises(ValueError, match="'molecule' is a catalogue, whose rows have no order; leave it out"):
        study.plot.slice("molecule")


def test_the_server_says_which_row_of_a_table_is_wrong(client: Client) -> None:
    study = client.create_study("wrong", {"molecule": made(4)}, direction="maximize")
    with pytest.raises(Invalid, match=r"catalogues\.molecule\.add: line 3 names 'm3'"):
        study.change_catalogue("molecule", add=Catalogue(["m9", "m3"], {"size": [1, 2], "charge": [0, 0]}))


def test_a_server_that_has_just_started_knows_the_table_from_the_log(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/molecules.db"
    with server_on(url) as address, Client(address) as client:
        client.create_study("s", {"molecule": made(9), "x": Float(0, 1)}, direction="maximize")
        client.study("s").change_catalogue("molecule", withdraw=["m0", "m1"])
    with server_on(url) as address, Client(address) as client:
        found = {client.study("s").suggest().parameters["molecule"] for _ in range(12)}
    assert found <= {f"m{row}" for row in range(2, 9)}


def test_rows_are_listed_in_order_and_found_by_a_part_of_their_name(server: str) -> None:
    with Client(server) as client:
        study = client.create_study("s", {"m": made(250)}, direction="minimize")
        study.change_catalogue("m", add=made(2, 250))
        study.change_catalogue("m", withdraw=["m251"])
        found = list(study.rows())
        assert [each.name for each in found] == list(made(252).rows)
        assert found[10].numbers == {"size": 3.0, "charge": 1.0}
        assert [each.name for each in found if each.withdrawn] == ["m251"]
        assert [each.name for each in study.rows("M25")] == ["m25", "m250", "m251"]
        assert list(study.rows("benzene")) == []
        assert list(client.create_study("t", {"x": Float(0, 1)}, direction="minimize").rows()) == []


def test_a_page_of_wide_rows_has_fewer_of_them(server: str) -> None:
    count = MAX_NUMBERS // 300 + 1
    wide = Catalogue(
        [f"m{k}" for k in range(count)], {f"c{c}": [float(k * c) for k in range(count)] for c in range(300)}
    )
    with Client(server) as client:
        study = client.create_study("s", {"m": wide}, direction="minimize")
        assert [each.name for each in study.rows()] == list(wide.rows)
        page = httpx.get(f"{server}/v1/studies/s/rows", params={"limit": 1000}).json()
        assert sum(len(row["numbers"]) for row in page["items"]) <= MAX_NUMBERS
        assert page["next_cursor"] is not None
