"""Names and other short texts of a study have no control characters and no marks that change the direction of text."""

from __future__ import annotations

import json
from contextlib import closing
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute

from adabkb_service import app
from adabkb_service.operations.data.importing import import_study
from adabkb_service.storage.catalogues import Pieces
from adabkb_service.storage.database import Database
from tests.integration.api.conftest import DEFINITION, pointers
from tests.samples import some

X = {"name": "x", "kind": "float", "low": 0, "high": 1}
COLOR = {"name": "color", "kind": "categorical", "choices": ["red", "blue"]}
TABLE = "name,mass\nwater,18\nethanol,46\n"
MOLECULE = {"name": "molecule", "kind": "catalogue", "table": TABLE}
SIGNS = {
    "\x07": "the control character U+0007; leave it out",
    "\t": "the control character U+0009; leave it out",
    "\x9b": "the control character U+009B; leave it out",
    "\n": "line breaks (U+000A); write it in one line",
    "\u2028": "line breaks (U+2028); write it in one line",
    **{
        chr(number): f"U+{number:04X}, an invisible mark that changes the direction of text; leave it out"
        for number in [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
    },
}
OLD = "red\u202eder"
"""A text that a study of an older version may have."""

READS = [
    route.path.format(study_id="s", number=1, seq=1, file=1, webhook_id="0" * 12)
    for route in app.ROUTES
    if isinstance(route, APIRoute) and "GET" in (route.methods or ()) and "{study_id}" in route.path
]


def with_text(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Pointers and definitions with a text there."""
    return [
        ("/parameters/1/name", {"parameters": [X, {**X, "name": text}]}),
        ("/parameters/0/choices/1", {"parameters": [{**COLOR, "choices": ["red", text]}]}),
        ("/parameters/0/choices/0/1", {"parameters": [{**COLOR, "choices": [["red", text], "blue"]}]}),
        ("/parameters/0/values/0", {"parameters": [{"name": "o", "kind": "ordinal", "values": [text, "z"]}]}),
        ("/parameters/1/value", {"parameters": [X, {"name": "f", "kind": "fixed", "value": text}]}),
        ("/parameters/0/unit", {"parameters": [{**X, "unit": text}]}),
        ("/parameters/0/label", {"parameters": [{**X, "label": text}]}),
        ("/parameters/0/descriptors", {"parameters": [{**COLOR, "descriptors": {text: [1, 2]}}]}),
        ("/parameters/0/table", {"parameters": [{**MOLECULE, "table": f'{TABLE}"{text}",2\n'}]}),
        ("/parameters/0/table", {"parameters": [{**MOLECULE, "table": f'name,"{text}"\nwater,18\n'}]}),
        ("/title", {"title": text}),
        ("/tags", {"tags": {text: "b"}}),
        ("/tags/project", {"tags": {"project": text}}),
        ("/metrics/0", {"metrics": [text]}),
        ("/outcome_constraints/0/metric", {"outcome_constraints": [{"metric": text, "upper": 1}]}),
        ("/quantities/value/label", {"quantities": {"value": {"label": text}}}),
    ]


CASES = [(sign, pointer, fields) for sign in SIGNS for pointer, fields in with_text(f"a{sign}b")]


@pytest.mark.parametrize(("sign", "pointer", "fields"), some(CASES, CASES[:16] + CASES[16::13]))
def test_such_a_text_is_refused_at_its_field(
    module_server: str, sign: str, pointer: str, fields: dict[str, Any]
) -> None:
    answer = httpx.post(f"{module_server}/v1/studies", json={**DEFINITION, "parameters": [X], **fields})
    assert (answer.status_code, pointers(answer)) == (422, [pointer])
    (error,) = answer.json()["errors"]
    assert (error["code"], error["detail"].endswith(f"must not contain {SIGNS[sign]}")) == ("unreadable_text", True)
    assert sign == "\n" or sign not in answer.text
    assert httpx.get(f"{module_server}/v1/studies").json()["items"] == []


def test_all_such_texts_are_counted(module_server: str) -> None:
    parameters = [{**COLOR, "choices": [f"a\t{number}" for number in range(130)]}]
    answer = httpx.post(f"{module_server}/v1/studies", json={**DEFINITION, "parameters": parameters})
    assert len(pointers(answer)) == 100
    assert "30 more not listed" in answer.json()["detail"]


TEXTS = ["درجة الحرارة", "טמפרטורה", "می‌خواهم", "µ²°C ±½", "温度", "👩🏽‍🔬", "e\u0301", "a\xa0b", "  a  b  "]


@pytest.mark.parametrize("text", TEXTS)
def test_text_of_any_script_is_kept(api: httpx.Client, text: str) -> None:
    """Also Arabic and Hebrew, which are written from right to left, and Persian and emoji, which need joiners."""
    color = {**COLOR, "name": text, "choices": [text, "b"], "label": text, "unit": text[:30]}
    fields = {"title": text.strip(), "tags": {text: text}, "description": f"{text}\n\tin lines", "metrics": [text]}
    made = api.post("/v1/studies", json={**DEFINITION, "parameters": [X, color], **fields})
    assert made.status_code == 201
    study = api.get("/v1/studies/s").json()
    assert {name: study[name] for name in fields} == fields
    assert {name: study["parameters"][1][name] for name in color} == color
    point, metrics = {"x": 0.5, text: text}, {text: 1.0}
    result = api.post("/v1/studies/s/observe", json={"parameters": point, "value": 1.0, "metrics": metrics})
    assert result.status_code == 200
    assert api.get("/v1/studies/s/observations").json()["items"][0]["parameters"] == point


@pytest.mark.parametrize(
    ("pointer", "change"),
    [
        ("/title", {"title": "a\u202eb"}),
        ("/tags", {"tags": {"a\u202eb": "b"}}),
        ("/quantities/value/unit", {"quantities": {"value": {"unit": "a\u202eb"}}}),
        ("/parameters/0/name", {"parameters": [{**COLOR, "name": "a\u202eb"}], "defaults": {"a\u202eb": "red"}}),
        ("/parameters/0/choices/2", {"parameters": [{**COLOR, "choices": ["red", "blue", "a\u202eb"]}]}),
        ("/parameters/0/label", {"parameters": [{**COLOR, "label": "a\u202eb"}]}),
        ("/catalogues/molecule/add", {"catalogues": {"molecule": {"add": "name,mass\na\u202eb,3\n"}}}),
    ],
)
def test_a_change_of_a_study_is_checked(api: httpx.Client, pointer: str, change: dict[str, Any]) -> None:
    api.post("/v1/studies", json={**DEFINITION, "parameters": [X, COLOR, MOLECULE]})
    before = api.get("/v1/studies/s").json()
    answer = api.patch("/v1/studies/s", json=change)
    assert (answer.status_code, pointers(answer)[0]) == (422, pointer)
    assert api.get("/v1/studies/s").json() == before
    assert api.patch("/v1/studies/s", json=json.loads(json.dumps(change).replace("\\u202e", "-"))).status_code == 200


def test_invalid_rows_are_described_as_such(api: httpx.Client) -> None:
    api.post("/v1/studies", json={**DEFINITION, "parameters": [MOLECULE]})
    answer = api.patch("/v1/studies/s", json={"catalogues": {"molecule": {"add": "name,mass\na\u202eb\n"}}})
    assert pointers(answer) == ["/catalogues/molecule/add"]
    assert "has 1 cells" in answer.json()["detail"]


def test_a_study_that_has_such_texts_can_be_read_continued_and_changed(api: httpx.Client, migrated_url: str) -> None:
    """It is from an older version."""
    new, table = "NEW", f"{TABLE}NEW,3\n"
    definition: dict[str, Any] = {
        **DEFINITION,
        "parameters": [X, {**COLOR, "name": new, "choices": [new, "blue"], "label": new}, {**MOLECULE, "table": table}],
        "title": new,
        "tags": {new: new},
        "metrics": [new],
        "quantities": {new: {"unit": new}},
    }
    api.post("/v1/studies", json=definition).raise_for_status()
    point, metrics = {"x": 0.5, new: new, "molecule": new}, {new: 1.0}
    for x in (0.25, 0.5, 0.75):
        result = {"parameters": {**point, "x": x}, "value": x, "metrics": metrics}
        api.post("/v1/studies/s/observe", json=result).raise_for_status()
    api.post("/v1/studies/s/suggest").raise_for_status()
    log = api.get("/v1/studies/s/export").text
    api.delete("/v1/studies/s").raise_for_status()
    escaped = json.dumps(OLD)[1:-1]
    for was, now in ((new, escaped), (Pieces(table).digest, Pieces(table.replace(new, OLD)).digest)):
        assert was in log
        log = log.replace(was, now)
    with closing(Database(migrated_url)) as database:
        import_study(database, log.splitlines())

    answers = {read: api.get(read, headers={"Accept": "text/html, application/json"}) for read in READS}
    assert {answer.status_code for answer in answers.values()} <= {200, 404, 422}
    assert {read.rpartition("/")[2] for read, answer in answers.items() if answer.status_code != 200} == {
        "1",  # no files
        "front",
        "slice",
        *(f"{name}.json" for name in ("excluded", "forbidden", "past", "tried", "unusual")),  # need queries
    }
    old = json.loads(json.dumps(definition).replace(new, escaped))
    assert api.post("/v1/studies", json=old).status_code == 200, "it is opened again by the same definition"
    (trial,) = api.post("/v1/studies/s/suggest").json()["trials"]
    result = {"trial": trial["number"], "value": 1.0, "metrics": {OLD: 2.0}}
    assert api.post("/v1/studies/s/observe", json=result).status_code == 200
    parameters = [{**old["parameters"][1], "choices": [OLD, "blue", "green"]}, old["parameters"][2]]
    for change in (
        {"title": OLD, "tags": {OLD: "b"}, "quantities": {OLD: {"unit": OLD, "digits": 2}}},
        {"catalogues": {"molecule": {"withdraw": [OLD]}}},
        {"parameters": parameters},
        {"title": "new", "tags": {}, "quantities": {}},
    ):
        answer = api.patch("/v1/studies/s", json=change)
        assert answer.status_code == 200, answer.text
    assert pointers(api.patch("/v1/studies/s", json={"title": f"{OLD}\u202e"})) == ["/title"]


def test_two_names_that_look_the_same_are_refused(api: httpx.Client) -> None:
    """Unicode has two forms of é: one character, and e with an accent after it."""
    parameters = [{**X, "name": "\N{LATIN SMALL LETTER E WITH ACUTE}"}, {**X, "name": "e\N{COMBINING ACUTE ACCENT}"}]
    refused = api.post("/v1/studies", json={**DEFINITION, "parameters": parameters})
    assert pointers(refused) == ["/parameters"]
    assert "has two parameters named 'é'" in refused.json()["detail"]
    assert api.post("/v1/studies", json={**DEFINITION, "parameters": parameters[1:]}).status_code == 201
    added = {"parameters": parameters[:1], "defaults": {parameters[0]["name"]: 0.5}}
    assert pointers(api.patch("/v1/studies/s", json=added)) == ["/parameters/0/name"]
    assert api.patch("/v1/studies/s", json={"parameters": [{**parameters[1], "high": 2}]}).status_code == 200
