"""A study: its calls, and methods built on them that evaluate it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from adabkb_client import worker
from adabkb_client.lease import LeasedTrial, exit_on_sigterm
from adabkb_client.resource import StudyResource

if TYPE_CHECKING:
    import pandas as pd


class Study(StudyResource):
    """A study on the server. The object has no state of its own, so many processes may work on one study."""

    @contextmanager
    def trial(self) -> Iterator[LeasedTrial]:
        """Lease a trial for the block, and renew the lease until its end.

        An exception fails the trial with its text; KeyboardInterrupt and SIGTERM (in the main thread of a
        program without a handler of its own) give it back. The exception propagates in each case.

        Raises:
            NoTrialAvailable, StudyComplete: as ``suggest``.
        """
        with exit_on_sigterm(), LeasedTrial(self, self.suggest()) as leased:
            yield leased

    def run(
        self,
        function: worker.Objective,
        *,
        workers: int = 1,
        max_failures: int = 5,
        progress: bool = True,
    ) -> worker.RunReport:
        """Evaluate trials with a function, in threads, until the study is complete.

        Waits while the study is paused, and while the last trials are with workers elsewhere. Results are
        stored one by one, so a run can be interrupted and started again: it continues with the study.

        Args:
            function: called with the parameters by name, from ``workers`` threads at once; returns the value
                or (value, standard error). An exception fails the trial and is logged.
            workers: number of threads.
            max_failures: the run stops with the last error after so many failures in a row.
            progress: show a progress bar, if standard error is a terminal.

        Raises:
            Exception: the last error, after ``max_failures`` failures in a row.
            ConnectionFailed: the server stayed away for longer than the client's ``retry_for``.
        """
        return worker.run(self, function, workers=workers, max_failures=max_failures, progress=progress)

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
