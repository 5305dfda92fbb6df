"""The Caddyfile with a real Caddy in front of two real servers, and the client addresses that a server trusts."""

from __future__ import annotations

import re
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from socket import create_server

import httpx
import pytest

from adabkb_service.storage.database import Database
from tests.database_pool import DatabasePool
from tests.integration.access.conftest import give_token
from tests.integration.api.conftest import DEFINITION
from tests.integration.cli.shell import adabkb
from tests.servers import ServerProcess, server_process
from tests.waiting import wait_for

CADDYFILE = Path(__file__).parents[3] / "deploy" / "compose" / "Caddyfile"
CADDY = Path(sys.executable).with_name("caddy")
STARTING = 120.0
SUGGESTED = "adabkb_suggest_seconds_count"


def free_port() -> int:
    with create_server(("127.0.0.1", 0)) as socket:
        return int(socket.getsockname()[1])


@dataclass
class Lab:
    """Two servers, Caddy and an administrator's token."""

    address: str
    servers: dict[str, ServerProcess]
    token: str
    trusted: ssl.SSLContext

    @contextmanager
    def client(self, address: str | None = None, source: str = "127.0.0.1") -> Iterator[httpx.Client]:
        """A client of Caddy or of a server itself, from an address of this machine."""
        transport = httpx.HTTPTransport(verify=self.trusted, local_address=source)
        bearer = {"Authorization": f"Bearer {self.token}"}
        with httpx.Client(base_url=address or self.address, transport=transport, headers=bearer, timeout=60) as client:
            yield client


@pytest.fixture(scope="module")
def lab(database_pool: DatabasePool, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("proxy")
    with database_pool.borrowed() as url, ExitStack() as running:
        with pytest.MonkeyPatch.context() as environment, closing(Database(url)) as database:
            for name, value in {
                "ADABKB_ROOT_PATH": "/adabkb",
                "ADABKB_PROXIES": "127.0.0.1",
                "ADABKB_BIND": "127.0.0.1",
                "ADABKB_HTTP_PORT": str(free_port()),
                "ADABKB_HTTPS_PORT": (port := str(free_port())),
                "XDG_DATA_HOME": str(folder),
                "XDG_CONFIG_HOME": str(folder),
            }.items():
                environment.setenv(name, value)
            token = give_token(database, "root", "admin")
            servers = [running.enter_context(server_process(url)) for _ in range(2)]
            upstreams = [server.address.removeprefix("http://") for server in servers]
            environment.setenv("ADABKB_UPSTREAMS", " ".join(upstreams))
            running.enter_context(caddy())
        address = f"https://localhost:{port}"
        yield Lab(f"{address}/adabkb", dict(zip(upstreams, servers, strict=True)), token, certificates(folder, address))


@contextmanager
def caddy() -> Iterator[None]:
    with subprocess.Popen(
        [CADDY, "run", "--config", CADDYFILE, "--adapter", "caddyfile"], stderr=subprocess.DEVNULL
    ) as process:
        try:
            yield
        finally:
            process.terminate()


def certificates(folder: Path, address: str) -> ssl.SSLContext:
    """The certificates of Caddy's own authority, once everything is running."""
    deadline, context = time.monotonic() + STARTING, ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    while True:
        try:
            context.load_verify_locations(folder / "caddy" / "pki" / "authorities" / "local" / "root.crt")
            if httpx.get(f"{address}/adabkb/readyz", verify=context).status_code == 200:
                return context
        except (OSError, httpx.TransportError):
            assert time.monotonic() < deadline


def metric(client: httpx.Client, name: str) -> float:
    """The value of a metric of one server."""
    lines = client.get("/metrics").text.splitlines()
    return next(float(line.split()[-1]) for line in lines if line.startswith(f"{name} "))


@pytest.mark.long
def test_each_study_has_one_owner_server_and_fails_over(lab: Lab) -> None:
    with lab.client() as client, ExitStack() as direct:
        clients = {name: direct.enter_context(lab.client(server.address)) for name, server in lab.servers.items()}
        wait_for(lambda: all(metric(each, "adabkb_servers") == 2 for each in clients.values()))
        followers = dict[str, str]()  # study -> server
        for study in map("s{}".format, range(64)):
            assert client.post("/v1/studies", json={**DEFINITION, "id": study}).status_code == 201
            before = {name: metric(each, SUGGESTED) for name, each in clients.items()}
            for _ in range(3):
                assert client.post(f"/v1/studies/{study}/suggest").status_code == 200
            grown = [name for name, each in clients.items() if metric(each, SUGGESTED) > before[name]]
            assert len(grown) == 1, "each study has one owner"
            followers[study] = grown[0]
            if len(set(followers.values())) == 2:
                break
        assert set(followers.values()) == set(lab.servers), "each server owns some studies"
        assert 'href="/adabkb/' in client.get("/", headers={"Accept": "text/html"}).text
        assert client.get("/openapi.json").json()["servers"] == [{"url": "/adabkb"}]
        lab.servers[followers["s0"]].kill()
        assert client.post("/v1/studies/s0/suggest").json()["trials"][0]["number"] == 4


def audited(client: httpx.Client, name: str, headers: dict[str, str] | None = None) -> str:
    """The address in the audit log for the creation of a token."""
    made = client.post("/v1/tokens", json={"name": name, "scopes": ["read"]}, headers=headers)
    assert made.status_code == 201
    entries = client.get("/v1/audit").json()["items"]
    return str(next(each["address"] for each in entries if each["detail"].get("name") == name))


@pytest.mark.long
def test_prometheus_can_read_metrics_with_a_read_token(lab: Lab) -> None:
    """Through Caddy with its own certificate, as under systemd. Without a token, the request is refused."""
    with lab.client() as client:
        answer = client.post("/v1/tokens", json={"name": "prometheus", "scopes": ["read"]})
        client.headers["Authorization"] = f"Bearer {answer.json()['token']}"
        assert "adabkb_http_requests_total" in client.get("/metrics").raise_for_status().text
        del client.headers["Authorization"]
        assert client.get("/metrics").status_code == 401


@pytest.mark.long
def test_responses_have_the_hsts_header(lab: Lab) -> None:
    with lab.client() as client:
        assert client.get("/healthz").headers["strict-transport-security"] == "max-age=31536000"


def test_caddy_unit_starts_and_has_its_certificate_at_the_documented_path(tmp_path: Path) -> None:
    unit = (CADDYFILE.parents[1] / "systemd" / "adabkb-caddy.service").read_text()
    administration = (CADDYFILE.parents[2] / "docs" / "administration.md").read_text()
    assert "WantedBy=multi-user.target" in unit, "also after a reboot"
    assert "systemctl enable --now adabkb-caddy.service" in administration
    [certificate] = re.findall(r"cp (/var/lib/adabkb-caddy/\S+root\.crt)", administration)
    set_there = dict(re.findall(r"(\w+)=(\S+)", " ".join(re.findall(r"^Environment=(.+)", unit, re.MULTILINE))))
    moved = {name: value.replace("/var/lib", str(tmp_path)) for name, value in set_there.items()}
    moved |= {"ADABKB_SITE": "localhost", "ADABKB_TLS": "internal", "ADABKB_BIND": "127.0.0.1"}
    moved |= {"ADABKB_HTTP_PORT": str(free_port()), "ADABKB_HTTPS_PORT": (port := str(free_port()))}
    [started] = re.findall(r"^ExecStart=(.+)", unit, re.MULTILINE)
    assert started.split()[0] == "/usr/bin/caddy"
    command = [str(CADDY), *started.replace("/etc/adabkb/Caddyfile", str(CADDYFILE)).split()[1:]]
    file = Path(certificate.replace("/var/lib", str(tmp_path)))
    with subprocess.Popen(command, env=moved, stderr=subprocess.DEVNULL) as process:
        try:
            wait_for(file.exists, STARTING)

            def trusted() -> bool:
                with suppress(OSError):
                    return bool(ssl.get_server_certificate(("localhost", int(port)), ca_certs=str(file)))
                return False

            wait_for(trusted, STARTING)
        finally:
            process.terminate()
            process.wait(60)


FORGED = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https"}


@pytest.mark.long
def test_a_trusted_proxy_sets_the_client_address(lab: Lab) -> None:
    with lab.client(source="127.0.0.7") as client:
        assert audited(client, "by-caddy", FORGED) == "127.0.0.7", "Caddy does not forward the claims of clients"
        cookie = client.post("/login", headers={"Sec-Fetch-Site": "same-origin"}).headers["set-cookie"]
        assert "Secure" in cookie
        assert "Path=/adabkb" in cookie


def test_no_other_client_sets_its_address(other_sqlite: str) -> None:
    with server_process(other_sqlite) as server, httpx.Client(base_url=server.address, timeout=60) as client:
        made = client.post("/v1/tokens", json={"name": "root", "scopes": ["admin"]}, headers=FORGED).json()
        client.headers["Authorization"] = f"Bearer {made['token']}"
        assert audited(client, "direct", FORGED) == "127.0.0.1"


def test_loopback_server_behind_a_proxy_requires_tokens(other_sqlite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADABKB_PROXIES", "10.0.0.2")
    assert "adabkb token create" in adabkb("serve", "--port", "0", "--database", other_sqlite, code=1)
