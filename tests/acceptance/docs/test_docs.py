"""The documentation agrees with the code: generated sections, links, commands, the tree of folders."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tools.docs import sections
from tools.generated import outdated
from tools.pictures import palettes

ROOT = Path(__file__).parents[3]
FOLDERS = ("docs", "examples", "tests", ".github", "changelog.d")
PAGES = sorted([*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))])


@pytest.mark.parametrize("section", sorted(sections.SECTIONS))
def test_generated_sections_are_up_to_date(section: str) -> None:
    assert outdated(sections.written(section), sections.SECTIONS[section][1]()) == ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_point_to_existing_files_and_headings(page: Path) -> None:
    """Every relative link names a file of the repository, and every anchor a heading of that page.

    Fragments of the changelog become parts of a page in the root, so their links start there.
    """
    folder = ROOT if page.parent.name == "changelog.d" else page.parent
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        linked = page if not path else folder / path
        assert linked.exists(), f"{page.name} links to {target}"
        if anchor:
            assert anchor in anchors(linked.resolve()), f"{page.name} links to {target}"


@cache
def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^a-z0-9_ -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("picture", palettes.PICTURES, ids=lambda picture: picture.name)
def test_pictures_have_a_color_palette(picture: Path) -> None:
    """``python -m tools.pictures.palettes`` converts them, which makes the wheel smaller."""
    assert palettes.has_palette(picture)


def test_make_help_describes_every_target() -> None:
    parts = {"lint-code", "lint-types", "run-tests"}
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)) - parts
    command = ["make", "--no-print-directory", "help"]  # make check runs this test, so it is a make within make
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    described = [re.fullmatch(r"make ([a-z-]+) +(\w.*)", line) for line in told.splitlines()]
    assert all(described)
    assert sorted(each[1] for each in described if each) == sorted(targets)


def test_folder_tree_in_contributing_matches_the_repository() -> None:
    tree = re.search(r"## Where things are\n\n```\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
    assert tree
    folders = [line.split()[0] for line in tree[1].splitlines()]
    assert all((ROOT / folder).is_dir() for folder in folders)
    layers = {
        path.stem for path in (ROOT / "service/adabkb_service").iterdir() if not path.name.startswith(("_", "py"))
    }
    named = set(re.findall(r"[a-z]+", tree[1].splitlines()[0].split(":")[1]))
    assert named == layers


def test_every_command_has_a_description() -> None:
    assert "--help  Show this" in sections.command_line()
    for name, text in sections.helps():
        described = text.split("\n\n")[1]
        assert described.strip().endswith("."), f"{name} has no description"
