"""Columns of tables: numbers aligned at their decimal points."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from adabkb_service.contract.answers import Study
from adabkb_service.contract.parameters import Parameter
from adabkb_service.operations.words import wording

MAX_DIGITS = 5
"""The maximum number of digits of a number to which zeros are appended."""
NUMBER = re.compile(r"(?P<whole>[\N{MINUS SIGN}-]?\d[\d\N{NARROW NO-BREAK SPACE}]*)(\.(?P<decimals>\d+))?")
EXPONENT = re.compile(r"[\N{MINUS SIGN}-]?\d.*e.*")


def results(study: Study, values: Sequence[float | None]) -> list[str]:
    """Format results of the objective."""
    return aligned([wording.number(study, None, value) for value in values])


def parameter_values(parameter: Parameter, points: Sequence[Mapping[str, object]]) -> list[str | None]:
    """Format the values of a parameter in some points; None where it is inactive."""
    texts = [wording.setting(parameter, each[parameter.name]) if parameter.name in each else "" for each in points]
    if parameter.kind not in ("float", "int"):
        return [text or None for text in texts]
    return [text or None for text in aligned(texts)]


def aligned(texts: Sequence[str]) -> list[str]:
    """Append zeros to the numbers of a column, so that all have the same number of decimals. If one of them would have
    too many digits, or has an exponent, the texts stay as they are. Texts that are not numbers never change."""
    numbers = [found for text in texts if (found := NUMBER.fullmatch(text))]
    decimals = max((len(found["decimals"] or "") for found in numbers), default=0)
    digits = decimals + max((sum(map(str.isdigit, found["whole"])) for found in numbers), default=0)
    if not decimals or digits > MAX_DIGITS or any(map(EXPONENT.fullmatch, texts)):
        return list(texts)
    return [_with_decimals(text, decimals) for text in texts]


def _with_decimals(text: str, decimals: int) -> str:
    found = NUMBER.fullmatch(text)
    return text if found is None else f"{found['whole']}.{(found['decimals'] or '').ljust(decimals, '0')}"
