"""Studies, lists and recommendations in notebooks: their HTML is escaped, and displaying them never raises."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from tempfile import gettempdir
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest

import adabkb_client
from adabkb_client import (
    AskingTrial,
    AsyncClient,
    AsyncDefinedByRun,
    AsyncLeasedTrial,
    AsyncStudy,
    Categorical,
    Client,
    DefinedByRun,
    Float,
    KeptResult,
    LeasedTrial,
    Link,
    Outbox,
    Recommendation,
    Study,
    Trial,
)
from adabkb_client._run.define_by_run import Space
from tests.servers import server_on

POISON = "<script>alert('$x$ & \"y\"')</script>"


@pytest.fixture
def poisoned(client: Client) -> Study:
    study = client.create_study(
        "s", {POISON: Categorical([POISON, None]), "x": Float(0, 1)}, direction="minimize", seed=1
    )
    study.observe(study.suggest(worker=POISON), 0.5)
    study.fail(study.suggest(), POISON)
    study.add_result({POISON: None, "x": 0.25}, 0.125)
    return study


def test_nothing_of_the_users_becomes_markup(poisoned: Study) -> None:
    best = poisoned.recommendation()
    for shown in (poisoned, poisoned.trials(), poisoned.observations(), best):
        html = shown._repr_html_()
        assert "<script" not in html
        assert "&lt;script&gt;" in html
        assert html.count("<table") == html.count('<table class="tex2jax_ignore mathjax_ignore"') > 0


def test_every_answer_prints_as_one_line_and_shows_as_a_table(poisoned: Study) -> None:
    trial = poisoned.suggest()
    info = poisoned.info()
    best, secret = info.best, "adabkb_secret"
    link = Link("1", None, None, secret)
    assert best is not None
    answers: list[Any] = [
        info,
        info.counts,
        best,
        trial,
        poisoned.release(trial),
        poisoned.access(),
        link,
        poisoned.assessment(),
        poisoned.validation(),
        poisoned.importance(),
        poisoned.slice("x", points=3),
        poisoned.recommendation(),
        poisoned.predict([{POISON: None, "x": 0.5}])[0],
        poisoned.observations()[0],
        poisoned.events()[0],
        poisoned.import_results([{POISON: "None", "x": 0.5, "value": 1.0}], progress=False),
    ]
    for answer in answers:
        assert "\n" not in repr(answer), answer
        html = answer._repr_html_()
        assert "<script" not in html, answer
        assert "<table" in html or "<pre>" in html or "none" in html.lower(), answer
    assert secret not in repr(link) + link._repr_html_()


ONLY_A_LINE = {"AsyncClient", "AsyncDefinedByRun", "AsyncItems", "AsyncStudy", "Client"}
"""Objects without a table: those of an event loop cannot read from the server, and a client has nothing to list."""
PARTS_OF_CALLS = {"Bool", "Catalogue", "Categorical", "Fixed", "Float", "Int", "Ordinal", "verify_webhook"}
"""What a program writes, and does not receive."""


def test_every_public_object_prints_as_one_line_and_shows_as_a_table(poisoned: Study, tmp_path: Path) -> None:
    """Each name of ``__all__`` is an error, a type of arguments, or an object that is displayed."""
    things = {name: getattr(adabkb_client, name) for name in adabkb_client.__all__}
    kinds = {
        name: kind
        for name, kind in things.items()
        if isinstance(kind, type) and not issubclass(kind, Exception | dict) and name not in PARTS_OF_CALLS
    }
    shown = {name: filled(kind) for name, kind in kinds.items() if is_dataclass(kind)}
    shown |= {"Client": Client("http://user:secret@127.0.0.1:9", token="secret"), "Items": poisoned.trials()}
    shown |= {
        "StudyInfo": poisoned.info(),
        "Study": poisoned,
        "DefinedByRun": DefinedByRun(poisoned._transport, {"id": poisoned.id}),
    }
    leased = LeasedTrial(poisoned, filled(Trial))
    shown |= {"LeasedTrial": leased, "AskingTrial": AskingTrial(leased, Space(poisoned))}
    outbox = Outbox("http://127.0.0.1:9", tmp_path)
    outbox._keep(KeptResult.of("/studies/s/observe", {"trial": 1, "value": 0.5}, "key", None))
    shown["Outbox"] = outbox
    aclient = AsyncClient("http://user:secret@127.0.0.1:9", token="secret")
    astudy = AsyncStudy(aclient._transport, "s")
    shown |= {"AsyncClient": aclient, "AsyncStudy": astudy, "AsyncItems": astudy.trials()}
    shown["AsyncDefinedByRun"] = AsyncDefinedByRun(aclient._transport, {"id": "s"})
    shown["AsyncLeasedTrial"] = AsyncLeasedTrial(astudy, filled(Trial))
    assert shown.keys() == kinds.keys()
    for name, found in shown.items():
        assert "object at 0x" not in repr(found), name
        assert "\n" not in repr(found) or name == "Items", name
        assert "secret" not in repr(found), name
        if name not in ONLY_A_LINE:
            html = found._repr_html_()
            assert "<table" in html or (name == "ImportReport" and "<pre>" in html), name
            assert POISON not in html, name


def filled(kind: Any) -> Any:
    """A record with a value in each field, whose texts are poisoned."""
    values = {name: _example(hint) for name, hint in get_type_hints(kind).items() if name in _fields(kind)}
    return kind(**values, **({"path": "/studies/s/observe"} if kind is KeptResult else {}))


def _fields(kind: Any) -> set[str]:
    return {each.name for each in fields(kind)} - {"path"}  # of requests, which are never of users


def _example(hint: Any) -> Any:
    """A value of a type: of a union, of its first member."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (UnionType, Union):
        return _example(parts[0])
    if origin is Literal:
        return parts[0]
    if origin is tuple:
        return (_example(parts[0]),)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {POISON: _example(parts[1])}
    if is_dataclass(hint):
        return filled(hint)
    path = Path(gettempdir(), POISON)  # not below the working directory, in case that anything is written
    values = {int: 1, float: 0.5, bool: True, str: f"{POISON}\n", datetime: datetime.now(UTC), Path: path}
    return values.get(hint, POISON)


def test_a_study_shows_how_far_it_has_come(poisoned: Study) -> None:
    html = poisoned._repr_html_()
    assert html.startswith("<b>Study s</b>: running")
    assert "<td>completed</td><td>1 trials, 0 active, 1 failed</td>" in html
    assert "<td>best</td><td>0.125</td>" in html


def test_a_list_is_shown_without_being_used_up(poisoned: Study) -> None:
    trials = poisoned.trials()
    html = trials._repr_html_()
    assert "<th>number</th><th>state</th><th>value</th>" in html
    assert html.count("<tr>") == 3
    assert [trial.number for trial in trials] == [1, 2]
    assert poisoned.trials("queued")._repr_html_() == "There are none."


def test_only_the_first_items_of_a_long_list_are_shown(client: Client) -> None:
    study = client.create_study("long", {"x": Float(0, 1)}, direction="minimize")
    study.observe_many([{"parameters": {"x": x / 100}, "value": x} for x in range(60)])
    found = study.observations()
    list(islice(found, 55))
    html = found._repr_html_()
    assert html.count("<tr>") == 51
    assert html.endswith("The first 50; there are more.")
    assert len(found) == 60


def test_a_recommendation_shows_both_points(poisoned: Study) -> None:
    html = poisoned.recommendation()._repr_html_()
    assert "<td>by the model</td><td>" in html
    assert "<td>observed</td><td>0.125</td><td>None</td><td>0.25</td>" in html
    assert Recommendation(None, None, None)._repr_html_() == "There is no recommendation before the first result."


def test_an_unreachable_server_is_reported_at_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with server_on(f"sqlite:///{tmp_path}/a.db") as address:
        client = Client(address)
        study = client.create_study("s", {"x": Float(0, 1)}, direction="minimize")
    with client:
        assert study._repr_html_().startswith(f"<b>Study s</b>: no server answers at {address}")
    assert "Trying again" not in caplog.text
    assert study._repr_html_() == "<b>Study s</b>: Cannot send a request, as the client has been closed."
