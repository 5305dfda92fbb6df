"""The types of dicts for editors and type checkers agree with the server's answers and requests."""

from __future__ import annotations

from typing import get_args, get_type_hints

import pytest
from pydantic import BaseModel

from adabkb_client import DictionaryPoint, Explanation, ModelInfo, ParameterInfo, PartitionCell, ResultItem
from adabkb_client._records import ModelState
from adabkb_service.contract import analysis, answers, history, model, parameters, requests

PARAMETERS = get_args(get_args(parameters.Parameter)[0])
RESULTS = (
    requests.TrialValueBody,
    requests.TrialFailureBody,
    requests.PointValueBody,
    requests.PointFailureBody,
)
ONLY_IN_REQUESTS = {"table"}
"""Fields of parameters that no answer has."""


@pytest.mark.parametrize(
    ("here", "there"),
    [
        (ModelState, answers.ModelSummary),
        (ModelInfo, model.Model),
        (PartitionCell, analysis.PartitionCell),
        (DictionaryPoint, model.DictionaryPoint),
        (Explanation, history.Why),
    ],
)
def test_a_dict_of_an_answer_has_the_keys_that_the_server_sends(here: type, there: type[BaseModel]) -> None:
    assert set(get_type_hints(here)) == set(there.model_fields)
    assert vars(here)["__required_keys__"] == set(there.model_fields)


def test_a_parameter_has_the_keys_of_all_kinds() -> None:
    fields = {name for each in PARAMETERS for name in each.model_fields}
    assert set(get_type_hints(ParameterInfo)) == fields - ONLY_IN_REQUESTS
    kinds = {kind for each in PARAMETERS for kind in get_args(each.model_fields["kind"].annotation)}
    assert set(get_args(get_args(get_type_hints(ParameterInfo, include_extras=True)["kind"])[0])) == kinds


def test_an_item_of_many_results_has_the_keys_of_all_results() -> None:
    assert set(get_type_hints(ResultItem)) == {name for each in RESULTS for name in each.model_fields}
