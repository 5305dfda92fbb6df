"""The files for contributors and for GitHub agree with the code, with pyproject.toml and with published schemas."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import pytest
import yaml
from check_jsonschema.cli import main as check_jsonschema
from click.testing import CliRunner
from hatchling.builders.sdist import SdistBuilder
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from adabkb_client._version import VERSION

ROOT = Path(__file__).parents[3]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").iterdir())
GUIDES = [
    *(ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "tests/README.md")),
    ROOT / "docs/support.md",
    ROOT / "changelog.d/README.md",
    *(path for path in GITHUB.rglob("*") if path.is_file()),
    *(path for path in (ROOT / ".ci").iterdir() if path.is_file()),
    ROOT / ".pre-commit-config.yaml",
]
SCHEMAS = {
    ".github/dependabot.yml": "vendor.dependabot",
    ".github/ISSUE_TEMPLATE/bug.yml": "vendor.github-issue-forms",
    ".github/ISSUE_TEMPLATE/feature.yml": "vendor.github-issue-forms",
    **{str(path.relative_to(ROOT)): "vendor.github-workflows" for path in WORKFLOWS},
    "CITATION.cff": "vendor.citation-file-format",
}
EXAMPLE = ROOT / "examples/kubernetes"
NAME_THE_VERSION = ("client/adabkb_client/_version.py", "service/adabkb_service/api/examples.json")
NAME_THE_RELEASE = ("CITATION.cff", "docker-compose.yml", "docs/administration.md", "deploy", "examples/kubernetes")
FOLDERS = (
    "benchmarks",
    "client",
    "deploy",
    "docs",
    "examples",
    "integrations",
    "migrations",
    "service",
    "tests",
    "tools",
)
PATH = re.compile(rf"(?<![\w./$-])(?:(?:{'|'.join(FOLDERS)}|\.ci|\.github)/[\w./-]*\w|[A-Z_]+\.(?:md|cff))(?![\w*])")


def citation() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    return loaded


def workflow(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(path.read_text())
    return loaded


def steps(path: Path) -> Iterator[dict[str, Any]]:
    for job in workflow(path)["jobs"].values():
        yield from job.get("steps", ())


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: str(path.relative_to(ROOT)))
def test_paths_and_commands_in_guides_exist(guide: Path) -> None:
    """Paths of the repository, make targets, modules and test files."""
    text = guide.read_text()
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?<=`make )[a-z-]+|(?<=run: make )[a-z-]+", text))
    assert named <= targets
    for path in PATH.findall(text):
        assert (ROOT / path).exists() or (guide.parent / path).exists(), f"{guide.name} names {path}"
    for module in re.findall(r"-m ((?:tests|tools|benchmarks)[.\w]+)", text):
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), f"{guide.name} runs {module}"


def test_files_and_tests_of_a_change_exist() -> None:
    """Those in the table of CONTRIBUTING.md, where paths of the server are relative to its package."""
    table = (
        (ROOT / "CONTRIBUTING.md").read_text().partition("| you change | files | then run |")[2].partition("\n\n")[0]
    )
    named = [each for each in re.findall(r"`([^`]+)`", table) if not each.startswith("make ") and "/" in each]
    assert len(named) > 30
    for name in named:
        assert (ROOT / name).exists() or (ROOT / "service/adabkb_service" / name).exists(), name


def test_tests_readme_lists_every_folder_and_helper() -> None:
    text = (ROOT / "tests/README.md").read_text()
    first_cells = "".join(re.findall(r"^\| (?:[^|]*\| )?(`.*?) \|", text, re.MULTILINE))
    named = set(re.findall(r"`([\w/.]+)`", first_cells))
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/*/__init__.py")}
    assert folders <= named
    for name in re.findall(r"`([\w/]+\.py)`", first_cells):
        assert (ROOT / "tests" / name).exists(), name
    for row in re.findall(r"^\| `([\w/]+\.py)` \| (.*) \|$", text, re.MULTILINE):
        for helper in re.findall(r"`(\w+)`", row[1]):
            assert re.search(rf"(?:def|class) {helper}\b", (ROOT / "tests" / row[0]).read_text()), helper


@pytest.mark.parametrize("file", SCHEMAS)
def test_github_files_match_their_published_schemas(file: str) -> None:
    judged = CliRunner().invoke(check_jsonschema, ["--builtin-schema", SCHEMAS[file], str(ROOT / file)])
    assert judged.exit_code == 0, judged.output


def test_citation_matches_the_project_and_its_newest_release() -> None:
    cited = citation()
    assert cited["title"] == PROJECT["name"]
    assert str(cited["version"]) == newest_release()
    assert cited["license"] == PROJECT["license"]
    assert cited["abstract"] == PROJECT["description"]


def test_supported_python_versions_agree_everywhere() -> None:
    """In the classifiers, the workflow and the documentation; the oldest is the required version."""
    named = [each.rpartition(" ")[2] for each in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", each)]
    assert workflow(GITHUB / "workflows/checks.yml")["jobs"]["tests"]["strategy"]["matrix"]["python"] == named
    assert PROJECT["requires-python"] == f">={named[0]}"
    for page in ("docs/support.md", "CONTRIBUTING.md"):
        assert f"{named[0]} to {named[-1]}" in (ROOT / page).read_text()
    used = {
        step["with"]["python-version"]
        for path in WORKFLOWS
        for step in steps(path)
        if "python-version" in step.get("with", {})
    }
    assert used - {"${{ matrix.python }}"} <= set(named)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_have_minimal_permissions_and_pinned_actions(path: Path) -> None:
    """Only permissions that a job names, actions pinned to commits, checkouts without credentials, and a time limit."""
    found = workflow(path)
    assert found["permissions"] == {}
    for name, job in found["jobs"].items():
        assert "permissions" in job, name
        assert "timeout-minutes" in job or "uses" in job, name
    for step in steps(path):
        action = step.get("uses", "")
        assert not action or re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", action), action
        assert not action.startswith("actions/checkout") or step["with"]["persist-credentials"] is False
    assert len(re.findall(r"uses: [^.].*@\w{40} # v\d+\.\d+\.\d+$", path.read_text(), re.MULTILINE)) == sum(
        "uses" in step for step in steps(path)
    ), "each commit has its version in a comment"


def newest_release() -> str:
    versions: list[str] = re.findall(
        r"^## \[(.*)\] - \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    )
    return versions[0]


def test_version_is_the_newest_release_or_a_later_development_version() -> None:
    newest, own = Version(newest_release()), Version(VERSION)
    assert own == newest or (own.is_devrelease and own > newest)


def test_recipes_and_install_steps_name_the_newest_release() -> None:
    found = {
        version
        for path in (ROOT / "docker-compose.yml", *(ROOT / "deploy").rglob("*.yaml"), *EXAMPLE.iterdir())
        for version in re.findall(r"adabkb-service:(?:\$\{ADABKB_VERSION:-)?([\d.]+)", path.read_text())
    }
    assert found == {newest_release()}
    steps_of_install = (ROOT / "docs/administration.md").read_text()
    assert f"python3 -m venv /opt/adabkb-{newest_release()}\n" in steps_of_install


def test_pins_can_be_installed_on_the_oldest_supported_python() -> None:
    """A pin that needs a later patch release stops `make demo` on distributions such as Debian 12 (Python 3.11.2)."""
    oldest = PROJECT["requires-python"].removeprefix(">=") + ".0"
    pins = (line.split("==")[0] for line in (ROOT / "constraints.txt").read_text().splitlines())
    found = {pin: distribution(pin).metadata for pin in pins if _is_installed(pin)}
    assert len(found) > 100
    needs = {pin: each["Requires-Python"] for pin, each in found.items() if "Requires-Python" in each}
    assert {pin: need for pin, need in needs.items() if oldest not in SpecifierSet(need)} == {}


def _is_installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:  # a pin for another platform or Python
        return False
    return True


def test_one_command_sets_the_version_everywhere(tmp_path: Path) -> None:
    """In a copy of the files: all of them name a release, and only the package names a development version."""
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci")
    for name in (*NAME_THE_VERSION, *NAME_THE_RELEASE):
        copied = tmp_path / name
        copied.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, copied)

    def named(version: str) -> set[str]:
        paths = {name: tmp_path / name for name in (*NAME_THE_VERSION, *NAME_THE_RELEASE)}
        texts = {
            name: "".join(each.read_text() for each in ([path] if path.is_file() else path.rglob("*.yaml")))
            for name, path in paths.items()
        }
        return {name for name, text in texts.items() if re.search(rf"(?<![\d.]){re.escape(version)}(?![\d.])", text)}

    run = partial(subprocess.run, capture_output=True, text=True, check=False)
    assert run([tmp_path / ".ci/version", "9.8.7"]).returncode == 0
    assert named("9.8.7") == {*NAME_THE_VERSION, *NAME_THE_RELEASE}
    assert run([tmp_path / ".ci/version", "9.9.0.dev0"]).returncode == 0
    assert named("9.9.0.dev0") == {*NAME_THE_VERSION}
    assert named("9.8.7") == {*NAME_THE_RELEASE}
    refused = run([tmp_path / ".ci/version", "v9"])
    assert (refused.returncode, refused.stderr) == (1, "error: 'v9' is not a version such as 1.2.3 or 1.3.0.dev0.\n")


def test_readme_links_are_absolute_on_pypi(tmp_path: Path) -> None:
    """Each refers to a file that exists."""
    (tmp_path / ".ci").mkdir()
    for name in (".ci/readme", "README.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    files = "https://github.com/somebody/something"
    subprocess.run([tmp_path / ".ci/readme", files, "v9.8.7"], check=True)
    links = re.findall(r"(!?)\[[^\]]*\]\(([^)]+)\)", (tmp_path / "README.md").read_text())
    assert len(links) > 30
    for image, link in links:
        kind, _, path = link.removeprefix(f"{files}/").partition("/v9.8.7/")
        assert kind == ("raw" if image else "blob"), link
        assert (ROOT / path.partition("#")[0]).exists(), link


def test_tag_without_a_changelog_section_is_not_built() -> None:
    built = subprocess.run([ROOT / ".ci/build", "v9.8.7"], capture_output=True, text=True, check=False)
    assert (built.returncode, built.stdout) == (1, "error: CHANGELOG.md has no section for v9.8.7.\n")


def test_changelog_fragments_have_a_known_kind_and_a_text() -> None:
    """towncrier ignores a file without a kind, so its change would be missing from the release notes."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]
    kinds = [kind["directory"] for kind in settings["type"]]
    for fragment in (ROOT / "changelog.d").iterdir():
        if fragment.name != "README.md":
            assert re.fullmatch(rf"(\d+|\+[\w-]+)\.({'|'.join(kinds)})\.md", fragment.name), fragment.name
            assert fragment.read_text().strip(), fragment.name
    assert re.findall(r"^\| `(\w+)` \|", (ROOT / "changelog.d/README.md").read_text(), re.MULTILINE) == kinds
    assert (ROOT / "CHANGELOG.md").read_text().count(settings["start_string"]) == 1


def test_workflow_scripts_are_executable() -> None:
    named = {script for path in WORKFLOWS for script in re.findall(r"run: (\.ci/\w+)", path.read_text())}
    assert named == {".ci/api", ".ci/build", ".ci/minimum"}
    assert all(os.access(ROOT / script, os.X_OK) for script in named)


def test_policies_are_linked_from_the_entry_pages() -> None:
    readme, index = (ROOT / "README.md").read_text(), (ROOT / "docs/index.md").read_text()
    for policy in ("CONTRIBUTING.md", "SECURITY.md", "docs/support.md", "CITATION.cff"):
        assert f"]({policy})" in readme
    assert "](support.md)" in index
    contributing = (ROOT / "CONTRIBUTING.md").read_text()
    for policy in ("SECURITY.md", "CODE_OF_CONDUCT.md", "tests/README.md", "docs/architecture.md", "docs/decisions"):
        assert f"]({policy})" in contributing


def test_source_distribution_excludes_files_for_github() -> None:
    packed = {file.distribution_path for file in SdistBuilder(str(ROOT)).recurse_included_files()}
    assert "pyproject.toml" in packed
    assert "service/adabkb_service/app.py" in packed
    assert not [name for name in packed if name.startswith((".github/", ".ci/", ".pre-commit", "changelog.d"))]
