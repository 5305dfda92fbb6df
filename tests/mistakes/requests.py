"""Mistakes of requests as such: addresses, bodies, headers and queries."""

from __future__ import annotations

import json

from tests.mistakes.bench import KEY
from tests.mistakes.kinds import Section, Sent

JSON = "application/json"
SUGGEST = "POST /v1/studies/svm/suggest"

ADDRESSES = [
    Sent("A study that does not exist", "GET /v1/studies/swm"),
    Sent("The id of a study with a space", "GET /v1/studies/my%20study"),
    Sent("A trial that does not exist", "GET /v1/studies/svm/trials/99"),
    Sent("A trial's number that is no number", "GET /v1/studies/svm/trials/first"),
    Sent("A trial number 0", "GET /v1/studies/svm/trials/0"),
    Sent("An observation that does not exist", "PATCH /v1/studies/svm/observations/99", {"value": 1}),
    Sent("A page that does not exist", "GET /v1/study/svm"),
    Sent("A call without its version", "GET /studies/svm"),
    Sent("A slash at the end", "GET /v1/studies/"),
    Sent("GET where POST is meant", "GET /v1/studies/svm/suggest"),
    Sent("PUT where PATCH is meant", "PUT /v1/studies/svm", {"budget": 30}),
    Sent("POST where DELETE is meant", "POST /v1/studies/svm/observations/1", {"excluded": True}),
]

BODIES = [
    Sent("JSON that is cut off", SUGGEST, b'{"count": 2'),
    Sent("Single quotation marks", SUGGEST, b"{'count': 2}"),
    Sent("A Python literal", SUGGEST, b'{"worker": None}'),
    Sent("Bytes that are not UTF-8", SUGGEST, b'{"worker": "\xe9"}'),
    Sent("A body where one is needed, and none is sent", "POST /v1/studies/svm/observe"),
    Sent("A form", SUGGEST, b"count=2", {"Content-Type": "application/x-www-form-urlencoded"}),
    Sent("A body without a type", SUGGEST, b'{"count": 2}', {"Content-Type": ""}),
    Sent("A list where an object is meant", SUGGEST, [2]),
    Sent("A text where an object is meant", "POST /v1/studies/svm/observe", "trial 1: 0.9"),
    Sent("NaN as a value", "POST /v1/studies/svm/observe", b'{"trial": 2, "value": NaN}'),
    Sent("Infinity as a value", "POST /v1/studies/svm/observe", b'{"trial": 2, "value": -Infinity}'),
    Sent("The character U+0000", SUGGEST, {"worker": "gpu\u0000"}),
    Sent("Half a surrogate pair", SUGGEST, b'{"worker": "\\ud83d"}'),
    Sent(
        "Lists in lists in lists",
        "PATCH /v1/studies/svm/trials/1",
        json.dumps({"attributes": {"a": json.loads("[" * 40 + "]" * 40)}}).encode(),
        shown='{"attributes": {"a": [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}}',
    ),
    Sent("A body over the limit", SUGGEST, b" " * (10 * 2**20 + 1), shown="(10,485,761 bytes)"),
    Sent(
        "More values than a body may have",
        "POST /v1/studies/svm/observations",
        b'{"items": [' + b"0," * 200_000 + b"0]}",
        shown='{"items": [0, 0, ... 200,001 times]}',
    ),
]

HEADERS = [
    Sent("An idempotency key with spaces", SUGGEST, {}, {"Idempotency-Key": "my key"}),
    Sent("An empty idempotency key", SUGGEST, {}, {"Idempotency-Key": ""}),
    Sent(
        "An idempotency key that another request had",
        "POST /v1/studies/svm/observe",
        {"trial": 2, "value": 0.5},
        {"Idempotency-Key": KEY},
    ),
    Sent("If-Match with an old revision", "PATCH /v1/studies/svm", {"budget": 30}, {"If-Match": '"1"'}),
    Sent("If-Match without quotation marks", "PATCH /v1/studies/svm", {"budget": 30}, {"If-Match": "12"}),
    Sent("If-Match of something else", "DELETE /v1/studies/svm", None, {"If-Match": '"abc"'}),
    Sent("Last-Event-ID that is no number", "GET /v1/studies/svm/events", None, {"Last-Event-ID": "last"}),
    Sent("Last-Event-ID below 0", "GET /v1/studies/svm/events", None, {"Last-Event-ID": "-1"}),
]

QUERIES = [
    Sent("A misspelt query parameter", "GET /v1/studies/svm/trials?sate=failed"),
    Sent("A query parameter of another list", "GET /v1/studies/svm/observations?state=failed"),
    Sent("A query parameter where there are none", "GET /v1/studies/svm/recommendation?verbose=true"),
    Sent("Settings of a new study in the query", "POST /v1/studies?budget=3", {}),
    Sent("A page of 0 items", "GET /v1/studies?limit=0"),
    Sent("A page of too many items", "GET /v1/studies/svm/trials?limit=5000"),
    Sent("A limit that is no number", "GET /v1/studies/svm/trials?limit=all"),
    Sent("A cursor that one has made oneself", "GET /v1/studies/svm/trials?cursor=2"),
    Sent("A cursor of another list", "GET /v1/studies?cursor=Mg"),
    Sent("A state that trials do not have", "GET /v1/studies/svm/trials?state=running"),
    Sent("A status that cells do not have", "GET /v1/studies/svm/partition?status=leaves"),
    Sent("An attribute without a value", "GET /v1/studies/svm/trials?attribute=host"),
    Sent("An attribute without a name", "GET /v1/studies/svm/trials?attribute=:n1"),
    Sent("A format that no export has", "GET /v1/studies/svm/export?format=xlsx"),
    Sent("A slice along nothing", "GET /v1/studies/svm/slice"),
    Sent("A slice along an unknown parameter", "GET /v1/studies/svm/slice?parameter=Lr"),
    Sent("A slice along one parameter twice", "GET /v1/studies/svm/slice?parameter=lr&parameter=lr"),
    Sent("A slice along three parameters", "GET /v1/studies/svm/slice?parameter=lr&parameter=layers&parameter=kernel"),
    Sent("A slice of one point", "GET /v1/studies/svm/slice?parameter=lr&points=1"),
    Sent("A grid of too many points", "GET /v1/studies/svm/slice?parameter=lr&parameter=layers&points=100"),
    Sent("A slice at a point that is not JSON", "GET /v1/studies/svm/slice?parameter=lr&at=layers=2"),
    Sent("A slice at a point outside of the space", "GET /v1/studies/svm/slice?parameter=lr&at=%7B%22layers%22:9%7D"),
    Sent("A slice at a value of its own parameter", "GET /v1/studies/svm/slice?parameter=lr&at=%7B%22lr%22:0.1%7D"),
    Sent(
        "A reason that is too long",
        f"DELETE /v1/studies/svm/observations/1?reason={'x' * 1001}",
    ),
]

SECTIONS: list[Section] = [
    ("HTTP: addresses", "What is asked for does not exist.", ADDRESSES),
    ("HTTP: bodies", "The body is not what JSON is, or holds what nothing here can mean.", BODIES),
    ("HTTP: headers", "A header that the API reads has a value that it cannot use.", HEADERS),
    ("HTTP: queries", "Unknown query parameters are refused like unknown fields.", QUERIES),
]
