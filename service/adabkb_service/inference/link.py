"""What the server knows of the model of one study: how far it has come, and which points it has decided on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from adabkb_service.engine.slices import are_alike
from adabkb_service.inference.messages import Advance, Advanced, Ask, Forget, Lost, Postponed, Reply, Withdraw
from adabkb_service.inference.pool import Inference
from adabkb_service.inference.proposals import Proposal
from adabkb_service.storage.rows import EventRow, StudyRow
from adabkb_service.timeouts import Timeouts

POSTPONED_IN_A_ROW = 20
"""Times that the database does not answer a model, after which suggestions stop waiting for a while."""
MAX_BACKOFF_SECONDS = 60.0
"""For which a study gets no work at most, after its work has ended its process again and again."""


@dataclass
class Prefetched:
    """Proposals that can be handed out one after the other."""

    points: list[Proposal]
    rests_on: int
    """Seq of the last event that affects the model, when the first one was decided on."""
    is_all: bool = False
    """Whether no point of a finite space is left beyond these."""
    asked: int = 0
    """How many were asked for: fewer came if there were no more, or not in time."""
    fixed: dict[str, Any] | None = None
    """Values that parameters of the points have."""

    def take(self, count: int, rests_on: int | None, fixed: dict[str, Any] | None = None) -> list[Proposal] | None:
        """The first points, if they rest on this event, hold these parameters fixed and no others, and are enough or
        all that the model gives."""
        is_enough = len(self.points) >= count or self.is_all or self.asked >= count
        if rests_on != self.rests_on or not is_enough or not are_alike(fixed, self.fixed):
            return None
        return self.points[:count]

    def handed_out(self, count: int, rests_on: int) -> None:
        """The first points are handed out now, the last of them by this event."""
        self.points, self.rests_on, self.asked = self.points[count:], rests_on, max(self.asked - count, 0)


@dataclass
class ModelLink:
    """The model of one study, from the server's side. Used by the thread that serves the study."""

    study_id: str
    inference: Inference
    receive: Callable[[Reply], None]
    """Given every reply, on any thread."""
    timeouts: Timeouts = field(default_factory=Timeouts)
    """How long requests wait for the model."""
    clock: Callable[[], float] = monotonic
    incarnation: str = ""
    study_seq: int = 0
    """Seq of the last event that the server knows of."""
    rests_on: int | None = None
    """Seq of the last event among them that affects the model, where that is known."""
    model_seq: int = 0
    """Seq of the last event that the model has folded."""
    prefetched: Prefetched = field(default_factory=lambda: Prefetched([], -1))
    figures: dict[str, Any] | None = None
    error: str | None = None
    """Why the model could not follow the log, or not decide, when it last tried."""
    can_follow: bool = True
    """Whether it could follow."""
    _told: int = 0
    """Seq of the last event that the model was told to fold."""
    _untold: list[EventRow] = field(default_factory=list)
    """Events after that."""
    _asked: tuple[int, int] = (-1, 0)
    """Position and number of the points that the model was last asked for."""
    _asked_fixed: dict[str, Any] | None = None
    """Values that parameters of these points were to have."""
    _waiting_since: float | None = None
    _lost: int = 0
    """Processes that have ended one after the other before they could reply."""
    _lost_last: int = 0
    """Number of the last of them."""
    _postponed: int = 0
    """Times in a row that the model could not read its log."""
    _backoff_until: float = 0.0

    def begin(self, study: StudyRow) -> None:
        """The study is about to be worked on: what is known of its model must be about this log."""
        if study.incarnation != self.incarnation:
            self.incarnation, self.study_seq, self.model_seq = study.incarnation, 0, 0
            self.figures, self.error, self.can_follow, self._waiting_since = None, None, True, None
            self.prefetched = Prefetched([], -1)
        if study.study_seq != self.study_seq:  # another server has written events
            self.study_seq, self.rests_on, self._told, self._untold = study.study_seq, None, 0, []

    def reset(self) -> None:
        """What was said to the model and heard from it may be lost: it is told anew."""
        self.study_seq, self._waiting_since = 0, None

    def logged(self, events: list[EventRow]) -> None:
        """Events were committed."""
        for event in events:
            self.study_seq = event.seq
            if event.affects_model and self.rests_on is not None:
                self.rests_on = event.seq
        self._untold.extend(events)

    @property
    def loaded_at(self) -> float:
        """When the engine was loaded, by ``time.monotonic``; infinite until then. Waits for it count from then."""
        return self.inference.loaded_at

    def has_followed(self) -> bool:
        """Whether the model has folded everything."""
        return self.model_seq >= self.study_seq

    def is_worth_waiting_for(self) -> bool:
        """Whether a reply may come soon, and be of use."""
        now = self.clock()
        if now < self._backoff_until:
            return False
        if (self.error is not None or not self.can_follow) and self._told <= self.model_seq:
            return False
        return self._waiting_since is None or now - max(self._waiting_since, self.loaded_at) < self.timeouts.suggestion

    def advance(self, count: int, fixed: dict[str, Any] | None = None) -> None:
        """Let the model fold everything, and decide on so many points with these values of parameters, unless that is
        what it was last told."""
        is_asked = self._asked >= (self.rests_on or -1, count) and are_alike(fixed, self._asked_fixed)
        is_told = self._told == self.study_seq and (count == 0 or is_asked)
        if is_told or self.clock() < self._backoff_until:
            return
        events, self._untold = self._untold, []
        self._told, self._asked, self._asked_fixed = self.study_seq, (self.rests_on or -1, count), fixed
        if self._waiting_since is None:
            self._waiting_since = self.clock()
        self.inference.post(
            Advance(self.study_id, self.incarnation, self.study_seq, events, count, fixed), self.receive
        )

    def ask(self, number: int, question: str, arguments: tuple[Any, ...], receive: Callable[[Reply], None]) -> None:
        """Let the model fold everything, and answer a question then."""
        self.inference.post(Ask(self.study_id, self.incarnation, self.study_seq, question, arguments, number), receive)

    def withdraw(self, number: int) -> None:
        """Withdraw a question: no request waits for its answer any more."""
        self.inference.post(Withdraw(self.study_id, number), self.receive)

    def forget(self) -> None:
        """Let the model be dropped."""
        self.incarnation = ""
        self.inference.post(Forget(self.study_id), self.receive)

    def adopt(self, reply: Reply) -> None:
        """Take a reply in."""
        if isinstance(reply, Lost):
            if reply.run == self._lost_last:  # another message to the same one
                return
            self._lost += 1
            self._lost_last = reply.run
            seconds = min(2.0**self._lost, MAX_BACKOFF_SECONDS) if self._lost > 1 else 0.0
            self._backoff_until = self.clock() + seconds
            self._told, self._untold, self._asked, self._waiting_since = 0, [], (-1, 0), None
        elif isinstance(reply, Postponed):
            self._postponed += 1
            if self._postponed % POSTPONED_IN_A_ROW == 0:
                self._backoff_until = self.clock() + self.timeouts.suggestion
            self._told, self._untold, self._asked, self._waiting_since = 0, [], (-1, 0), None
        elif isinstance(reply, Advanced) and reply.incarnation == self.incarnation:
            is_last = not reply.behind and reply.model_seq >= self._told
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
        if reply.figures is not None:
            self.figures = reply.figures
        if reply.model_seq == self.study_seq:
            self.rests_on = reply.rests_on
        self.prefetched = Prefetched(reply.points, reply.rests_on, reply.is_all, reply.asked, reply.fixed)
