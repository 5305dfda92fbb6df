"""Numbers in prose that state measurements. ``python -m tools.docs.numbers`` compares them with the results,
and rewrites them with ``--write``.

A comment after a text has the measured numbers of the text, in their order, as expressions of ``measured.py``::

    The regret is 0.63 and 0.44 times that of CMA-ES. <!-- numbers: cells("many", "Ratio", "auto", 50, 100) -->

It covers its line, from the comment before it. On a line of its own, it covers the paragraph or the table above. The
text may have no other numbers, except settings (see ``SETTING``). If these rules do not recognize a setting, it is a
literal number among the expressions. A text that has only such settings has the comment ``<!-- settings -->``.
A statement without a number has the condition under which it is true: ``<!-- holds: ahead(...) == [10, 20] -->``.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.quality.problems import FUNCTION_PROBLEMS
from tools import generated
from tools.docs import measured
from tools.docs.measured import NUMBER, number

ROOT = Path(__file__).parents[2]
COMMAND = "run make generate"
COMMENT = re.compile(r"<!-- (?:numbers: (?P<expressions>.*?)|settings) -->")
CONDITION = re.compile(r"<!-- holds: (.*?) -->")
NAMES: Mapping[str, Callable[..., Any]] = {
    **{name: getattr(measured, name) for name in ("ahead", "cells", "column", "scores", "value")},
    **{call.__name__: call for call in (abs, len, max, min, round, set, sorted, sum, zip, statistics.median)},
}
"""What expressions may use."""

COUNT = NUMBER.pattern.replace(r"(?:\.\d+)?(?:e[+-]?\d+)?", "")
"""A number without decimals."""
LIST = rf"{COUNT}(?:(?:, | and | or | to |–){COUNT})*"
COUNTED = (
    "cells|clients?|components?|connections|cores?|days|dimensions|epochs|evaluations?|events|experiments|families"
    "|functions?|histories|hours?|kinds|leaves|minutes?|nodes|parameters?|plates|points|problems|repetitions|results?|rows"
    "|runs|seconds|seeds?|servers?|steps|studies|suggestions|tables|tasks|trials|wells|workers"
)
BEFORE = "[Aa]t|[Aa]fter|[Rr]evisions?|[Dd]ecisions?|[Ss]eeds?|steps?|commit|version|request|issue|AISTATS|Optuna"
FUNCTIONS = "|".join(sorted({name.split("_")[0] for name in FUNCTION_PROBLEMS}))
MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
SETTING = re.compile(
    rf"{LIST} (?:[a-z-]+ ){{0,2}}?(?:{COUNTED})\b"  # "10 and 20 evaluations", "17 textbook functions"
    rf"|\b(?:{BEFORE}) {LIST}(?! ?%| times)"  # "at 10 and 20", "revision 13"
    rf"|\b(?:goal|limit)(?::| of) {NUMBER.pattern}"
    rf"|\b(?:{FUNCTIONS}) {NUMBER.pattern}"  # "Hartmann 6"
    rf"|\b{NUMBER.pattern} (?:{MONTHS}) {NUMBER.pattern}|{NUMBER.pattern} or newer|\bBY {NUMBER.pattern}"
    rf"|{NUMBER.pattern} ?%(?: [a-z]+)? (?:intervals?|probability|ranges?|quantiles?|percentile)"
)
"""Numbers that say how something was measured, not what was found: counts of certain things, what follows certain
words, the dimension in the name of a function, dates, versions, the level of an interval."""
HIDDEN = re.compile(r"`[^`]*`|!\[[^]]*\]|\[\d{4}(?=\])|\]\([^)]*\)|<!--.*?-->|^ *\d+\. |^#.*")
"""Code, descriptions of images, numbers of decisions, addresses, comments, numbers of lists, headings."""
NOT_PROSE = re.compile(r"<!-- ([\w-]+):begin -->.*?<!-- \1:end -->|^```.*?^```", re.MULTILINE | re.DOTALL)
"""Generated tables, code."""

RESULT = re.compile(r"benchmarks/results/[\w-]+\.json\)")
LINK = re.compile(r"\]\(([^)#]+\.md)")
MEASURED = {ROOT / "docs" / f"{name}.md" for name in ("benchmarks", "outcomes", "paper", "quality", "sizing")}
"""Pages with measurements."""
REASONED = ("decisions/", "algorithm.md", "glossary.md", "mistakes.md", "reference/", "http.md")
"""Pages about what the code does, not how well. Decisions state past measurements."""


@dataclass(frozen=True, slots=True)
class Stated:
    """A text and the measurements that its comment names."""

    page: Path
    start: int
    """Where the text starts in the page."""
    line: int
    text: str
    """Without what is not read, which is replaced by spaces."""
    expressions: str | None
    """None: the text has no comment."""

    def found(self) -> list[re.Match[str]]:
        """The numbers in the text that are no settings."""
        settings = [each.span() for each in SETTING.finditer(self.text)]
        return [
            each
            for each in NUMBER.finditer(self.text)
            if not any(start <= each.start() < end for start, end in settings)
        ]

    def measured(self) -> list[float]:
        """The values of the expressions."""
        try:
            return list(flat(evaluated(f"[{self.expressions}]")))
        except Exception as error:
            error.add_note(f"{place(self.page, self.line)}: {self.expressions}")
            raise


def place(page: Path, line: int) -> str:
    """Where a text is, for messages."""
    return f"{os.path.relpath(page, ROOT)}:{line}"


def evaluated(expression: str) -> Any:
    """The value of an expression."""
    return eval(expression, {"__builtins__": {}, **NAMES})


def flat(values: Iterable[Any]) -> Iterator[float]:
    """The numbers of lists in lists."""
    for each in values:
        if isinstance(each, list | tuple):
            yield from flat(each)
        else:
            yield float(each)


def printed(value: float, like: str) -> str:
    """A value with as many digits as a number in a text; with two significant digits if it would be 0 otherwise."""
    if "e" in like:
        digits = len(like.partition("e")[0].partition(".")[2])
        mantissa, _, exponent = f"{value:.{digits}e}".partition("e")
        return f"{mantissa}e{int(exponent)}"
    text = f"{value:,.{len(like.partition('.')[2])}f}"
    if value and not number(text):
        text = f"{value:.2g}"
    return text.replace("-", "−") if "," in like or abs(value) >= 10_000 else text.replace(",", "").replace("-", "−")


def pages() -> list[Path]:
    """The pages that may state measurements."""
    docs = ROOT / "docs"
    found = [page for page in docs.rglob("*.md") if not page.relative_to(docs).as_posix().startswith(REASONED)]
    return sorted([ROOT / "README.md", *found])


def sections(text: str) -> Iterator[tuple[int, str]]:
    """The sections of a page below its second-level headings, and where they start."""
    starts = [0, *(each.start() for each in re.finditer(r"^## ", text, re.MULTILINE)), len(text)]
    for start, end in pairwise(starts):
        yield start, text[start:end]


def stated(page: Path) -> Iterator[Stated]:
    """The texts with a comment, those that link to measurements, and all of sections that link to a result file."""
    whole = page.read_text()
    for start, section in sections(NOT_PROSE.sub(_blank, whole)):
        has_results = RESULT.search(section)
        for offset, text, expressions in _texts(section):
            if expressions is not None or has_results or links_to_measurements(page, text):
                begin = start + offset
                yield Stated(page, begin, whole.count("\n", 0, begin) + 1, HIDDEN.sub(_blank, text), expressions)


def links_to_measurements(page: Path, text: str) -> bool:
    """Whether a text of a page links to a page with measurements."""
    return any((page.parent / link).resolve() in MEASURED for link in LINK.findall(text))


def _texts(section: str) -> Iterator[tuple[int, str, str | None]]:
    """Where each text of a section starts, the text, and the expressions of its comment."""
    block: list[tuple[int, str]] = []
    for line in re.finditer(r"[^\n]+", section):
        comments = list(COMMENT.finditer(line[0]))
        if comments and not COMMENT.sub("", line[0]).strip():
            first, last = block[0][0], block[-1][0] + len(block[-1][1])
            yield first, section[first:last], _expressions(comments[0])
            block = []
            continue
        if block and section[: line.start()].endswith("\n\n"):
            yield from ((at, text, None) for at, text in block)
            block = []
        done = 0
        for comment in comments:
            yield line.start() + done, line[0][done : comment.start()], _expressions(comment)
            done = comment.end()
        block.append((line.start() + done, line[0][done:]))
    yield from ((at, text, None) for at, text in block)


def _expressions(comment: re.Match[str]) -> str:
    return comment["expressions"] or ""


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def problems(page: Path) -> list[str]:
    """What a page states and the results do not."""
    text = page.read_text()
    return [
        *(problem for each in stated(page) for problem in _problems(each)),
        *(
            f"{place(page, text.count(chr(10), 0, each.start()) + 1)}: no longer holds: {each[1]}"
            for each in CONDITION.finditer(text)
            if not evaluated(each[1])
        ),
    ]


def _problems(text: Stated) -> Iterator[str]:
    at, found = place(text.page, text.line), text.found()
    if text.expressions is None:
        if found:
            yield f"{at}: no comment names the measurements of {', '.join(each[0] for each in found)}"
        return
    values = text.measured()
    if text.expressions and len(values) != len(found):
        stated, named = ", ".join(each[0] for each in found), ", ".join(f"{each:g}" for each in values)
        yield f"{at}: the text states {stated}; its comment names {len(values)} numbers: {named}"
        return
    for each, value in zip(found, values, strict=False):
        if each[0] != printed(value, each[0]):
            yield f"{at}: the text states {each[0]}, the results {value:g} ({COMMAND})"


def rewrite(page: Path) -> None:
    """Write the numbers of the results into the page."""
    text = page.read_text()
    for each in sorted(stated(page), key=lambda each: -each.start):
        found, values = each.found(), each.measured() if each.expressions else []
        if len(found) == len(values):
            for old, value in reversed(list(zip(found, values, strict=True))):
                start, end = each.start + old.start(), each.start + old.end()
                text = text[:start] + printed(value, old[0]) + text[end:]
    generated.write(page, text)


def main() -> int:
    """Print what is not so. Returns 1 if there is something."""
    parser = argparse.ArgumentParser(prog="python -m tools.docs.numbers", description="Numbers in prose")
    parser.add_argument("--write", action="store_true", help="write the numbers of the results into the pages")
    if parser.parse_args().write:
        for page in pages():
            rewrite(page)
    found = [problem for page in pages() for problem in problems(page)]
    print("\n".join(found))
    return int(bool(found))


if __name__ == "__main__":
    raise SystemExit(main())
