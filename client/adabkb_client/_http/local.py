"""The server of a local database: reused if it runs, started otherwise, and stopped after its last client.

Two files beside the database coordinate this. A process locks them while it lives, and the system unlocks them
however the process ends:

``study.db.server`` has the output of the server, including its URL. A process that can lock it starts a server, which
inherits the lock.
``study.db.clients`` is empty. Each client holds a shared lock on it. The server stops when it gets an exclusive lock.
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
from importlib.util import find_spec
from io import FileIO
from pathlib import Path
from typing import Self
from urllib.parse import quote

from adabkb_client._http.protocol import RETRY_FOR
from adabkb_client.errors import ConnectionFailed

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]

START_PATIENCE = 120.0
"""Seconds within which a server must start. The first start after an installation may compile the numerics."""
END_PATIENCE = 60.0
"""Seconds within which a server must stop."""
LOOK_EVERY = 0.02
"""Seconds between two checks whether a server is ready, or has stopped."""
INSTALL = "pip install 'adabkb-service[server]'"
SERVE = "from adabkb_service.cli import main; main()"
ADDRESS = re.compile(rb"^adabkb: listening on (http://\S+)$", re.MULTILINE)


class LocalServer:
    """The server of a local database, which runs as long as any process has an open object of this class.

    Args:
        database: the SQLite file, which is created if it does not exist.

    Raises:
        ConnectionFailed: the files beside the database cannot be written.
        ImportError: the server is not installed.
        OSError: this system has no POSIX file locks.
    """

    first_contact = RETRY_FOR
    """See ``RemoteServer.first_contact``; the URL of this server is never wrong."""
    credentials = None
    remedy = "The next call starts it again."

    def __init__(self, database: str | Path) -> None:
        _check_system()
        self.database = Path(database).resolve()
        digest = hashlib.sha256(os.fsencode(self.database)).hexdigest()[:16]
        self.name = f"local-{self.database.name[:100]}-{digest}"
        """The name of the server's outbox, since its port changes with each start."""
        self._one_at_a_time = threading.Lock()
        clients = self._opened(self._beside("clients"))
        self._join(clients)
        self.close = weakref.finalize(self, clients.close)
        """Disconnect from the server, which stops after the last client."""

    @classmethod
    def running(cls, database: str | Path) -> Self:
        """Return the running server of a database. Raises the errors of ``LocalServer`` and ``address``."""
        server = cls(database)
        try:
            server.address()
        except BaseException:
            server.close()
            raise
        return server

    def __reduce__(self) -> tuple[type[Self], tuple[Path]]:
        return type(self), (self.database,)

    def address(self) -> str:
        """Return the URL of the server, which is started if it does not run.

        Raises:
            ConnectionFailed: it does not start (the message has its output), or it runs on another machine.
        """
        with self._one_at_a_time:
            while True:
                with self._opened(self.address_file) as file:
                    if _locked(file, fcntl.LOCK_EX):
                        return self._started(file)
                    found = self._address(file)
                if found is not None:
                    return found
                time.sleep(LOOK_EVERY)  # another process is starting it

    @property
    def address_file(self) -> Path:
        """The path of the server's output."""
        return self._beside("server")

    def _join(self, clients: FileIO) -> None:
        """Get a shared lock on a file. If a server is stopping after its last client, wait for its end."""
        until = time.monotonic() + END_PATIENCE
        while not _locked(clients, fcntl.LOCK_SH):
            if time.monotonic() > until:
                raise ConnectionFailed(
                    f"the last server of {self.database} is about to end, but does not: see {self.address_file}, and "
                    "look for its process: adabkb serve"
                )
            time.sleep(LOOK_EVERY)

    def _beside(self, ending: str) -> Path:
        return self.database.with_name(f"{self.database.name}.{ending}")

    def _started(self, locked: FileIO) -> str:
        """Start a server, which keeps this file locked."""
        locked.truncate(0)
        locked.write(f"{socket.gethostname()}\n".encode())
        here = ["--host", "127.0.0.1", "--port", "0", "--database", f"sqlite:///{quote(str(self.database))}"]
        with self._opened(self.address_file) as output:
            server = subprocess.Popen(  # noqa: S603 (no shell, and the path is quoted in a URL)
                # -P: a module in the script's folder must not shadow one that the server imports.
                [sys.executable, "-P", "-c", SERVE, "serve", *here, "--while-used", self._beside("clients")],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=[locked.fileno()],  # the server's own child processes do not inherit it
                start_new_session=True,  # Ctrl-C is for the script, which must still release its trials
            )
        threading.Thread(target=server.wait, daemon=True).start()  # it may end long before this process
        until = time.monotonic() + START_PATIENCE
        while time.monotonic() < until and server.poll() is None:
            if (found := self._address(locked)) is not None:
                return found
            time.sleep(LOOK_EVERY)
        server.kill()
        said = _content(locked).partition(b"\n")[2].decode(errors="replace").strip().removeprefix("error: ")
        raise ConnectionFailed(f"no server can be started for {self.database}: {said or 'it says nothing'}")

    def _address(self, file: FileIO) -> str | None:
        """Return the URL that a server has written; None if it has not written one yet."""
        content = _content(file)
        found = ADDRESS.search(content)
        if found is None:
            return None
        machine = content.partition(b"\n")[0].decode(errors="replace")
        if machine != socket.gethostname():
            raise ConnectionFailed(
                f"{self.database} is in use by a server on the machine {machine}, which only scripts there reach. "
                "For several machines, start one server: adabkb serve --host ..., and give its address to Client(url)."
            )
        return found[1].decode()

    def _opened(self, file: Path) -> FileIO:
        try:
            return FileIO(str(file), "a+")
        except OSError as error:
            raise ConnectionFailed(
                f"no server can be started for {self.database}: {file} cannot be written ({error.strerror}). "
                "Name a file in a folder that exists, and that you may write to."
            ) from None


def _check_system() -> None:
    if fcntl is None:
        raise OSError("Client.local() needs the file locks of POSIX; start a server, `adabkb serve`, and use Client()")
    if find_spec("adabkb_service") is None or find_spec("uvicorn") is None:
        raise ImportError(f"Client.local() needs the server; install it: {INSTALL}")


def _locked(file: FileIO, kind: int) -> bool:
    """Lock a file, shared or exclusively, and return whether that was possible."""
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise ConnectionFailed(
            f"{file.name!r} cannot be locked ({error.strerror}): its file system has no locks. Put the database on a "
            "disk of this machine, or start a server there, `adabkb serve`, and use Client()"
        ) from None
    return True


def _content(file: FileIO) -> bytes:
    file.seek(0)
    return file.read()
