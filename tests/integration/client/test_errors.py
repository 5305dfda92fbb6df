"""Errors speak of the client's methods and arguments, and say each thing once."""

import asyncio
import pickle
import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from adabkb_client import (
    AdaBKBError,
    APIError,
    AsyncClient,
    Bool,
    Categorical,
    Client,
    ConnectionFailed,
    Float,
    Int,
    NotFinite,
    NotFound,
    Parameter,
    Study,
    Unavailable,
    WrongResult,
)
from adabkb_client._http.transport import accepted


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda study: study.add_result({"x": 3, "y": 2}, 1.0), ["parameter 'x': is 3, outside [0.0, 1.0]"]),
        (lambda study: study.predict([{"x": 7, "y": 2}]), ["points[0], parameter 'x': is 7, outside [0.0, 1.0]"]),
        (lambda study: study.update(budget=-1), ["budget: must be at least 1"]),
        (lambda study: study.update(bugdet=1), ["bugdet: is an unknown field; did you mean budget?"]),
        (lambda study: study.report(study.suggest(), -1, 0.5), ["reports[0].step: must be at least 0"]),
        (lambda study: study.front(), ["this study has one; the recommendation is its best point"]),
        (lambda study: list(study.trials("done")), ["state: must be 'active'"]),
        (lambda study: study.observe(99, 1.0), ["has no trial 99", "study.trials() lists"]),
        (lambda study: study.exclude(99), ["has no observation 99", "study.observations() lists"]),
    ],
)
def test_a_refusal_names_arguments_and_methods(study: Study, call: Callable[[Study], Any], said: list[str]) -> None:
    with pytest.raises(APIError) as caught:
        call(study)
    text = str(caught.value)
    for part in said:
        assert text.count(part) == 1
    assert "/" not in text
    assert "\n  ?" not in text


@pytest.mark.parametrize(
    "call",
    [
        lambda study: study.observe({"x": 0.5}, 0.5),
        lambda study: study.report({"x": 0.5}, 1, 0.5),
        lambda study: study.fail("1", "no memory"),
        lambda study: study.release(None),
        lambda study: study.repeat("1"),
    ],
)
def test_what_is_no_trial_is_refused_with_the_remedy(study: Study, call: Callable[[Study], Any]) -> None:
    with pytest.raises(TypeError, match=r"give a trial or its number, not .*add_result\(parameters, value\)"):
        call(study)


def test_a_result_that_cannot_be_sent_is_an_error_of_the_client_and_of_python(study: Study) -> None:
    trial = study.suggest()
    for value, kind, of_python in [(float("nan"), NotFinite, ValueError), ("0.5", WrongResult, TypeError)]:
        with pytest.raises(AdaBKBError) as caught:
            study.observe(trial, value)  # type: ignore[arg-type]
        assert type(caught.value) is kind
        assert isinstance(caught.value, of_python)
        assert kind.__module__ == "adabkb_client.errors"


@pytest.mark.parametrize(
    ("space", "settings", "said"),
    [
        (
            {"k": Categorical(["a", 1, 1.0, True])},
            {},
            "parameter 'k', choices: has the value 1 twice; list each value once (1 and 1.0 are the same)",
        ),
        ({"k": Categorical(["a", "b", "a"])}, {}, "has the value 'a' twice; list each value once"),
        ({"a": Float(0, 1), "b": Bool(when={"a": [2]})}, {}, "parameter 'b', when['a']"),
        ({"n" * 300: Float(0, 1)}, {}, f"parameter '{'n' * 57}...'"),
        ({"a": Float(0, 1)}, {"constraints": ["a <= 1", "b <= 1"]}, "constraints[1]: "),
        ({"lambda": Float(0, 1)}, {"constraints": ["lambda <= 0.5"]}, "column 1: lambda is a reserved word; if it is"),
    ],
)
def test_a_refused_definition_is_explained_as_python_writes_it(
    client: Client, space: dict[str, Any], settings: dict[str, Any], said: str
) -> None:
    with pytest.raises(APIError, match=re.escape(said)):
        client.create_study("d", space, direction="minimize", **settings)


def test_a_bound_that_no_step_reaches_is_logged(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    space: dict[str, Parameter] = {
        "a": Float(0, 1, step=0.3),
        "b": Float(0, 1, step=0.1),
        "c": Int(1, 10, step=3),
        "d": Int(1, 10, step=2),
    }
    client.create_study("steps", space, direction="minimize")
    assert [record.message for record in caplog.records] == [
        "parameter 'a' never has the value 1: with a step of 0.3 from 0, its largest value is 0.9",
        "parameter 'd' never has the value 10: with a step of 2 from 1, its largest value is 9",
    ]


def test_no_bound_is_logged_of_a_range_that_is_refused(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(APIError, match="low: must be a whole number"):
        client.create_study("steps", {"k": Int(1.5, 4)}, direction="minimize")  # type: ignore[arg-type]
    assert "never has the value" not in caplog.text


def test_errors_can_be_sent_between_processes(study: Study) -> None:
    with pytest.raises(APIError) as caught:
        study.predict([{"x": 7, "y": 2}])
    error = caught.value
    error.add_note("in fold 3")
    sent = pickle.loads(pickle.dumps(error))
    assert type(sent) is type(error)
    assert (str(sent), vars(sent)) == (str(error), vars(error))


def test_another_value_for_a_trial_names_the_method_that_corrects_it(study: Study) -> None:
    trial = study.suggest()
    study.observe(trial, 1.0)
    with pytest.raises(APIError, match=r"study\.correct\(seq, value\)") as caught:
        study.observe(trial, 2.0)
    assert "PATCH" not in str(caught.value)


def test_an_unknown_study_names_the_one_that_may_be_meant(client: Client) -> None:
    client.create_study("four", {"x": Float(0, 1)}, direction="minimize")
    client.create_study("m56", {"x": Float(0, 1)}, direction="minimize").delete()
    with pytest.raises(NotFound, match=r"^There is no study 'fuor'\. Did you mean 'four'\? client\.studies\(\)"):
        client.study("fuor")
    with pytest.raises(NotFound, match=r"'m56'\. It is in the trash: client\.restore_study\('m56'\) restores it\."):
        client.study("m56")

    async def open_it() -> None:
        async with AsyncClient(client.url) as there:
            await there.study("fuor")

    with pytest.raises(NotFound, match=r"Did you mean 'four'\?"):
        asyncio.run(open_it())


def test_a_list_raises_at_its_first_use() -> None:
    with Client("http://127.0.0.1:1", retry_for=0.0) as nowhere:
        studies = nowhere.studies()
        assert "no server answers" in repr(studies)
        for use in (list, len, bool):
            with pytest.raises(ConnectionFailed):
                use(studies)


def test_an_unknown_study_names_the_methods_that_find_or_create_one(client: Client) -> None:
    with pytest.raises(APIError, match=r"no study 'nowhere'.*client\.studies\(\).*client\.create_study\(\)"):
        client.study("nowhere")


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda client: client.study(5), TypeError, "the id of a study must be a string such as 'svm', not 5 (int)"),
        (lambda client: client.study(""), ValueError, "the id of a study must be a string without slashes"),
        (lambda client: client.study("a/b"), ValueError, "such as 'svm', not 'a/b'"),
        (lambda client: client.study("s").predict({"x": 0.5}), TypeError, "points must be a list of dicts"),
        (
            lambda client: client.create_study("t", {"x": Float(0, 1)}, direction="minimize", early_stopping="asha"),
            TypeError,
            'early_stopping must be a dict such as {"rule": "asha", "max_steps": 27}',
        ),
        (
            lambda client: client.create_study("t", {"x": Float(0, 1)}, direction="minimize", constraints="x < 1"),
            TypeError,
            "must be a list of constraints: constraints=['x < 1']",
        ),
    ],
)
def test_an_argument_of_another_kind_is_named_with_an_example(
    client: Client, call: Callable[[Client], Any], kind: type[Exception], words: str
) -> None:
    client.create_study("s", {"x": Float(0, 1)}, direction="minimize")
    with pytest.raises(kind, match=re.escape(words)):
        call(client)


def test_an_error_page_of_a_proxy_is_named_as_such() -> None:
    page = httpx.Response(502, html="<h1>502 Bad Gateway</h1>")
    with pytest.raises(Unavailable, match=r"a proxy in front of http://lab answered .*: status 502"):
        accepted(page, "http://lab")
