"""The clusters that evaluate the trials of a run: Ray and Dask. They are imported only if a run uses them."""

from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

from adabkb_client._run.cluster import Cluster, evaluated
from adabkb_client._run.evaluation import Evaluation


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
            begun_and_evaluated
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
        told = [
            f"{free.get(name, 0):g} of {has:g} {name}"
            for name, has in sorted(self._ray.cluster_resources().items())
            if not name.startswith(("node:", "memory", "object_store_memory"))
        ]
        return f"Free in the cluster: {', '.join(told) or 'nothing'}"

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
        return self._client.submit(evaluated, self._function, trial, self._pickler, pure=False, **self._resources)

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
        return f"The cluster has {len(has)} workers: {'; '.join(dict.fromkeys(has))}" if has else "It has no workers"

    def _stop(self, task: Any) -> None:
        task.cancel(force=True)


CLUSTERS: Mapping[str, Callable[[Evaluation, Mapping[str, Any]], Cluster]] = {"ray": _Ray, "dask": _Dask}


def connected(engine: str, evaluation: Evaluation, resources: Mapping[str, Any]) -> Cluster:
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


def begun_and_evaluated(function: bytes, trial: bytes, pickler: ModuleType) -> Iterator[bytes | None]:
    """Yield None at once, and the pickled reply at the end of the evaluation."""
    yield None
    yield evaluated(function, trial, pickler)
