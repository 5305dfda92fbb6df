"""A simple browser that follows the redirects of a login and fills in the provider's form."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

_FORM = re.compile(r'<form[^>]*action="([^"]*)"')
PAGE = {"Accept": "text/html"}


@contextmanager
def visitor(address: str, **headers: str) -> Iterator[httpx.Client]:
    """A browser with separate cookies."""
    with httpx.Client(base_url=address, headers=PAGE | headers, timeout=60) as client:
        yield client


def begin(client: httpx.Client, target: str = "/account") -> str:
    """Begin a login; return the address at the provider."""
    answer = client.get("/login/oidc", params={"next": target})
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


def at_provider(client: httpx.Client, url: str, subject: str) -> str:
    """Log in at the certified provider. Return the address of its redirect."""
    for _ in range(10):
        if "/login/oidc/callback" in url:
            return url
        answer = client.get(url)
        if answer.is_redirect:
            url = str(answer.url.join(answer.headers["location"]))
            continue
        found = _FORM.search(answer.text)
        assert found is not None, answer.text
        form = {"prompt": "login", "login": subject, "password": "any"}
        sent = client.post(str(answer.url.join(html.unescape(found[1]))), data=form)
        url = str(sent.url.join(sent.headers["location"]))
    raise AssertionError(f"the provider does not lead back: {url}")


def log_in(client: httpx.Client, subject: str, target: str = "/account") -> httpx.Response:
    """Log in. Return the answer to the provider's redirect."""
    return client.get(at_provider(client, begin(client, target), subject))


def self_of(client: httpx.Client) -> dict[str, Any]:
    """The identity of the browser according to the server."""
    answer = client.get("/v1/tokens/self")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def text_of(answer: httpx.Response) -> str:
    """The text of a page."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", answer.text.partition("<main")[2])).split())


def query_of(url: str) -> dict[str, str]:
    """The parameters of an address."""
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
