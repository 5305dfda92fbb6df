"""A wrong type in one of many results or reports: the error names which one, and nothing is sent."""

import asyncio
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from adabkb_client import AsyncClient, Client, Float, Invalid, MedianRule, NotFinite, ResultItem, Study, WrongResult

GOOD: ResultItem = {"parameters": {"x": 0.5}, "value": 1.0}


@pytest.fixture
def study(client: Client) -> Study:
    return client.create_study("s", {"x": Float(0, 1)}, "minimize", algorithm={"kind": "random"})


@pytest.mark.parametrize(
    ("part", "kind", "message"),
    [
        ({"value": "0.5"}, WrongResult, "value must be a number, not '0.5' (str)"),
        ({"value": float("nan")}, NotFinite, "value must be a finite number, not nan; report a failed run with {"),
        ({"seconds": [1]}, WrongResult, "seconds must be a number, not [1] (list)"),
        ({"metrics": {"mass": "2"}}, WrongResult, "metrics['mass'] must be a number, not '2' (str)"),
        ({"metrics": [2.0]}, WrongResult, "metrics must be a dict of numbers by metric"),
        ({"parameters": {"x": float("inf")}}, ValueError, "parameter 'x' must be a finite number, not inf"),
        ({"parameters": {"x": date(2026, 1, 2)}}, TypeError, "parameter 'x': datetime.date(2026, 1, 2) (date) cannot"),
        ({"parameters": [0.5]}, TypeError, "a point must be a dict of values by parameter"),
        ({"attributes": {"days": {1, 2}}}, TypeError, "attributes: {1, 2} (set) cannot be sent; give numbers, strings"),
    ],
)
def test_the_error_of_a_result_that_cannot_be_sent_names_it_and_the_remedy(
    study: Study, part: dict[str, Any], kind: type[Exception], message: str
) -> None:
    items: list[Any] = [GOOD, {**GOOD, **part}, GOOD]
    with pytest.raises(kind) as caught:
        study.observe_many(items)
    assert str(caught.value).startswith(f"items[1]: {message}")
    assert str(caught.value).endswith(". Nothing was sent: correct this item, or leave it out")
    assert not study.observations()


def test_a_refusal_by_the_server_names_the_result_and_what_is_stored(study: Study) -> None:
    """Also in a later request: the client sends 1,000 results at once."""
    wrong: Any = {**GOOD, "partail": True}
    with pytest.raises(Invalid, match=r"^items\[2\]\.partail: is an unknown field; did you mean partial\?") as caught:
        study.observe_many([GOOD, GOOD, wrong])
    assert caught.value.__notes__[0].startswith("nothing is stored: correct what the error names")
    assert not study.observations()
    with pytest.raises(Invalid, match=r"^items\[1000\]\.partail: is an unknown field") as caught:
        study.observe_many([*[GOOD] * 1000, wrong, GOOD])
    assert list(caught.value.pointers) == ["/items/1000/partail"]
    assert caught.value.__notes__[0].startswith("items[1000:] are not stored")
    assert study.info().counts.observations == 1000
    with pytest.raises(Invalid) as caught:
        study.observe_many([*[GOOD] * 1000, wrong], dry_run=True)
    assert caught.value.__notes__[0].startswith("nothing is stored")


def test_the_errors_are_those_of_the_async_client(study: Study, client: Client) -> None:
    async def send() -> None:
        async with AsyncClient(client.url) as other:
            await (await other.study(study.id)).observe_many([GOOD, {**GOOD, "value": "1"}])  # type: ignore[typeddict-item]

    with pytest.raises(WrongResult, match=r"^items\[1\]: value must be a number"):
        asyncio.run(send())


def test_numbers_of_any_type_can_be_sent_together(study: Study) -> None:
    study.observe_many([{**GOOD, "value": Decimal("0.25"), "std_error": Decimal("0.5")}])
    assert (study.observations()[0].value, study.observations()[0].std_error) == (0.25, 0.5)


@pytest.mark.parametrize(
    ("report", "message"),
    [
        ((2, "0.5"), "value must be a number, not '0.5' (str)"),
        ((0.5, 2), "step must be a whole number, not 0.5; the step comes before the value"),
        ((2,), "a report is (step, value), with cost and parameters if needed, not (2,)"),
    ],
)
def test_the_error_of_a_report_names_it(client: Client, report: Any, message: str) -> None:
    study = client.create_study("curves", {"x": Float(0, 1)}, "minimize", early_stopping=MedianRule(9))
    trial = study.suggest()
    with pytest.raises(WrongResult) as caught:
        study.report_many(trial, [(1, 0.5), report])
    assert str(caught.value).startswith(f"reports[1]: {message}. Nothing was sent")
    assert not study.curve(trial)
