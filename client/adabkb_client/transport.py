"""One HTTP connection pool: requests are repeated until they are answered, and kept results are delivered."""

import json
import logging
import threading
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import Any, Self

import httpx
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_delay

from adabkb_client.errors import (
    AdaBKBError,
    APIError,
    ConnectionFailed,
    NotFound,
    ResultKept,
    Unauthorized,
    Unavailable,
)
from adabkb_client.outbox import Delivery, KeptResult, Outbox
from adabkb_client.plain import encoded
from adabkb_client.protocol import (
    CONNECT_TIMEOUT,
    FIRST_CONTACT,
    PAGE,
    RETRY_FOR,
    Json,
    Param,
    accepted,
    as_json,
    default_headers,
    of_a_body,
    pause,
    say_once,
    unreachable,
)

log = logging.getLogger("adabkb_client")


class Transport:
    """Sends requests, retries them, and turns refusals into exceptions. Safe to share between threads."""

    def __init__(
        self, url: str, token: str | None, timeout: float, retry_for: float | None, outbox: Outbox | None
    ) -> None:
        self.url = url
        self.outbox = outbox
        self._settings = (url, token, timeout, retry_for, outbox)
        self._delivering = threading.Lock()
        self._retry_for = retry_for
        self._answered = False
        self._http = httpx.Client(
            base_url=url, headers=default_headers(token), timeout=httpx.Timeout(timeout, connect=CONNECT_TIMEOUT)
        )

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        """Pickle the settings: another process makes connections of its own."""
        return type(self), self._settings

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def get(self, path: str, **params: Param) -> Json:
        """GET a JSON document."""
        return self._json(self._call("GET", path, params=params))

    def text(self, path: str, **params: Param) -> str:
        """GET a document that is not JSON."""
        return self._call("GET", path, params=params, headers={"Accept": "*/*"}).text

    def post(self, path: str, body: Mapping[str, Any], retry_for: float | None = None) -> Json:
        """POST a body, with exactly one effect; ``retry_for`` overrides that of the client, in seconds."""
        return self._json(self._call("POST", path, content=encoded(body), headers=of_a_body(), retry_for=retry_for))

    def tell(self, path: str, body: Mapping[str, Any], created_at: datetime | None) -> Json:
        """POST a result, and keep it on disk from the first failure until it is delivered or refused.

        Args:
            path: of the call.
            body: the result.
            created_at: when its trial was created, if that is known.

        Raises:
            ResultKept: the server could not be reached, so the result waits on disk.
        """
        if self.outbox is None:
            return self.post(path, body)
        content, headers = encoded(body), of_a_body()
        kept = KeptResult.of(path, json.loads(content), headers["Idempotency-Key"], created_at)
        try:
            return self._json(self._call("POST", path, content=content, headers=headers, kept=kept))
        except (ConnectionFailed, Unavailable) as error:
            self.outbox.keep(kept)
            if not self.outbox.file(kept).exists():
                raise
            raise ResultKept(
                f"{error}\nThe result is not lost: it is kept in {self.outbox.file(kept)}, "
                "and is sent when a client on this machine next reaches the server."
            ) from error
        except AdaBKBError:
            self.outbox.remove(kept)
            raise

    def deliver(self) -> Delivery:
        """Send the results that are kept for this server, each once.

        Raises:
            AdaBKBError: the server cannot be reached, or does not let this client in; what was not sent stays kept.
        """
        sent: list[KeptResult] = []
        refused: list[KeptResult] = []
        if self.outbox is not None:
            for kept in self.outbox.waiting():
                try:
                    self._send_kept(kept)
                except (Unauthorized, Unavailable):
                    raise
                except APIError as refusal:
                    refused.append(self.outbox.refuse(kept, str(refusal)))
                else:
                    self.outbox.remove(kept)
                    sent.append(kept)
        return Delivery(tuple(sent), tuple(refused))

    def patch(self, path: str, body: Mapping[str, Any]) -> Json:
        """PATCH a resource, with exactly one effect: a copy that arrives late must not undo later changes."""
        return self._json(self._call("PATCH", path, content=encoded(body), headers=of_a_body()))

    def delete(self, path: str) -> None:
        """DELETE a resource."""
        self._call("DELETE", path)

    def pages(self, path: str, **params: Param) -> Iterator[Json]:
        """Yield the items of a list, page after page."""
        cursor: str | None = None
        while True:
            page = self.get(path, **params, limit=PAGE, cursor=cursor)
            yield from page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def _send_kept(self, kept: KeptResult) -> None:
        if kept.trial_created_at is not None:
            study, number = kept.path.removesuffix("/observe"), kept.body["trial"]
            trial = self._send(self._http.build_request("GET", f"/v1{study}/trials/{number}")).json()
            if datetime.fromisoformat(trial["created_at"]) != datetime.fromisoformat(kept.trial_created_at):
                raise NotFound(404, "trial_not_found", f"study {kept.study!r} was created anew: this is another trial")
        headers = {"Content-Type": "application/json", "Idempotency-Key": kept.idempotency_key}
        self._send(self._http.build_request("POST", f"/v1{kept.path}", content=encoded(kept.body), headers=headers))

    def _deliver_along(self) -> None:
        """Send what is kept now that the server answers, unless another thread does."""
        if self._delivering.acquire(blocking=False):
            try:
                delivery = self.deliver()
                if delivery.sent:
                    log.info("%d results that were kept while the server was away are delivered", len(delivery.sent))
            except (AdaBKBError, OSError) as error:
                log.info("kept results are not delivered yet: %s", error)
            finally:
                self._delivering.release()

    def _call(
        self,
        method: str,
        path: str,
        *,
        retry_for: float | None = None,
        kept: KeptResult | None = None,
        **content: Any,
    ) -> httpx.Response:
        if params := content.get("params"):
            content["params"] = {name: value for name, value in params.items() if value is not None}
        request = self._http.build_request(method, f"/v1{path}", **content)
        patience = self._patience() if retry_for is None else retry_for
        try:
            response = self._repeated(request, patience, kept)
        except AdaBKBError as error:
            # The frames of the repetition would only hide where the program made the call.
            raise error.with_traceback(None) from None
        if kept is not None and self.outbox is not None:
            self.outbox.remove(kept)
        self._deliver_along()
        return response

    def _patience(self) -> float:
        if self._retry_for is not None:
            return self._retry_for
        return RETRY_FOR if self._answered else FIRST_CONTACT

    def _repeated(self, request: httpx.Request, patience: float, kept: KeptResult | None) -> httpx.Response:
        def on_failure(state: RetryCallState) -> None:
            say_once(patience, state)
            if kept is not None and self.outbox is not None:  # now, as this process may end while it waits
                self.outbox.keep(kept)

        retrying = Retrying(
            retry=retry_if_exception(lambda error: isinstance(error, ConnectionFailed | Unavailable)),
            wait=partial(pause, patience),
            stop=stop_after_delay(patience),
            before_sleep=on_failure,
            reraise=True,
        )
        for attempt in retrying:
            with attempt:
                try:
                    return self._send(request)
                except NotFound:
                    # An earlier attempt, whose answer was lost, may have deleted it.
                    if request.method == "DELETE" and attempt.retry_state.attempt_number > 1:
                        return httpx.Response(204)
                    raise
        raise AssertionError("tenacity returns or raises")

    def _send(self, request: httpx.Request) -> httpx.Response:
        try:
            response = self._http.send(request)
        except httpx.TransportError as error:
            raise unreachable(error, self.url) from error
        self._answered = True
        return accepted(response, self.url)

    def _json(self, response: httpx.Response) -> Json:
        return as_json(response, self.url)
