"""Models whose replies a test controls."""

from __future__ import annotations

from collections.abc import Callable

from adabkb_service.inference.inprocess import InProcess
from adabkb_service.inference.messages import Message, Reply
from adabkb_service.inference.pool import Receive
from adabkb_service.storage.database import Database


class HeldReplies(InProcess):
    """Models whose replies are held until the test releases them."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.replies: list[Callable[[], None]] = []
        self.is_holding = False

    def post(self, message: Message, receive: Receive) -> None:
        def hold(reply: Reply) -> None:
            self.replies.append(lambda: receive(reply))

        super().post(message, hold if self.is_holding else receive)
