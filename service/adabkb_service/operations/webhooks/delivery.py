"""Deliver messages to webhooks.

The log of a study is the queue. For each webhook, the database stores the number of the last event that was handled.
This number advances when the receiver answers a message with a status from 200 to 299, so no message is lost if a
server stops. If an answer is lost, the message is sent again, and the receiver recognizes it by its ``Webhook-Id``.

Several servers may deliver at the same time. Before a server sends to a webhook, it postpones the webhook's next
delivery in the database, so that no other server sends to it meanwhile.
"""

from __future__ import annotations

import logging
import random
import socket
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

from sqlalchemy import Connection

from adabkb_service.contract.webhooks import Message
from adabkb_service.errors import AdaBKBError, StudyNotFound
from adabkb_service.operations.service import Service
from adabkb_service.operations.webhooks import notifications
from adabkb_service.operations.webhooks.outbound import Network, NotSent, post, shut
from adabkb_service.storage import events, studies, trials, webhooks
from adabkb_service.storage.webhooks import WebhookRow

logger = logging.getLogger(__name__)

AT_ONCE = 8
"""The maximum number of webhooks to which a server sends at the same time."""
HELD_SECONDS = 60.0
"""While a server sends to a webhook, the webhook is postponed by the time limit of a message plus these seconds."""
MAX_MESSAGES = 20
"""The maximum number of messages to one webhook before the server sends to others."""
EVENTS_AT_ONCE = 100
"""Number of events that are read at a time."""
MAX_PAUSE = 3600.0
"""The pause between two attempts doubles with each attempt, up to this many seconds. A random part of up to a quarter
is then added, so that messages that failed together are not sent together again."""
MAX_ERROR_LENGTH = 200
"""The maximum length of a stored error message, in characters."""


class Delivery:
    """Sends messages to the webhooks of all studies, for one server."""

    def __init__(
        self, service: Service, networks: Sequence[Network], *, seconds: float, pause: float, hours: float
    ) -> None:
        """Create the sender. It sends nothing until ``round`` is called.

        Args:
            service: the running service.
            networks: private networks to which messages may be sent.
            seconds: the time limit of a message, in seconds.
            pause: seconds before the second attempt.
            hours: a webhook is turned off if it has failed for this long without a success.
        """
        self._service, self._networks = service, networks
        self._seconds, self._pause, self._span = seconds, pause, timedelta(hours=hours)
        self._senders = ThreadPoolExecutor(AT_ONCE, "webhooks")
        self._in_progress: dict[tuple[str, str], list[socket.socket]] = {}
        """(study, webhook) to which this server sends now -> its open connections."""
        self._guard = threading.Lock()
        self._stopping = threading.Event()

    def round(self) -> None:
        """Start to send to the webhooks that are due. At most ``AT_ONCE`` are served at the same time.

        Raises:
            AdaBKBError: the database does not answer.
        """
        with self._guard:
            room = AT_ONCE - len(self._in_progress)
        if room <= 0 or self._stopping.is_set():
            return
        with self._service.database.reading() as connection:
            found = webhooks.due(connection, self._service.clock(), room)
        for row in found:
            with self._guard:
                if (row.study_id, row.id) in self._in_progress:
                    continue
                self._in_progress[row.study_id, row.id] = []
            self._senders.submit(self._serve, row)

    def close(self) -> None:
        """Stop sending. An interrupted message is sent again by another server, or by this one after a restart."""
        self._stopping.set()
        with self._guard:
            for opened in self._in_progress.values():
                shut(opened)
        self._senders.shutdown(wait=True, cancel_futures=True)

    def _serve(self, row: WebhookRow) -> None:
        try:
            self._send_all(row)
        except AdaBKBError as error:
            logger.warning("study %s: webhook %s will be retried later: %s", row.study_id, row.id, error)
        except Exception:
            logger.exception("study %s: webhook %s will be retried later", row.study_id, row.id)
        finally:
            with self._guard:
                del self._in_progress[row.study_id, row.id]

    def _send_all(self, row: WebhookRow) -> None:
        """Send the messages of a webhook, up to ``MAX_MESSAGES``. A later event makes it due again."""
        for _ in range(MAX_MESSAGES):
            if self._stopping.is_set():
                return
            with self._service.database.reading() as connection:
                found = _next(connection, row)
            if found is None:
                return
            seen, message = found
            if message is None and seen != row.seen_seq:
                self._change(row, seen_seq=seen, due_at=self._service.clock())
            held = None if message is None else self._hold(row)
            if message is None or held is None:
                return
            error = self._send(held, message)
            if error is not None and self._stopping.is_set():
                self._change(held, due_at=self._service.clock())
                return
            if error is not None:
                self._record_failure(held, error)
                return
            delivered = {"delivered": held.delivered + 1, "delivered_at": self._service.clock()}
            reset = {"attempts": 0, "failing_since": None, "error": None}
            now = self._service.clock()
            changed = self._change(held, seen_seq=seen, due_at=now, **delivered, **reset)
            if changed is None:
                return
            row = changed

    def _hold(self, row: WebhookRow) -> WebhookRow | None:
        """Postpone a webhook while a message is sent. Return None if another server has postponed it, or if it was
        deleted."""
        until = self._service.clock() + timedelta(seconds=self._seconds + HELD_SECONDS)
        return self._change(row, due_at=until)

    def _change(self, row: WebhookRow, **values: object) -> WebhookRow | None:
        with self._service.database.writing() as connection:
            is_changed = webhooks.change(connection, row, **values)
        return replace(row, **values) if is_changed else None  # type: ignore[arg-type]

    def _send(self, row: WebhookRow, message: Message) -> str | None:
        """Send a message. Return None if it was delivered, else why it was not."""
        body, seconds = message.model_dump_json().encode(), int(time.time())
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "adabkb-service",
            **notifications.signed(row.secret, f"{row.id}-{message.seq}", seconds, body),
        }
        try:
            opened = self._in_progress[row.study_id, row.id]
            opened.clear()
            status = post(row.url, body, headers, self._networks, self._seconds, opened)
        except NotSent as error:
            return str(error)[:MAX_ERROR_LENGTH]
        return None if 200 <= status < 300 else f"it answered with status {status}"

    def _record_failure(self, row: WebhookRow, error: str) -> None:
        now = self._service.clock()
        since, attempts = row.failing_since or now, row.attempts + 1
        pause = min(self._pause * 2.0 ** min(row.attempts, 30), MAX_PAUSE) * random.uniform(1.0, 1.25)  # noqa: S311
        is_on = now - since < self._span
        failure = {"attempts": attempts, "failing_since": since, "error": error, "is_on": is_on}
        self._change(row, due_at=now + timedelta(seconds=pause), **failure)
        if not is_on:
            logger.error("study %s: webhook %s was turned off: %s", row.study_id, row.id, error)


def _next(connection: Connection, row: WebhookRow) -> tuple[int, Message | None] | None:
    """Return the next message, and the number of the last event that is handled once the message is delivered. The
    message is None if none is left. Return None if the study was deleted."""
    try:
        study = studies.get(connection, row.study_id)
    except StudyNotFound:
        return None
    seen = row.seen_seq
    while found := events.of_kinds_after(connection, row.study_id, list(notifications.KINDS), seen, EVENTS_AT_ONCE):
        for event in found:
            seen = event.seq
            notification = notifications.notification_of(event)
            if notification in row.notifications:
                trial = None if event.trial is None else trials.get(connection, row.study_id, event.trial)
                return seen, notifications.message(study, event, trial, notification)
    return study.study_seq, None
