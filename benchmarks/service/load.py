"""``python -m benchmarks.service.load CLIENTS RESULTS PROFILE ROUTING ADDRESS...``: the clients of a server.

The clients are threads of one process, each with a persistent connection to each server. They do as little as possible,
since the server lacks the processor time that they use. As with our own client, each call has an idempotency key, and
is repeated when the server asks for it; the time of all attempts counts. With several servers, each call goes to a
random one (``any``), or all calls about a study go to the same one (``study``), as a load balancer can arrange. If that
server has stopped, they go to the next one.
"""

from __future__ import annotations

import json
import random
import sys
import time
import uuid
import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import psutil

from benchmarks.service.measured import PARTS, Pair, summary
from benchmarks.service.workload import BOUNDS, STUDIES, WARM_UP, dealt, value

Json = dict[str, Any]


class Worker:
    """One client."""

    def __init__(
        self, number: int, clients: int, addresses: Sequence[str], evaluation: float = 0.0, routing: str = "any"
    ) -> None:
        """``evaluation`` is the duration of an evaluation in seconds."""
        self.retries = 0
        self._evaluation = evaluation
        self._number = number
        self._clients = clients
        self._servers = [HTTPConnection(urlsplit(address).netloc, timeout=60) for address in addresses]
        self._lost: set[HTTPConnection] = set()
        self._routing = routing
        self._chance = random.Random(number)

    def create(self, study: str, seed: int, profile: str) -> None:
        """Create a study."""
        parameters = [{"name": name, "kind": "float", "low": a, "high": b} for name, (a, b) in BOUNDS.items()]
        definition = {"direction": "minimize", "parameters": parameters, "algorithm": {"profile": profile}}
        self._post("/v1/studies", {"id": study, "seed": seed, **definition})

    def run(self, studies: str, results: int) -> list[Pair]:
        """Perform the worker's pairs of suggest and observe in sequence."""
        return [self.pair(f"{studies}-{k}") for k in dealt(self._number, self._clients, results)]

    def pair(self, study: str) -> Pair:
        """Request a suggestion and report its result."""
        study = f"/v1/studies/{study}"
        asked = time.perf_counter()
        answer = self._post(f"{study}/suggest", {"count": 1, "worker": f"worker-{self._number}"})
        (trial,) = answer["trials"]
        suggested = time.perf_counter()
        time.sleep(self._evaluation)
        result = {"trial": trial["number"], "value": value(trial["parameters"]), "attempt": trial["attempt"]}
        told = time.perf_counter()
        self._post(f"{study}/observe", result)
        return Pair(asked, suggested, told, time.perf_counter(), answer["degraded"])

    def leased(self, study: str) -> Json:
        """Request a trial that is not evaluated."""
        trial: Json
        (trial,) = self._post(f"/v1/studies/{study}/suggest", {"count": 1})["trials"]
        return trial

    def renew(self, study: str, trial: Json) -> None:
        """Send a heartbeat, without an idempotency key, as our client does."""
        path = f"/v1/studies/{study}/trials/{trial['number']}/heartbeat"
        self._post(path, {"attempt": trial["attempt"]}, has_key=False)

    def tell(self, study: str, points: Sequence[Json]) -> None:
        """Report results of user-supplied points."""
        items = [{"parameters": point, "value": value(point)} for point in points]
        self._post(f"/v1/studies/{study}/observations", {"items": items})

    def is_degraded(self, study: str) -> bool:
        """Request a suggestion, release its trial, and return whether it is a fallback because the model is behind."""
        answer = self._post(f"/v1/studies/{study}/suggest", {"count": 1})
        (trial,) = answer["trials"]
        self._post(f"/v1/studies/{study}/trials/{trial['number']}/release", {})
        return bool(answer["degraded"])

    def _post(self, path: str, body: Json, *, has_key: bool = True) -> Json:
        headers = {"Content-Type": "application/json", **({"Idempotency-Key": uuid.uuid4().hex} if has_key else {})}
        while True:
            server = self._server(path)
            try:
                server.request("POST", path, json.dumps(body).encode(), headers)
                response = server.getresponse()
                answer: Json = json.loads(response.read())
            except ConnectionRefusedError:  # the server has stopped
                self._lost.add(server)
                continue
            except ConnectionError:  # the server has closed a connection that was idle for some seconds
                server.close()
                continue
            if response.status < 300:
                return answer
            if not answer.get("retryable"):
                raise RuntimeError(f"POST {path}: {response.status} {answer}")
            self.retries += 1
            time.sleep(float(response.headers.get("Retry-After", "0")))

    def _server(self, path: str) -> HTTPConnection:
        if self._routing == "any":
            return self._chance.choice([server for server in self._servers if server not in self._lost])
        study = path.split("/")[3:4]  # none for the creation of a study
        first = home("".join(study), len(self._servers))
        return next(server for server in self._servers[first:] + self._servers[:first] if server not in self._lost)


def home(study: str, servers: int) -> int:
    """The index of the server that holds a study's model while that server runs."""
    return zlib.crc32(study.encode()) % servers


class Meter:
    """Measures the processor time of each part since its creation."""

    def __init__(self, addresses: Sequence[str]) -> None:
        ports = {urlsplit(address).port for address in addresses}
        listening = (found for found in psutil.net_connections("tcp") if found.status == psutil.CONN_LISTEN)
        self._servers = [psutil.Process(found.pid) for found in listening if found.laddr and found.laddr.port in ports]
        self._before = self._seconds()

    def milliseconds(self, pairs: int) -> dict[str, float]:
        """Processor time since the creation, per pair."""
        return {part: 1e3 * (after - self._before[part]) / pairs for part, after in self._seconds().items()}

    def _seconds(self) -> dict[str, float]:
        """Return the processor seconds of the servers' own processes, of the processes that they have started, of the
        clients, and of the whole machine, which includes the database and all other processes."""
        times = psutil.cpu_times()
        return {
            "server": sum(map(_processor_seconds, self._servers)),
            "models": sum(_processor_seconds(child) for each in self._servers for child in each.children(True)),
            "clients": time.process_time(),
            "machine": sum(times) - times.idle - getattr(times, "iowait", 0.0),
        }


def _processor_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def main() -> None:
    clients, results, profile, routing, *addresses = sys.argv[1:]
    workers = [Worker(number, int(clients), addresses, routing=routing) for number in range(int(clients))]
    for seed in range(STUDIES):
        workers[0].create(f"warm-up-{seed}", seed, profile)
        workers[0].create(f"study-{seed}", seed, profile)
    with ThreadPoolExecutor(int(clients)) as pool:
        list(pool.map(lambda worker: worker.run("warm-up", WARM_UP), workers))
        meter = Meter(addresses)
        pairs = [pair for done in pool.map(lambda worker: worker.run("study", int(results)), workers) for pair in done]
        processor = meter.milliseconds(len(pairs))
    measured = summary(pairs)
    busy = 1e-3 * processor["machine"] * measured["pairs_per_second"]
    retries = sum(worker.retries for worker in workers)
    print(
        json.dumps(
            {**measured, "processor_ms": [processor[part] for part in PARTS], "busy_cores": busy, "retries": retries}
        )
    )


if __name__ == "__main__":
    main()
