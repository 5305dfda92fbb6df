"""The options of a run: the arguments of ``Study.run`` and ``AsyncStudy.run``."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adabkb_client._calls import Steps
from adabkb_client._records import Parameters, Trial
from adabkb_client._trial import Context
from adabkb_client._trial_calls import TrialCalls

ENGINES = ("ray", "dask")
"""The clusters on which a run can evaluate: see ``cluster.py``."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """The validated options of a run: see ``Study.run``."""

    n_trials: int | None
    timeout: float | None
    workers: int
    callbacks: Sequence[Callable[[Any, Trial], object]]
    catch: type[Exception] | tuple[type[Exception], ...]
    pass_trial: bool
    max_failures: int
    progress: bool
    lease_seconds: float
    fixed: Parameters | None
    processes: bool | int = False
    engine: str | None = None
    resources: Mapping[str, Any] | None = None
    context: Context = None
    gpus: Sequence[int | str] | None = None

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise ValueError(f"workers must be at least 1, not {self.workers}")
        if self.n_trials is not None and self.n_trials < 1:
            raise ValueError(f"n_trials must be at least 1, or None for no limit, not {self.n_trials}")
        if self.timeout is not None and not self.timeout > 0:
            raise ValueError(f"timeout must be more than 0 seconds, or None for no limit, not {self.timeout}")
        self._check_processes()
        self._check_engine()
        self._check_gpus()
        check_catch(self.catch)

    @property
    def parallel(self) -> int:
        """The number of evaluations that run at once."""
        return self.workers if isinstance(self.processes, bool) else self.processes

    def request(self, study: TrialCalls, count: int, wait: float) -> Steps[list[Trial]]:
        """Return the request for some trials in the current context, for which the server may wait some seconds."""
        context = self.context() if callable(self.context) else self.context
        return study.suggest(count, lease_seconds=self.lease_seconds, fixed=self.fixed, context=context, wait=wait)

    def _check_processes(self) -> None:
        if isinstance(self.processes, bool):
            return
        if not isinstance(self.processes, int):
            raise TypeError(f"processes must be True, False or a number of processes, not {self.processes!r}")
        if self.processes < 1:
            raise ValueError(f"processes must be at least 1, or False for threads, not {self.processes}")
        if self.workers != 1:
            raise ValueError(
                f"processes={self.processes} and workers={self.workers} cannot be combined; leave out workers"
            )

    def _check_gpus(self) -> None:
        if self.gpus is None:
            return
        if isinstance(self.gpus, str) or not len(self.gpus):
            raise ValueError(f"gpus must be a list of devices, such as [0, 1], not {self.gpus!r}")
        if not self.processes:
            raise ValueError(
                f"gpus needs processes, such as processes={len(self.gpus)}: the threads of one process see the same "
                "devices. On a cluster use resources="
            )

    def _check_engine(self) -> None:
        if self.engine not in (None, *ENGINES):
            raise ValueError(f"engine must be one of {', '.join(map(repr, ENGINES))}, or None, not {self.engine!r}")
        if self.engine is not None and self.processes:
            raise ValueError(f"processes and engine={self.engine!r} cannot be combined; leave one of them out")
        if self.engine is None and self.resources is not None:
            raise ValueError(
                f"resources needs engine={' or engine='.join(map(repr, ENGINES))}; add one of these, or "
                "leave out resources"
            )


def check_catch(catch: Any) -> None:
    """Refuse values that ``except`` would not accept.

    Raises:
        TypeError: it is not an exception class or a tuple of them.
    """
    kinds = catch if isinstance(catch, tuple) else (catch,)
    if not all(isinstance(kind, type) and issubclass(kind, Exception) for kind in kinds):
        raise TypeError(f"catch must be an exception class or a tuple of them, not {catch!r}")
