"""The server's state of one study's model: which events the model has folded, and which points it has decided on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Any

from adabkb_service.engine.slices import are_alike
from adabkb_service.inference.messages import Advance, Advanced, Ask, Forget, Lost, Postponed, Reply, Withdraw
from adabkb_service.inference.pool import Inference
from adabkb_service.inference.proposals import Proposal
from adabkb_service.inference.restriction import UNRESTRICTED, Restriction
from adabkb_service.storage.columns import ModelStats
from adabkb_service.storage.rows import EventRow, StudyRow
from adabkb_service.timeouts import Timeouts

POSTPONED_IN_A_ROW = 20
"""After this many consecutive database errors of a model, it gets no requests for ``Timeouts.suggestion`` seconds, and
suggestions do not wait for it."""
MAX_BACKOFF_SECONDS = 60.0
"""The maximum time for which no messages are sent for a study after its messages have repeatedly ended the model
process."""
NO_POINTS = (-1, 0)
"""The request for points of a link that has requested none."""


@dataclass
class Prefetched:
    """Proposals, to be issued in this order."""

    points: list[Proposal]
    rests_on: int
    """Seq of the last event that affects the model before the first proposal. If a later event that affects the model
    is committed, the proposals are outdated."""
    is_all: bool = False
    """Whether a finite space, or the slice, has no points left besides these."""
    asked: int = 0
    """Number of points requested. There are fewer proposals if no points were left, or if the time limit was
    reached."""
    within: Restriction = UNRESTRICTED
    """The restriction on the points."""
    is_plate_over: bool = False
    """As in ``Advanced``."""

    def take(
        self,
        count: int,
        rests_on: int | None,
        within: Restriction = UNRESTRICTED,
    ) -> list[Proposal] | None:
        """Return the first ``count`` points, or fewer if there are no more. Return None if the points are outdated
        (their ``rests_on`` differs), do not satisfy the restriction ``within``, or are too few although the model may
        have more."""
        is_enough = len(self.points) >= count or self.is_all or self.asked >= count
        if rests_on != self.rests_on or not is_enough or not self._serve(within):
            return None
        return self.points[:count]

    def valid(self, rests_on: int | None, within: Restriction) -> list[Proposal]:
        """Return the points, even if there are few, if they are not outdated and satisfy this restriction; otherwise an
        empty list."""
        return self.points if rests_on == self.rests_on and self._serve(within) else []

    def is_over(self, within: Restriction) -> bool:
        """Whether all points with the shared values of this restriction's open plate are issued. Call this only if
        ``take`` did not return None."""
        return self.is_plate_over and within.is_like(self.within)

    def _serve(self, within: Restriction) -> bool:
        """Whether the points may be issued to a request with this restriction. If they were decided for a new plate,
        this includes requests for the rest of that plate. If all points of the request's plate are issued, the points
        begin the next plate."""
        if not self.points:
            return within.is_like(self.within)
        first = self.points[0].fixed
        begins = within.is_like(self.within) and are_alike(first, within.fixed)
        return begins or are_alike(first, within.continued)

    def remove_issued(self, count: int, rests_on: int) -> None:
        """Remove the first ``count`` points, since they were issued. ``rests_on`` is the seq of the event that issued
        the last of them."""
        self.points, self.rests_on, self.asked = self.points[count:], rests_on, max(self.asked - count, 0)
        if self.is_all and not self.points and (self.within.shared or self.within.plate is not None):
            # the plate has no point left, but another plate may have, so the model must be asked again
            self.is_all, self.asked = False, 0


class ModelLink:
    """The server's connection to one study's model. Only the thread that works on the study uses it."""

    def __init__(
        self,
        study_id: str,
        inference: Inference,
        receive: Callable[[Reply], None],
        timeouts: Timeouts,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """``receive`` is called with every reply, from any thread. ``timeouts`` limits how long requests wait."""
        self.study_id = study_id
        self.inference = inference
        self.receive = receive
        self.timeouts = timeouts
        self.clock = clock
        self.incarnation = ""
        self.study_seq = 0
        """Seq of the last event known to the server."""
        self.rests_on: int | None = None
        """Seq of the last known event that affects the model; None if not known."""
        self.model_seq = 0
        """Seq of the last event that the model has folded."""
        self.prefetched = Prefetched([], -1)
        self.model_stats: ModelStats | None = None
        self.error: str | None = None
        """Why the model's last attempt to fold the log or to decide failed; None if it succeeded."""
        self.can_fold = True
        """Whether the model's last attempt to fold the log succeeded."""
        self._requested_seq = 0
        """Seq of the last event that the model was asked to fold."""
        self._unsent: list[EventRow] = []
        """Events after ``_requested_seq`` that have not been sent to the model."""
        self._requested_points = NO_POINTS
        """The last request for points: the event that they rest on, and their number."""
        self._requested_within = UNRESTRICTED
        """The restriction on these points."""
        self._waiting_since: float | None = None
        self._lost = 0
        """Number of consecutive processes that ended before they replied."""
        self._lost_last = 0
        """The ``run`` of the last of these processes."""
        self._postponed = 0
        """Number of consecutive times that the model could not read its log."""
        self._backoff_until = 0.0

    def begin(self, study: StudyRow) -> None:
        """Prepare for work on the study. Drop this state if it belongs to another study with the same id. If another
        server has written events, the model reads them from the database at the next request."""
        if study.incarnation != self.incarnation:
            self.incarnation = study.incarnation
            self.study_seq = 0
            self.model_seq = 0
            self.model_stats = None
            self.error = None
            self.can_fold = True
            self.prefetched = Prefetched([], -1)
            self._waiting_since = None
        if study.study_seq != self.study_seq:  # another server has written events
            self.study_seq = study.study_seq
            self.rests_on = None
            self._requested_seq = 0
            self._unsent = []

    def reset(self) -> None:
        """Make the next ``begin`` act as if another server had written events, since messages or replies may be
        lost."""
        self.study_seq = 0
        self._waiting_since = None

    def note_events(self, events: list[EventRow]) -> None:
        """Record events that were committed, so that the next request sends them."""
        for event in events:
            self.study_seq = event.seq
            if event.affects_model and self.rests_on is not None:
                self.rests_on = event.seq
        self._unsent.extend(events)

    @property
    def loaded_at(self) -> float:
        """When the engine finished loading, by ``time.monotonic``; infinite until then. Time limits for the model begin
        at this time."""
        return self.inference.loaded_at

    def is_up_to_date(self) -> bool:
        """Whether the model has folded every known event."""
        return self.model_seq >= self.study_seq

    def is_worth_waiting_for(self) -> bool:
        """Whether a useful reply of the model may arrive soon."""
        now = self.clock()
        if now < self._backoff_until:
            return False
        if (self.error is not None or not self.can_fold) and self._requested_seq <= self.model_seq:
            return False
        return self._waiting_since is None or now - max(self._waiting_since, self.loaded_at) < self.timeouts.suggestion

    def advance(self, count: int, within: Restriction = UNRESTRICTED) -> None:
        """Ask the model to fold all events and to decide on ``count`` points with the restriction ``within``. Do
        nothing if the last request was for the same events and at least as many such points, or during the backoff
        after a failure."""
        has_points = self._requested_points >= (self.rests_on or -1, count) and within.is_like(self._requested_within)
        is_requested = self._requested_seq == self.study_seq and (count == 0 or has_points)
        if is_requested or self.clock() < self._backoff_until:
            return
        events, self._unsent = self._unsent, []
        self._requested_seq = self.study_seq
        self._requested_points = self.rests_on or -1, count
        self._requested_within = within
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
            self._forget_requests()
        elif isinstance(reply, Postponed):
            self._postponed += 1
            if self._postponed % POSTPONED_IN_A_ROW == 0:
                self._backoff_until = self.clock() + self.timeouts.suggestion
            self._forget_requests()
        elif isinstance(reply, Advanced) and reply.incarnation == self.incarnation:
            is_last = not reply.behind and reply.model_seq >= self._requested_seq
            self._waiting_since = None if is_last else self.clock()
            if not reply.behind:
                self._adopt(reply)

    def _forget_requests(self) -> None:
        """Make the next ``advance`` send a message, since the model has not done what the last message asked for."""
        self._requested_seq = 0
        self._unsent = []
        self._requested_points = NO_POINTS
        self._waiting_since = None

    def _adopt(self, reply: Advanced) -> None:
        self.model_seq = reply.model_seq
        self._lost = 0
        self._postponed = 0
        was_undecided = self.error is not None and self.can_fold
        self.can_fold = reply.can_fold
        if reply.error is not None or not was_undecided or reply.points:
            self.error = reply.error
        if not reply.can_fold:
            return
        if reply.model_stats is not None:
            self.model_stats = reply.model_stats
        if reply.model_seq == self.study_seq:
            self.rests_on = reply.rests_on
        self.prefetched = Prefetched(
            reply.points, reply.rests_on, reply.is_all, reply.asked, reply.within, reply.is_plate_over
        )
