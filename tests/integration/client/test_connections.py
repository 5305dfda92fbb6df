"""How a client connects: its own certificates, proxies, headers, timeouts, and a client of httpx that it is given."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import pickle
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from adabkb_client import AsyncClient, Client, ConnectionFailed, Float, UnexpectedAnswer
from tests.integration.client.faults import proxy as faulty

SPACE = {"x": Float(0, 1)}


@dataclass
class Gateway:
    """A real HTTP server that forwards requests, as a proxy or in front of another, and notes their headers."""

    url: str
    passed: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def gateway(upstream: str, certificate: Path | None = None) -> Iterator[Gateway]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_request(self) -> None:
            there.passed.append({name.lower(): value for name, value in self.headers.items()} | {"target": self.path})
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            url = self.path if self.path.startswith("http://") else f"{upstream}{self.path}"
            kept = ("content-type", "idempotency-key", "accept")
            headers = {name: value for name, value in self.headers.items() if name.lower() in kept}
            answer = httpx.request(self.command, url, content=body, headers=headers, trust_env=False)
            self.send_response(answer.status_code)
            self.send_header("Content-Type", answer.headers.get("Content-Type", ""))
            self.send_header("Content-Length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        do_GET = do_POST = do_PATCH = do_DELETE = handle_request  # noqa: N815 (names that http.server asks for)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        there = Gateway(f"http{'' if certificate is None else 's'}://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield there
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The certificate of an authority of one's own, and that of a server, with its key."""
    folder, now = tmp_path_factory.mktemp("tls"), datetime.datetime.now(datetime.UTC)
    keys = [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)]
    names = [x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]) for name in ("authority", "server")]

    def signed(subject: int, extension: x509.ExtensionType) -> bytes:
        builder = (
            x509.CertificateBuilder()
            .subject_name(names[subject])
            .issuer_name(names[0])
            .public_key(keys[subject].public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(keys[subject].public_key()), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(keys[0].public_key()), critical=False)
            .add_extension(extension, critical=True)
        )
        if subject == 0:
            usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
            builder = builder.add_extension(usage, critical=True)
        return builder.sign(keys[0], hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    authority, server = folder / "authority.pem", folder / "server.pem"
    authority.write_bytes(signed(0, x509.BasicConstraints(ca=True, path_length=None)))
    here = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    key = keys[1].private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    server.write_bytes(signed(1, here) + key)
    return authority, server


def test_a_private_certificate_authority_is_trusted_if_configured(server: str, certificates: tuple[Path, Path]) -> None:
    authority, certificate = certificates
    context = ssl.create_default_context(cafile=authority)
    with gateway(server, certificate) as there:
        with pytest.raises(UnexpectedAnswer, match=r"is not trusted.*\n.*verify="), Client(there.url) as client:
            client.create_study("refused", SPACE, direction="minimize")
        for verify in (authority, str(authority), context):
            with Client(there.url, verify=verify) as client:
                assert client.create_study("trusted", SPACE, direction="minimize").id == "trusted"
        with httpx.Client(verify=context) as own, Client(there.url, http_client=own) as client:
            assert client.study("trusted").id == "trusted"
        with Client(server) as client:
            assert [study.id for study in client.studies()] == ["trusted"]


def test_a_proxy_gets_all_requests_and_its_user_and_not_the_token(server: str) -> None:
    with gateway(server) as there:
        address = there.url.replace("http://", "http://mia:secret@")
        with Client(server, "token-of-mia", proxy=address) as client:
            client.create_study("through", SPACE, direction="minimize").suggest()
        assert [passed["target"].startswith(f"{server}/v1/") for passed in there.passed] == [True, True]
        assert {passed["proxy-authorization"] for passed in there.passed} == {"Basic bWlhOnNlY3JldA=="}
        asyncio.run(_async_through(server, there.url))
        assert len(there.passed) == 3


async def _async_through(server: str, proxy: str) -> None:
    async with AsyncClient(server, proxy=proxy) as client:
        assert (await client.study("through")).id == "through"


def test_headers_go_with_each_request_and_those_of_a_call_beside_them(server: str) -> None:
    with gateway(server) as there, Client(there.url, headers={"X-Team": "vision"}) as client:
        study = client.create_study("headed", SPACE, direction="minimize")
        study.with_options(headers={"X-Run": "7"}).suggest()
        study.info()
        assert [(passed["x-team"], passed.get("x-run")) for passed in there.passed] == [
            ("vision", None),
            ("vision", "7"),
            ("vision", None),
        ]


def test_a_timeout_of_one_call_is_that_of_no_other(server: str) -> None:
    with faulty(server) as between, Client(between.url, retry_for=60) as client:
        study = client.create_study("slow", SPACE, direction="minimize")
        hasty = study.with_options(timeout=0.2, retry_for=0)
        between.faults.append("stall")
        with pytest.raises(ConnectionFailed, match="no server answers"):
            hasty.info()
        assert study.info().id == hasty.info().id == "slow"
        asyncio.run(_async_hasty(between.url))


async def _async_hasty(url: str) -> None:
    async with AsyncClient(url) as client:
        hasty = client.with_options(timeout=5, retry_for=0)
        await hasty.close()  # closes nothing that is shared
        assert (await client.study("slow")).id == (await hasty.study("slow")).id


def test_a_client_of_httpx_is_used_and_not_closed(server: str) -> None:
    seen: list[str] = []
    with httpx.Client(event_hooks={"request": [lambda request: seen.append(request.url.path)]}) as own:
        with Client(server, http_client=own) as client:
            client.create_study("own", SPACE, direction="minimize")
        assert seen == ["/v1/studies"]
        assert own.get(f"{server}/v1/studies/own").status_code == 200
        with pytest.raises(TypeError, match="cannot be sent to another process"):
            pickle.dumps(client.study("own"))


def test_an_async_client_of_httpx_is_used_and_not_closed(server: str) -> None:
    async def main() -> None:
        async with httpx.AsyncClient() as own:
            async with AsyncClient(server, http_client=own) as client:
                await client.create_study("own", SPACE, direction="minimize")
            assert (await own.get(f"{server}/v1/studies/own")).status_code == 200

    asyncio.run(main())


def test_options_reach_another_process(server: str, certificates: tuple[Path, Path]) -> None:
    authority, certificate = certificates
    with (
        gateway(server, certificate) as there,
        Client(there.url, verify=authority, headers={"X-Team": "vision"}) as client,
    ):
        client.create_study("sent", SPACE, direction="minimize")
        other: Client = pickle.loads(pickle.dumps(client))
        with other:
            assert other.study("sent").id == "sent"
        assert there.passed[-1]["x-team"] == "vision"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"headers": {"X-Key": "secret\n"}}, "header 'X-Key' has a character that headers cannot have"),
        ({"headers": {"X-Key": "secret "}}, "the value of header 'X-Key' is empty or has a space at an end"),
        ({"headers": {"X Key": "secret"}}, "header 'X Key' has a character that headers cannot have"),
        (
            {"headers": {"X-Key": 7}},
            "header names and values must be strings, but header 'X-Key' has a value of type int",
        ),
        ({"proxy": "mia:secret@proxy"}, "proxy must be a URL such as http://"),
        ({"http_client": httpx.Client(), "verify": False}, "verify and proxy cannot be combined with http_client"),
        ({"http_client": httpx.AsyncClient()}, "http_client must be an httpx.Client, not AsyncClient"),
        ({"verify": "nowhere.pem"}, "verify='nowhere.pem' cannot be read (No such file or directory)"),
    ],
)
def test_options_that_cannot_be_are_refused_without_their_secrets(arguments: dict[str, object], problem: str) -> None:
    with pytest.raises((TypeError, ValueError, OSError)) as caught:
        Client("http://127.0.0.1:1", **arguments)  # type: ignore[arg-type]
    assert problem in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_host_name_that_cannot_be_resolved_is_the_cause() -> None:
    with (
        Client("http://adabkb.invalid:8000", retry_for=0) as client,
        pytest.raises(ConnectionFailed, match="does not know that host name") as caught,
    ):
        client.study("s")
    assert "adabkb serve" not in str(caught.value)
