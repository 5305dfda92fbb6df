"""The entry point: a connection to a server and its studies."""

from collections.abc import Mapping
from copy import copy
from pathlib import Path
from types import TracebackType
from typing import Self, Unpack

import httpx

from adabkb_client import _client_calls as client_calls
from adabkb_client._calls import naming_settings
from adabkb_client._defined_by_run import DefinedByRun
from adabkb_client._http.connection import OutboxFolder, Settings, Verify, server_at, settings
from adabkb_client._http.local import LocalServer
from adabkb_client._http.outbox import Delivery
from adabkb_client._http.transport import Transport
from adabkb_client._items import Items, as_it_is
from adabkb_client._models import Deletion, Direction
from adabkb_client._parameters import Parameter
from adabkb_client._settings import StudySettings
from adabkb_client._study import Study
from adabkb_client._study_calls import StudyCalls


class Client:
    """A connection to a server. Threads may share it; close it, or use it in a ``with`` block.

    Args:
        url: the server's address; else the environment's ADABKB_URL, else http://127.0.0.1:8000.
        token: sent as bearer token; else the environment's ADABKB_TOKEN, else none.
        timeout: seconds to wait for an answer.
        retry_for: seconds for which a call is repeated while the server is away or busy. If not given, 120, but
            only 5 for a server that has never answered, so that a wrong address is noticed soon.
        outbox: the folder that keeps results while the server is away; else the environment's ADABKB_OUTBOX, else a
            folder of the platform (on Linux ~/.local/state/adabkb/outbox). False keeps none.
        headers: sent with each request, such as those that a gateway asks for.
        verify: whom to trust over https: the path of a file or folder with the certificates of your authority (PEM),
            or an ``ssl.SSLContext``. True: what httpx trusts, or SSL_CERT_FILE. False checks nothing.
        proxy: address of a proxy, perhaps with a user and a password; else HTTPS_PROXY and its kin say.
        http_client: an ``httpx.Client`` of your own, in place of ``verify`` and ``proxy``. You close it.

    Raises:
        TypeError, ValueError: the token or a header cannot be sent, the address has no scheme, or arguments exclude
            each other. No error shows a token or a header's value.
        OSError: ``verify`` names no certificates.
        httpx.InvalidURL: it is no address for another reason.
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
        """Connect to the server of a database on this machine, which is started if it does not run.

        All scripts of this machine that name the same database share its server. It ends when the last of them has
        closed its client or has ended, however it ended; if the server dies, the next call starts it anew. It runs with
        the Python of the script that started it, on a free port of the loopback address.

        Args:
            database: a SQLite file, which is created if there is none. The files beside it, with the endings
                ``.server`` and ``.clients``, are the server's output and a lock.
            timeout: as in ``Client``; so are the others.
            retry_for: seconds for which a call is repeated, 120 if not given.
            outbox: the folder that keeps results while the server is away; False keeps none.

        Raises:
            ImportError: the server is not installed: ``pip install 'adabkb-service[server]'``.
            ConnectionFailed: the file is no database of this service, or cannot be written, or is in use by a server on
                another machine.
            OSError: this system has no file locks of POSIX.
        """
        client = cls.__new__(cls)
        client._connect(settings(LocalServer.running(database), None, timeout, retry_for, outbox))
        return client

    def _connect(self, settings: Settings) -> None:
        self._transport = Transport(settings)
        self.outbox = settings.outbox
        """The results that wait for this server on this machine."""

    def with_options(
        self,
        *,
        timeout: float | None = None,
        retry_for: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Self:
        """Return a client with the same connections and other options, such as for a single call.

        Args:
            timeout: seconds to wait for an answer; None leaves it as it is, and so for the others.
            retry_for: seconds for which a call is repeated; 0 tries once.
            headers: sent beside those of this client.
        """
        derived = copy(self)
        derived._transport = self._transport.with_options(timeout, retry_for, headers)
        return derived

    @property
    def url(self) -> str:
        """The server's address; that of ``local`` is another one after each of its starts."""
        return self._transport.server.address()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def deliver(self) -> Delivery:
        """Send the results that were kept while the server was away, each once. A call that succeeds does it too.

        Returns:
            The results that were sent, and those that the server refused, which are kept apart from now on.

        Raises:
            AdaBKBError: the server cannot be reached, or does not let this client in; what was not sent stays kept.
        """
        return self._transport.deliver()

    @naming_settings
    def create_study(
        self,
        id: str | None,
        parameters: Mapping[str, Parameter],
        *,
        direction: Direction | None = None,
        update: bool = False,
        **settings: Unpack[StudySettings],
    ) -> Study:
        """Create a study, or open it if it exists with the same definition.

        The settings that ``Study.update`` changes are compared with what they are now, and only if they are given.

        Args:
            id: its name; None lets the server choose one.
            parameters: the search space.
            direction: "minimize" or "maximize"; None with several ``objectives``, which have one each.
            update: if the study exists, and only such settings differ, change them.
            settings: see ``StudySettings``. None is no limit.

        Returns:
            The study.

        Raises:
            Invalid: the definition is wrong; its ``pointers`` say where.
            TypeError, ValueError: a parameter is not declared by one of the kinds, or a bound is not finite.
            Conflict: a study of this name exists with another definition, or with other settings and no ``update``.
        """
        steps = client_calls.create_study(id, parameters, direction=direction, update=update, **settings)
        return Study(self._transport, self._transport.perform(steps).id)

    def define_by_run(
        self, id: str, *, direction: Direction | None = None, **settings: Unpack[StudySettings]
    ) -> DefinedByRun:
        """Return a study whose space is learned from the objective, as Optuna's users know it.

        ``client.define_by_run("tuned", direction="minimize").optimize(objective, n_trials=100)`` creates the study, if
        there is none, and calls ``objective(trial)``, which asks for its parameters by ``trial.suggest_float`` and the
        like. Where a study of this name exists, it goes on.

        Args:
            id: its name.
            direction: as in ``create_study``.
            settings: as in ``create_study``, but what does not go with edits of the space: a ``prior``,
                ``transfer_from``, ``constraints``, ``mixtures``, and rules of early stopping that compare trials.
        """
        return DefinedByRun(self._transport, id, direction, settings)

    def study(self, id: str) -> Study:
        """Open a study.

        Raises:
            NotFound: there is no study of this name.
        """
        study = Study(self._transport, id)
        study.info()
        return study

    def studies(self) -> Items[Study]:
        """Return all studies, newest first. A console shows their states; ``info()`` of each has all about it."""
        infos = client_calls.studies()
        return Items(infos, lambda info: Study(self._transport, info.id), self._transport)

    def delete_study(self, id: str, *, purge: bool = False) -> None:
        """Delete a study and everything in it: for good with ``purge``, else it is in the trash for 30 days.

        Raises:
            NotFound: there is no study of this name.
            Unauthorized: it is somebody else's.
        """
        self._transport.perform(StudyCalls(id).delete(purge=purge))

    def trash(self) -> Items[Deletion]:
        """Return the deleted studies that can be restored, those deleted last first."""
        return Items(client_calls.trash(), as_it_is, self._transport)

    def restore_study(self, id: str, deletion: int | None = None) -> Study:
        """Bring a deleted study back: it goes on where it was.

        Args:
            id: its name.
            deletion: which of several, as ``trash`` numbers them; None is the last.

        Raises:
            NotFound: there is none of this name in the trash.
            Conflict: there is a study of this name again.
        """
        return Study(self._transport, self._transport.perform(client_calls.restore_study(id, deletion)).id)

    def purge_study(self, deletion: int) -> None:
        """Permanently delete a study in the trash.

        Raises:
            NotFound: there is none of this number in the trash.
        """
        self._transport.perform(client_calls.purge_study(deletion))
