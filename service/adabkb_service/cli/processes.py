"""The processes of ``adabkb run``: a program and its children form one process group, which ends as a whole."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Self

from adabkb_client._trial_calls import stop_seconds

GUARD = "trap '' HUP INT TERM; echo; read _; rm -rf -- \"$1\"; kill -KILL 0"
"""The shell script of a guard. It signals that it is ready and waits for the end of its input, that is, until the
command dies. Then it removes the folder and kills its group."""
KEPT = 1_000_000
"""The maximum number of bytes of each output that are kept; these are the last ones."""
READ = 65_536
PIPE_SECONDS = 1.0
"""Seconds to wait for the end of the outputs if the program has ended but its group has not. A filter such as tee may
need a moment to finish; a background process may keep the pipes open indefinitely."""


class ProcessGroup:
    """A running program in its own process group.

    The leader of the group is a guard: a shell that kills the group if this process dies, for any reason. It lives
    until ``close``, so the process-group id cannot have been reused.

    Args:
        command: the program with its arguments.
        environment: the program's environment variables.
        folder: a folder to remove if this process dies.

    Raises:
        OSError: the program cannot be started.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], folder: Path) -> None:
        self._lock = threading.RLock()  # a signal handler may interrupt another one
        self._closed = False
        self._guard = subprocess.Popen(  # noqa: S603 (a fixed script, and a folder as its argument)
            ["/bin/sh", "-c", GUARD, "adabkb-guard", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
        try:
            _stream(self._guard.stdout).read(1)
            self._program = subprocess.Popen(  # noqa: S603 (running the user's program is the purpose of the command)
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                process_group=self._guard.pid,
            )
        except BaseException:
            self._end_group()
            raise
        self.stdout = _stream(self._program.stdout)
        self.stderr = _stream(self._program.stderr)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def wait(self) -> int:
        """Wait for the end of the program, but not of its children; return its exit code or the negated signal."""
        return self._program.wait()

    def send(self, number: int) -> None:
        """Send a signal to the program and its children."""
        with self._lock, suppress(ProcessLookupError, PermissionError):
            if not self._closed:
                os.killpg(self._guard.pid, number)

    def close(self) -> None:
        """Kill the remaining processes of the group."""
        self._end_group()
        self._program.wait()

    def _end_group(self) -> None:
        self.send(signal.SIGKILL)
        with self._lock:
            self._closed = True
            self._guard.wait()
        for stream in (self._guard.stdin, self._guard.stdout):
            _stream(stream).close()


class Output:
    """An output of a program: forwarded as it arrives; its last ``KEPT`` bytes are kept.

    Args:
        stream: the output to read.
        sink: where to forward it.
    """

    def __init__(self, stream: IO[bytes], sink: IO[bytes]) -> None:
        self._stream = stream
        self._sink = sink
        self._end = b""
        self._thread = threading.Thread(target=self._pump, daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> None:
        """Wait for the end of the output, for at most ``seconds``."""
        self._thread.join(seconds)

    def text(self) -> str:
        """Return the last ``KEPT`` bytes of the output, once the group has ended. A process that has left the group may
        keep the output open, so this waits for at most ``stop_seconds``."""
        self.wait(stop_seconds())
        return self._end.decode(errors="replace")

    def _pump(self) -> None:
        with self._stream:
            for chunk in iter(partial(os.read, self._stream.fileno(), READ), b""):
                self._end = (self._end + chunk)[-KEPT:]
                with suppress(OSError, ValueError):  # a full disk must not stop the program
                    self._sink.write(chunk)
                    self._sink.flush()


def drain(outputs: Iterable[Output]) -> None:
    """Wait for the outputs of a program that has ended, for at most ``PIPE_SECONDS`` in total."""
    end = time.monotonic() + PIPE_SECONDS
    for output in outputs:
        output.wait(max(end - time.monotonic(), 0.0))


def _stream(stream: IO[bytes] | None) -> IO[bytes]:
    """Narrow the type: the stream is not None, since it was created with PIPE."""
    assert stream is not None
    return stream
