"""The entry point: a connection to a server and its studies."""

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from adabkb_client import _client_calls as client_calls
from adabkb_client._client_methods import Client as ClientMethods
from adabkb_client._hints import add_hints
from adabkb_client._http.connection import OutboxFolder, Settings, Verify, server_at, settings
from adabkb_client._http.local import LocalServer
from adabkb_client._http.outbox import Delivery
from adabkb_client._http.transport import Connected, Transport
from adabkb_client._items import Items
from adabkb_client._records import Deletion
from adabkb_client._study import Study
from adabkb_client._study_calls import StudyCalls
from adabkb_client._values import as_it_is


class Client(ClientMethods, Connected[Transport]):
    """A connection to a server. Threads may share it; close it, or use it in a ``with`` block.

    ``Client.local("study.db")`` needs no running server: it starts one for the file.

    Args:
        url: the server's URL; by default ADABKB_URL, or http://127.0.0.1:8000.
        token: sent as a bearer token; by default ADABKB_TOKEN, or none.
        timeout: seconds to wait for an answer.
        retry_for: seconds for which a call is retried while the server is down or busy. By default 120, but 5 if the
            server has never answered, so that a wrong URL is noticed soon.
        outbox: the folder that keeps results while the server is down; by default ADABKB_OUTBOX, or a folder of the
            platform (on Linux ~/.local/state/adabkb/outbox). False keeps none.
        headers: sent with each request, for example for a gateway.
        verify: how to verify https: the path of a file or folder with certificates of your authority (PEM), or an
            ``ssl.SSLContext``. True uses the certificates of httpx or SSL_CERT_FILE. False disables verification.
        proxy: URL of a proxy, which may have a user and a password; by default HTTPS_PROXY and similar variables.
        http_client: your own ``httpx.Client``, in place of ``verify`` and ``proxy``. You must close it.

    Raises:
        TypeError, ValueError: an argument has the wrong type or form, or arguments contradict each other. Errors never
            show a token or a header's value.
        OSError: ``verify`` cannot be read, or has no certificates.
        httpx.InvalidURL: the URL is invalid for another reason.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout: float = 60.0,
        retry_for: float | None = None,
        outbox: OutboxFolder = None,
        headers: Mapping[str, str] | None = None,
        verify: Verify = True,
        proxy: str | None = None,
        http_client: httpx.Client | None = None,
    ) -> None:
        at = server_at(url)
        self._connect(settings(at, token, timeout, retry_for, outbox, headers, verify, proxy, http_client))

    @classmethod
    def local(
        cls,
        database: str | Path,
        *,
        timeout: float = 60.0,
        retry_for: float | None = None,
        outbox: OutboxFolder = None,
    ) -> Self:
        """Connect to the server of a local database, and start the server if it does not run.

        All scripts on this machine that name the same database share its server. It stops when the last of them has
        closed its client or has ended for any reason. If the server dies, the next call restarts it. It runs with the
        Python interpreter of the script that started it, on a free port of the loopback address.

        Args:
            database: a SQLite file, which is created if it does not exist. Beside it are files with additional endings:
                ``.server`` has the server's output; ``.running``, ``.starting`` and ``.clients`` are locks.
            timeout: as in ``Client``, like the other arguments.
            retry_for: seconds for which a call is retried; by default 120.
            outbox: the folder that keeps results while the server is down; False keeps none.

        Raises:
            ImportError: the server is not installed: ``pip install 'adabkb-service[server]'``.
            ConnectionFailed: the server does not start; or the file is not a database of this service, cannot be
                written, or is in use by a server on another machine.
        """
        client = cls.__new__(cls)
        client._connect(settings(LocalServer.running(database), None, timeout, retry_for, outbox))
        return client

    def _connect(self, settings: Settings) -> None:
        self._transport = Transport(settings)
        self.outbox = settings.outbox
        """The results kept on this machine until the server can be reached."""

    @property
    def url(self) -> str:
        """The server's URL. With ``local``, it changes with each start of the server, and reading it restarts a stopped
        server."""
        return self._transport.server.address()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._transport.server.shown!r}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. The server of a local database stops after its last client."""
        self._transport.close()

    def deliver(self) -> Delivery:
        """Send the results that were kept while the server was down. Each is stored once. A client also sends them
        after its successful calls.

        Returns:
            The results that were sent, and those that the server refused, which are moved to a separate folder.

        Raises:
            AdaBKBError: the server cannot be reached or refuses this client; unsent results remain in the outbox.
        """
        return self._transport.deliver()

    def study(self, id: str) -> Study:
        """Open a study.

        Raises:
            NotFound: there is no study with this id. The error names a similar id, or says that the study is in the
                trash.
        """
        self._transport.perform(client_calls.find_study(id))
        return Study(self._transport, id)

    def studies(self, tags: Mapping[str, str] | None = None, *, owner: str | None = None) -> Items[Study]:
        """Return the studies that you may read, newest first. A console shows their states; ``info()`` of a study
        returns the details.

        The list is read when it is first used. Only this raises ConnectionFailed if no server answers.

        Args:
            tags: only studies that have all of these tags, such as ``{"project": "solvents"}``. Names of tags have no
                colon.
            owner: only studies that this user owns. ``studies().to_frame()`` has a column with the owners.
        """
        infos = client_calls.studies(tags, owner)
        return Items(infos, lambda info: Study(self._transport, info.id), self._transport)

    def delete_study(self, id: str, *, purge: bool = False) -> None:
        """Delete a study and everything in it: permanently with ``purge``, otherwise it stays in the trash for 30 days.

        While it is in the trash, its webhooks send nothing and its links do not work.

        Raises:
            NotFound: there is no study with this id that you may read.
            Unauthorized: the study is shared with you, but only its owner may delete it.
        """
        self._transport.perform(StudyCalls(id).delete(purge=purge))

    def trash(self, *, owner: str | None = None) -> Items[Deletion]:
        """Return the deleted studies that can be restored, the most recently deleted ones first.

        Args:
            owner: only studies that this user owned, for administrators, who get those of all users.
        """
        return Items(client_calls.trash(owner), as_it_is, self._transport)

    def restore_study(self, id: str, deletion: int | None = None) -> Study:
        """Restore a deleted study. It continues in the state in which it was deleted, with its webhooks and links.

        Args:
            id: the study's id.
            deletion: the number of the deletion, as in ``trash``; None means the latest one of this study.

        Raises:
            NotFound: there is no study with this id in the trash.
            Conflict: a new study with this id exists.
        """
        return Study(self._transport, self._transport.perform(client_calls.restore_study(id, deletion)).id)

    def purge_study(self, deletion: int) -> None:
        """Permanently delete a study in the trash.

        Raises:
            NotFound: there is no deletion with this number in the trash.
        """
        self._transport.perform(client_calls.purge_study(deletion))


add_hints(Client)
