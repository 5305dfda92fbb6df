"""The work of a model process: what was asked for each study, done study by study, a step at a time.

A step takes a bounded time wherever the engine allows: a long log is folded in slices. So a study with much to fold
does not hold up another.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice

from adabkb_service.errors import AdaBKBError, StudyNotFound
from adabkb_service.inference.messages import (
    Advance,
    Advanced,
    Answered,
    Ask,
    CannotFollow,
    Forget,
    Message,
    Postponed,
    Reply,
    Superseded,
    Withdraw,
    Work,
)
from adabkb_service.inference.model import Model
from adabkb_service.inference.reads import Read, Reads, answered
from adabkb_service.inference.step_queue import FOLDS, LEARNS
from adabkb_service.inference.store import SAVE_EVENTS, ModelStore
from adabkb_service.storage.rows import EventRow
from adabkb_service.timeouts import UNHURRIED

logger = logging.getLogger(__name__)

FOLD_SECONDS = 0.1
"""Of folding, before other studies take a step and the server is told how far the model has come."""
IDLE_SECONDS = 1.0
"""Without a message, after which a model that is ahead of its stored rows is stored; the default of a host."""
POSTPONED_SECONDS = 0.1
"""After an error of the database, before the server is asked to send a message again."""

IGNORED_AHEAD = (AdaBKBError, ArithmeticError, ValueError)
"""Errors of work that is done ahead of time. They occur again when its outcome is needed, and are reported then."""

Tell = Callable[[int, Reply], None]
"""Sends the reply to a message, by its number."""


class ModelHost:
    """Models, and the messages that wait for each."""

    def __init__(
        self,
        store: ModelStore,
        tell: Tell,
        decision_seconds: float = UNHURRIED,
        reads: Reads | None = None,
        fold_seconds: float = FOLD_SECONDS,
        save_events: int = SAVE_EVENTS,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        """Nothing waits yet.

        Args:
            store: the models.
            tell: sends replies.
            decision_seconds: in which a model decides on the points of one suggestion.
            reads: answers long questions; without it, they are answered in their steps.
            fold_seconds: of folding in one step, at most.
            save_events: that the stored rows may be behind.
            idle_seconds: without a message, after which a model that is ahead of its stored rows is stored.
        """
        self._fold_seconds, self._save_events, self._idle_seconds = fold_seconds, save_events, idle_seconds
        self._decision_seconds = decision_seconds
        self._reads = reads
        self.store = store
        self._tell = tell
        self._guard = threading.Lock()
        self._waiting: dict[str, deque[tuple[int, Work]]] = {}
        self._at_work: set[str] = set()
        """Studies whose step has begun; their first message stays the first."""
        self._failures: dict[str, tuple[str, int, str]] = {}
        """Study -> incarnation and event at which its log could not be followed, and why."""

    def post(self, number: int, message: Message) -> None:
        """Let a message wait for the next step of its study. Suggestions do not wait for the questions before them. A
        question that is withdrawn waits no longer, unless its step has begun."""
        with self._guard:
            waiting = self._waiting.setdefault(message.study_id, deque())
            if not isinstance(message, Withdraw):
                waiting.insert(self._place(message, waiting), (number, message))
                return
            withdrawn = [entry for entry in islice(waiting, 1, None) if _is(entry[1], message)]
            for entry in withdrawn:
                waiting.remove(entry)
        read = [] if self._reads is None else self._reads.withdraw(message.study_id, message.number)
        for each in (number, *(each for each, _ in withdrawn), *read):
            self._tell(each, Superseded())

    def _place(self, message: Work, waiting: Sequence[tuple[int, Work]]) -> int:
        """Of a message among those that wait."""
        place, first = len(waiting), int(message.study_id in self._at_work)
        while isinstance(message, Advance) and place > first and isinstance(waiting[place - 1][1], Ask):
            place -= 1
        return place

    def has_messages(self, study_id: str) -> bool:
        """Whether a message waits for the study."""
        with self._guard:
            return bool(self._waiting.get(study_id))

    def kind_of_next(self, study_id: str) -> str:
        """Of the study's next step, as far as that is known: see ``step_queue``."""
        model = self.store.find(study_id)
        with self._guard:
            waiting = self._waiting.get(study_id)
            message = waiting[0][1] if waiting else None
        if model is None:
            return FOLDS
        if isinstance(message, Ask) and message.incarnation == model.incarnation and message.study_seq <= model.seq:
            return message.question
        return LEARNS if model.learns_next else FOLDS

    def step(self, study_id: str) -> bool:
        """Do a part of what waits for a study; whether there is more to do."""
        with self._guard:
            self._at_work.add(study_id)
        try:
            return self._step(study_id)
        except Exception as error:  # nothing that one study meets may end the thread that serves them all
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
            self._tell(number, Superseded())
        else:
            try:
                model = self._follow(message)
            except CannotFollow as failure:
                self._reply_out_of_order(number, message, str(failure))
            except AdaBKBError as error:  # the database does not answer, or the study is gone
                self._postpone(number, message, error)
            else:
                if model.seq < message.study_seq:
                    if isinstance(message, Advance):
                        self._tell(number, _behind(model, message.study_seq - model.seq))
                    return True  # the message waits on
                self._answer(number, message, model)
                if isinstance(message, Advance):
                    self._answer_a_question(message, model)
        self._done(study_id)
        return True

    def _answer_a_question(self, behind: Advance, model: Model) -> None:
        """Answer the first one that waits, if the model has come so far: there may always be an ``Advance`` before."""
        with self._guard:
            waiting = self._waiting[behind.study_id]
            number, question = next((each for each in waiting if isinstance(each[1], Ask)), (0, None))
            if (
                not isinstance(question, Ask)
                or question.incarnation != model.incarnation
                or question.study_seq > model.seq
            ):
                return
            waiting.remove((number, question))
        self._ask(number, question, model)

    def _first(self, study_id: str) -> tuple[int, Work] | None:
        """The first message; of several to advance in a row, the last one, which includes the others."""
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
                self._tell(number, Superseded())
            return waiting[0]

    def _give_up(self, study_id: str, reason: str) -> bool:
        """Refuse the first message; whether there was one."""
        taken = self._first(study_id)
        if taken is None:
            return False
        number, message = taken
        if not isinstance(message, Forget):
            self._reply_out_of_order(number, message, reason)
        self._done(study_id)
        return True

    def _done(self, study_id: str) -> None:
        with self._guard:
            self._waiting[study_id].popleft()

    def _follow(self, message: Advance | Ask) -> Model:
        """The model, brought on towards the event of the message by a slice.

        Raises:
            CannotFollow: it cannot follow the log.
        """
        study_id = message.study_id
        failure = self._failures.get(study_id)
        if failure is not None and failure[:2] == (message.incarnation, message.study_seq):
            raise CannotFollow(failure[2])
        try:
            model = self.store.get(study_id, message.incarnation)
            is_restored = model is None
            if model is None:
                model = self.store.restored(study_id, message.incarnation)
                if model is None:
                    raise StudyNotFound(study_id)
            model.fold_seconds = 0.0
            if model.seq < message.study_seq:
                events = message.events if isinstance(message, Advance) else []
                log = [event for event in events if event.seq > model.seq]
                if not log or log[-1].seq != model.seq + len(log):  # another server wrote some of them
                    log = self.store.log_after(study_id, model.seq, message.study_seq)
                    self._keep_events(message, log)
                started = time.monotonic()
                model.fold(log, until=started + self._fold_seconds)
                model.fold_seconds = time.monotonic() - started
        except AdaBKBError:
            raise
        except Exception as error:
            self.store.drop(study_id)
            reason = f"{type(error).__name__}: {error}"[:500]
            self._failures[study_id] = (message.incarnation, message.study_seq, reason)
            if failure is None or failure[2] != reason:
                logger.exception("study %s: the model cannot follow the log", study_id)
            raise CannotFollow(reason) from error
        self._failures.pop(study_id, None)
        model.used_at = time.monotonic()
        self.store.keep(study_id, model)
        if is_restored and model.seq < message.study_seq:  # it may be dropped again before its next slice
            with suppress(*IGNORED_AHEAD):
                self.store.save(study_id, model)
        return model

    def _keep_events(self, message: Advance | Ask, events: list[EventRow]) -> None:
        """Let a message that waits on hold these events, so that its next slice does not read them again."""
        if isinstance(message, Advance):
            with self._guard:
                waiting = self._waiting[message.study_id]
                waiting[0] = (waiting[0][0], replace(message, events=events))

    def _answer(self, number: int, message: Advance | Ask, model: Model) -> None:
        if isinstance(message, Ask):
            self._ask(number, message, model)
            return
        error = None
        try:
            if message.decide:
                model.hold(message.fixed)
            missing = message.decide - len(model.decided)
            if missing > 0:
                model.decide(missing, until=time.monotonic() + self._decision_seconds)
        except Exception as failure:
            logger.exception("study %s: the engine cannot suggest", message.study_id)
            error = f"{type(failure).__name__}: {failure}"[:500]
        self._tell(number, replace(_advanced(model, error), asked=message.decide, cache_bytes=self.store.bytes))

    def _ask(self, number: int, message: Ask, model: Model) -> None:
        if self._reads is not None and self._reads.takes(message):
            self._reads.put(Read(number, message, model.snapshot()))
            return
        try:
            if message.question == "stored" and model.seq > model.saved_seq:
                self.store.save(message.study_id, model)
        except Exception as error:
            self._tell(number, Answered(error=error))
        else:
            self._tell(number, answered(message, model))

    def _reply_out_of_order(self, number: int, message: Advance | Ask, reason: str) -> None:
        if isinstance(message, Ask):
            self._tell(number, Answered(error=CannotFollow(reason)))
        else:
            self._tell(number, Advanced(message.incarnation, message.study_seq, 0, error=reason, can_follow=False))

    def _postpone(self, number: int, message: Advance | Ask, error: AdaBKBError) -> None:
        """Let the server ask again: the model has no part in the error."""
        if isinstance(message, Ask):
            self._tell(number, Answered(error=error))
        else:
            time.sleep(POSTPONED_SECONDS)
            self._tell(number, Postponed())

    def _work_ahead(self, study_id: str) -> bool:
        """What the next result needs, and storing what has changed; whether there may be more to do."""
        model = self.store.find(study_id)
        if model is None:
            return False
        with suppress(*IGNORED_AHEAD):
            if not model.prepared:
                model.prepare()
                return True
            behind = model.seq - model.saved_seq
            if behind >= self._save_events or (behind and time.monotonic() - model.used_at > self._idle_seconds):
                self.store.save(study_id, model)
        return False

    def idle(self) -> list[str]:
        """Studies whose models are ahead of their stored rows, and were not used for a while."""
        moment = time.monotonic() - self._idle_seconds
        return [study_id for study_id, model in self.store.unsaved() if model.used_at < moment]

    def save_all(self, but: Collection[str] = ()) -> None:
        """Store every model that is ahead of its rows, except those of some studies."""
        for study_id, model in self.store.unsaved():
            if study_id not in but:
                with suppress(*IGNORED_AHEAD):
                    self.store.save(study_id, model)


def _is(message: Work, withdrawn: Withdraw) -> bool:
    return isinstance(message, Ask) and message.number == withdrawn.number


def _includes(following: Work, message: Work) -> bool:
    return (
        isinstance(message, Advance)
        and isinstance(following, Advance)
        and message.incarnation == following.incarnation
        and message.study_seq <= following.study_seq
    )


def _behind(model: Model, events: int) -> Advanced:
    return Advanced(model.incarnation, model.seq, model.rests_on, behind=events, seconds=model.fold_seconds)


def _advanced(model: Model, error: str | None = None) -> Advanced:
    figures = None
    if model.has_folded and (model.rests_on or model.decided):
        figures = model.figures()
    points = [decision.proposal for decision in model.decided]
    is_all = model.has_decided_on_all()
    return Advanced(
        model.incarnation,
        model.seq,
        model.rests_on,
        points,
        is_all,
        figures,
        error=error,
        seconds=model.fold_seconds,
        fixed=model.fixed,
    )
