"""Evaluates the trials of a run on a cluster of Ray or Dask, while this process keeps the leases and reports.

Ray and Dask are imported only if a run asks for them.
"""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import ModuleType
from typing import Any

from adabkb_client.errors import WorkerLost
from adabkb_client.evaluation import Evaluation, Result
from adabkb_client.leased import Leased
from adabkb_client.models import Answer
from adabkb_client.processes import Reply, reply_to


class Cluster(ABC):
    """Evaluates like ``Evaluation``, somewhere else. Any number of threads may call it.

    Args:
        name: of the engine, for errors.
        pickler: the engine's own cloudpickle. It sends functions and exceptions that the main script defines, too.
        evaluation: what to call there.

    Raises:
        TypeError: the function cannot be pickled.
    """

    def __init__(self, name: str, pickler: ModuleType, evaluation: Evaluation) -> None:
        self._name = name
        self._pickler = pickler
        self._needs_study = evaluation.pass_trial
        try:
            self._function: bytes = pickler.dumps(evaluation)
        except Exception as error:
            raise TypeError(
                f"engine={name!r} needs a function that can be pickled, and this one cannot be "
                f"({type(error).__name__}: {error}). Open files, locks and connections inside the function."
            ) from None
        self._tasks: set[Any] = set()
        self._cancelled = False
        self._lock = threading.Lock()

    def __call__(self, trial: Leased) -> Result | Answer:
        """Evaluate a trial: see ``Evaluation``.

        Raises:
            WorkerLost: its process or its node was lost.
            SystemExit: ``cancel`` has ended it.
        """
        # The study, with its address and token, goes along only if the function is to have it.
        sent = self._pickler.dumps(trial if self._needs_study else Leased(trial.trial))
        with self._lock:
            if self._cancelled:
                raise SystemExit("the run is over")
            task = self._submit(sent)
            self._tasks.add(task)
        try:
            reply: Reply = self._pickler.loads(self._wait(task))
        except Exception as error:  # of the cluster; those of the function are replies
            if self._cancelled:
                raise SystemExit("the run is over") from None
            raise WorkerLost(f"{self._name} lost the evaluation of trial {trial.number}: {error}") from error
        finally:
            with self._lock:
                self._tasks.discard(task)
        if isinstance(reply, BaseException):
            raise reply
        assert reply is not None, "no evaluation is answered by None"
        return reply

    def cancel(self) -> None:
        """Cancel what is under way, and start nothing more."""
        with self._lock:
            self._cancelled = True
            tasks = list(self._tasks)
        for task in tasks:
            with suppress(Exception):  # a cluster that is gone evaluates nothing either
                self._stop(task)

    @abstractmethod
    def close(self) -> None:
        """Leave the cluster as it was found."""

    @abstractmethod
    def _submit(self, trial: bytes) -> Any:
        """Start the evaluation of a pickled trial, and return the engine's handle of it."""

    @abstractmethod
    def _wait(self, task: Any) -> bytes:
        """Wait for the pickled reply."""

    @abstractmethod
    def _stop(self, task: Any) -> None:
        """End the evaluation at once."""


class _Ray(Cluster):
    """The Ray cluster that the program is connected to, else the one of RAY_ADDRESS or of this machine."""

    def __init__(self, evaluation: Evaluation, resources: Mapping[str, Any]) -> None:
        import ray  # noqa: PLC0415 (an optional dependency)

        if not ray.is_initialized():
            try:
                ray.init(address="auto")
            except ConnectionError as error:
                raise ConnectionError(
                    "engine='ray' found no Ray cluster: call ray.init() first, or set RAY_ADDRESS"
                ) from error
        super().__init__("ray", ray.cloudpickle, evaluation)
        self._ray = ray
        self._stored = ray.put(self._function)
        # The study hands a lost trial out again, so Ray is not to repeat it.
        self._remote: Any = ray.remote(**{"max_retries": 0, **resources})(evaluated)

    def close(self) -> None:
        """Leave the program connected, as it may use the cluster for more."""

    def _submit(self, trial: bytes) -> Any:
        return self._remote.remote(self._stored, trial, self._pickler)

    def _wait(self, task: Any) -> bytes:
        found: bytes = self._ray.get(task)
        return found

    def _stop(self, task: Any) -> None:
        self._ray.cancel(task, force=True)


class _Dask(Cluster):
    """The Dask cluster of the program's ``distributed.Client``, else the one of DASK_SCHEDULER_ADDRESS."""

    def __init__(self, evaluation: Evaluation, resources: Mapping[str, Any]) -> None:
        import cloudpickle  # noqa: PLC0415 (a dependency of Dask)
        import distributed  # noqa: PLC0415 (an optional dependency)
        from dask import config  # noqa: PLC0415

        super().__init__("dask", cloudpickle, evaluation)
        self._resources = dict(resources)
        self._own: Any = None
        try:
            self._client: Any = distributed.default_client()
        except ValueError:
            if config.get("scheduler-address", None) is None:
                raise ConnectionError(
                    "engine='dask' found no Dask cluster: make a distributed.Client(...) first, or set "
                    "DASK_SCHEDULER_ADDRESS"
                ) from None
            self._client = self._own = distributed.Client(set_as_default=False)

    def close(self) -> None:
        """Close the connection if this run has made it."""
        if self._own is not None:
            self._own.close()

    def _submit(self, trial: bytes) -> Any:
        return self._client.submit(evaluated, self._function, trial, self._pickler, pure=False, **self._resources)

    def _wait(self, task: Any) -> bytes:
        found: bytes = task.result()
        return found

    def _stop(self, task: Any) -> None:
        task.cancel(force=True)


ENGINES: Mapping[str, Callable[[Evaluation, Mapping[str, Any]], Cluster]] = {"ray": _Ray, "dask": _Dask}


def connected(engine: str, evaluation: Evaluation, resources: Mapping[str, Any]) -> Cluster:
    """Return the cluster that an engine finds.

    Raises:
        ImportError: the engine is not installed.
        ConnectionError: there is no cluster.
        TypeError: the function cannot be pickled.
    """
    try:
        return ENGINES[engine](evaluation, resources)
    except ImportError as error:
        raise ImportError(
            f"study.run(engine={engine!r}) needs {engine.title()}: pip install 'adabkb-service[{engine}]'"
        ) from error


def evaluated(function: bytes, trial: bytes, pickler: ModuleType) -> bytes:
    """Evaluate a trial in a process of the cluster, and return the pickled reply."""
    try:
        evaluation, leased = pickler.loads(function), pickler.loads(trial)
    except Exception as error:
        return bytes(
            pickler.dumps(
                ImportError(
                    f"a worker of the cluster cannot load the function ({type(error).__name__}: {error}). Its modules "
                    "must be installed where it is evaluated, in the same versions as here."
                )
            )
        )
    return bytes(pickler.dumps(reply_to(evaluation, leased, pickler)))
