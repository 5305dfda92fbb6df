"""The work of a model process: process the messages for each study, in steps.

A long log is folded in several steps, so that one study does not block another. Not all steps can be divided: a single
call of the engine may take long.
"""

from __future__ import annotations

import logging
import threading
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice

from adabkb_service.errors import AdaBKBError, StudyNotFound
from adabkb_service.inference.cached_model import CachedModel
from adabkb_service.inference.messages import (
    Advance,
    Advanced,
    Answered,
    Ask,
    CannotFold,
    Forget,
    Message,
    Postponed,
    Reply,
    Superseded,
    Withdraw,
    Work,
)
from adabkb_service.inference.reads import Read, Reads, answered
from adabkb_service.inference.step_queue import FOLDS, LEARNS
from adabkb_service.inference.store import SAVE_EVENTS, ModelStore
from adabkb_service.storage.rows import EventRow
from adabkb_service.timeouts import UNLIMITED_SECONDS

logger = logging.getLogger(__name__)

FOLD_SECONDS = 0.1
"""The time after which a step stops folding. The server then gets a progress report, and other studies take their
steps."""
IDLE_SECONDS = 1.0
"""Default idle time, after which a model with unstored changes is stored."""
FEW_RESULTS = 100
"""With at most this many results (by default), a step that learns takes at most about 50 ms, and is scheduled like a
step that folds."""
POSTPONED_SECONDS = 0.1
"""After a database error, delay before the server is asked to send the message again."""

IGNORED_AHEAD = (AdaBKBError, ArithmeticError, ValueError)
"""Errors that are ignored while ``_work_ahead`` prepares or stores a model. They occur again, and are reported, when
the outcome is needed."""

Send = Callable[[int, Reply], None]
"""Sends a reply to the server; the first argument is the number of the message."""


class ModelHost:
    """The models of a process, and a queue of messages for each study."""

    def __init__(
        self,
        store: ModelStore,
        send: Send,
        decision_seconds: float = UNLIMITED_SECONDS,
        reads: Reads | None = None,
        fold_seconds: float = FOLD_SECONDS,
        save_events: int = SAVE_EVENTS,
        idle_seconds: float = IDLE_SECONDS,
        few_results: int = FEW_RESULTS,
    ) -> None:
        """Create a host without messages.

        Args:
            store: the models.
            send: sends replies to the server.
            decision_seconds: time limit for deciding on the points of one suggestion.
            reads: the queue for long questions; if None, steps answer all questions.
            fold_seconds: the time after which a step stops folding.
            save_events: a model is stored when its rows lack this many events.
            idle_seconds: idle time after which a model with unstored changes is stored.
            few_results: with at most this many results, a step that learns is scheduled like one that folds.
        """
        self._fold_seconds, self._save_events, self._idle_seconds = fold_seconds, save_events, idle_seconds
        self._decision_seconds, self._few_results = decision_seconds, few_results
        self._reads = reads
        self.store = store
        self._send = send
        self._guard = threading.Lock()
        self._waiting: dict[str, deque[tuple[int, Work]]] = {}
        self._at_work: set[str] = set()
        """Studies with a step in progress. Their first message must stay the first in the queue."""
        self._logs: dict[str, tuple[str, list[EventRow]]] = {}
        """Study -> incarnation and the events that its model lacks, as long as a step could not fold all of them."""
        self._failures: dict[str, tuple[str, int, str]] = {}
        """Study -> incarnation, seq of the event up to which its log could not be folded, and the reason."""
        self._unsaved: set[str] = set()
        """Studies whose models could not be stored when this was last tried."""

    def post(self, number: int, message: Message) -> None:
        """Queue a message for its study; ``Advance`` messages go before questions. A ``Withdraw`` message removes its
        question from the queue, unless the question may be in progress."""
        with self._guard:
            waiting = self._waiting.setdefault(message.study_id, deque())
            if not isinstance(message, Withdraw):
                waiting.insert(self._place(message, waiting), (number, message))
                return
            withdrawn = [entry for entry in islice(waiting, 1, None) if _is_withdrawn_by(entry[1], message)]
            for entry in withdrawn:
                waiting.remove(entry)
        read = [] if self._reads is None else self._reads.withdraw(message.study_id, message.number)
        for each in (number, *(each for each, _ in withdrawn), *read):
            self._send(each, Superseded())

    def _place(self, message: Work, waiting: Sequence[tuple[int, Work]]) -> int:
        """The index at which to insert a message into the queue."""
        place, first = len(waiting), int(message.study_id in self._at_work)
        while isinstance(message, Advance) and place > first and isinstance(waiting[place - 1][1], Ask):
            place -= 1
        return place

    def has_messages(self, study_id: str) -> bool:
        """Whether a message is queued for the study."""
        with self._guard:
            return bool(self._waiting.get(study_id))

    def kind_of_next(self, study_id: str) -> str:
        """The expected kind of the study's next step: see ``step_queue``."""
        cached = self.store.find(study_id)
        with self._guard:
            waiting = self._waiting.get(study_id)
            message = waiting[0][1] if waiting else None
        if cached is None:
            return FOLDS
        model = cached.model
        if isinstance(message, Ask) and message.incarnation == model.incarnation and message.study_seq <= model.seq:
            return message.question
        has_many = len(model.dataset.results) > self._few_results
        return LEARNS if has_many and model.learns_next else FOLDS

    def step(self, study_id: str) -> bool:
        """Do a part of the queued work for a study. Return whether more may be left."""
        with self._guard:
            self._at_work.add(study_id)
        try:
            return self._step(study_id)
        except Exception as error:  # an error in one study must not end the thread, which also serves others
            logger.exception("study %s: a step of its model failed", study_id)
            self.store.drop(study_id)
            return self._give_up(study_id, f"{type(error).__name__}: {error}"[:500])
        finally:
            with self._guard:
                self._at_work.discard(study_id)

    def _step(self, study_id: str) -> bool:
        taken = self._first(study_id)
        if taken is None:
            return self._work_ahead(study_id)
        number, message = taken
        if isinstance(message, Forget):
            self.store.drop(study_id)
            self._failures.pop(study_id, None)
            self._unsaved.discard(study_id)
            self._send(number, Superseded())
        else:
            try:
                cached = self._follow(message)
            except CannotFold as failure:
                self._reply_failed(number, message, str(failure))
            except AdaBKBError as error:  # the database does not respond, or the study was deleted
                self._postpone(number, message, error)
            else:
                if cached.model.seq < message.study_seq:
                    if isinstance(message, Advance):
                        self._send(number, _progress_report(cached, message.study_seq))
                    return True  # the message stays queued for the next step
                self._answer(number, message, cached)
                if isinstance(message, Advance):
                    self._answer_a_question(message, cached)
        self._done(study_id)
        return True

    def _answer_a_question(self, behind: Advance, cached: CachedModel) -> None:
        """Answer the first queued question, if the model has folded the events that the question needs. Without this,
        new ``Advance`` messages could delay a question forever."""
        with self._guard:
            waiting = self._waiting[behind.study_id]
            number, question = next((each for each in waiting if isinstance(each[1], Ask)), (0, None))
            if (
                not isinstance(question, Ask)
                or question.incarnation != cached.model.incarnation
                or question.study_seq > cached.model.seq
            ):
                return
            waiting.remove((number, question))
        self._ask(number, question, cached)

    def _first(self, study_id: str) -> tuple[int, Work] | None:
        """The first message of the queue; None if it is empty. Consecutive ``Advance`` messages are merged into the
        last of them."""
        with self._guard:
            waiting = self._waiting.get(study_id)
            if not waiting:
                self._waiting.pop(study_id, None)
                return None
            while len(waiting) > 1 and _includes(waiting[1][1], waiting[0][1]):
                number, message = waiting.popleft()
                following = waiting[0][1]
                assert isinstance(message, Advance)
                assert isinstance(following, Advance)
                waiting[0] = (waiting[0][0], replace(following, events=[*message.events, *following.events]))
                self._send(number, Superseded())
            return waiting[0]

    def _give_up(self, study_id: str, reason: str) -> bool:
        """Reply to the first message with an error. Return whether there was a message."""
        taken = self._first(study_id)
        if taken is None:
            return False
        number, message = taken
        if not isinstance(message, Forget):
            self._reply_failed(number, message, reason)
        self._done(study_id)
        return True

    def _done(self, study_id: str) -> None:
        self._logs.pop(study_id, None)
        with self._guard:
            self._waiting[study_id].popleft()

    def _follow(self, message: Advance | Ask) -> CachedModel:
        """Fold as many of the missing events up to ``message.study_seq`` as one step may, and return the model.

        Raises:
            CannotFold: an event of the log cannot be folded.
            AdaBKBError: the database does not respond, or the study was deleted.
        """
        study_id = message.study_id
        failure = self._failures.get(study_id)
        if failure is not None and failure[:2] == (message.incarnation, message.study_seq):
            raise CannotFold(failure[2])
        try:
            cached = self.store.get(study_id, message.incarnation)
            is_restored = cached is None
            if cached is None:
                cached = self.store.restored(study_id, message.incarnation)
                if cached is None:
                    raise StudyNotFound(study_id)
            model, cached.fold_seconds = cached.model, 0.0
            if model.seq < message.study_seq:
                log = self._log_after(message, model.seq)
                cached.fold(log, until=time.monotonic() + self._fold_seconds)
        except AdaBKBError:
            raise
        except Exception as error:
            self.store.drop(study_id)
            reason = f"{type(error).__name__}: {error}"[:500]
            self._failures[study_id] = (message.incarnation, message.study_seq, reason)
            if failure is None or failure[2] != reason:
                logger.exception("study %s: the model cannot fold the log", study_id)
            raise CannotFold(reason) from error
        self._failures.pop(study_id, None)
        cached.used_at = time.monotonic()
        self.store.keep(study_id, cached)
        if is_restored and model.seq < message.study_seq:  # the cache may evict the model before its next step
            self._save(study_id, cached)
        return cached

    def _log_after(self, message: Advance | Ask, seq: int) -> list[EventRow]:
        """The events after ``seq``: those left by the previous step, those in the message or, if another server wrote
        some of them, those in the database. They are kept for the next step."""
        incarnation, kept = self._logs.get(message.study_id, ("", []))
        for events in (
            kept if incarnation == message.incarnation else [],
            message.events if isinstance(message, Advance) else [],
        ):
            log = events[bisect_right(events, seq, key=lambda event: event.seq) :]
            if log and log[0].seq == seq + 1 and log[-1].seq == seq + len(log):
                break
        else:
            log = self.store.log_after(message.study_id, seq, message.study_seq)
        self._logs[message.study_id] = message.incarnation, log
        return log

    def _answer(self, number: int, message: Advance | Ask, cached: CachedModel) -> None:
        if isinstance(message, Ask):
            self._ask(number, message, cached)
            return
        model, decisions, error = cached.model, cached.decisions, None
        try:
            if message.decide:
                decisions.restrict(model, message.within)
            missing = message.decide - len(decisions.made)
            if missing > 0:
                decisions.decide(model, missing, until=time.monotonic() + self._decision_seconds)
        except Exception as failure:
            logger.exception("study %s: the engine cannot suggest", message.study_id)
            error = f"{type(failure).__name__}: {failure}"[:500]
        self._send(number, replace(_advanced(cached, error), asked=message.decide, cache_bytes=self.store.bytes))

    def _ask(self, number: int, message: Ask, cached: CachedModel) -> None:
        if self._reads is not None and self._reads.takes(message):
            if kept := cached.kept.find(message):
                self._send(number, kept)
            else:
                self._reads.put(Read(number, message, cached.model.snapshot(), cached.kept))
            return
        try:
            if message.question == "stored" and cached.is_unsaved:
                self.store.save(message.study_id, cached)
                self._unsaved.discard(message.study_id)
        except Exception as error:
            self._send(number, Answered(error=error))
        else:
            self._send(number, answered(message, cached.model))

    def _reply_failed(self, number: int, message: Advance | Ask, reason: str) -> None:
        if isinstance(message, Ask):
            self._send(number, Answered(error=CannotFold(reason)))
        else:
            self._send(number, Advanced(message.incarnation, message.study_seq, 0, error=reason, can_fold=False))

    def _postpone(self, number: int, message: Advance | Ask, error: AdaBKBError) -> None:
        """Ask the server to send a message again, after a database error."""
        if isinstance(message, Ask):
            self._send(number, Answered(error=error))
        else:
            time.sleep(POSTPONED_SECONDS)
            self._send(number, Postponed())

    def _work_ahead(self, study_id: str) -> bool:
        """Prepare for the next result, or store a model with unstored changes. Return whether more work may be left."""
        cached = self.store.find(study_id)
        if cached is None:
            return False
        if not cached.model.prepared:
            with suppress(*IGNORED_AHEAD):
                cached.prepare()
                return True
            return False
        behind = cached.model.seq - cached.saved_seq
        if behind >= self._save_events or (behind and time.monotonic() - cached.used_at > self._idle_seconds):
            self._save(study_id, cached)
        return False

    def _save(self, study_id: str, cached: CachedModel) -> None:
        """Store a model. If that fails, restarts take longer. The failure is logged once, until storing works again."""
        try:
            self.store.save(study_id, cached)
        except IGNORED_AHEAD as error:
            if study_id not in self._unsaved:
                logger.warning("study %s: its model cannot be stored, so a restart takes longer: %s", study_id, error)
            self._unsaved.add(study_id)
        else:
            self._unsaved.discard(study_id)

    def idle(self) -> list[str]:
        """Studies whose models have unstored changes and got no message for ``idle_seconds``."""
        moment = time.monotonic() - self._idle_seconds
        return [study_id for study_id, cached in self.store.unsaved() if cached.used_at < moment]

    def save_all(self, skipped: Collection[str] = ()) -> None:
        """Store every model with unstored changes, except of the studies in ``skipped``."""
        for study_id, cached in self.store.unsaved():
            if study_id not in skipped:
                self._save(study_id, cached)


def _is_withdrawn_by(message: Work, withdrawn: Withdraw) -> bool:
    return isinstance(message, Ask) and message.number == withdrawn.number


def _includes(following: Work, message: Work) -> bool:
    return (
        isinstance(message, Advance)
        and isinstance(following, Advance)
        and message.incarnation == following.incarnation
        and message.study_seq <= following.study_seq
    )


def _progress_report(cached: CachedModel, study_seq: int) -> Advanced:
    model = cached.model
    behind = study_seq - model.seq
    return Advanced(model.incarnation, model.seq, model.rests_on, behind=behind, seconds=cached.fold_seconds)


def _advanced(cached: CachedModel, error: str | None = None) -> Advanced:
    model, decisions, model_stats = cached.model, cached.decisions, None
    if cached.has_new_stats and (model.rests_on or decisions.made):
        model_stats = model.stats()
    return Advanced(
        model.incarnation,
        model.seq,
        model.rests_on,
        points=[decision.proposal for decision in decisions.made],
        is_all=decisions.has_all(model),
        model_stats=model_stats,
        error=error,
        seconds=cached.fold_seconds,
        within=decisions.within,
        is_plate_over=decisions.is_plate_over(model),
    )
