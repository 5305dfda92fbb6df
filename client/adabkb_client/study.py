"""A study: its calls, and methods built on them that evaluate it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from adabkb_client import worker
from adabkb_client.lease import LEASE_SECONDS, LeasedTrial, exit_on_sigterm
from adabkb_client.resource import StudyResource

if TYPE_CHECKING:
    import pandas as pd


class Study(StudyResource):
    """A study on the server. The object has no state of its own, so many processes may work on one study."""

    @contextmanager
    def trial(self, *, lease_seconds: float = LEASE_SECONDS) -> Iterator[LeasedTrial]:
        """Lease a trial for the block, and renew the lease until its end.

        An exception fails the trial with its text; KeyboardInterrupt, SIGTERM (in the main thread of a
        program without a handler of its own) and mistakes of the program (ImportError, NameError, SyntaxError, a
        result that is no number) give it back. The exception propagates in each case.

        Args:
            lease_seconds: how long the trial stays with this process after a sign of life. A thread gives these
                signs; code that holds the interpreter's lock for longer than that needs a longer lease.

        Raises:
            NoTrialAvailable, StudyComplete: as ``suggest``.
        """
        with exit_on_sigterm(), LeasedTrial(self, self.suggest(lease_seconds=lease_seconds)) as leased:
            yield leased

    def run(
        self,
        function: worker.Objective,
        *,
        workers: int = 1,
        max_failures: int = 5,
        progress: bool = True,
        lease_seconds: float = LEASE_SECONDS,
    ) -> worker.RunReport:
        """Evaluate trials with a function, in threads, until the study is complete.

        Waits while somebody has paused the study, and while the last trials are with workers elsewhere. Results are
        stored one by one, so a run can be interrupted and started again: it continues with the study.

        Args:
            function: called with the parameters by name, from ``workers`` threads at once; returns the value
                or (value, standard error). An exception fails the trial and is logged.
            workers: number of threads.
            max_failures: the run stops with the last error after so many failures in a row.
            progress: show a progress bar in a terminal or notebook. Elsewhere each result is one line of the log
                (logger "adabkb_client", level INFO), on standard error unless the program has set up logging.
            lease_seconds: as in ``trial``.

        Returns:
            What this run did, why the study is complete, and the recommendation.

        Raises:
            TypeError: the function does not take the study's parameters, or returned something that is no number.
            ImportError, NameError, SyntaxError: the function raised it. After such a mistake of the program the run
                stops at once, and its trials are given back instead of failed.
            Exception: the last error, after ``max_failures`` failures in a row.
            NoTrialAvailable: the study was paused because ``failure_limit`` trials failed in a row; ``resume``
                makes it go on.
            ConnectionFailed: the server stayed away for longer than the client's ``retry_for``.
        """
        return worker.run(
            self,
            function,
            workers=workers,
            max_failures=max_failures,
            progress=progress,
            lease_seconds=lease_seconds,
        )

    def to_frame(self) -> "pd.DataFrame":
        """Return the observations as a pandas frame, with a column ``parameters.<name>`` for each parameter.

        Raises:
            ImportError: pandas is not installed.
        """
        try:
            import pandas as pd  # noqa: PLC0415 (an optional dependency)
        except ImportError as error:
            raise ImportError("to_frame() needs pandas: pip install pandas") from error
        rows = [{**vars(row), "parameters": dict(row.parameters)} for row in self.observations()]
        return pd.json_normalize(rows)
