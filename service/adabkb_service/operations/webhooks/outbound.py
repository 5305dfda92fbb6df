"""Send requests to URLs given by users.

Such a URL must not lead into the server's own network (server-side request forgery), even if the addresses of the host
change. So the host name is resolved once, each of its addresses is checked, and the connection uses a checked address.
Redirects are not followed, no proxy is used, and only the status of the answer is read.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

from adabkb_service.errors import AdaBKBError

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

TRANSLATED = ip_network("64:ff9b::/96")
"""IPv6 addresses that embed an IPv4 address in their last 32 bits (RFC 6052)."""
SECURE = ssl.create_default_context()
NO_ANSWER = "no answer in time"
"""The reason if the time limit was reached."""


class NotSent(AdaBKBError):
    """A request got no answer."""


class NotAllowed(NotSent):
    """The server may not send requests to this address."""


def is_allowed(address: Address, networks: Sequence[Network]) -> bool:
    """Return whether requests may go to an address: a public one, or one in the given networks."""
    if any(address in network for network in networks):
        return True
    inner = _inner(address)
    if inner is not None:
        return is_allowed(inner, networks)
    is_site_local = isinstance(address, IPv6Address) and address.is_site_local  # Python calls them global
    return address.is_global and not (address.is_multicast or address.is_reserved or is_site_local)


def _inner(address: Address) -> IPv4Address | None:
    """Return the IPv4 address that an IPv6 address embeds; None if it embeds none."""
    if isinstance(address, IPv4Address):
        return None
    if address in TRANSLATED:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = None if address.teredo is None else address.teredo[1]
    return address.ipv4_mapped or address.sixtofour or teredo


def check_literal(url: str, networks: Sequence[Network]) -> None:
    """Refuse a URL whose host is an IP address to which requests may not go.

    Raises:
        NotAllowed: the address is not allowed.
    """
    try:
        address = ip_address((urlsplit(url).hostname or "").split("%")[0])
    except ValueError:
        return
    if not is_allowed(address, networks):
        raise NotAllowed(
            f"{address} is not a public internet address, and the server's setting webhook_networks does not allow it"
        )


def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    networks: Sequence[Network],
    seconds: float,
    opened: list[socket.socket],
) -> int:
    """Send a request, and return the status of its answer.

    Args:
        url: the URL.
        body: the body of the request.
        headers: the headers of the request.
        networks: private networks to which the request may go.
        seconds: the time limit for the connection, the request and its answer. It does not include the name resolution.
        opened: the open sockets are appended to this list, so that ``shut`` can end them from another thread.

    Raises:
        NotAllowed: the name cannot be resolved, or resolves to an address that is not allowed.
        NotSent: there was no answer.
    """
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    address = _resolve(parts.hostname or "", port, networks)
    is_over = threading.Event()

    def end() -> None:
        is_over.set()
        shut(opened)

    deadline = threading.Timer(seconds, end)
    deadline.daemon = True
    deadline.start()
    try:
        return _send(parts, (str(address), port), body, headers, seconds, opened, is_over)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise NotSent(NO_ANSWER if is_over.is_set() else _reason(error)) from error
    finally:
        deadline.cancel()
        for each in opened:
            each.close()


def _resolve(host: str, port: int, networks: Sequence[Network]) -> Address:
    """Return the first address of a host. Raise an error unless all of its addresses are allowed. The error is the same
    if there is no address, so that users cannot find out which names exist in the server's network."""
    refusal = f"{host} is not the name of a public internet address, or of one in the server's setting webhook_networks"
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NotAllowed(refusal) from error
    addresses = [ip_address(str(each[4][0]).split("%")[0]) for each in found]
    if not all(is_allowed(address, networks) for address in addresses):
        raise NotAllowed(refusal)
    return addresses[0]


def _send(
    parts: SplitResult,
    address: tuple[str, int],
    body: bytes,
    headers: Mapping[str, str],
    seconds: float,
    opened: list[socket.socket],
    is_over: threading.Event,
) -> int:
    """Send a request to a checked address, and return the status of the answer."""
    opened.append(socket.create_connection(address, seconds))
    if parts.scheme == "https":
        # The handshake comes after the socket is in the list: until then, another thread cannot end it.
        secure = SECURE.wrap_socket(opened[0], server_hostname=parts.hostname, do_handshake_on_connect=False)
        opened.append(secure)
        if not is_over.is_set():
            secure.do_handshake()
    if is_over.is_set():  # perhaps before the socket was in the list
        raise TimeoutError
    connection = http.client.HTTPConnection(parts.hostname or "", address[1], timeout=seconds)
    connection.sock = opened[-1]
    path = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
    connection.request("POST", path, body, {**headers, "Host": parts.netloc, "Connection": "close"})
    return connection.getresponse().status


def shut(opened: Sequence[socket.socket]) -> None:
    """End connections that other threads are using, which then close them."""
    for each in opened:
        with suppress(OSError):
            socket.socket.shutdown(each, socket.SHUT_RDWR)  # that of SSLSocket changes what the other thread uses


def _reason(error: Exception) -> str:
    """Return why there was no answer. The text does not reveal what listens at the address."""
    if isinstance(error, TimeoutError):
        return NO_ANSWER
    if isinstance(error, ssl.SSLError):
        return "no secure connection: the certificate is not valid for this name, or the host does not use TLS"
    if isinstance(error, ConnectionRefusedError):
        return "the connection was refused"
    return "the connection failed, or ended without an HTTP answer"
