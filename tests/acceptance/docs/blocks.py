"""Find and run the code blocks of the documentation."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

import httpx

from adabkb_client import Client

DOCS = Path(__file__).parents[3] / "docs"


class Block(NamedTuple):
    """A fenced block."""

    language: str
    text: str


class Request(NamedTuple):
    """A request in a page."""

    method: str
    path: str
    body: str


def blocks(page: Path) -> list[Block]:
    """The blocks of a page in order, including those in list items."""
    fence = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
    return [Block(language, dedent(text)) for _, language, text in fence.findall(page.read_text())]


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Each command of a console with its output, where three dots match anything. ``> `` continues a command."""
    for example in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        first, *rest = example.splitlines()
        more = [line[2:] for line in rest if line.startswith("> ")]
        yield "\n".join([first, *more]), "\n".join(line for line in rest if not line.startswith("> "))


def matches(shown: str, printed: str) -> bool:
    """Whether the output of a command matches the page."""
    return bool(re.fullmatch(re.escape(shown).replace(re.escape("..."), ".*"), printed.strip(), re.DOTALL))


def run_python(page: Path, **names: object) -> None:
    """Run the Python of a page from top to bottom, beginning with some names."""
    try:
        for block in blocks(page):
            if block.language == "python":
                exec(block.text, names)
    finally:
        for value in names.values():
            if isinstance(value, Client):
                value.close()


def curl(command: str) -> Request:
    """The request that a command of curl sends."""
    words = iter(shlex.split(command)[1:])
    method, url, body = "", "", ""
    for word in words:
        if word == "-d":
            body = next(words)
        elif word == "-X":
            method = next(words)
        elif word == "-H":
            assert next(words) == "Content-Type: application/json"
        elif not word.startswith("-"):
            url = word
    return Request(method or ("POST" if body else "GET"), url.removeprefix("localhost:8000"), body)


def requests(page: Path) -> list[Request]:
    """The requests in an HTTP block, separated by blank lines."""
    texts = [text for block in blocks(page) if block.language == "http" for text in block.text.strip().split("\n\n")]
    parts = [(line.split(" "), body) for line, _, body in (text.partition("\n") for text in texts)]
    return [Request(method, path, body) for (method, path), body in parts]


def send(api: httpx.Client, request: Request) -> httpx.Response:
    """Send a request."""
    body = json.loads(request.body) if request.body else None
    return api.request(request.method, request.path, json=body)
