"""The server of a local database: reused if it runs, started otherwise, and stopped after its last client.

Files beside the database coordinate this. Three of them are empty and serve as locks. The system releases the locks of
a process when it ends, for any reason:

``study.db.running`` is locked by the server. ``study.db.starting`` is locked by a client while it starts a server.
``study.db.clients`` has a shared lock of each client. The server stops when it gets an exclusive lock.
``study.db.server`` has the output of the server, including its URL. It is never locked, because on Windows other
processes could not read it.
"""

import hashlib
import os
import re
import socket
import subprocess
import sys
import threading
import time
import weakref
from errno import EDQUOT, ENOSPC
from importlib.util import find_spec
from io import FileIO
from pathlib import Path
from typing import Self
from urllib.parse import quote

from adabkb_client._calls import RETRY_FOR
from adabkb_client._log import lines_on_standard_error, log
from adabkb_client.errors import ConnectionFailed

START_SILENCE = 1.0
"""Seconds after which the start of a server is logged."""
START_SECONDS = 120.0
"""Seconds within which a server must start. The first start after an installation may compile numerical code."""
END_SECONDS = 60.0
"""Seconds within which a server must stop."""
LOCK_SECONDS = 1.0
"""Seconds within which a server must get its lock. Other processes hold it briefly when they check for a server."""
LOOK_EVERY = 0.02
"""Seconds between two checks whether a server is ready, or has stopped."""
HEADER = b"SQLite format 3\0"
"""The first bytes of a database; a new one may be empty."""
INSTALL = "pip install 'adabkb-service[server]'"
SERVE = (
    "import sys; from adabkb_client._http.local import keep_locked; keep_locked(sys.argv.pop(1)); "
    "from adabkb_service.cli import main; main()"
)
"""The program of a server. Its first argument is the file that it locks."""
NEW_GROUP: int = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
"""The equivalent of ``start_new_session`` on Windows."""
ADDRESS = re.compile(rb"^adabkb: listening on (http://\S+)$", re.MULTILINE)


class LocalServer:
    """The server of a local database, which runs as long as any process has an open object of this class.

    Args:
        database: the SQLite file, which is created if it does not exist.

    Raises:
        ConnectionFailed: the file is not a database, or the files next to it cannot be written.
        ImportError: the server is not installed.
    """

    first_contact = RETRY_FOR
    """See ``RemoteServer.first_contact``; the URL of this server is never wrong."""
    credentials = None
    remedy = "The next call starts it again."

    def __init__(self, database: str | Path) -> None:
        if find_spec("adabkb_service") is None or find_spec("portalocker") is None:
            raise ImportError(f"the server for a file needs the server's packages; install them: {INSTALL}")
        self.database = Path(database).resolve()
        _check(self.database)
        digest = hashlib.sha256(os.fsencode(self.database)).hexdigest()[:16]
        self.name = f"local-{self.database.name[:100]}-{digest}"
        """The name of the server's outbox, since its port changes with each start."""
        self.last_address = ""
        """The URL that ``address`` returned last; empty before its first call."""
        self._one_at_a_time = threading.Lock()
        clients = self._open(self._beside("clients"))
        self._join(clients)
        self.close = weakref.finalize(self, clients.close)
        """Disconnect from the server, which stops after the last client."""

    @classmethod
    def running(cls, database: str | Path) -> Self:
        """Return the server of a database, and start it if it does not run. Raises the errors of ``LocalServer`` and
        ``address``."""
        server = cls(database)
        try:
            server.address()
        except BaseException:
            server.close()
            raise
        return server

    @property
    def shown(self) -> str:
        """The server as messages name it: the path of its database."""
        return str(self.database)

    def __reduce__(self) -> tuple[type[Self], tuple[Path]]:
        return type(self), (self.database,)

    def address(self) -> str:
        """Return the URL of the server, which is started if it does not run.

        Raises:
            ConnectionFailed: it does not start (the message has its output), or it runs on another machine.
        """
        with self._one_at_a_time:
            while True:
                if self._is_running():
                    found = self._address()
                else:
                    with self._open(self._beside("starting")) as turn:
                        found = self._start() if _try_lock(turn) and not self._is_running() else None
                if found is not None:
                    self.last_address = found
                    return found
                time.sleep(LOOK_EVERY)  # another process is starting it

    @property
    def address_file(self) -> Path:
        """The path of the server's output."""
        return self._beside("server")

    def _join(self, clients: FileIO) -> None:
        """Get a shared lock on a file. If a server is stopping after its last client, wait for its end."""
        until = time.monotonic() + END_SECONDS
        while not _try_lock(clients, shared=True):
            if time.monotonic() > until:
                raise ConnectionFailed(
                    f"the last server of {self.database} is stopping, but has not ended: see {self.address_file}, and "
                    "look for its process, adabkb serve"
                )
            time.sleep(LOOK_EVERY)

    def _beside(self, ending: str) -> Path:
        return self.database.with_name(f"{self.database.name}.{ending}")

    def _is_running(self) -> bool:
        with self._open(self._beside("running")) as file:
            return not _try_lock(file, shared=True)

    def _start(self) -> str | None:
        """Start a server, and return its URL; None if another server started first."""
        try:
            self.address_file.write_bytes(f"{socket.gethostname()}\n".encode())
        except OSError as error:
            raise self._unwritable(self.address_file, error) from None
        here = ["--host", "127.0.0.1", "--port", "0", "--database", f"sqlite:///{quote(str(self.database))}"]
        clients = self._beside("clients")
        with self._open(self.address_file) as output:
            server = subprocess.Popen(  # noqa: S603 (no shell, and the path is quoted in a URL)
                # -P: a module in the script's folder must not shadow one that the server imports.
                [sys.executable, "-P", "-c", SERVE, self._beside("running"), "serve", *here, "--while-used", clients],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # Ctrl-C must not stop it, since the script still has to release its trials
                creationflags=NEW_GROUP,
            )
        threading.Thread(target=server.wait, daemon=True).start()  # reap it when it ends
        begun, is_logged = time.monotonic(), False
        while time.monotonic() < begun + START_SECONDS and server.poll() is None:
            if (found := self._address()) is not None:
                return found
            if not is_logged and time.monotonic() > begun + START_SILENCE:
                is_logged = True
                with lines_on_standard_error():
                    log.info("starting the server of %s", self.database)
            time.sleep(LOOK_EVERY)
        server.kill()
        if self._is_running():  # started by a process that has died since
            return None
        content = self.address_file.read_bytes()
        printed = content.partition(b"\n")[2].decode(errors="replace").strip().removeprefix("error: ")
        raise ConnectionFailed(f"no server can be started for {self.database}: {printed or 'it printed nothing'}")

    def _address(self) -> str | None:
        """Return the URL that the server has written; None if it has not written one yet."""
        content = self.address_file.read_bytes()
        found = ADDRESS.search(content)
        if found is None:
            return None
        machine = content.partition(b"\n")[0].decode(errors="replace")
        if machine != socket.gethostname():
            raise ConnectionFailed(
                f"{self.database} is in use by a server on the machine {machine}, which only scripts on that machine "
                "can reach. For several machines, start one server: adabkb serve --host ..., and give its address to "
                "Client(url)."
            )
        return found[1].decode()

    def _open(self, file: Path) -> FileIO:
        try:
            return FileIO(str(file), "a+")
        except OSError as error:
            raise self._unwritable(file, error) from None

    def _unwritable(self, file: Path, error: OSError) -> ConnectionFailed:
        remedy = (
            "Free some space on its disk." if error.errno in (EDQUOT, ENOSPC) else "Name a file in a writable folder."
        )
        cause = f"{file} cannot be written ({error.strerror})"
        return ConnectionFailed(f"no server can be started for {self.database}: {cause}. {remedy}")


def _check(database: Path) -> None:
    """Refuse an existing file that is not a database, before files are created next to it."""
    if not database.exists():
        return
    if database.is_file():
        with database.open("rb") as file:
            if file.read(len(HEADER)) in (b"", HEADER):
                return
    raise ConnectionFailed(
        f"{database} is not a SQLite database; give Client.local a new file, such as "
        'Client.local("study.db"), or a database of this service'
    )


def keep_locked(file: str) -> None:
    """Lock a file until this process ends. If another process keeps it locked, end this one."""
    until, opened = time.monotonic() + LOCK_SECONDS, FileIO(file, "a+")
    while not _try_lock(opened):
        if time.monotonic() > until:
            sys.exit("error: another server of this database is already running")
        time.sleep(LOOK_EVERY)
    _kept.append(opened)


_kept: list[FileIO] = []


def _try_lock(file: FileIO, *, shared: bool = False) -> bool:
    """Lock a file, exclusively or shared, and return whether that was possible."""
    from portalocker import AlreadyLocked, LockException, LockFlags, lock  # noqa: PLC0415 (only local servers need it)

    try:
        lock(file, (LockFlags.SHARED if shared else LockFlags.EXCLUSIVE) | LockFlags.NON_BLOCKING)
    except AlreadyLocked:
        return False
    except LockException as error:
        raise ConnectionFailed(
            f"{file.name!r} cannot be locked ({error}): its file system has no locks. Put the database on a "
            "disk of this machine, or start a server there, `adabkb serve`, and use Client()"
        ) from None
    return True
