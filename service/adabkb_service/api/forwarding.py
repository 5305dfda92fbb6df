"""One follower per study: the process that performs the requests that need the study's queue (``Owner``) or its model.

The servers on a PostgreSQL database determine the follower of each study by the same rule (``follower_of``). If any
model worker runs, only model workers are followers; they serve no HTTP. A server that is not the follower admits a
request, forwards it to the follower through the database, and returns the follower's response.

If the follower ends, or declines because it shuts down or was suspended, the server forwards the request to the study's
next follower, if it is another one. If that one does not respond either, or if a live follower does not respond in
time, the server performs the request itself. So a request may be performed twice. Its Idempotency-Key ensures a single
effect; a change without a key is forwarded with a new key. It does no harm if two processes write to a study, since
each write compares the version of the study.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import logging
import re
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI, Request
from sqlalchemy import URL
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from adabkb_service.access.caller import ANYBODY, Caller
from adabkb_service.api.disconnect import disconnected
from adabkb_service.api.middleware import sender
from adabkb_service.api.parts import parts_of
from adabkb_service.contract.parameters import STUDY_ID
from adabkb_service.telemetry.logs import FACTS, note

logger = logging.getLogger(__name__)

KEY = b"idempotency-key"
HEADERS = frozenset({b"content-type", KEY, b"prefer", b"if-match", b"if-none-match", b"content-encoding"})
"""Headers of an admitted request on which its answer may depend."""

FORWARDED_BYTES = 2**18
"""The maximum size of a forwarded body; the server that received a larger one performs the request."""
FOLLOWERS_TRIED = 2
"""The maximum number of followers to which a request is forwarded: a request that crashes its process must not crash
all servers."""
ARRIVAL_SECONDS = 0.3
"""Seconds for which requests may still arrive at a server that has announced that it stops."""
LEAVE_SECONDS = 10.0
"""Seconds for which a stopping server performs forwarded requests."""
WATCH_SECONDS = 0.1
"""Seconds between two checks of whether this server is stopping."""
WORKER_SECONDS = 2.0
"""Seconds for which a server waits for responses of model workers about themselves."""

Answer = asyncio.Future[dict[str, Any] | None]
"""The response of the follower; None if it will not respond."""


class Declined(Exception):
    """This server does not perform a forwarded request; the server that sent it must."""


@dataclass(eq=False)
class Performance:
    """A request from another server, performed by this one."""

    task: asyncio.Task[None]
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the answer is no longer needed."""


class Forwarding:
    """The requests that this server forwards, and those that others forward to it. Only its event loop uses it.

    Args:
        app: the server.
        url: the URL of the PostgreSQL database.
        version: the server's version; servers of other versions do not forward to it.
        answer_seconds: how long to wait for the answer of a live follower.
        is_model_worker: whether the server follows studies without serving HTTP.
    """

    def __init__(
        self, app: FastAPI, url: URL, version: str, answer_seconds: float, *, is_model_worker: bool = False
    ) -> None:
        from adabkb_service.storage.peers import Peers  # noqa: PLC0415 (loads psycopg, which SQLite does not need)

        self._app = app
        self._peers = Peers(url, version, self._receive, self._peers_changed, is_model_worker=is_model_worker)
        self._answer_seconds = answer_seconds
        self._is_stopping = asyncio.Event()
        self._numbers = itertools.count()
        self._forwarded: dict[int, tuple[str, Answer]] = {}
        """Request number -> follower and its answer."""
        self._performed: dict[tuple[str, int], Performance] = {}
        """(server, request number) -> request that is being performed."""
        inner = FastAPI(openapi_url=None)  # the routes without the middleware, which the other server has applied
        inner.router = app.router
        handlers = app.exception_handlers.items()
        inner.exception_handlers = {kind: handler for kind, handler in handlers if kind is not Exception}
        self._perform_in_app = inner.build_middleware_stack()

    async def __aenter__(self) -> None:
        """Join the servers on the database."""
        self._running = asyncio.create_task(self._peers.run())
        self._watching = asyncio.create_task(self._watch())

    async def __aexit__(self, *_: object) -> None:
        """Stop other servers from forwarding requests, and answer those that have arrived."""
        if len(self._peers.alive) > 1:
            self._peers.leave()
            await asyncio.sleep(ARRIVAL_SECONDS)
            with suppress(TimeoutError):
                async with asyncio.timeout(LEAVE_SECONDS):
                    while self._performed:
                        await asyncio.wait([each.task for each in self._performed.values()])
                        await asyncio.sleep(ARRIVAL_SECONDS)  # so that the last answer is sent
        self._running.cancel()
        self._watching.cancel()
        await asyncio.wait([self._running, self._watching])

    async def _watch(self) -> None:
        """End the forwarded waits for trials once this server stops. It answers its requests before it leaves."""
        while not parts_of(self._app).service.stopping.is_set():  # set by a signal handler
            await asyncio.sleep(WATCH_SECONDS)
        self._is_stopping.set()

    @property
    def servers(self) -> frozenset[str]:
        """Ids of the live servers that serve HTTP, including this one; empty while the database does not answer."""
        return self._peers.alive - self._peers.model_workers

    @property
    def model_workers(self) -> frozenset[str]:
        """Ids of the live model workers; empty while the database does not answer."""
        return self._peers.model_workers

    def other(self, study_id: str) -> str | None:
        """Return the other server that follows a study; None if this one does."""
        followers = self._peers.followers
        if followers <= {self._peers.id} or re.fullmatch(STUDY_ID, study_id) is None:
            return None
        follower = follower_of(study_id, followers)
        return None if follower == self._peers.id else follower

    async def forward(self, study_id: str, scope: Scope, receive: Receive, send: Send, *, once: bool) -> Receive | None:
        """Forward an admitted request to the study's follower, and send its answer.

        Args:
            study_id: the study in the path.
            scope, receive, send: the ASGI request.
            once: whether the request needs a key because it is not idempotent.

        Returns:
            None if the response was sent. If this server must perform the request, an ASGI ``receive`` that replays it.

        Raises:
            ClientDisconnect: the client has disconnected.
        """
        if self.other(study_id) is None:
            return receive
        if once and all(name != KEY for name, _ in scope["headers"]):
            scope["headers"] = [*scope["headers"], (KEY, uuid.uuid4().hex.encode())]
        body = await Request(scope, receive).body()
        answer = None
        if len(body) <= FORWARDED_BYTES:
            answer = await self._first_answer(study_id, body, scope, receive)
        if answer is None:
            return _replay_body(body, receive)
        note(trial=answer["trial"])
        headers = _encode(answer["headers"])
        await send({"type": "http.response.start", "status": answer["status"], "headers": headers})
        await send({"type": "http.response.body", "body": answer["body"].encode("latin-1")})
        return None

    async def ask_model_workers(self, scope: Scope) -> dict[str, str]:
        """Return name of a model worker -> body of its response to an admitted request without a body. If there are
        several servers, each of them asks only its share of the workers. Workers that do not respond in time are left
        out."""
        own = [worker for worker in self.model_workers if follower_of(worker, self.servers) == self._peers.id]
        responses = (asyncio.wait_for(self._answer(worker, b"", scope, _silent), WORKER_SECONDS) for worker in own)
        answers = await asyncio.gather(*responses, return_exceptions=True)
        return {
            hashlib.blake2b(worker.encode(), digest_size=4).hexdigest(): answer["body"]  # the id itself is a secret
            for worker, answer in zip(own, answers, strict=True)
            if isinstance(answer, dict) and answer["status"] == 200
        }

    async def _first_answer(self, study_id: str, body: bytes, scope: Scope, receive: Receive) -> dict[str, Any] | None:
        """Return the response of a study's follower, or otherwise of its next follower; None if neither responds.

        Raises:
            ClientDisconnect: the client of a request that may take a long time has disconnected.
        """
        tried = None
        for _ in range(FOLLOWERS_TRIED):
            follower = self.other(study_id)
            if follower is None or follower == tried:
                return None
            tried = follower
            answer = await self._answer(follower, body, scope, receive)
            if answer is not None:
                return answer
        return None

    async def _answer(self, follower: str, body: bytes, scope: Scope, receive: Receive) -> dict[str, Any] | None:
        """Return the response of the follower; None if it does not respond.

        Raises:
            ClientDisconnect: the client of a request that may take a long time has disconnected.
        """
        number = next(self._numbers)
        answer: Answer = asyncio.get_running_loop().create_future()
        message = {"request": number, "body": body.decode("latin-1"), **_facts_of(scope)}
        self._forwarded[number] = follower, answer
        may_wait = scope["path"].endswith("/suggest")
        may_take_long = scope["method"] == "GET" or may_wait
        leaving = [asyncio.create_task(disconnected(Request(scope, receive)))] if may_take_long else []
        stopping = [asyncio.create_task(self._is_stopping.wait())] if may_wait else []
        waits: list[asyncio.Future[Any]] = [answer, *leaving]
        seconds = self._answer_seconds
        try:
            self._send(follower, **message)
            await asyncio.wait([*waits, *stopping], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if not any(each.done() for each in waits) and any(each.done() for each in stopping):
                self._send(follower, gone=number)  # it stops waiting for a trial, and answers at once
                await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                return answer.result()
            self._send(follower, gone=number)
            if any(each.done() for each in leaving):
                raise ClientDisconnect
            return None
        finally:
            del self._forwarded[number]
            for each in (*leaving, *stopping):
                each.cancel()

    def _peers_changed(self) -> None:
        alive = self._peers.alive
        for server, answer in self._forwarded.values():
            if server not in alive and not answer.done():
                answer.set_result(None)
        for (server, _), performance in self._performed.items():
            if server not in alive:
                performance.gone.set()

    def _send(self, recipient: str, **message: Any) -> None:
        """Send a message as JSON in ASCII."""
        self._peers.send(recipient, json.dumps({"from": self._peers.id, **message}))

    def _receive(self, text: str) -> None:
        message = json.loads(text)
        if "answer" in message:
            _, answer = self._forwarded.get(message["answer"], ("", None))
            if answer is not None and not answer.done():
                answer.set_result(message if "status" in message else None)
        elif "gone" in message:
            if performance := self._performed.get((message["from"], message["gone"])):
                performance.gone.set()
        elif self._peers.is_seen:
            key = message["from"], message["request"]
            performance = self._performed[key] = Performance(asyncio.create_task(self._perform(message)))
            performance.task.add_done_callback(lambda _: self._performed.pop(key))
        else:  # this process was suspended, so others may have taken over its requests
            self._send(message["from"], answer=message["request"])

    async def _perform(self, message: dict[str, Any]) -> None:
        """Perform a request of another server, and send it the answer."""
        facts: dict[str, Any] = {"request_id": message["id"], "address": message["address"]}
        FACTS.set(facts)
        performance = self._performed[message["from"], message["request"]]
        scope, started, parts = self._scope(message), dict[str, Any](), list[bytes]()
        requests = iter([{"type": "http.request", "body": message["body"].encode("latin-1"), "more_body": False}])

        async def receive() -> Message:
            for request in requests:
                return request
            await performance.gone.wait()
            return {"type": "http.disconnect"}

        async def send(response: Message) -> None:
            if response["type"] == "http.response.start":
                started.update(response)
            else:
                parts.append(response.get("body", b""))

        try:
            await self._perform_in_app(scope, receive, send)
        except Declined:
            self._send(message["from"], answer=message["request"])
            return
        except Exception as error:
            logger.exception("a request that another server forwarded has failed")
            parts.clear()
            response: Any = self._app.exception_handlers[Exception](Request(scope), error)
            await response(scope, receive, send)
        self._send(
            message["from"],
            answer=message["request"],
            status=started["status"],
            headers=_decode(started["headers"]),
            body=b"".join(parts).decode("latin-1"),
            trial=facts.get("trial"),
        )

    def _scope(self, message: dict[str, Any]) -> Scope:
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "scheme": "http",
            "server": None,
            "client": (message["address"], 0),
            "method": message["method"],
            "path": message["path"],
            "raw_path": message["path"].encode(),
            "query_string": message["query"].encode("latin-1"),
            "root_path": message["root_path"],
            "headers": _encode(message["headers"]),
            "app": self._app,
            "state": {"request_id": message["id"], "admitted_token": message["token"]},
        }


def decline(request: Request) -> None:
    """Return a forwarded request to the server that sent it. The request must have had no effect.

    Raises:
        Declined: another server forwarded the request.
    """
    if is_forwarded(request.scope):
        raise Declined


def is_forwarded(scope: Scope) -> bool:
    """Return whether another server has forwarded a request to this one."""
    return "admitted_token" in scope["state"]


def follower_of(study_id: str, servers: frozenset[str]) -> str:
    """Return the server with the largest hash of server and study (rendezvous hashing). If a server joins or leaves,
    only its share of the studies moves."""
    return max(servers, key=lambda server: hashlib.blake2b(f"{server} {study_id}".encode(), digest_size=8).digest())


def _facts_of(scope: Scope) -> dict[str, Any]:
    """Return what the follower needs to know of a request, except its body."""
    caller: Caller = scope["state"].get("caller", ANYBODY)
    return {
        "id": scope["state"]["request_id"],
        "method": scope["method"],
        "path": scope["path"],
        "root_path": scope.get("root_path", ""),
        "query": scope["query_string"].decode("latin-1"),
        "headers": _decode([(name, value) for name, value in scope["headers"] if name in HEADERS]),
        "token": caller.token,
        "address": sender(scope),
    }


def _decode(headers: list[tuple[bytes, bytes]]) -> list[tuple[str, str]]:
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]


def _encode(headers: list[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]


async def _silent() -> Message:
    """Wait forever, as the ASGI ``receive`` of a request whose client never disconnects."""
    await asyncio.Event().wait()
    raise AssertionError("the event is never set")


def _replay_body(body: bytes, receive: Receive) -> Receive:
    """Return an ASGI ``receive`` that returns the body that has been read."""
    messages = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def again() -> Message:
        for message in messages:
            return message
        return await receive()

    return again
