"""Text: every column that people write to keeps any Unicode, and tells texts apart that differ by a byte."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sqlalchemy as sa

from adabkb_service.storage import events, idempotency, model, observations, studies, trials
from tests.storage.rows import event, key, observation, study, trial

TEXTS = {
    "empty": "",
    "accents": "Łódź naïve",
    "composed": "\u00e9",
    "combining": "e\u0301",
    "lone combining": "\u0301\u0302",
    "right to left": "שלום \u202eمرحبا\u202c",
    "wide": "数据 データ 데이터",
    "emoji": "🧪👩🏽‍🔬🏳️‍🌈",
    "outside the BMP": "\U0001d54f\U0010ffff",
    "quotes": "'\"`; DROP TABLE studies; --",
    "backslashes": "\\u0041 \\n \\",
    "placeholders": "%s %(study)s :study ? {0} $1",
    "control": "\x01\t\r\n\x7f\x85\u2028",
    "spaces": "  two before, two after  ",
    "not a character": "\ufffe\uffff",
}


@pytest.fixture(params=TEXTS)
def text(request: pytest.FixtureRequest) -> str:
    return TEXTS[request.param]


def test_a_study_keeps_its_text(connection: sa.Connection, text: str) -> None:
    row = study(f"t{text}", tags={text: text}, definition={text: [text]}, model={text: text}, model_error=text)
    studies.create(connection, replace(row, best={text: text}))
    assert studies.get(connection, row.id) == replace(row, best={text: text})


def test_a_trial_keeps_its_text(connection: sa.Connection, text: str) -> None:
    row = trial(1, worker=text, reason=text, cell=text, parameters={text: text})
    trials.add(connection, [row])
    trials.change(connection, row)
    assert trials.get(connection, "s", 1) == row


def test_the_log_keeps_its_text(connection: sa.Connection, text: str) -> None:
    row = event(1, payload={text: [text, {text: text}]})
    events.add(connection, [row])
    assert events.page(connection, "s", 0) == [row]


def test_an_observation_keeps_its_text(connection: sa.Connection, text: str) -> None:
    row = observation(1, parameters={text: text})
    observations.add(connection, [row])
    assert observations.get(connection, "s", 1) == row


def test_a_key_keeps_its_text(connection: sa.Connection, text: str) -> None:
    row = key(text, answer={text: text})
    idempotency.add(connection, row)
    assert idempotency.find(connection, "s", text) == row


def test_a_cell_keeps_its_key(connection: sa.Connection, text: str) -> None:
    model.write_cells(connection, "s", {text: "leaf"})
    assert model.read_cells(connection, "s") == {text: "leaf"}


ALIKE = ["a", "A", "a ", " a", "a.b", "a_b", "a%b", "ä", "a\u0308", "ａ", "0", "00", "a\n"]
"""Equal to none of the others, though some databases and collations think so."""


def test_study_ids_that_look_alike_are_different_studies(connection: sa.Connection) -> None:
    for seed, name in enumerate(ALIKE):
        studies.create(connection, study(name, seed=seed))
    assert [studies.get(connection, name).seed for name in ALIKE] == list(range(len(ALIKE)))


def test_keys_that_look_alike_are_different_keys(connection: sa.Connection) -> None:
    for name in ALIKE:
        idempotency.add(connection, key(name, answer={"of": name}))
    found = [idempotency.find(connection, "s", name) for name in ALIKE]
    assert [row.answer["of"] for row in found if row] == ALIKE


def test_cells_that_look_alike_are_different_cells(connection: sa.Connection) -> None:
    model.write_cells(connection, "s", dict.fromkeys(ALIKE, "leaf"))
    assert list(model.read_cells(connection, "s")) == ALIKE


@pytest.mark.parametrize("name", ["%", "_", "s ", "S", "' OR '1'='1"])
def test_a_text_that_means_something_to_sql_finds_nothing(connection: sa.Connection, name: str) -> None:
    assert studies.find(connection, name) is None
    assert idempotency.find(connection, name, name) is None
