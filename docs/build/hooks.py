"""What MkDocs does for this repository beyond its own: links out of docs/, a strict policy for scripts, the decisions.

The site stands alone, since labs are offline: what a page links to outside of ``docs/`` is copied into the site, below
``files/``. Nothing inline is left in a page, so that it can be served with a strict Content-Security-Policy.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"(?<=\]\()([^)#\s]+)(?=[)#])")
MARKER = re.compile(r"^<!-- [\w-]+:(?:begin|end) -->$", re.MULTILINE)
"""Around what is made from the code; a table needs a blank line before it."""
CHECKED = re.compile(r" ?<!-- (?:(?:numbers|holds): .*?|settings) -->")
"""How a test finds the numbers of a sentence in the results."""
INLINE = re.compile(r"<script>(.*?)</script>", re.DOTALL)
SEARCH = 'data-md-component="search" role="dialog"'
BOOSTS = {
    "decisions/": 0.01,
    "files/": 0.01,
    "reference/": 0.1,
    "mistakes.md": 0.1,
    "questions.md": 100,
    "guides/by-hand.md": 3,
}
"""Weights of pages in the search, by the beginning of their places: answers for users come before reasons."""

_origins: dict[str, str] = {}
"""Where each page from outside of ``docs/`` comes from, by its place in the site."""


def on_config(config: MkDocsConfig) -> None:
    """Put every decision into the tree; a new one needs no entry."""
    decisions = sorted(path.name for path in (ROOT / "docs/decisions").glob("*.md"))
    for item in config.nav or ():
        if item == {"Decisions": "decisions"}:
            item["Decisions"] = [f"decisions/{name}" for name in decisions]


def on_files(files: Files, *, config: MkDocsConfig) -> None:
    """Add what pages link to outside of ``docs/``, and what these link to in turn."""
    _origins.clear()
    waiting = [file for file in files if file.is_documentation_page()]
    while waiting:
        page = waiting.pop()
        for origin, place in _outside(page.content_string, page.src_uri):
            if place not in files.src_uris:
                added = _copy(config, origin, place)
                files.append(added)
                _origins[place] = origin
                if added.is_documentation_page():
                    waiting.append(added)


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links out of ``docs/`` lead to the copies."""
    del config, files
    page.meta["search"] = {
        "boost": next((boost for place, boost in BOOSTS.items() if page.file.src_uri.startswith(place)), 1)
    }
    places = dict(_outside(markdown, page.file.src_uri))

    def replaced(link: re.Match[str]) -> str:
        place = places.get(_origin(link[1], page.file.src_uri))
        return os.path.relpath(place, PurePosixPath(page.file.src_uri).parent) if place else link[1]

    return LINK.sub(replaced, MARKER.sub("\n", CHECKED.sub("", markdown)))


def on_post_page(output: str, *, page: Page, config: MkDocsConfig) -> str:
    """Move inline scripts of the theme into files, and name the dialog of its search for screen readers."""
    up = "../" * page.url.count("/")

    def moved(script: re.Match[str]) -> str:
        name = f"assets/inline/{hashlib.sha256(script[1].encode()).hexdigest()[:12]}.js"
        path = Path(config.site_dir, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(script[1])
        return f'<script src="{up}{name}"></script>'

    return INLINE.sub(moved, output.replace(SEARCH, f'{SEARCH} aria-label="Search"'))


def on_post_template(output_content: str, *, template_name: str, config: MkDocsConfig) -> str:
    """Leave out the page for wrong addresses, since the server has one."""
    del config
    return "" if template_name == "404.html" else output_content


def on_post_build(*, config: MkDocsConfig) -> None:
    """Leave out what only the makers of the theme need, and the search in languages other than English."""
    for path in Path(config.site_dir).rglob("*.map"):
        path.unlink()
    shutil.rmtree(Path(config.site_dir, "assets/javascripts/lunr"))


def _copy(config: MkDocsConfig, origin: str, place: str) -> File:
    """A file of the repository, or a list of those in a folder."""
    if not (ROOT / origin).is_dir():
        return File.generated(config, place, abs_src_path=str(ROOT / origin))
    names = sorted(path.name for path in (ROOT / origin).iterdir() if path.is_file())
    listed = "\n".join(f"* [{name}]({PurePosixPath(origin).name}/{name})" for name in names)
    return File.generated(config, place, content=f"# {origin}\n\n{listed}\n")


def _outside(markdown: str, uri: str) -> Iterator[tuple[str, str]]:
    """Files of the repository that a page links to outside of ``docs/``, and pages from there that link back."""
    for link in LINK.findall(markdown):
        origin = _origin(link, uri)
        if (ROOT / origin).exists() and (uri in _origins or not origin.startswith("docs/")):
            yield origin, _place(origin)


def _origin(link: str, uri: str) -> str:
    """The path in the repository that a link leads to."""
    here = PurePosixPath(_origins.get(uri, f"docs/{uri}")).parent
    return os.path.normpath(here / link)


def _place(origin: str) -> str:
    """Where the site has a file of the repository."""
    if origin.startswith("docs/"):
        return origin.removeprefix("docs/")
    path = PurePosixPath("files", origin)
    if (ROOT / origin).is_dir():
        return f"{path}.md"
    return f"{path.parent}.md" if path.name == "README.md" else str(path)
