"""Invalid input is rejected with pointers, and nothing is written."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from adabkb_service.contract.requests import FINAL, PatchStudyBody
from adabkb_service.contract.study import StudyDefinition
from tests.integration.api.conftest import DEFINITION, PARAMETERS, pointers
from tests.samples import some

SOLVENT = {"name": "c", "kind": "categorical", "choices": ["a", "b"]}
LOG = {"name": "x", "kind": "float", "scale": "log"}
JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def server(module_server: str) -> str:
    """The address of a server with the study "s" and its first trial. It refuses the requests of all tests."""
    assert httpx.post(f"{module_server}/v1/studies", json=DEFINITION).status_code == 201
    assert httpx.post(f"{module_server}/v1/studies/s/suggest").status_code == 200
    return module_server


MANY = [{"name": f"x{i}", "kind": "float", "low": 0, "high": 1} for i in range(100)]
VAST = [{"name": "x", "kind": "float", "low": -1e308, "high": 1e308}]
BAD_STUDIES: list[tuple[dict[str, Any], list[str]]] = [
    ({"parameters": [{**PARAMETERS[0], "high": -1}]}, ["/parameters/0/high"]),
    ({"parameters": [{**PARAMETERS[0], "low": 3}]}, ["/parameters/0/high"]),
    ({"parameters": [{**LOG, "low": 0, "high": 1}]}, ["/parameters/0/low"]),
    ({"parameters": [{**LOG, "low": -1, "high": 1}]}, ["/parameters/0/low"]),
    ({"parameters": [{**PARAMETERS[1], "scale": "log", "low": 0}]}, ["/parameters/0/low"]),
    ({"parameters": [{**PARAMETERS[1], "step": 9}]}, ["/parameters/0/step"]),
    ({"parameters": [{**PARAMETERS[0], "low": 1, "high": 1.0000000000000002}]}, ["/parameters/0/high"]),
    ({"parameters": [*PARAMETERS, PARAMETERS[0]]}, ["/parameters"]),
    ({"parameters": []}, ["/parameters"]),
    ({"parameters": [{"name": "c", "kind": "categorical", "choices": []}]}, ["/parameters/0/choices"]),
    ({"parameters": [{"name": "c", "kind": "categorical", "choices": ["a", "a"]}]}, ["/parameters/0/choices"]),
    ({"parameters": [{**SOLVENT, "descriptors": {"polarity": [1]}}]}, ["/parameters/0/descriptors"]),
    ({"parameters": [{**SOLVENT, "descriptors": {"polarity": [1, None]}}]}, ["/parameters/0/descriptors/polarity/1"]),
    ({"parameters": [{**SOLVENT, "descriptors": {"polarity": 1}}]}, ["/parameters/0/descriptors/polarity"]),
    (
        {"parameters": [{**SOLVENT, "descriptors": {f"d{i}": [1, 2] for i in range(2001)}}]},
        ["/parameters/0/descriptors"],
    ),
    ({"parameters": [{"name": "b", "kind": "bool", "descriptors": {"a": [1, 2]}}]}, ["/parameters/0/descriptors"]),
    ({"parameters": [{"name": "c", "kind": "colour"}]}, ["/parameters/0"]),
    ({"parameters": [{**PARAMETERS[0], "log": True}]}, ["/parameters/0/log"]),
    ({"parameters": [{"name": "x", "kind": "float", "low": "0", "high": 1}]}, ["/parameters/0/low"]),
    ({"parameters": [{"name": "x", "kind": "float", "low": 0}]}, ["/parameters/0/high"]),
    ({"parameters": [{"name": "x", "kind": "float", "low": 0, "high": 1, "step": 0}]}, ["/parameters/0/step"]),
    ({"parameters": [{"name": "x", "kind": "float", "low": 0, "high": 1, "step": 2}]}, ["/parameters/0/step"]),
    ({"parameters": [{"name": "x", "kind": "float", "low": 0, "high": 1, "step": 1e-12}]}, ["/parameters/0/step"]),
    (
        {"parameters": [{"name": "x", "kind": "float", "low": 1, "high": 1.0000001, "step": 3e-16}]},
        ["/parameters/0/step"],
    ),
    ({"parameters": [{**LOG, "low": 1, "high": 9, "step": 1}]}, ["/parameters/0/step"]),
    ({"parameters": [{"name": "n", "kind": "int", "low": 0, "high": 2**53 - 1}]}, ["/parameters/0"]),
    ({"parameters": [{"name": "n", "kind": "int", "low": 1, "high": 2**53 - 1, "step": 15}]}, ["/parameters/0/step"]),
    ({"parameters": [{"name": "n", "kind": "int", "low": 1, "high": 2**45, "scale": "log"}]}, ["/parameters/0"]),
    ({"parameters": [{"name": "c", "kind": "categorical", "choices": [[1], [1]]}]}, ["/parameters/0/choices"]),
    ({"parameters": [{"name": "c", "kind": "categorical", "choices": [[[1]]]}]}, ["/parameters/0/choices/0"]),
    ({"parameters": [{"name": "c", "kind": "categorical", "choices": [{}]}]}, ["/parameters/0/choices/0"]),
    ({"parameters": [{"name": "c", "kind": "fixed", "value": 1}]}, ["/parameters"]),
    ({"parameters": [{"name": "c", "kind": "fixed"}]}, ["/parameters/0/value"]),
    ({"parameters": [{"name": "x\u0000", "kind": "bool"}]}, ["/parameters/0/name"]),
    ({"id": "a b"}, ["/id"]),
    ({"id": "\ud800"}, ["/id"]),
    ({"direction": "up"}, ["/direction"]),
    ({"budget": 0}, ["/budget"]),
    ({"budget": True}, ["/budget"]),
    ({"budget": 10**400}, ["/budget"]),
    ({"budgets": 5}, ["/budgets"]),
    ({"seed": -1}, ["/seed"]),
    ({"tags": {"a": 1}}, ["/tags/a"]),
    ({"tags": {"a/b~c": "\u0000"}}, ["/tags/a~1b~0c"]),
    ({"noise_std": -0.1}, ["/noise_std"]),
    ({"early_stopping": {"max_steps": 9}}, ["/early_stopping"]),
    ({"early_stopping": {"rule": "hyperband", "max_steps": 9}}, ["/early_stopping"]),
    ({"early_stopping": {"rule": "asha"}}, ["/early_stopping/max_steps"]),
    ({"early_stopping": {"rule": "asha", "max_steps": 9, "min_steps": 9}}, ["/early_stopping/min_steps"]),
    ({"early_stopping": {"rule": "asha", "max_steps": 9, "grace": 2}}, ["/early_stopping/grace"]),
    ({"early_stopping": {"rule": "median", "max_steps": 9, "eta": 3}}, ["/early_stopping/eta"]),
    ({"early_stopping": {"rule": "asha", "max_steps": 9}, "algorithm": {"kind": "bkb"}}, ["/early_stopping/rule"]),
    ({"algorithm": {"kind": "genetic"}}, ["/algorithm/kind"]),
    ({"algorithm": {"kind": "gp-ucb", "profile": "paper"}}, ["/algorithm/profile"]),
    ({"algorithm": {"kind": "gp-ucb", "points_per_axis": 10_000}}, ["/algorithm/points_per_axis"]),
    ({"algorithm": {"kind": "bkb", "points_per_axis": 1}}, ["/algorithm/points_per_axis"]),
    ({"algorithm": {"kind": "gp-ucb", "points_per_axis": 20_000}, "parameters": MANY}, ["/algorithm/points_per_axis"]),
    ({"algorithm": {"kind": "random-bkb", "points": 20_000}, "parameters": MANY}, ["/algorithm/points"]),
    ({"algorithm": {"kind": "ada-gp-ucb", "delta": 1e-310}}, ["/algorithm/delta"]),
    ({"algorithm": {"profile": "gp-ucb"}}, ["/algorithm/profile"]),
    ({"algorithm": {"kind": "auto"}}, ["/algorithm/kind"]),
    ({"algorithm": {"kind": ["ada-bkb"]}}, ["/algorithm/kind"]),
    ({"algorithm": {"profile": []}}, ["/algorithm/profile"]),
    ({"algorithm": "gp-ucb"}, ["/algorithm"]),
    ({"algorithm": {"profile": "paper", "coordinates": "raw"}, "parameters": VAST}, ["/algorithm/coordinates"]),
    ({"algorithm": {"kind": "gp-threds", "lowest": -1.7e308, "highest": 1}}, ["/algorithm/lowest"]),
    ({"algorithm": {"kind": "random-bkb", "points": 10**6}}, ["/algorithm/points"]),
    ({"algorithm": {"kind": "ada-bbkb", "batch_drift": 0.5}}, ["/algorithm/batch_drift"]),
    ({"algorithm": {"kind": "ada-gp-ucb", "qbar": 3}}, ["/algorithm/qbar"]),
    ({"algorithm": {"kind": "gp-threds", "lowest": 1, "highest": 1}}, ["/algorithm/highest"]),
    ({"algorithm": {"kind": "gp-threds", "lowest": 0}}, ["/algorithm/highest"]),
    ({"algorithm": {"kind": "gp-threds", "lowest": 0, "highest": 1}}, ["/algorithm/kind"]),
    ({"algorithm": {"profile": "fast"}}, ["/algorithm/profile"]),
    ({"algorithm": {"delta": 1}}, ["/algorithm/delta"]),
    ({"algorithm": {"norm_bound": 1}}, ["/algorithm/norm_bound"]),
    ({"algorithm": {"profile": "paper", "lengthscale": [1, 2, 3]}}, ["/algorithm/lengthscale"]),
    ({"algorithm": {"kind": "gp-ucb", "lengthscale": -1}}, ["/algorithm/lengthscale"]),
    ({"algorithm": {"kind": "gp-ucb", "lengthscale": [1, -1]}}, ["/algorithm/lengthscale/1"]),
    ({"algorithm": {"kind": "gp-ucb", "beta": "igp"}}, ["/algorithm/beta"]),
    ({"algorithm": {"kind": "ada-gp-ucb", "norm_bound": 2}}, ["/algorithm/norm_bound"]),
    ({"algorithm": {"profile": "paper", "branching": 100, "max_depth": 900}}, ["/algorithm/max_depth"]),
    ({"algorithm": {"profile": "paper", "v1": 1}}, ["/algorithm/rho"]),
    ({"algorithm": {"profile": "paper", "branching": 1}}, ["/algorithm/branching"]),
]


@pytest.mark.parametrize(("changes", "expected"), BAD_STUDIES)
def test_invalid_study_is_rejected_with_the_field(server: str, changes: dict[str, Any], expected: list[str]) -> None:
    before = httpx.get(f"{server}/v1/studies").text
    body = json.dumps({**DEFINITION, "id": "new", **changes})
    refused = httpx.post(f"{server}/v1/studies", content=body, headers=JSON)
    assert refused.status_code == 422
    assert pointers(refused) == expected
    assert httpx.get(f"{server}/v1/studies").text == before


REMEDIES: list[tuple[dict[str, Any], str]] = [
    ({"kind": "gp-usb"}, "must be one of ada-bkb, ada-bbkb"),
    ({"norm_bound": 2}, "kinds with this constant: profile paper"),
    (
        {"kind": "gp-ucb", "qbar": 3},
        "points_per_axis; kinds with this constant: profile paper, ada-bbkb, bkb, random-bkb",
    ),
    ({"kind": "gp-ucb", "beta": "igp"}, "'theory' or 'authors'"),
    ({"kind": "gp-ucb", "delta": -1}, "must be at least 1e-300"),
    ({"kind": "gp-ucb", "points_per_axis": 10_000}, "at most 2222 per axis fit"),
]


@pytest.mark.parametrize(("algorithm", "remedy"), REMEDIES)
def test_invalid_constant_is_rejected_with_a_remedy(server: str, algorithm: dict[str, Any], remedy: str) -> None:
    refused = httpx.post(f"{server}/v1/studies", json={**DEFINITION, "algorithm": algorithm})
    (fault,) = refused.json()["errors"]
    assert remedy in fault["detail"]


LONG_WORDS = "must be 1 to 100 letters, digits, dots, underscores or hyphens, and begin with a letter or a digit"
WORDS: list[tuple[dict[str, Any], str, str]] = [
    ({"bugdet": 3}, "/bugdet", "is an unknown field; did you mean budget?"),
    ({"parameters": [{**PARAMETERS[0], "hihg": 1}]}, "/parameters/0/hihg", "is an unknown field; did you mean high?"),
    (
        {"parameters": [{"name": "x"}]},
        "/parameters/0",
        "needs a kind: one of float, int, ordinal, categorical, catalogue, bool, fixed",
    ),
    (
        {"parameters": [{"name": "x", "kind": "real"}]},
        "/parameters/0",
        "has the kind 'real'; it must be one of 'float', 'int', 'ordinal', 'categorical', 'catalogue', 'bool', 'fixed'",
    ),
    ({"parameters": ["x"]}, "/parameters/0", "must be an object"),
    ({"algorithm": 3}, "/algorithm", 'must be an object, such as {"kind": "gp-ucb"}'),
    ({"id": "a b"}, "/id", f"{LONG_WORDS}; 'a b' has ' '; free text belongs in title"),
    ({"id": ".a"}, "/id", f"{LONG_WORDS}; '.a' has '.' at its beginning; free text belongs in title"),
    ({"id": "a" * 101}, "/id", f"{LONG_WORDS}; it has 101 characters; free text belongs in title"),
    ({"id": ""}, "/id", LONG_WORDS),
    ({"direction": "up"}, "/direction", "must be 'minimize' or 'maximize'"),
    ({"early_stopping": {"max_steps": 9}}, "/early_stopping", "needs a rule: one of median, asha, patience"),
    ({"budget": "many"}, "/budget", "must be a whole number"),
    ({"budget": 0}, "/budget", "must be at least 1"),
    ({"parameters": []}, "/parameters", "must have 1 or more items"),
]


@pytest.mark.parametrize(("changes", "pointer", "words"), WORDS)
def test_error_messages_do_not_mention_the_implementation(
    server: str, changes: dict[str, Any], pointer: str, words: str
) -> None:
    (fault,) = httpx.post(f"{server}/v1/studies", json={**DEFINITION, **changes}).json()["errors"]
    assert (fault["pointer"], fault["detail"]) == (pointer, words)


@pytest.mark.parametrize(
    ("fixed", "found"),
    [
        ({"x": 3}, {"/fixed/x": "is 3, outside [-1.0, 2.0]"}),
        ({"n": 1.5}, {"/fixed/n": "must be an integer between 1 and 9"}),
        (
            {"x": "1", "y/z": 1},
            {
                "/fixed/x": "is the text '1', but must be a finite number between -1.0 and 2.0",
                "/fixed/y~1z": "is not a parameter of this study (known: n, x)",
            },
        ),
        ({"n": None}, {"/fixed/n": "must be an integer between 1 and 9"}),
        ([1], {"/fixed": "must be an object"}),
    ],
)
def test_invalid_fixed_values_are_rejected_with_their_fields(
    api: httpx.Client, study: str, fixed: object, found: dict[str, str]
) -> None:
    revision = api.get(study).json()["revision"]
    refused = api.post(f"{study}/suggest", json={"fixed": fixed})
    assert refused.status_code == 422
    assert pointers(refused) == list(found)
    assert {error["pointer"]: error["detail"] for error in refused.json()["errors"]} == found
    assert api.get(study).json()["revision"] == revision


def test_every_setting_can_be_changed_or_is_refused_as_final(server: str) -> None:
    """Otherwise, the refusal would suggest to change another setting, such as the description for the direction."""
    assert set(FINAL) == StudyDefinition.model_fields.keys() - PatchStudyBody.model_fields.keys()
    for name in FINAL:
        (refused,) = httpx.patch(f"{server}/v1/studies/s", json={name: None}).json()["errors"]
        assert (refused["pointer"], refused["detail"]) == (f"/{name}", "cannot be changed; create another study")


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"trial": 1, "value": 1, "plate": 2}, "/plate", "is not allowed with trial, whose plate is known; leave it out"),
    (
        {"trial": 1, "value": 1, "attributes": {}},
        "/attributes",
        "is for results without a trial; set attributes of the trial",
    ),
    (
        {"trial": 1, "state": "failed", "value": 1},
        "/value",
        'is not allowed with state "failed"; leave it out',
    ),
    (
        {"parameters": {}, "state": "failed", "cost": 1},
        "/cost",
        'is not allowed with state "failed"; leave it out',
    ),
]


@pytest.mark.parametrize(("body", "pointer", "detail"), REFUSED)
def test_fields_of_other_results_are_refused_with_the_reason(
    server: str, body: dict[str, Any], pointer: str, detail: str
) -> None:
    (refused,) = httpx.post(f"{server}/v1/studies/s/observe", json=body).json()["errors"]
    assert (refused["pointer"], refused["detail"]) == (pointer, detail)


def test_unknown_fields_get_a_suggestion(server: str) -> None:
    body = {**DEFINITION, "bugdet": 3, "Seed": 1, "zzz": 2}
    faults = httpx.post(f"{server}/v1/studies", json=body).json()["errors"]
    assert [fault["detail"].partition("; ")[2] for fault in faults[:2]] == [
        "did you mean budget?",
        "did you mean seed?",
    ]
    assert "(known: id, title, description, objectives, direction" in faults[2]["detail"]
    (misspelt,) = httpx.patch(f"{server}/v1/studies/s", json={"budgte": 3}).json()["errors"]
    assert misspelt["detail"].endswith("did you mean budget?")


BAD_RESULTS: list[tuple[str, list[str]]] = [
    ('{"trial": 1, "value": NaN}', ["/value"]),
    ('{"trial": 1, "value": -Infinity}', ["/value"]),
    ('{"trial": 1, "value": 1e999}', ["/value"]),
    ('{"trial": 1, "value": "1"}', ["/value"]),
    ('{"trial": 1, "value": null}', ["/value"]),
    ('{"trial": 1}', ["/value"]),
    ('{"trial": 1, "value": 1, "values": 1}', ["/values"]),
    ('{"trial": 1, "value": 1, "std_error": -1}', ["/std_error"]),
    ('{"trial": 1, "value": 1, "attempt": 7}', ["/attempt"]),
    ('{"trial": true, "value": 1}', ["/trial"]),
    ('{"trial": 123456789012345678901234567890, "value": 1}', ["/trial"]),
    ('{"trial": 1, "state": "failed", "value": 1}', ["/value"]),
    ('{"trial": 1, "state": "failed", "reason": "\\u0000"}', ["/reason"]),
    ('{"trial": 1, "state": "failed", "reason": "\\ud83d"}', ["/reason"]),
    ('{"value": 1}', ["/trial"]),
    ('{"value": 1, "parameters": {"x": 0}}', ["/parameters/n"]),
    ('{"value": 1, "parameters": {"x": 0, "n": 1, "z": 1}}', ["/parameters/z"]),
    ('{"value": 1, "parameters": {"x": 2.1, "n": 0}}', ["/parameters/x", "/parameters/n"]),
    ('{"value": 1, "parameters": {"x": NaN, "n": 1.5}}', ["/parameters/x"]),
    ('{"value": 1, "parameters": {"x": null, "n": 1.5}}', ["/parameters/x", "/parameters/n"]),
    ('{"value": 1, "parameters": {"x": [0], "n": true}}', ["/parameters/x", "/parameters/n"]),
    (f'{{"value": 1, "parameters": {{"x": {10**400}, "n": {10**400}}}}}', ["/parameters/x", "/parameters/n"]),
    (f'{{"value": 1, "parameters": {{"x": {"[" * 9 + "]" * 9}, "n": {{}}}}}}', ["/parameters/x", "/parameters/n"]),
    ('[{"trial": 1, "value": 1}]', [""]),
    ('"text"', [""]),
]


@pytest.mark.parametrize(("body", "expected"), BAD_RESULTS)
def test_invalid_result_is_rejected_with_the_field(server: str, body: str, expected: list[str]) -> None:
    before = httpx.get(f"{server}/v1/studies/s").text
    refused = httpx.post(f"{server}/v1/studies/s/observe", content=body, headers=JSON)
    assert refused.status_code == 422
    assert pointers(refused) == expected
    assert httpx.get(f"{server}/v1/studies/s").text == before


BAD_REPORTS: list[tuple[str, list[str]]] = [
    ('{"step": 2}', ["/value"]),
    ('{"value": 0.5}', ["/step"]),
    ('{"step": -1, "value": 0.5}', ["/step"]),
    ('{"step": 1.5, "value": 0.5}', ["/step"]),
    ('{"step": 1000000001, "value": 0.5}', ["/step"]),
    ('{"step": 0, "value": 0.5}', ["/step"]),
    ('{"step": 2, "value": NaN}', ["/value"]),
    ('{"step": 2, "value": 1e999}', ["/value"]),
    ('{"step": 2, "value": "0.5"}', ["/value"]),
    ('{"step": 2, "value": 0.5, "attempt": -1}', ["/attempt"]),
    ('{"step": 2, "value": 0.5, "reports": []}', ["/step", "/value", "/reports"]),
    ('{"reports": []}', ["/reports"]),
    ('{"reports": {"2": 0.5}}', ["/reports"]),
    ('{"reports": [{"step": 2, "value": 0.5}, {"step": 3, "valeu": 0.5}]}', ["/reports/1/valeu", "/reports/1/value"]),
    ('{"reports": [{"step": 3, "value": 0.5}, {"step": 2, "value": 0.5}]}', ["/reports/1/step"]),
    ('{"reports": [{"step": 2, "value": 0.5}, {"step": 3, "value": Infinity}]}', ["/reports/1/value"]),
]


def test_invalid_report_is_rejected_with_the_field(server: str) -> None:
    httpx.post(f"{server}/v1/studies", json={**DEFINITION, "id": "reported"})
    httpx.post(f"{server}/v1/studies/reported/suggest")
    trial = f"{server}/v1/studies/reported/trials/1"
    reports = f"{trial}/reports"
    httpx.post(reports, json={"step": 1, "value": 0.75})
    before = httpx.get(trial).text
    for body, expected in BAD_REPORTS:
        refused = httpx.post(reports, content=body, headers=JSON)
        assert refused.status_code == 422, body
        assert pointers(refused) == expected, body
    assert httpx.get(trial).text == before
    assert [point["step"] for point in httpx.get(reports).json()["items"]] == [1]


NESTED: dict[str, Any] = {}
for _ in range(9):
    NESTED = {"a": NESTED}
BAD_ATTRIBUTES: list[tuple[Any, str, str]] = [
    ({"attributes": None}, "/attributes", "must be an object"),
    ({"attributes": []}, "/attributes", "must be an object"),
    ({"attributes": {}, "state": "failed"}, "/state", "is an unknown field (known: attributes, was)"),
    (
        {"attributes": {"a:b": 1}},
        "/attributes",
        "must have names of 1 to 200 characters without a colon, not 'a:b'",
    ),
    ({"attributes": {"": 1}}, "/attributes", "must have names of 1 to 200 characters without a colon, not ''"),
    ({"attributes": {"a": NESTED}}, "/attributes", "must not be nested deeper than 8 levels"),
    ({"attributes": {"a": "x" * 16_376}}, "/attributes", "must have at most 16,384 bytes as JSON, not 16,385"),
    (
        {"attributes": dict.fromkeys(map(str, range(65)), 1)},
        "/attributes",
        "must have at most 64 items, but has 65",
    ),
    (
        {"attributes": dict.fromkeys(map(str, range(64)), 1)},
        "/attributes",
        "must have at most 64 names, not 65, counting the existing attributes of trial 1",
    ),
    (
        {"attributes": {"a": "x" * 16_370}},
        "/attributes",
        "must have at most 16,384 bytes as JSON, not 16,393, counting the existing attributes of trial 1",
    ),
]


@pytest.mark.parametrize(("body", "pointer", "words"), some(BAD_ATTRIBUTES, BAD_ATTRIBUTES[::3]))
def test_invalid_attributes_are_rejected_and_change_nothing(
    api: httpx.Client, study: str, body: Any, pointer: str, words: str
) -> None:
    api.post(f"{study}/suggest")
    assert api.patch(f"{study}/trials/1", json={"attributes": {"host": "n1"}}).is_success
    before = api.get(study).text
    refused = api.patch(f"{study}/trials/1", json=body)
    assert refused.status_code == 422
    (fault,) = refused.json()["errors"]
    assert (fault["pointer"], fault["detail"]) == (pointer, words)
    assert api.get(study).text == before
    assert api.get(f"{study}/trials/1").json()["attributes"] == {"host": "n1"}


@pytest.mark.parametrize("body", [b"{", b"", b"\xff", b"[" * 100_000, b"{'a': 1}", b"9" * 5000])
def test_invalid_json_is_rejected(server: str, body: bytes) -> None:
    refused = httpx.post(f"{server}/v1/studies", content=body, headers=JSON)
    assert refused.status_code in (400, 422)
    pointers(refused)


def test_a_body_that_python_cannot_parse_is_too_deep_in_the_words_of_the_limits(server: str) -> None:
    refused = httpx.post(f"{server}/v1/studies", content=b"[" * 100_000, headers=JSON)
    assert refused.json()["detail"] == "The body is nested deeper than 32 levels."


def test_other_content_types_are_rejected(server: str) -> None:
    refused = httpx.post(f"{server}/v1/studies", data={"id": "s"})
    assert refused.status_code == 415
    pointers(refused)


@pytest.mark.parametrize("chunked", [False, True])
def test_body_over_the_limit_is_rejected(server: str, chunked: bool) -> None:
    """Because of its declared length, or once too many bytes have arrived."""
    body = b'{"id": "' + b"a" * 10 * 2**20 + b'"}'
    content = iter([body]) if chunked else body
    refused = httpx.post(f"{server}/v1/studies", content=content, headers=JSON)
    assert refused.status_code == 413
    pointers(refused)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/studies/nowhere", 404),
        ("POST", "/v1/studies/nowhere/suggest", 404),
        ("GET", "/v1/studies/%00", 404),
        ("GET", "/v1/studies/%ff%fe", 404),
        ("GET", "/v1/nothing", 404),
        ("PUT", "/v1/studies", 405),
        ("GET", "/v1/studies?cursor=!", 422),
        ("GET", "/v1/studies?cursor=WyIwMDAxLTAxLTAxVDAwOjAwOjAwKzE0OjAwIiwicyJd", 422),
        ("GET", "/v1/studies?limit=0", 422),
        ("GET", "/v1/studies/s/trials/99999999999999999999", 422),
        ("GET", "/v1/studies/s/trials?state=lost", 422),
        ("GET", "/v1/studies/s/trials?attribute=host", 422),
        ("GET", "/v1/studies/s/trials?attribute=:n1", 422),
    ],
)
def test_every_error_is_a_problem_document(server: str, method: str, path: str, status: int) -> None:
    refused = httpx.request(method, server + path)
    assert refused.status_code == status
    pointers(refused)


def test_disallowed_method_gets_a_list_of_allowed_ones(server: str) -> None:
    refused = httpx.put(f"{server}/v1/studies/s")
    assert (refused.status_code, refused.headers["allow"]) == (405, "DELETE, GET, HEAD, PATCH")


def test_same_id_with_another_definition_reports_the_differences(api: httpx.Client, study: str) -> None:
    again = api.post("/v1/studies", json=DEFINITION)
    assert (again.status_code, again.json()) == (200, api.get(study).json())
    refused = api.post("/v1/studies", json={**DEFINITION, "direction": "maximize", "algorithm": {"delta": 0.1}})
    assert refused.status_code == 409
    assert refused.json()["code"] == "study_exists"
    differences = "algorithm.delta is 0.05, not 0.1, direction is 'minimize', not 'maximize'."
    assert refused.json()["detail"].endswith(f"another definition: {differences}")


def test_changeable_fields_are_compared_with_their_current_values(api: httpx.Client, study: str) -> None:
    """Only fields that the request gives are compared: a client may omit the budget."""
    api.patch(study, json={"budget": 5, "tags": {"by": "me"}})
    for given in ({}, {"budget": 5}, {"tags": {"by": "me"}, "lease_seconds": 3600}):
        assert api.post("/v1/studies", json={**DEFINITION, **given}).status_code == 200
    refused = api.post("/v1/studies", json={**DEFINITION, "budget": None, "tags": {}})
    assert refused.status_code == 409
    assert refused.json()["detail"].endswith("budget is 5, not null, tags.by is 'me', not absent.")


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ({"parameters": PARAMETERS[:1]}, "parameter 'n' is of kind int, not absent"),
        ({"parameters": [PARAMETERS[0], {**PARAMETERS[1], "high": 8}]}, "parameter 'n': high is 9, not 8"),
        ({"parameters": PARAMETERS[::-1]}, "the order of parameters is ['x', 'n'], not ['n', 'x']"),
        ({"tags": {"a": "b"}}, "tags.a is absent, not 'b'"),
    ],
)
def test_conflicting_definition_reports_only_the_differences(
    server: str, changes: dict[str, Any], difference: str
) -> None:
    refused = httpx.post(f"{server}/v1/studies", json={**DEFINITION, **changes})
    assert refused.status_code == 409
    assert refused.json()["detail"] == f"Study 's' exists with another definition: {difference}."


def test_second_value_for_a_finished_trial_reports_both_values(api: httpx.Client, study: str) -> None:
    api.post(f"{study}/suggest")
    api.post(f"{study}/observe", json={"trial": 1, "value": 1.5})
    refused = api.post(f"{study}/observe", json={"trial": 1, "value": 2.5})
    assert (refused.status_code, refused.json()["code"]) == (409, "result_conflict")
    assert "1.5" in refused.json()["detail"]
    assert "2.5" in refused.json()["detail"]
    assert refused.json()["observation"] == 1


def test_batch_accepts_valid_items_and_explains_the_others(api: httpx.Client, study: str) -> None:
    good = {"parameters": {"x": 0, "n": 1}, "value": 1}
    items = [good, {"trial": 7, "value": 1}, {"parameters": {"x": 9, "n": 1}, "value": 1}]
    trial_run = api.post(f"{study}/observations", json={"items": items, "dry_run": True}).json()
    assert [item["status"] for item in trial_run["items"]] == [200, 404, 422]
    assert trial_run["study"]["counts"]["observations"] == 0
    answer = api.post(f"{study}/observations", json={"items": items}).json()
    assert [item["code"] for item in answer["items"]] == [None, "trial_not_found", "invalid"]
    assert answer["items"][2]["errors"][0]["pointer"] == "/parameters/x"
    assert answer["study"]["counts"]["observations"] == 1
    misspelt = api.post(f"{study}/observations", json={"items": [good, {"trial": 1, "val": 1}]})
    assert pointers(misspelt) == ["/items/1/val", "/items/1/value"]


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b'{"count": 1} 2', "There is text after its end: line 1 column 14"),
        (b"{'count': 1}", "A name in double quotation marks is missing: line 1 column 2"),
        (b'{"count": }', "A value is missing, or begins with a wrong character: line 1 column 11"),
    ],
)
def test_text_that_is_not_json_is_refused_in_words_without_python(
    api: httpx.Client, study: str, raw: bytes, words: str
) -> None:
    refused = api.post(f"{study}/suggest", content=raw, headers={"Content-Type": "application/json"})
    assert (refused.status_code, words in refused.json()["detail"]) == (400, True), refused.text


def test_byte_order_mark_is_ignored(api: httpx.Client, study: str) -> None:
    """Clients on .NET send one."""
    body = b'\xef\xbb\xbf{"count": 2}'
    answer = api.post(f"{study}/suggest", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, len(answer.json()["trials"])) == (200, 2)


def test_attempts_that_a_trial_has_not_had_are_refused(api: httpx.Client, study: str) -> None:
    """They are mistakes of the client, not lost leases."""
    api.post(f"{study}/suggest")
    trial = f"{study}/trials/1"
    for path, body in (
        ("heartbeat", {}),
        ("release", {}),
        ("withdraw", {}),
        ("reports", {"step": 1, "value": 1.0}),
    ):
        refused = api.post(f"{trial}/{path}", json={**body, "attempt": 2})
        error = refused.json()["errors"][0]
        assert (refused.status_code, error["pointer"], error["code"]) == (422, "/attempt", "unknown_attempt"), path
    refused = api.get(f"{trial}/reports", params={"attempt": 2})
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "?attempt")
    assert api.post(f"{trial}/heartbeat", json={"attempt": 1}).status_code == 200


@pytest.mark.parametrize("worker", ["anna\nb", "a\u202eb", "a\x07"])
def test_names_of_workers_are_readable(api: httpx.Client, study: str, worker: str) -> None:
    """They are in tables and exports."""
    refused = api.post(f"{study}/suggest", json={"worker": worker})
    error = refused.json()["errors"][0]
    assert (refused.status_code, error["pointer"], error["code"]) == (422, "/worker", "unreadable_text")
    assert error["detail"].startswith("must not contain ")
    assert api.post(f"{study}/suggest", json={"worker": "Müller"}).status_code == 200
