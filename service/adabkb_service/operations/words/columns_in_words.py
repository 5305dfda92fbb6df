"""Columns of tables: numbers aligned at their decimal points. ``column`` in ``assets/words.js`` does the same in the
browser."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from adabkb_service.contract.answers import Study
from adabkb_service.contract.parameters import Parameter
from adabkb_service.operations.words import wording
from adabkb_service.operations.words.values_in_words import LARGE, MINUS, SPACE, TIMES, figure, fixed

MAX_DIGITS = 5
"""The numbers of a column get the same number of decimals only if none of them then has more digits than this."""
MIN_DIGITS = 3
"""The minimum number of digits of a number that is rounded to the decimals of its column."""
NUMBER = re.compile(r"(?P<whole>[\N{MINUS SIGN}-]?\d[\d\N{NARROW NO-BREAK SPACE}]*)(\.(?P<decimals>\d+))?")
EXPONENT = re.compile(rf"[{MINUS}-]?\d.*(e|{TIMES}).*")


def results(study: Study, name: str | None, values: Sequence[float | None]) -> list[str]:
    """Format results of a metric, or of the objective: with the digits that the study specifies, otherwise all with the
    same number of decimals."""
    texts = [wording.number(study, name, value) for value in values]
    return texts if wording.quantity(study, name).digits is not None else rounded(texts)


def errors(values: Sequence[float | None]) -> list[str]:
    """Format standard errors, all with the decimals that give the smallest one two digits; unknown ones are empty. If
    this takes too many decimals, or if an error is at least ``LARGE``, format each with two digits of its own."""
    known = [value for value in values if value is not None]
    places = max((1 - math.floor(math.log10(value)) for value in known if value > 0.0), default=0)
    if places > MAX_DIGITS or max(known, default=0.0) >= LARGE:
        return ["" if value is None else figure(value, 2) for value in values]
    return ["" if value is None else fixed(value, max(places, 0)) for value in values]


def parameter_values(parameter: Parameter, points: Sequence[Mapping[str, object]]) -> list[str | None]:
    """Format the values of a parameter in some points; None where it is inactive. If one of them is rounded, each has
    its own decimals: zeros would look like measured ones."""
    values = [each.get(parameter.name) for each in points]
    texts = ["" if value is None else wording.setting(parameter, value) for value in values]
    is_rounded = any(value is not None and wording.is_rounded(parameter, value) for value in values)
    if parameter.kind not in ("float", "int") or is_rounded:
        return [text or None for text in texts]
    return [text or None for text in aligned(texts)]


def aligned(texts: Sequence[str]) -> list[str]:
    """Append zeros to the numbers of a column, so that all have the same number of decimals. If one of them would have
    too many digits, or has an exponent, the texts stay as they are. Texts that are not numbers never change."""
    whole, decimals = _digits(texts)
    if not decimals or whole + decimals > MAX_DIGITS or any(map(EXPONENT.fullmatch, texts)):
        return list(texts)
    return [_with_decimals(text, decimals) for text in texts]


def rounded(texts: Sequence[str]) -> list[str]:
    """Align the numbers of a column. If one of them would have too many digits, round all to fewer decimals, unless a
    small one would be left with too few digits."""
    whole, decimals = _digits(texts)
    fewer = max(MAX_DIGITS - whole, 0)
    if decimals <= fewer or any(map(EXPONENT.fullmatch, texts)):
        return aligned(texts)
    if any(_is_too_small(text, fewer) for text in texts):
        return list(texts)
    return [_with_decimals(text, fewer) for text in texts]


def _digits(texts: Sequence[str]) -> tuple[int, int]:
    """Return the maximum numbers of digits before and after the decimal points of the numbers."""
    numbers = [found for text in texts if (found := NUMBER.fullmatch(text))]
    whole = max((sum(map(str.isdigit, found["whole"])) for found in numbers), default=0)
    return whole, max((len(found["decimals"] or "") for found in numbers), default=0)


def _is_too_small(text: str, decimals: int) -> bool:
    """Return whether a number loses digits with so few decimals, and has fewer than ``MIN_DIGITS`` left."""
    found = NUMBER.fullmatch(text)
    if found is None or len(found["decimals"] or "") <= decimals:
        return False
    return abs(_number(text)) < 10.0 ** (MIN_DIGITS - 1 - decimals)


def _with_decimals(text: str, decimals: int) -> str:
    found = NUMBER.fullmatch(text)
    if found is None:
        return text
    known = found["decimals"] or ""
    if len(known) > decimals:
        return fixed(_number(text), decimals)
    return f"{found['whole']}.{known.ljust(decimals, '0')}" if decimals else found["whole"]


def _number(text: str) -> float:
    return float(text.replace(MINUS, "-").replace(SPACE, ""))
