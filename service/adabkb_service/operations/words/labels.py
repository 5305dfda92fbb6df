"""Labels and units of the study's parameters and quantities, for sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from adabkb_service.contract.parameters import Parameter
from adabkb_service.contract.quantities import OBJECTIVE, UNNAMED, Quantity, with_unit
from adabkb_service.contract.stored import StoredDefinition
from adabkb_service.errors import MAX_NAME_LENGTH, shortened, shown

FEW_WORDS = 3
"""A text of a user with more words is in quotation marks, since it could be mistaken for a part of the sentence."""


def marked(text: str) -> str:
    """Return a user's text for a sentence, cut to ``MAX_NAME_LENGTH``: on one line, and in quotation marks if it has
    many words or looks like a sentence. Agents read these sentences, and must not take such a text for a statement of
    the server."""
    words = text.split()
    is_plain = not any(word.endswith((":", "!", "?")) for word in words) and len(text.splitlines()) <= 1
    if len(words) <= FEW_WORDS and is_plain:
        return shortened(text, MAX_NAME_LENGTH)
    return '"' + shortened(" ".join(words).replace('"', "'"), MAX_NAME_LENGTH) + '"'


@dataclass(frozen=True)
class Labels:
    """The labels and units of a study. Where there is no label, the name is used."""

    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    quantities: Mapping[str, Quantity] = field(default_factory=dict)

    @classmethod
    def of(cls, definition: StoredDefinition) -> Labels:
        """Return the labels and units of a definition."""
        return cls({each.name: each for each in definition.parameters}, definition.quantities)

    def parameter(self, name: str) -> str:
        """Return the label of a parameter."""
        known = self.parameters.get(name)
        return marked((known and known.label) or name)

    def value(self, name: str, value: Any) -> str:
        """Return a value of a parameter, with its unit."""
        known = self.parameters.get(name)
        is_whole = isinstance(value, float) and value.is_integer()
        return with_unit(shown(int(value) if is_whole else value), known.unit if known else None)

    def quantity(self, metric: str = "") -> Quantity:
        """Return the quantity of a metric, or of the single objective."""
        return self.quantities.get(metric or OBJECTIVE, UNNAMED)

    def metric(self, name: str) -> str:
        """Return the label of a metric."""
        return marked(self.quantity(name).label or name)
