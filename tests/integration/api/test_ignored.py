"""Nothing that a client sends is silently ignored: parameters, preconditions, encodings and bodies."""

from __future__ import annotations

import gzip
import json
from typing import Any

import httpx
import pytest

from tests.integration.api.conftest import pointers
from tools.openapi import document

VALUES = {"boolean": "true", "integer": "1", "number": "0.5"}


def parameters() -> list[tuple[str, str, str, str]]:
    """Method, path, name and a value of each query parameter that is not a list."""
    return [
        (method, path, each["name"], VALUES.get(each["schema"].get("type", ""), "a"))
        for path, methods in document()["paths"].items()
        for method, operation in methods.items()
        for each in operation.get("parameters", ())
        if each["in"] == "query" and '"array"' not in json.dumps(each["schema"])
    ]


def address(path: str) -> str:
    """The path of an operation, with the study of ``study`` and the number 1."""
    return path.format_map({**dict.fromkeys(("number", "seq", "file", "deletion"), "1"), **NAMES})


NAMES = {"study_id": "s", "token_id": "0" * 12, "webhook_id": "0" * 12, "user": "ann"}


@pytest.mark.usefixtures("study")
def test_parameter_that_is_given_twice_is_refused_unless_it_is_a_list(api: httpx.Client) -> None:
    checked = parameters()
    assert len(checked) > 40
    for method, path, name, value in checked:
        answer = api.request(method, address(path), params=[(name, value), (name, "b")])
        assert answer.status_code == 422, f"{method} {path} {name}: {answer.text}"
        error = {"pointer": f"?{name}", "detail": "is given twice; give it once", "code": "repeated"}
        assert answer.json()["errors"] == [error]
    assert api.get("/v1/studies", params=[("tag", "a:b"), ("tag", "c:d")]).status_code == 200


def test_key_that_is_given_twice_is_refused(api: httpx.Client, study: str) -> None:
    keys = [("Idempotency-Key", "a"), ("Idempotency-Key", "b")]
    answer = api.post(f"{study}/suggest", headers=keys)
    assert (answer.status_code, pointers(answer)) == (422, ["header:Idempotency-Key"])
    assert api.get(study).json()["counts"]["active"] == 0


def test_if_match_is_refused_where_it_is_not_evaluated(api: httpx.Client, study: str) -> None:
    """The sender relies on the condition."""
    checked = 0
    for path, methods in document()["paths"].items():
        for method, operation in methods.items():
            names = {each["name"] for each in operation.get("parameters", ()) if each["in"] == "header"}
            if method == "get" or "If-Match" in names:
                continue
            answer = api.request(method, address(path), headers={"If-Match": '"1"'})
            assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "header:If-Match"), path
            checked += 1
    assert checked > 20
    assert api.post(f"{study}/suggest", headers={"If-Match": "*"}).status_code == 200


@pytest.mark.parametrize(
    ("headers", "word"),
    [
        ({"Content-Encoding": "gzip"}, "Content-Encoding: gzip"),
        ({"Content-Encoding": "br"}, "Content-Encoding: br"),
        ({"Content-Type": "application/json; charset=latin-1"}, "UTF-8"),
    ],
)
def test_encoded_bodies_are_refused(api: httpx.Client, study: str, headers: dict[str, str], word: str) -> None:
    body = b'{"count": 1}'
    content = gzip.compress(body) if headers.get("Content-Encoding") == "gzip" else body
    answer = api.post(f"{study}/suggest", content=content, headers={"Content-Type": "application/json", **headers})
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")
    assert word in answer.json()["detail"]
    assert ("accept-encoding" in answer.headers) == ("Content-Encoding" in headers)
    plain: dict[str, Any] = {"Content-Type": 'application/json; Charset="UTF-8"', "Content-Encoding": "identity"}
    assert api.post(f"{study}/suggest", content=body, headers=plain).status_code == 200


def test_body_of_a_deletion_is_refused(api: httpx.Client, study: str) -> None:
    api.post(f"{study}/observe", json={"parameters": {"x": 0.5, "n": 2}, "value": 1})
    path = f"{study}/observations/1"
    assert api.request("DELETE", path, json={"reason": "spilled"}).status_code == 422
    assert api.delete(path, params={"reason": "spilled"}).json()["observation"]["excluded"] is True


def test_responses_without_a_body_have_no_content_type(api: httpx.Client, study: str) -> None:
    api.post(f"{study}/suggest")
    api.post(f"{study}/trials/1/files", params={"name": "a"}, content=b"1")
    webhook = api.post(f"{study}/webhooks", json={"url": "https://example.com/"}).json()
    known = {"If-None-Match": api.get(study).headers["etag"]}
    answers = [
        api.get(study, headers=known),
        api.delete(f"{study}/trials/1/files/1"),
        api.delete(f"{study}/webhooks/{webhook.get('id', '')}"),
        api.delete(study),
    ]
    trash = api.get("/v1/trash").json()["items"]
    answers.append(api.delete(f"/v1/trash/{trash[0]['deletion']}"))
    assert [answer.status_code for answer in answers] == [304, 204, 204, 204, 204], [each.text for each in answers]
    assert not [answer for answer in answers if "content-type" in answer.headers or answer.content]
