"""Evaluate the trials of a run on Ray or Dask, while this process renews the leases and reports the results."""

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import suppress
from time import monotonic
from types import ModuleType
from typing import Any

from adabkb_client._records import Answer
from adabkb_client._run.evaluation import Evaluation, Result
from adabkb_client._run.processes import Raised, Reply, reply_to, result_in
from adabkb_client._trial import LeasedTrial
from adabkb_client._trial_calls import Leased
from adabkb_client.errors import WorkerLost, WrongFunction

log = logging.getLogger("adabkb_client")

LOOK_EVERY = 1.0
"""Seconds between two checks whether an evaluation has begun, and whether the run is over."""
STALL_SECONDS = 30.0
"""Seconds without any evaluation after which a run counts as stalled. Workers of a cluster may take some time to
start."""


class StallDetector:
    """Detects that a cluster evaluates no trial of a run. Threads may share it."""

    def __init__(self) -> None:
        self._under_way: set[Hashable] = set()
        self._since = monotonic()
        self._has_warned = False
        self._lock = threading.Lock()

    def note(self, task: Hashable, *, is_evaluated: bool) -> None:
        """Note whether a task is being evaluated now."""
        with self._lock:
            if is_evaluated:
                self._under_way.add(task)
                self._has_warned = False
            elif task in self._under_way:
                self._under_way.discard(task)
                self._since = monotonic()

    def due(self, submitted: float) -> float | None:
        """Return the seconds for which the run has been stalled, if it is time to warn; only once per stall.

        Args:
            submitted: when the calling task was submitted, by the monotonic clock.
        """
        with self._lock:
            seconds = monotonic() - max(self._since, submitted)
            if self._has_warned or self._under_way or seconds < STALL_SECONDS:
                return None
            self._has_warned = True
            return seconds


class Cluster(ABC):
    """Evaluates trials on a cluster, with the interface of ``Evaluation``. Threads may share it.

    Args:
        name: the name of the engine, for errors.
        pickler: the engine's cloudpickle, which can also send functions and exceptions of the main script.
        evaluation: the function to call on the cluster.
        resources: the resources of one evaluation, as arguments of the engine.

    Raises:
        TypeError: the function cannot be pickled.
    """

    def __init__(self, name: str, pickler: ModuleType, evaluation: Evaluation, resources: Mapping[str, Any]) -> None:
        self._name = name
        self._pickler = pickler
        self._needs_study = evaluation.pass_trial
        try:
            self._function: bytes = pickler.dumps(evaluation)
        except Exception as error:
            raise WrongFunction(
                f"engine={name!r} needs a function that can be pickled, but this one cannot be "
                f"({type(error).__name__}: {error}). Open files, locks and connections inside the function."
            ) from None
        self._resources = dict(resources)
        self._tasks: set[Any] = set()
        self._cancelled = False
        self._lock = threading.Lock()
        self._stall = StallDetector()

    def __call__(self, trial: LeasedTrial, is_over: Callable[[], bool]) -> Result | Answer:
        """Evaluate a trial: see ``Evaluation``. It is released if the run is over before its evaluation has begun.

        Raises:
            WorkerLost: the process or node of the evaluation was lost.
            SystemExit: ``cancel`` was called.
        """
        # The study, with its URL and token, is sent only if the function needs it.
        sent = self._pickler.dumps(trial if self._needs_study else Leased(trial.trial))
        with self._lock:
            if self._cancelled:
                raise SystemExit("the run is over")
            task = self._submit(sent)
            self._tasks.add(task)
        try:
            pickled = self._wait_for_reply(task, trial, is_over)
            reply: Reply = None if pickled is None else self._pickler.loads(pickled)
        except Exception as error:  # an error of the cluster; those of the function are replies
            if self._cancelled:
                raise SystemExit("the run is over") from None
            raise WorkerLost(f"{self._name} lost the evaluation of trial {trial.number}: {error}") from error
        finally:
            with self._lock:
                self._tasks.discard(task)
            self._stall.note(task, is_evaluated=False)
        return trial.release() if reply is None else result_in(reply, trial)

    def _wait_for_reply(self, task: Any, trial: Leased, is_over: Callable[[], bool]) -> bytes | None:
        """Wait for the pickled reply; None if the run is over before the evaluation has begun."""
        submitted = monotonic()
        while (pickled := self._reply(task, LOOK_EVERY)) is None:
            is_evaluated = self._is_evaluated(task)
            self._stall.note(task, is_evaluated=is_evaluated)
            if is_evaluated:
                continue
            if seconds := self._stall.due(submitted):
                self._warn(trial, seconds)
            if is_over():
                self._stop(task)
                return None
        return pickled

    def _warn(self, trial: Leased, seconds: float) -> None:
        log.warning(
            "trial %d waits for %s, which has evaluated no trial of this run for %.0f s. One evaluation needs %s. %s. "
            "The lease is renewed, and the run continues when a worker is free. The run's timeout limits the wait.",
            trial.number,
            self._name.title(),
            seconds,
            self._resources or "one processor",
            self._described(),
        )

    def cancel(self) -> None:
        """Cancel running evaluations, and start no more."""
        with self._lock:
            self._cancelled = True
            tasks = list(self._tasks)
        for task in tasks:
            with suppress(Exception):  # a lost cluster evaluates nothing
                self._stop(task)

    @abstractmethod
    def close(self) -> None:
        """Release the resources on the cluster."""

    @abstractmethod
    def _submit(self, trial: bytes) -> Any:
        """Start the evaluation of a pickled trial, and return the engine's handle of it."""

    @abstractmethod
    def _reply(self, task: Any, seconds: float) -> bytes | None:
        """Wait for the pickled reply, or for the beginning of the evaluation, for at most ``seconds``. Return None
        without a reply."""

    @abstractmethod
    def _is_evaluated(self, task: Any) -> bool:
        """Return whether a worker of the cluster has the task."""

    @abstractmethod
    def _described(self) -> str:
        """Describe the resources of the cluster."""

    @abstractmethod
    def _stop(self, task: Any) -> None:
        """End the evaluation at once."""


def evaluate_pickled(function: bytes, trial: bytes, pickler: ModuleType) -> bytes:
    """Evaluate a trial in a process of the cluster, and return the pickled reply."""
    try:
        evaluation, leased = pickler.loads(function), pickler.loads(trial)
    except Exception as error:
        return bytes(
            pickler.dumps(
                Raised(
                    ImportError(
                        f"a worker of the cluster cannot load the function ({type(error).__name__}: {error}). Its "
                        "modules must be installed where it is evaluated, in the same versions as here."
                    )
                )
            )
        )
    return bytes(pickler.dumps(reply_to(evaluation, leased, pickler)))


class _RayTask:
    """An evaluation on Ray: a stream that yields None once it has begun, and then its pickled reply."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.has_begun = False


class _Ray(Cluster):
    """The Ray cluster that the program is connected to, or else that of RAY_ADDRESS or of this machine."""

    def __init__(self, evaluation: Evaluation, resources: Mapping[str, Any]) -> None:
        import ray  # noqa: PLC0415 (an optional dependency)

        if not ray.is_initialized():
            try:
                ray.init(address="auto")
            except ConnectionError as error:
                raise ConnectionError(
                    "engine='ray' found no Ray cluster: call ray.init() first, or set RAY_ADDRESS"
                ) from error
        super().__init__("ray", ray.cloudpickle, evaluation, resources)
        self._ray: Any = ray
        self._stored = ray.put(self._function)
        # The server issues a lost trial again, so Ray must not retry it.
        self._remote: Any = ray.remote(**{"max_retries": 0, **resources, "num_returns": "streaming"})(
            evaluate_in_stream
        )

    def close(self) -> None:
        """Do not disconnect the program, which may use the cluster for other tasks."""

    def _submit(self, trial: bytes) -> _RayTask:
        return _RayTask(self._remote.remote(self._stored, trial, self._pickler))

    def _reply(self, task: _RayTask, seconds: float) -> bytes | None:
        ready, _ = self._ray.wait([task.stream], timeout=seconds)
        if not ready:
            return None
        found: bytes | None = self._ray.get(next(task.stream))
        task.has_begun = True
        return found

    def _is_evaluated(self, task: _RayTask) -> bool:
        return task.has_begun

    def _described(self) -> str:
        free = self._ray.available_resources()
        shares = [
            f"{free.get(name, 0):g} of {has:g} {name}"
            for name, has in sorted(self._ray.cluster_resources().items())
            if not name.startswith(("node:", "memory", "object_store_memory"))
        ]
        return f"Free in the cluster: {', '.join(shares) or 'nothing'}"

    def _stop(self, task: _RayTask) -> None:
        self._ray.cancel(task.stream, force=True)


class _Dask(Cluster):
    """The Dask cluster of the program's ``distributed.Client``, or else that of DASK_SCHEDULER_ADDRESS."""

    def __init__(self, evaluation: Evaluation, resources: Mapping[str, Any]) -> None:
        import cloudpickle  # noqa: PLC0415 (a dependency of Dask)
        import distributed  # noqa: PLC0415 (an optional dependency)
        from dask import config  # noqa: PLC0415

        super().__init__("dask", cloudpickle, evaluation, resources)
        self._distributed = distributed
        self._own: Any = None
        try:
            self._client: Any = distributed.default_client()
        except ValueError:
            if config.get("scheduler-address", None) is None:
                raise ConnectionError(
                    "engine='dask' found no Dask cluster: create a distributed.Client(...) first, or set "
                    "DASK_SCHEDULER_ADDRESS"
                ) from None
            self._client = self._own = distributed.Client(set_as_default=False)

    def close(self) -> None:
        """Close the connection if this run has opened it."""
        if self._own is not None:
            self._own.close()

    def _submit(self, trial: bytes) -> Any:
        return self._client.submit(
            evaluate_pickled, self._function, trial, self._pickler, pure=False, **self._resources
        )

    def _reply(self, task: Any, seconds: float) -> bytes | None:
        try:
            self._distributed.wait(task, timeout=seconds)
        except TimeoutError:
            return None
        found: bytes = task.result()
        return found

    def _is_evaluated(self, task: Any) -> bool:
        with_workers = self._client.processing().values()
        # In this order, since a task moves from the first to the second.
        return any(task.key in keys for keys in with_workers) or any(self._client.who_has([task]).values())

    def _described(self) -> str:
        workers = self._client.scheduler_info(n_workers=-1)["workers"].values()
        has = [f"{worker['nthreads']} threads and the resources {worker['resources']}" for worker in workers]
        return f"The cluster has {len(has)} workers" + (f": {'; '.join(dict.fromkeys(has))}" if has else "")

    def _stop(self, task: Any) -> None:
        task.cancel(force=True)


CLUSTERS: Mapping[str, Callable[[Evaluation, Mapping[str, Any]], Cluster]] = {"ray": _Ray, "dask": _Dask}


def connect(engine: str, evaluation: Evaluation, resources: Mapping[str, Any]) -> Cluster:
    """Return the cluster that an engine finds.

    Raises:
        ImportError: the engine is not installed.
        ConnectionError: no cluster was found.
        TypeError: the function cannot be pickled.
    """
    try:
        return CLUSTERS[engine](evaluation, resources)
    except ImportError as error:
        raise ImportError(
            f"study.run(engine={engine!r}) needs {engine.title()}: pip install 'adabkb-client[{engine}]'"
        ) from error


def evaluate_in_stream(function: bytes, trial: bytes, pickler: ModuleType) -> Iterator[bytes | None]:
    """Yield None at once, and the pickled reply at the end of the evaluation."""
    yield None
    yield evaluate_pickled(function, trial, pickler)
