"""The server's view of one study's model: how far it has folded the log, and which points it has decided on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from adabkb_service.engine.slices import are_alike
from adabkb_service.inference.messages import Advance, Advanced, Ask, Forget, Lost, Postponed, Reply, Withdraw
from adabkb_service.inference.pool import Inference
from adabkb_service.inference.proposals import Proposal
from adabkb_service.inference.restriction import UNRESTRICTED, Restriction
from adabkb_service.storage.rows import EventRow, StudyRow
from adabkb_service.timeouts import Timeouts

POSTPONED_IN_A_ROW = 20
"""Consecutive database errors of a model, after which suggestions stop waiting for a while."""
MAX_BACKOFF_SECONDS = 60.0
"""Longest time for which a study gets no work after its work has repeatedly ended its process."""


@dataclass
class Prefetched:
    """Proposals to issue in order."""

    points: list[Proposal]
    rests_on: int
    """Seq of the last event that affects the model as of the first decision."""
    is_all: bool = False
    """Whether a finite space has no points left beyond these."""
    asked: int = 0
    """How many were requested; fewer are present if the space or the time ran out."""
    within: Restriction = UNRESTRICTED
    """What the points have in common."""

    def take(
        self,
        count: int,
        rests_on: int | None,
        within: Restriction = UNRESTRICTED,
    ) -> list[Proposal] | None:
        """The first points if they rest on this event and have exactly this in common; None if there are fewer than
        ``count``, unless the model gives no more."""
        is_enough = len(self.points) >= count or self.is_all or self.asked >= count
        if rests_on != self.rests_on or not is_enough or not self._serve(within):
            return None
        return self.points[:count]

    def _serve(self, within: Restriction) -> bool:
        """Whether the points are what a request with this restriction gets. After the first points of a plate were
        issued, the others continue it. A plate without a point left is not continued."""
        if not self.points:
            return within.is_like(self.within)
        first = self.points[0].fixed
        begins = within.is_like(self.within) and are_alike(first, within.fixed)
        return begins or are_alike(first, within.continued)

    def handed_out(self, count: int, rests_on: int) -> None:
        """Remove the first points, which were issued; ``rests_on`` is the event of the last one."""
        self.points, self.rests_on, self.asked = self.points[count:], rests_on, max(self.asked - count, 0)


@dataclass
class ModelLink:
    """The server's state of one study's model. Used only by the thread that serves the study."""

    study_id: str
    inference: Inference
    receive: Callable[[Reply], None]
    """Called with every reply, on any thread."""
    timeouts: Timeouts = field(default_factory=Timeouts)
    """How long requests wait for the model."""
    clock: Callable[[], float] = monotonic
    incarnation: str = ""
    study_seq: int = 0
    """Seq of the last event known to the server."""
    rests_on: int | None = None
    """Seq of the last known event that affects the model; None if not known."""
    model_seq: int = 0
    """Seq of the last event that the model has folded."""
    prefetched: Prefetched = field(default_factory=lambda: Prefetched([], -1))
    model_stats: dict[str, Any] | None = None
    error: str | None = None
    """Why the model failed to fold the log or to decide at its last attempt."""
    can_follow: bool = True
    """Whether folding succeeded."""
    _requested_seq: int = 0
    """Seq of the last event that the model was asked to fold."""
    _unsent: list[EventRow] = field(default_factory=list)
    """Later events."""
    _requested_points: tuple[int, int] = (-1, 0)
    """Position and number of the points last requested."""
    _requested_within: Restriction = UNRESTRICTED
    """What these points have in common."""
    _waiting_since: float | None = None
    _lost: int = 0
    """Consecutive processes that ended before they could reply."""
    _lost_last: int = 0
    """Number of the last of them."""
    _postponed: int = 0
    """Consecutive times that the model could not read its log."""
    _backoff_until: float = 0.0

    def begin(self, study: StudyRow) -> None:
        """Prepare for work on the study: drop all state of another incarnation or log."""
        if study.incarnation != self.incarnation:
            self.incarnation, self.study_seq, self.model_seq = study.incarnation, 0, 0
            self.model_stats, self.error, self.can_follow, self._waiting_since = None, None, True, None
            self.prefetched = Prefetched([], -1)
        if study.study_seq != self.study_seq:  # another server has written events
            self.study_seq, self.rests_on, self._requested_seq, self._unsent = study.study_seq, None, 0, []

    def reset(self) -> None:
        """Resend the log to the model, since messages or replies may be lost."""
        self.study_seq, self._waiting_since = 0, None

    def note_events(self, events: list[EventRow]) -> None:
        """Note committed events."""
        for event in events:
            self.study_seq = event.seq
            if event.affects_model and self.rests_on is not None:
                self.rests_on = event.seq
        self._unsent.extend(events)

    @property
    def loaded_at(self) -> float:
        """When the engine finished loading, by ``time.monotonic``; infinite until then. Waiting times count from
        then."""
        return self.inference.loaded_at

    def has_followed(self) -> bool:
        """Whether the model has folded every known event."""
        return self.model_seq >= self.study_seq

    def is_worth_waiting_for(self) -> bool:
        """Whether a useful reply may arrive soon."""
        now = self.clock()
        if now < self._backoff_until:
            return False
        if (self.error is not None or not self.can_follow) and self._requested_seq <= self.model_seq:
            return False
        return self._waiting_since is None or now - max(self._waiting_since, self.loaded_at) < self.timeouts.suggestion

    def advance(self, count: int, within: Restriction = UNRESTRICTED) -> None:
        """Ask the model to fold all events and to decide on so many points that have this in common, unless that was
        its last request."""
        has_points = self._requested_points >= (self.rests_on or -1, count) and within.is_like(self._requested_within)
        is_requested = self._requested_seq == self.study_seq and (count == 0 or has_points)
        if is_requested or self.clock() < self._backoff_until:
            return
        events, self._unsent = self._unsent, []
        self._requested_seq, self._requested_points, self._requested_within = (
            self.study_seq,
            (self.rests_on or -1, count),
            within,
        )
        if self._waiting_since is None:
            self._waiting_since = self.clock()
        self.inference.post(
            Advance(self.study_id, self.incarnation, self.study_seq, events, count, within), self.receive
        )

    def ask(self, number: int, question: str, arguments: tuple[Any, ...], receive: Callable[[Reply], None]) -> None:
        """Ask the model to fold all events and then answer a question."""
        self.inference.post(Ask(self.study_id, self.incarnation, self.study_seq, question, arguments, number), receive)

    def withdraw(self, number: int) -> None:
        """Withdraw a question that no request waits for any more."""
        self.inference.post(Withdraw(self.study_id, number), self.receive)

    def forget(self) -> None:
        """Drop the model."""
        self.incarnation = ""
        self.inference.post(Forget(self.study_id), self.receive)

    def adopt(self, reply: Reply) -> None:
        """Update the state from a reply."""
        if isinstance(reply, Lost):
            if reply.run == self._lost_last:  # another message to the same process
                return
            self._lost += 1
            self._lost_last = reply.run
            seconds = min(2.0**self._lost, MAX_BACKOFF_SECONDS) if self._lost > 1 else 0.0
            self._backoff_until = self.clock() + seconds
            self._requested_seq, self._unsent, self._requested_points, self._waiting_since = 0, [], (-1, 0), None
        elif isinstance(reply, Postponed):
            self._postponed += 1
            if self._postponed % POSTPONED_IN_A_ROW == 0:
                self._backoff_until = self.clock() + self.timeouts.suggestion
            self._requested_seq, self._unsent, self._requested_points, self._waiting_since = 0, [], (-1, 0), None
        elif isinstance(reply, Advanced) and reply.incarnation == self.incarnation:
            is_last = not reply.behind and reply.model_seq >= self._requested_seq
            self._waiting_since = None if is_last else self.clock()
            if not reply.behind:
                self._adopt(reply)

    def _adopt(self, reply: Advanced) -> None:
        self.model_seq, self._lost, self._postponed = reply.model_seq, 0, 0
        was_undecided = self.error is not None and self.can_follow
        self.can_follow = reply.can_follow
        if reply.error is not None or not was_undecided or reply.points:
            self.error = reply.error
        if not reply.can_follow:
            return
        if reply.model_stats is not None:
            self.model_stats = reply.model_stats
        if reply.model_seq == self.study_seq:
            self.rests_on = reply.rests_on
        self.prefetched = Prefetched(reply.points, reply.rests_on, reply.is_all, reply.asked, reply.within)
