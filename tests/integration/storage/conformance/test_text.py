"""Text: every column with user data stores any Unicode, and distinguishes strings that differ by a byte."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from adabkb_service.storage import events, idempotency, model, observations, studies, trials
from adabkb_service.storage.rows import JsonText
from adabkb_service.storage.tables import metadata
from tests.integration.storage.rows import event, key, observation, study, trial

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


def test_studies_keep_their_text(connection: sa.Connection) -> None:
    for text in TEXTS.values():
        columns: dict[str, Any] = {"model": {text: text}, "best": {text: text}, "checkpoint": {text: text}}
        row = study(f"t{text}", tags={text: text}, definition={text: [text]}, model_error=text, **columns)
        studies.create(connection, row)
        assert studies.get(connection, row.id) == row


def test_trials_keep_their_text(connection: sa.Connection) -> None:
    """When added, and when changed."""
    rows = [
        trial(number, worker=text, reason=text, cell=text, parameters={text: text})
        for number, text in enumerate(TEXTS.values(), start=1)
    ]
    trials.add(connection, rows)
    assert [trials.get(connection, "s", row.number) for row in rows] == rows
    trials.change(connection, [replace(row, worker=None, reason=None) for row in rows])
    trials.change(connection, rows)
    assert [trials.get(connection, "s", row.number) for row in rows] == rows


def test_the_log_keeps_its_text(connection: sa.Connection) -> None:
    rows = [event(seq, payload={text: [text, {text: text}]}) for seq, text in enumerate(TEXTS.values(), start=1)]
    events.add(connection, rows)
    assert events.page(connection, "s", 0) == rows


def test_observations_keep_their_text(connection: sa.Connection) -> None:
    rows = [observation(seq, parameters={text: text}) for seq, text in enumerate(TEXTS.values(), start=1)]
    observations.add(connection, rows)
    assert [observations.get(connection, "s", row.seq) for row in rows] == rows


def test_keys_keep_their_text(connection: sa.Connection) -> None:
    rows = [key(text, answer={text: text}) for text in TEXTS.values()]
    idempotency.add(connection, rows)
    assert [idempotency.find(connection, "s", row.key) for row in rows] == rows


def test_rendered_answer_is_stored_verbatim(connection: sa.Connection) -> None:
    """Including spaces, the order of keys, and the form of numbers."""
    rendered = '{"z":1,  "a": [1.0, 1e2, -0.0],\n"text": "\u00e9 \\u00e9 \\" 🧪", "z2": {}}'
    idempotency.add(connection, [key("k", answer=JsonText(rendered))])
    column = metadata.tables["idempotency_keys"].c.answer
    assert connection.execute(sa.select(sa.type_coerce(sa.cast(column, sa.Text), sa.Text))).scalar_one() == rendered
    found = idempotency.find(connection, "s", "k")
    assert found is not None
    assert found.answer == json.loads(rendered)


def test_cells_keep_their_keys(connection: sa.Connection) -> None:
    statuses = dict.fromkeys(TEXTS.values(), "leaf")
    model.write_cells(connection, "s", statuses)
    assert list(model.read_cells(connection, "s").items()) == list(statuses.items())


ALIKE = ["a", "A", "a ", " a", "a.b", "a_b", "a%b", "ä", "a\u0308", "ａ", "0", "00", "a\n"]
"""All different, although some databases and collations consider some of them equal."""


def test_similar_study_ids_are_distinct(connection: sa.Connection) -> None:
    for seed, name in enumerate(ALIKE):
        studies.create(connection, study(name, seed=seed))
    assert [studies.get(connection, name).seed for name in ALIKE] == list(range(len(ALIKE)))


def test_similar_keys_are_distinct(connection: sa.Connection) -> None:
    for name in ALIKE:
        idempotency.add(connection, [key(name, answer={"of": name})])
    found = [idempotency.find(connection, "s", name) for name in ALIKE]
    assert [row.answer["of"] for row in found if row] == ALIKE


def test_similar_cells_are_distinct(connection: sa.Connection) -> None:
    model.write_cells(connection, "s", dict.fromkeys(ALIKE, "leaf"))
    assert list(model.read_cells(connection, "s")) == ALIKE


def test_sql_wildcards_and_injections_match_nothing(connection: sa.Connection) -> None:
    for name in ["%", "_", "s ", "S", "' OR '1'='1"]:
        assert studies.find(connection, name) is None
        assert idempotency.find(connection, name, name) is None
