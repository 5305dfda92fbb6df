"""A model in the memory of its process: the model, its decisions and answers, and what the stored rows have of it."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from adabkb_service.inference.decisions import Decisions
from adabkb_service.inference.fold import fold
from adabkb_service.inference.kept_answers import KeptAnswers
from adabkb_service.inference.model import Model
from adabkb_service.storage.rows import EventRow


@dataclass
class CachedModel:
    """A model in memory."""

    model: Model
    decisions: Decisions = field(default_factory=Decisions)
    kept: KeptAnswers = field(default_factory=KeptAnswers)
    """Cached answers of the model as it is."""
    saved_seq: int = 0
    """Seq of the last event in the stored rows."""
    saved_dictionary: frozenset[int] | None = None
    """The dictionary as stored; None if it must be read."""
    stats_of: int | None = None
    """``model.rests_on`` of the stored statistics; None if they were not those of the model when it was restored."""
    measured_seq: int = 0
    """Seq of the last folded event when the model's size was measured."""
    used_at: float = field(default_factory=time.monotonic)
    """When the model last got a message, by ``time.monotonic``."""
    fold_seconds: float = 0.0
    """Seconds that it took to fold the latest events."""

    @property
    def has_new_stats(self) -> bool:
        """Whether the statistics of the model may differ from the stored ones."""
        return self.stats_of != self.model.rests_on

    @property
    def is_unsaved(self) -> bool:
        """Whether the stored rows lack events."""
        return self.model.seq > self.saved_seq

    @property
    def is_new_tree(self) -> bool:
        """Whether the stored cells are of the tree before an edit of the space."""
        return self.model.tree_seq > self.saved_seq

    def unsaved_cells(self) -> dict[str, str]:
        """Key -> status of the cells that changed since the rows were stored."""
        return {key: self.model.cells[key] for key, seq in self.model.changed.items() if seq > self.saved_seq}

    def fold(self, log: Sequence[EventRow], *, until: float = math.inf) -> None:
        """Fold the next events: see ``fold.fold``."""
        self.kept = KeptAnswers()
        started = time.monotonic()
        fold(self.model, self.decisions, log, until=until)
        self.fold_seconds = time.monotonic() - started

    def prepare(self) -> None:
        """Prepare for the next result: see ``Model.prepare``."""
        self.model.prepare()
        self.decisions.adopt_prepared(self.model)
