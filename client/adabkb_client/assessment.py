"""A study in a few sentences, with the facts that they are made from, as frozen records."""

from collections.abc import Mapping
from dataclasses import dataclass

from adabkb_client import text
from adabkb_client.analysis import ParameterImportance
from adabkb_client.models import Best, Parameters, Prediction


@dataclass(frozen=True)
class Progress:
    """Is it going well? The best result, and what the model expects of the objective there."""

    text: str
    best: Best | None
    expected: Prediction | None


@dataclass(frozen=True)
class LatestTrial:
    """Why this point? The latest trial, and what became of it."""

    text: str
    trial: int
    state: str
    origin: str
    phase: str | None
    expected: Prediction | None


@dataclass(frozen=True)
class Findings:
    """What was learned? ``importances`` are by objective ("" where there is one), without those that cannot be believed
    yet; ``untried`` has, by parameter, the choices that no trial and no result has."""

    text: str
    importances: Mapping[str, tuple[ParameterImportance, ...]]
    untried: Parameters


@dataclass(frozen=True)
class Outlook:
    """Can one stop? ``gap`` holds with ``probability``; ``reason`` says why it is not known, and ``fewest`` from how
    many results on it is. ``noise`` is the standard deviation between repeated results, where they are known to be
    noisy."""

    text: str
    gap: float | None
    probability: float | None
    reason: str | None
    fewest: int | None
    noise: float | None
    results_since_best: int


@dataclass(frozen=True)
class Check:
    """A warning: what to know before believing the model. docs/http.md says what each ``check`` means.

    ``observation`` is that of an outlier; ``parameter`` the one at whose end the best point is, and ``widened`` it with
    a wider range, in wire form; ``metric`` the objective, if there are several.
    """

    check: str
    text: str
    metric: str | None = None
    observation: int | None = None
    parameter: str | None = None
    widened: Parameters | None = None


@dataclass(frozen=True, repr=False)
class Assessment:
    """A study in a few sentences. In a console it is shown as these."""

    results: int
    standing: str
    progress: Progress
    latest: LatestTrial | None
    findings: Findings | None
    outlook: Outlook
    checks: tuple[Check, ...]

    def __repr__(self) -> str:
        return text.assessment(self)
